//===- Peers.cpp - Whether the other processes of a host live -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Peers.h.
//===----------------------------------------------------------------------===//

#include "libs/ranks/Peers.h"

#include <algorithm>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace gpuasync;
using namespace gpuasync::ranks;

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
  if (file < 0 || ftruncate(file, pageBytes) != 0)
    return;
  void *mapped =
      mmap(nullptr, pageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED)
    return;
  page = static_cast<char *>(mapped);
  address.page = file;
}

Peers::~Peers() {
  for (const auto &[rank, peer] : peers) {
    if (peer.pidfd >= 0)
      close(peer.pidfd);
    if (peer.page)
      munmap(const_cast<char *>(peer.page), pageBytes);
  }
  if (page)
    munmap(page, pageBytes);
  if (address.page >= 0)
    close(address.page);
}

void Peers::add(uint32_t rank, const Address &other) {
  if (!*address.host || strcmp(address.host, other.host) != 0)
    return;
  Peer peer = {other.pid,
               static_cast<int>(syscall(SYS_pidfd_open, other.pid, 0)),
               nullptr};
  if (peer.pidfd < 0 && errno == ESRCH)
    early.push_back(rank); // it has died since it gave its address
  else if (peer.pidfd < 0)
    return;
  const std::string path = "/proc/" + std::to_string(other.pid) + "/fd/" +
                           std::to_string(other.page);
  const int file =
      other.page < 0 ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    void *mapped = mmap(nullptr, pageBytes, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED)
      peer.page = static_cast<const char *>(mapped);
    close(file);
  }
  peers.emplace(rank, peer);
}

void Peers::begin(const std::string &collective) {
  if (!page)
    return;
  const size_t bytes = std::min(collective.size(), pageBytes - 1);
  memcpy(page, collective.data(), bytes);
  page[bytes] = '\0';
}

std::vector<uint32_t> Peers::findDead() {
  std::vector<uint32_t> dead = std::exchange(early, {}), watched;
  std::vector<pollfd> files;
  for (const auto &[rank, peer] : peers)
    if (peer.pidfd >= 0) {
      watched.push_back(rank);
      files.push_back({peer.pidfd, POLLIN, 0});
    }
  if (files.empty() || poll(files.data(), files.size(), 0) <= 0)
    return dead;
  for (size_t i = 0; i < files.size(); ++i)
    if (files[i].revents) {
      dead.push_back(watched[i]);
      close(std::exchange(peers[watched[i]].pidfd, -1));
    }
  return dead;
}

Error Peers::describeDeath(uint32_t rank) const {
  const Peer &peer = peers.at(rank);
  std::string text = "rank " + std::to_string(rank) + " (pid " +
                     std::to_string(peer.pid) + ") ended without a word";
  if (!peer.page)
    return text;
  const std::string last(peer.page, strnlen(peer.page, pageBytes));
  return text + (last.empty() ? ", before its first collective"
                              : "; last begun: " + last);
}
