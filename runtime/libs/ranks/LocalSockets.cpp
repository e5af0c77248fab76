//===- LocalSockets.cpp - Messages without MPI ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See LocalSockets.h. The process of the higher rank connects to the one of the
// lower rank. Each proves by a greeting that it belongs to the job. Then
// headers follow in both directions, some with bytes behind them.
//===----------------------------------------------------------------------===//

#include "libs/ranks/LocalSockets.h"

#include "libs/ranks/Limit.h"
#include "libs/ranks/Nap.h"

#include <algorithm>
#include <deque>
#include <errno.h>
#include <list>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

using namespace gpuasync;
using namespace gpuasync::ranks;

namespace {
/// Owns a file descriptor.
class Socket {
public:
  Socket() = default;
  explicit Socket(int file) : file(file) {}
  Socket(Socket &&other) noexcept : file(std::exchange(other.file, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(file, other.file);
    return *this;
  }
  ~Socket() { close(); }
  void close() {
    if (file >= 0)
      ::close(std::exchange(file, -1));
  }
  explicit operator bool() const { return file >= 0; }
  int get() const { return file; }

private:
  int file = -1;
};

/// The first bytes of a connection, in both directions.
struct Greeting {
  char magic[8] = {'g', 'p', 'u', 'a', 's', 'y', 'n', 'c'};
  uint32_t version = 1; ///< of all that follows
  uint32_t rank = 0, count = 0;
  uint32_t unused = 0;
};
} // namespace

static std::string nameOf(uint32_t rank) {
  return "rank " + std::to_string(rank);
}

static Error failed(const char *function, int code) {
  Error error =
      std::string(function) + ": " + std::generic_category().message(code);
  if (code == EMFILE)
    error += "; each rank has a connection to each other one, so raise the "
             "limit (ulimit -n)";
  return error;
}

static bool isTemporary(int code) {
  return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

//===----------------------------------------------------------------------===//
// Messages on their way
//===----------------------------------------------------------------------===//

struct LocalSockets::Header {
  enum class Kind : uint32_t {
    Message = 1, ///< the bytes follow
    Offer,       ///< of a message that is too large for this
    Accept,      ///< of an offer
    Data         ///< that was offered; the bytes follow
  };
  Kind kind = Kind::Message;
  int32_t tag = 0;    ///< Message, Offer
  uint64_t id = 0;    ///< of the offer
  uint64_t bytes = 0; ///< of the message
};

struct LocalSockets::Operation {
  uint32_t other = 0;
  int tag = 0;
  char *memory = nullptr; ///< of a receive
  size_t bytes = 0;
  bool isDone = false;
};

/// A header to write, with the bytes behind it.
struct LocalSockets::Frame {
  Header header;
  const char *memory = nullptr;   ///< null: nothing follows
  Operation *operation = nullptr; ///< done once it is written
};

/// A message, or the offer of one, that came before somebody wanted it.
struct LocalSockets::Early {
  Header header;
  std::unique_ptr<char[]> bytes;
  bool isComplete = false;
  Operation *wantedBy = nullptr; ///< who waits until it is complete
};

struct LocalSockets::Peer {
  Socket socket;
  bool isLost = false;   ///< nothing more comes
  bool isClosed = false; ///< nothing more can be written

  std::deque<Frame> frames;
  size_t written = 0;                ///< of the first one
  std::map<uint64_t, Frame> offered; ///< by id
  uint64_t offers = 0;

  Header header;
  size_t headerBytes = 0; ///< read so far
  char *memory = nullptr; ///< for what follows
  size_t bytes = 0, bytesRead = 0;
  Operation *filled = nullptr; ///< what comes now is for it
  Early *kept = nullptr;       ///< the same, before somebody wants it

  std::list<Early> early;         ///< in order
  std::deque<Operation *> wanted; ///< receives for which nothing has come
  std::map<uint64_t, Operation *> accepted;
};

LocalSockets::LocalSockets(uint32_t rank, uint32_t count) : peers(count) {
  this->rank = rank;
  this->count = count;
}
LocalSockets::~LocalSockets() = default;

//===----------------------------------------------------------------------===//
// The beginning and the end
//===----------------------------------------------------------------------===//

std::string LocalSockets::addressOf(const LocalJob &job, uint32_t rank) {
  uint64_t sum = 0xcbf29ce484222325; // FNV-1a: names have a limit
  for (unsigned char each : job.name)
    sum = (sum ^ each) * 0x100000001b3;
  char text[80];
  snprintf(text, sizeof(text), "gpuasync-ranks-%ju-%016jx-%u",
           uintmax_t(geteuid()), uintmax_t(sum), rank);
  return text;
}

/// Connects a process to all others of its job.
class LocalSockets::Opening {
public:
  Opening(const LocalJob &job, LocalSockets &sockets)
      : job(job), peers(sockets.peers), called(job.count) {}
  Error run();

private:
  /// A connection before its greeting is complete.
  struct Guest {
    Socket socket;
    Greeting greeting;
    size_t bytes = 0;
  };
  enum class Reading { Goes, Complete, Ended };

  Error listen();
  /// Connects to a lower rank, if that one listens already.
  Error call(uint32_t rank);
  /// Takes connections of higher ranks.
  Error answer();
  Error check(const Greeting &greeting) const;
  Error findEnded() const;
  std::string listMissing() const;
  Greeting own() const;

  static Reading read(Guest &guest);
  static bool isOwnUser(const Socket &socket, uid_t &user);
  static Socket make();
  static sockaddr_un addressOf(const LocalJob &job, uint32_t rank,
                               socklen_t &bytes);

  const LocalJob &job;
  std::vector<Peer> &peers;
  Socket listener;
  std::vector<Guest> called; ///< lower ranks that have not answered
  std::list<Guest> guests;
};

Error LocalSockets::open(const LocalJob &job, std::unique_ptr<Messages> &out) {
  std::unique_ptr<LocalSockets> made(new LocalSockets(job.rank, job.count));
  if (Error error = Opening(job, *made).run(); !error.empty())
    return "ranks without MPI: " + error;
  out = std::move(made);
  return {};
}

void LocalSockets::finalize() {
  for (Peer &peer : peers)
    peer.socket.close();
}

Socket LocalSockets::Opening::make() {
  return Socket(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

sockaddr_un LocalSockets::Opening::addressOf(const LocalJob &job, uint32_t rank,
                                             socklen_t &bytes) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = LocalSockets::addressOf(job, rank);
  memcpy(address.sun_path + 1, name.data(), name.size());
  bytes =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

/// The abstract namespace has no permissions, so each end asks who the other
/// one is.
bool LocalSockets::Opening::isOwnUser(const Socket &socket, uid_t &user) {
  ucred other = {};
  socklen_t bytes = sizeof(other);
  user = static_cast<uid_t>(-1);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &bytes) != 0)
    return false;
  user = other.uid;
  return user == geteuid();
}

Greeting LocalSockets::Opening::own() const {
  Greeting greeting;
  greeting.rank = job.rank;
  greeting.count = job.count;
  return greeting;
}

Error LocalSockets::Opening::listen() {
  listener = make();
  if (!listener)
    return failed("socket", errno);
  socklen_t bytes = 0;
  const sockaddr_un address = addressOf(job, job.rank, bytes);
  if (bind(listener.get(), reinterpret_cast<const sockaddr *>(&address),
           bytes) != 0)
    return errno == EADDRINUSE
               ? "another process is " + nameOf(job.rank) +
                     " of this job; for programs that do not meet, give "
                     "gpu-runner the option --ranks=1"
               : failed("bind", errno);
  return ::listen(listener.get(), SOMAXCONN) == 0 ? Error()
                                                  : failed("listen", errno);
}

LocalSockets::Opening::Reading LocalSockets::Opening::read(Guest &guest) {
  auto *to = reinterpret_cast<char *>(&guest.greeting);
  while (guest.bytes < sizeof(Greeting)) {
    const ssize_t got = recv(guest.socket.get(), to + guest.bytes,
                             sizeof(Greeting) - guest.bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && isTemporary(errno))
      return Reading::Goes;
    if (got <= 0)
      return Reading::Ended;
    guest.bytes += static_cast<size_t>(got);
  }
  return Reading::Complete;
}

Error LocalSockets::Opening::check(const Greeting &greeting) const {
  if (greeting.version != Greeting().version)
    return nameOf(greeting.rank) + " has another version of gpu-async";
  if (greeting.count != job.count)
    return nameOf(greeting.rank) + " says that there are " +
           std::to_string(greeting.count) + " ranks, and rank " +
           std::to_string(job.rank) + " says " + std::to_string(job.count);
  return {};
}

/// Whether a fresh connection took the greeting, for which it always has room.
static bool sendGreeting(const Socket &socket, const Greeting &greeting) {
  return ::send(socket.get(), &greeting, sizeof(greeting),
                MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(greeting);
}

static Error endedEarly(uint32_t rank) {
  return nameOf(rank) + " ended before all ranks had begun";
}

Error LocalSockets::Opening::call(uint32_t rank) {
  Guest &guest = called[rank];
  if (!guest.socket) {
    Socket socket = make();
    if (!socket)
      return failed("socket", errno);
    socklen_t bytes = 0;
    const sockaddr_un address = addressOf(job, rank, bytes);
    if (connect(socket.get(), reinterpret_cast<const sockaddr *>(&address),
                bytes) != 0)
      // It does not listen yet, or too many others connect at this moment.
      return errno == ECONNREFUSED || isTemporary(errno)
                 ? Error()
                 : failed("connect", errno);
    uid_t user = 0;
    if (!isOwnUser(socket, user))
      return "the socket of " + nameOf(rank) + " belongs to another user (" +
             std::to_string(user) + ")";
    if (!sendGreeting(socket, own()))
      return endedEarly(rank);
    guest.socket = std::move(socket);
  }
  switch (read(guest)) {
  case Reading::Goes:
    return {};
  case Reading::Ended:
    return endedEarly(rank);
  case Reading::Complete:
    break;
  }
  if (memcmp(guest.greeting.magic, Greeting().magic, sizeof(Greeting::magic)) ||
      guest.greeting.rank != rank)
    return "another program has the socket of " + nameOf(rank);
  if (Error error = check(guest.greeting); !error.empty())
    return error;
  peers[rank].socket = std::move(guest.socket);
  return {};
}

Error LocalSockets::Opening::answer() {
  // Without it, accept() would fail at the limit of files for nobody's sake.
  const bool haveAll = std::all_of(
      peers.begin() + job.rank + 1, peers.end(),
      [](const Peer &peer) { return static_cast<bool>(peer.socket); });
  while (!haveAll) {
    Socket socket(accept4(listener.get(), nullptr, nullptr,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED)
        continue;
      if (isTemporary(errno))
        break;
      return failed("accept", errno);
    }
    uid_t user = 0;
    if (!isOwnUser(socket, user))
      continue;
    guests.emplace_back().socket = std::move(socket);
  }
  for (auto guest = guests.begin(); guest != guests.end();) {
    const Reading reading = read(*guest);
    if (reading == Reading::Goes) {
      ++guest;
      continue;
    }
    const Greeting &greeting = guest->greeting;
    // Anybody of this user may connect. Only ranks of the job matter.
    if (reading == Reading::Complete &&
        !memcmp(greeting.magic, Greeting().magic, sizeof(Greeting::magic)) &&
        greeting.rank > job.rank && greeting.rank < job.count) {
      if (Error error = check(greeting); !error.empty())
        return error;
      if (!peers[greeting.rank].socket) {
        if (!sendGreeting(guest->socket, own()))
          return endedEarly(greeting.rank);
        peers[greeting.rank].socket = std::move(guest->socket);
      }
    }
    guest = guests.erase(guest);
  }
  return {};
}

/// No rank ends well before all have met, which is after this.
Error LocalSockets::Opening::findEnded() const {
  std::vector<pollfd> files;
  files.reserve(peers.size());
  for (const Peer &peer : peers)
    files.push_back({peer.socket ? peer.socket.get() : -1, POLLRDHUP, 0});
  if (poll(files.data(), files.size(), 0) > 0)
    for (uint32_t rank = 0; rank < job.count; ++rank)
      if (files[rank].revents)
        return endedEarly(rank) + "; " + listMissing();
  return {};
}

std::string LocalSockets::Opening::listMissing() const {
  std::string list;
  uint32_t missing = 0;
  for (uint32_t rank = 0; rank < job.count; ++rank)
    if (rank != job.rank && !peers[rank].socket && ++missing <= 8)
      list += (list.empty() ? "" : ", ") + std::to_string(rank);
  if (missing > 8)
    list += " and " + std::to_string(missing - 8) + " more";
  return (missing == 1 ? "rank " : "ranks ") + list +
         (missing == 1 ? " has" : " have") + " not come";
}

Error LocalSockets::Opening::run() {
  const Limit limit;
  const pid_t launcher = getppid();
  if (Error error = listen(); !error.empty())
    return error;
  for (Nap nap;; nap.take()) {
    Error error = answer();
    bool haveAll = true;
    for (uint32_t rank = 0; rank < job.count && error.empty(); ++rank) {
      if (rank < job.rank && !peers[rank].socket)
        error = call(rank);
      haveAll &= rank == job.rank || peers[rank].socket;
    }
    if (error.empty() && haveAll)
      break;
    if (error.empty())
      error = findEnded();
    if (error.empty() && limit.isOver())
      error = limit.describe() + "; " + listMissing();
    // Then nobody is left who would end this process.
    if (error.empty() && getppid() != launcher)
      error = "the launcher has ended, and " + listMissing();
    if (!error.empty())
      return error;
  }
  const int bytes = 1 << 20; // or as many as the system allows
  for (Peer &peer : peers)
    if (peer.socket)
      (void)setsockopt(peer.socket.get(), SOL_SOCKET, SO_SNDBUF, &bytes,
                       sizeof(bytes));
  return {};
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

Messages::Request LocalSockets::add(Operation operation) {
  operations.emplace(++last, std::make_unique<Operation>(operation));
  return last;
}

Error LocalSockets::send(uint32_t to, int tag, const void *memory, size_t bytes,
                         Request &request) {
  request = add({to, tag, nullptr, bytes, false});
  Peer &peer = peers[to];
  Frame frame;
  frame.header = {Header::Kind::Message, tag, 0, bytes};
  frame.memory = static_cast<const char *>(memory);
  frame.operation = operations.at(request).get();
  if (bytes > mostAtOnce) {
    Frame offer;
    offer.header = {Header::Kind::Offer, tag, ++peer.offers, bytes};
    frame.header = {Header::Kind::Data, tag, peer.offers, bytes};
    peer.offered.emplace(peer.offers, frame);
    frame = offer;
  }
  peer.frames.push_back(frame);
  return write(to);
}

static Error tooLong(uint32_t from, uint64_t bytes, size_t room) {
  return nameOf(from) + " sent " + std::to_string(bytes) + " bytes, and " +
         std::to_string(room) + " are wanted";
}

Error LocalSockets::receive(uint32_t from, int tag, void *memory, size_t bytes,
                            Request &request) {
  request = add({from, tag, static_cast<char *>(memory), bytes, false});
  Operation &operation = *operations.at(request);
  Peer &peer = peers[from];
  const auto early = std::find_if(
      peer.early.begin(), peer.early.end(), [&](const Early &each) {
        return each.header.tag == tag && !each.wantedBy;
      });
  if (early == peer.early.end()) {
    peer.wanted.push_back(&operation);
    return {};
  }
  if (early->header.bytes > bytes)
    return tooLong(from, early->header.bytes, bytes);
  if (early->header.kind == Header::Kind::Offer) {
    accept(peer, early->header.id, operation);
    peer.early.erase(early);
    return write(from);
  }
  early->wantedBy = &operation;
  if (early->isComplete)
    deliver(peer, *early);
  return {};
}

Error LocalSockets::test(Request &request, bool &isDone) {
  const auto found = operations.find(request);
  isDone = found == operations.end();
  if (isDone)
    return {};
  Operation &operation = *found->second;
  Error error;
  if (!operation.isDone)
    error = progress(operation.other);
  isDone = operation.isDone;
  if (isDone)
    operations.erase(found);
  return error;
}

bool LocalSockets::isLost(uint32_t other) const { return peers[other].isLost; }

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

Error LocalSockets::progress(uint32_t other) {
  Error error = read(other);
  return error.empty() ? write(other) : error;
}

Error LocalSockets::write(uint32_t other) {
  Peer &peer = peers[other];
  while (!peer.frames.empty() && !peer.isClosed) {
    Frame &frame = peer.frames.front();
    const size_t size = sizeof(Header), bytes = frame.header.bytes,
                 behind = frame.memory ? bytes : 0,
                 done = peer.written < size ? 0 : peer.written - size;
    iovec parts[2];
    msghdr message = {};
    message.msg_iov = parts;
    if (peer.written < size)
      parts[message.msg_iovlen++] = {reinterpret_cast<char *>(&frame.header) +
                                         peer.written,
                                     size - peer.written};
    if (done < behind)
      parts[message.msg_iovlen++] = {const_cast<char *>(frame.memory) + done,
                                     behind - done};
    // A signal would end a process that knows nothing of sockets.
    const ssize_t sent =
        sendmsg(peer.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR)
        continue;
      if (isTemporary(errno))
        return {};
      if (errno != EPIPE && errno != ECONNRESET)
        return failed("sendmsg", errno);
      // Its last words may still be there to be read.
      peer.isClosed = true;
      return {};
    }
    peer.written += static_cast<size_t>(sent);
    if (peer.written < size + behind)
      continue;
    if (frame.operation)
      frame.operation->isDone = true;
    peer.frames.pop_front();
    peer.written = 0;
  }
  return {};
}

Error LocalSockets::read(uint32_t other) {
  Peer &peer = peers[other];
  while (!peer.isLost) {
    const bool isHeader = peer.headerBytes < sizeof(Header);
    char *to = isHeader
                   ? reinterpret_cast<char *>(&peer.header) + peer.headerBytes
                   : peer.memory + peer.bytesRead;
    const size_t wanted = isHeader ? sizeof(Header) - peer.headerBytes
                                   : peer.bytes - peer.bytesRead;
    const ssize_t got = recv(peer.socket.get(), to, wanted, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && isTemporary(errno))
      return {};
    if (got < 0 && errno != ECONNRESET)
      return failed("recv", errno);
    if (got <= 0) {
      peer.isLost = true;
      return {};
    }
    if (isHeader) {
      peer.headerBytes += static_cast<size_t>(got);
      if (peer.headerBytes < sizeof(Header))
        continue;
      if (Error error = begin(other); !error.empty())
        return error;
    } else {
      peer.bytesRead += static_cast<size_t>(got);
    }
    if (peer.bytesRead == peer.bytes)
      end(peer);
  }
  return {};
}

void LocalSockets::accept(Peer &peer, uint64_t id, Operation &by) {
  peer.accepted.emplace(id, &by);
  Frame frame;
  frame.header = {Header::Kind::Accept, 0, id, 0};
  peer.frames.push_back(frame);
}

Error LocalSockets::begin(uint32_t other) {
  Peer &peer = peers[other];
  const Header &header = peer.header;
  const Error wrong = nameOf(other) + " sent what is no message";
  peer.bytes = peer.bytesRead = 0;
  peer.filled = nullptr;
  peer.kept = nullptr;
  switch (header.kind) {
  case Header::Kind::Message:
  case Header::Kind::Offer: {
    const bool isOffer = header.kind == Header::Kind::Offer;
    if (!isOffer && header.bytes > mostAtOnce)
      return wrong;
    if (!isOffer)
      peer.bytes = header.bytes;
    const auto wanted = std::find_if(
        peer.wanted.begin(), peer.wanted.end(),
        [&](const Operation *each) { return each->tag == header.tag; });
    if (wanted == peer.wanted.end()) {
      Early &early = peer.early.emplace_back();
      early.header = header;
      if (isOffer)
        return {};
      early.bytes = std::make_unique<char[]>(peer.bytes);
      peer.kept = &early;
      peer.memory = early.bytes.get();
      return {};
    }
    Operation &operation = **wanted;
    if (header.bytes > operation.bytes)
      return tooLong(other, header.bytes, operation.bytes);
    peer.wanted.erase(wanted);
    if (isOffer) {
      accept(peer, header.id, operation);
      return {};
    }
    peer.filled = &operation;
    peer.memory = operation.memory;
    return {};
  }
  case Header::Kind::Accept: {
    const auto offered = peer.offered.find(header.id);
    if (offered == peer.offered.end())
      return wrong;
    peer.frames.push_back(offered->second);
    peer.offered.erase(offered);
    return {};
  }
  case Header::Kind::Data: {
    const auto accepted = peer.accepted.find(header.id);
    if (accepted == peer.accepted.end() ||
        header.bytes > accepted->second->bytes)
      return wrong;
    peer.bytes = header.bytes;
    peer.filled = accepted->second;
    peer.memory = accepted->second->memory;
    peer.accepted.erase(accepted);
    return {};
  }
  }
  return wrong;
}

void LocalSockets::deliver(Peer &peer, Early &early) {
  if (early.header.bytes)
    memcpy(early.wantedBy->memory, early.bytes.get(), early.header.bytes);
  early.wantedBy->isDone = true;
  peer.early.remove_if([&](const Early &each) { return &each == &early; });
}

void LocalSockets::end(Peer &peer) {
  peer.headerBytes = 0;
  peer.bytes = peer.bytesRead = 0;
  if (peer.filled)
    peer.filled->isDone = true;
  if (!peer.kept)
    return;
  peer.kept->isComplete = true;
  if (peer.kept->wantedBy)
    deliver(peer, *peer.kept);
}
