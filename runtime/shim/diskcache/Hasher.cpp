//===- Hasher.cpp - SHA-256 and what goes into keys -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FIPS 180-4, section 6.2, in portable C++; and the identity of loaded code by
// the build ids that linkers leave.
//===----------------------------------------------------------------------===//

#include "shim/diskcache/Interface.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

namespace {

/// The first 32 bits of the fractional parts of the cube roots of the first 64
/// primes.
const uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t rotate(uint32_t x, unsigned by) { return x >> by | x << (32 - by); }

uint32_t readBig(const uint8_t *p) {
  return uint32_t(p[0]) << 24 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 8 |
         uint32_t(p[3]);
}

void writeBig(uint8_t *p, uint32_t value) {
  for (int i = 0; i < 4; ++i)
    p[i] = uint8_t(value >> (24 - 8 * i));
}

void compress(uint32_t *state, const uint8_t *block) {
  uint32_t w[64];
  for (int t = 0; t < 16; ++t)
    w[t] = readBig(block + 4 * t);
  for (int t = 16; t < 64; ++t) {
    uint32_t x = w[t - 15], y = w[t - 2];
    w[t] = w[t - 16] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + w[t - 7] +
           (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int t = 0; t < 64; ++t) {
    uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                     ((e & f) ^ (~e & g)) + roundConstants[t] + w[t];
    uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                      ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

void addNumber(gpuasync_hasher *hasher, uint64_t number) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; ++i)
    bytes[i] = uint8_t(number >> (8 * i));
  gpuasync_hasher_add(hasher, bytes, sizeof(bytes));
}

/// Adds the GNU build id of a loaded file. False if it has none.
bool addBuildId(gpuasync_hasher *hasher, const dl_phdr_info &info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info.dlpi_phdr[i];
    if (header.p_type != PT_NOTE)
      continue;
    auto *at = reinterpret_cast<const char *>(info.dlpi_addr + header.p_vaddr);
    size_t left = header.p_memsz;
    size_t align = header.p_align == 8 ? 8 : 4;
    while (left >= sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note;
      memcpy(&note, at, sizeof(note));
      size_t name = (size_t(note.n_namesz) + align - 1) / align * align;
      size_t text = (size_t(note.n_descsz) + align - 1) / align * align;
      if (left - sizeof(note) < name || left - sizeof(note) - name < text)
        break;
      const char *names = at + sizeof(note);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          memcmp(names, "GNU", 4) == 0) {
        gpuasync_hasher_add_part(hasher, "build id", names + name,
                                 note.n_descsz);
        return true;
      }
      at += sizeof(note) + name + text;
      left -= sizeof(note) + name + text;
    }
  }
  return false;
}

struct CodeVisit {
  gpuasync_hasher *hasher;
  uintptr_t address; ///< 0: all files
};

bool holds(const dl_phdr_info &info, uintptr_t address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info.dlpi_phdr[i];
    if (header.p_type == PT_LOAD &&
        address - (info.dlpi_addr + header.p_vaddr) < header.p_memsz)
      return true;
  }
  return false;
}

/// Whether a loaded file is a part of all code. The kernel's page of system
/// calls is no file. The runtime opens its own libraries at any time, and what
/// these do is a part of no key.
bool isCounted(const char *name) {
  return strncmp(name, "linux-vdso", 10) != 0 &&
         !strstr(name, "/libgpuasync_diskcache.so") &&
         !strstr(name, "/libgpuasync_trace.so");
}

int visitCode(dl_phdr_info *info, size_t, void *user) {
  auto *visit = static_cast<CodeVisit *>(user);
  const char *name = info->dlpi_name ? info->dlpi_name : "";
  if (visit->address ? !holds(*info, visit->address) : !isCounted(name))
    return 0;
  if (!addBuildId(visit->hasher, *info))
    gpuasync_hasher_add_file(visit->hasher, *name ? name : "/proc/self/exe");
  return visit->address != 0;
}

} // namespace

void gpuasync_hasher_begin(gpuasync_hasher *hasher) noexcept {
  // The first 32 bits of the fractional parts of the square roots of the first
  // eight primes.
  static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                      0xa54ff53a, 0x510e527f, 0x9b05688c,
                                      0x1f83d9ab, 0x5be0cd19};
  if (!hasher)
    return;
  *hasher = {};
  memcpy(hasher->state, initial, sizeof(initial));
}

void gpuasync_hasher_add(gpuasync_hasher *hasher, const void *data,
                         uint64_t size) noexcept {
  if (!hasher || !data || !size)
    return;
  auto *bytes = static_cast<const uint8_t *>(data);
  size_t filled = hasher->length % 64;
  hasher->length += size;
  if (filled) {
    size_t part = 64 - filled < size ? 64 - filled : size_t(size);
    memcpy(hasher->block + filled, bytes, part);
    if (filled + part < 64)
      return;
    compress(hasher->state, hasher->block);
    bytes += part;
    size -= part;
  }
  for (; size >= 64; bytes += 64, size -= 64)
    compress(hasher->state, bytes);
  if (size)
    memcpy(hasher->block, bytes, size_t(size));
}

void gpuasync_hasher_add_part(gpuasync_hasher *hasher, const char *name,
                              const void *data, uint64_t size) noexcept {
  if (!name)
    name = "";
  addNumber(hasher, strlen(name));
  gpuasync_hasher_add(hasher, name, strlen(name));
  addNumber(hasher, size);
  gpuasync_hasher_add(hasher, data, size);
}

void gpuasync_hasher_add_file(gpuasync_hasher *hasher,
                              const char *path) noexcept {
  if (!path)
    path = "";
  struct stat info = {};
  bool there = stat(path, &info) == 0;
  gpuasync_hasher_add_part(hasher, "file", path, strlen(path));
  addNumber(hasher, there);
  if (!there)
    return;
  addNumber(hasher, uint64_t(info.st_size));
  addNumber(hasher, uint64_t(info.st_mtim.tv_sec));
  addNumber(hasher, uint64_t(info.st_mtim.tv_nsec));
}

void gpuasync_hasher_add_code(gpuasync_hasher *hasher,
                              const void *address) noexcept {
  CodeVisit visit = {hasher, reinterpret_cast<uintptr_t>(address)};
  dl_iterate_phdr(visitCode, &visit);
}

void gpuasync_hasher_end(gpuasync_hasher *hasher,
                         gpuasync_digest *out) noexcept {
  if (!hasher || !out)
    return;
  static const uint8_t padding[64] = {0x80};
  uint64_t bits = hasher->length * 8;
  size_t filled = hasher->length % 64;
  gpuasync_hasher_add(hasher, padding,
                      filled < 56 ? 56 - filled : 120 - filled);
  uint8_t length[8];
  writeBig(length, uint32_t(bits >> 32));
  writeBig(length + 4, uint32_t(bits));
  gpuasync_hasher_add(hasher, length, sizeof(length));
  for (int i = 0; i < 8; ++i)
    writeBig(out->bytes + 4 * i, hasher->state[i]);
}
