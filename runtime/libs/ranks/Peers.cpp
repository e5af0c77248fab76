//===- Peers.cpp - Whether the other processes of a host live -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Peers.h.
//===----------------------------------------------------------------------===//

#include "libs/ranks/Peers.h"

#include <algorithm>
#include <atomic>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace gpuasync;
using namespace gpuasync::ranks;

/// All processes of a host that see each other run the same C library.
struct Peers::Page {
  pthread_mutex_t alive;      ///< robust
  char begun[2][1024];        ///< collectives: one is read, one is written
  std::atomic<uint32_t> last; ///< which one was begun last
  char said[512];             ///< the error that it left with
  std::atomic<bool> hasLeft;  ///< it makes no more collectives
};

/// Two processes that can name each other by pid have it in common.
static std::string findHost() {
  std::string host;
  if (FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re")) {
    char line[64] = "";
    if (fgets(line, sizeof(line), file))
      host.assign(line, strcspn(line, "\n"));
    fclose(file);
  }
  char space[64] = "";
  if (readlink("/proc/self/ns/pid", space, sizeof(space) - 1) < 0 ||
      host.empty())
    return {};
  return host + " " + space;
}

Peers::Peers() {
  address.pid = getpid();
  snprintf(address.host, sizeof(address.host), "%s", findHost().c_str());
  const int file = memfd_create("gpuasync-rank", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(Page)) != 0)
    return;
  void *mapped =
      mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED)
    return;
  page = static_cast<Page *>(mapped);
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&page->alive, &kind);
  pthread_mutexattr_destroy(&kind);
  pthread_mutex_lock(&page->alive); // until this thread ends
  address.page = file;
}

Peers::~Peers() {
  for (const auto &[rank, peer] : peers) {
    if (peer.pidfd >= 0)
      close(peer.pidfd);
    if (peer.page)
      munmap(peer.page, sizeof(Page));
  }
  if (page)
    munmap(page, sizeof(Page));
  if (address.page >= 0)
    close(address.page);
}

void Peers::add(uint32_t rank, const Address &other) {
  if (!*address.host || strcmp(address.host, other.host) != 0)
    return;
  Peer peer = {other.pid,
               static_cast<int>(syscall(SYS_pidfd_open, other.pid, 0)),
               nullptr};
  if (peer.pidfd < 0 && errno == ESRCH) {
    early.push_back(rank); // it has died since it gave its address
    peer.isDead = true;
  }
  const std::string path = "/proc/" + std::to_string(other.pid) + "/fd/" +
                           std::to_string(other.page);
  const int file = other.page < 0 ? -1 : open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    void *mapped = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE,
                        MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED)
      peer.page = static_cast<Page *>(mapped);
    close(file);
  }
  peers.emplace(rank, peer);
}

bool Peers::isWatched(uint32_t rank) const {
  const auto found = peers.find(rank);
  return found != peers.end() &&
         (found->second.page || found->second.pidfd >= 0 ||
          found->second.isDead);
}

void Peers::begin(const std::string &collective) {
  if (!page)
    return;
  const uint32_t next = 1 - page->last.load(std::memory_order_relaxed);
  snprintf(page->begun[next], sizeof(page->begun[next]), "%s",
           collective.c_str());
  page->last.store(next, std::memory_order_release);
}

void Peers::leave(const std::string &error) {
  if (!page)
    return;
  snprintf(page->said, sizeof(page->said), "%s", error.c_str());
  page->hasLeft.store(true, std::memory_order_release);
}

bool Peers::hasLeft(uint32_t rank, std::string &said) const {
  const auto found = peers.find(rank);
  if (found == peers.end() || !found->second.page ||
      !found->second.page->hasLeft.load(std::memory_order_acquire))
    return false;
  const Page &page = *found->second.page;
  said.assign(page.said, strnlen(page.said, sizeof(page.said)));
  return true;
}

/// Whether the thread that held it has ended. The mutex stays unusable, so that
/// all others see it.
static bool isAbandoned(pthread_mutex_t &mutex) {
  const int result = pthread_mutex_trylock(&mutex);
  if (result == EOWNERDEAD)
    pthread_mutex_unlock(&mutex);
  return result == EOWNERDEAD || result == ENOTRECOVERABLE;
}

std::vector<uint32_t> Peers::findDead() {
  std::vector<uint32_t> dead = std::exchange(early, {});
  for (auto &[rank, peer] : peers) {
    if (peer.isDead)
      continue;
    pollfd file = {peer.pidfd, POLLIN, 0};
    peer.isDead = (peer.page && isAbandoned(peer.page->alive)) ||
                  (peer.pidfd >= 0 && poll(&file, 1, 0) > 0);
    if (peer.isDead)
      dead.push_back(rank);
  }
  return dead;
}

std::optional<std::string> Peers::findLast(uint32_t rank) const {
  const auto found = peers.find(rank);
  if (found == peers.end() || !found->second.page)
    return std::nullopt;
  const Page &page = *found->second.page;
  // Any program of this user could have written it.
  const char *text = page.begun[page.last.load(std::memory_order_acquire) & 1];
  return std::string(text, strnlen(text, sizeof(page.begun[0])));
}

Error Peers::describeDeath(uint32_t rank) const {
  const auto found = peers.find(rank);
  if (found == peers.end())
    return "rank " + std::to_string(rank) + " ended without a word";
  const Peer &peer = found->second;
  std::string text = "rank " + std::to_string(rank) + " (pid " +
                     std::to_string(peer.pid) + ") ended without a word";
  const std::optional<std::string> last = findLast(rank);
  if (!last)
    return text;
  return text + (last->empty() ? ", before its first collective"
                               : "; last begun: " + *last);
}
