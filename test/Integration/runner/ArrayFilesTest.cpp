//===- ArrayFilesTest.cpp - Files of arrays that lie ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// .npy files and .npz archives with bytes changed, left out and put in: each is
// read as it was written or refused, and nothing outside of it is touched, as
// AddressSanitizer sees. GPU_ASYNC_TEST_SEED and _FILES repeat and prolong it.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "Npy.h"
#include "Zip.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

using namespace gpurunner;
using namespace llvm::support;

namespace {

/// A file without a name, at a path.
class MemoryFile {
public:
  explicit MemoryFile(const std::string &bytes)
      : file(memfd_create("array", 0)) {
    EXPECT_EQ(write(file, bytes.data(), bytes.size()), ssize_t(bytes.size()));
    lseek(file, 0, SEEK_SET);
  }
  ~MemoryFile() { close(file); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file); }

private:
  int file;
};

uint64_t number(const char *text, uint64_t otherwise) {
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class ArrayFiles : public testing::Test {
protected:
  ArrayFiles()
      : seed(gpuasync_test::testSeed()),
        files(number(std::getenv("GPU_ASYNC_TEST_FILES"), 4000)), random(seed) {
    std::printf("GPU_ASYNC_TEST_SEED=%llu\n", (unsigned long long)seed);
  }

  uint64_t below(uint64_t limit) { return random() % limit; }

  /// An array of bytes in a shape of up to three dimensions.
  std::string npy() {
    std::string shape, elements;
    uint64_t count = 1;
    for (uint64_t rank = below(4); rank; --rank) {
      uint64_t size = below(9);
      shape += std::to_string(size) + ", ";
      count *= size;
    }
    unsigned version = 1 + below(3);
    std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" +
                         shape + "), }\n";
    std::string bytes("\x93NUMPY", 6);
    bytes += char(version);
    bytes += '\0';
    bytes += char(header.size());
    bytes.append(version == 1 ? 1 : 3, '\0');
    bytes += header;
    for (; count; --count)
      bytes += char(random());
    return bytes;
  }

  /// Up to three members named a, b, c, stored or deflated.
  std::string npz() {
    std::string out, directory;
    unsigned count = 1 + below(3);
    bool wide = below(2);
    auto put = [](std::string &to, uint64_t value, unsigned bytes) {
      for (; bytes; --bytes, value >>= 8)
        to += char(value);
    };
    for (unsigned i = 0; i < count; ++i) {
      std::string data = npy(), stored = data;
      bool deflate = below(2);
      if (deflate) {
        z_stream stream = {};
        EXPECT_EQ(
            deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY),
            Z_OK);
        stored.resize(deflateBound(&stream, data.size()));
        stream.next_in = reinterpret_cast<Bytef *>(data.data());
        stream.avail_in = data.size();
        stream.next_out = reinterpret_cast<Bytef *>(stored.data());
        stream.avail_out = stored.size();
        EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
        stored.resize(stream.total_out);
        deflateEnd(&stream);
      }
      uint32_t sum = llvm::crc32(llvm::arrayRefFromStringRef(data));
      std::string name = std::string(1, char('a' + i)) + ".npy", common, extra;
      put(common, deflate ? 8 : 0, 2);
      put(common, 0, 4);
      put(common, sum, 4);
      uint64_t where = out.size();
      out += "PK\3\4";
      put(out, 45, 2);
      put(out, 0, 2);
      out += common;
      put(out, stored.size(), 4);
      put(out, data.size(), 4);
      put(out, name.size(), 4);
      out += name + stored;
      if (wide) {
        put(extra, 1, 2);
        put(extra, 24, 2);
        put(extra, data.size(), 8);
        put(extra, stored.size(), 8);
        put(extra, where, 8);
      }
      directory += "PK\1\2";
      put(directory, 45, 2);
      put(directory, 45, 2);
      put(directory, 0, 2);
      directory += common;
      put(directory, wide ? -1 : stored.size(), 4);
      put(directory, wide ? -1 : data.size(), 4);
      put(directory, name.size(), 2);
      put(directory, extra.size(), 2);
      put(directory, 0, 10);
      put(directory, wide ? -1 : where, 4);
      directory += name + extra;
    }
    uint64_t begin = out.size();
    out += directory;
    if (wide) {
      uint64_t here = out.size();
      out += "PK\6\6";
      put(out, 44, 8);
      put(out, 45, 4);
      put(out, 0, 8);
      put(out, count, 8);
      put(out, count, 8);
      put(out, directory.size(), 8);
      put(out, begin, 8);
      out += "PK\6\7";
      put(out, 0, 4);
      put(out, here, 8);
      put(out, 1, 4);
    }
    out += "PK\5\6";
    put(out, 0, 4);
    put(out, wide ? -1 : count, 2);
    put(out, wide ? -1 : count, 2);
    put(out, wide ? -1 : directory.size(), 4);
    put(out, wide ? -1 : begin, 4);
    put(out, 0, 2);
    return out;
  }

  /// Changes up to four places.
  void mutate(std::string &bytes) {
    for (uint64_t changes = 1 + below(4); changes && !bytes.empty();
         --changes) {
      // Most of what matters is in the headers at both ends.
      uint64_t at = below(bytes.size());
      if (unsigned side = below(3); side == 1)
        at = std::min<uint64_t>(at, below(64));
      else if (side == 2)
        at = bytes.size() - std::min<uint64_t>(bytes.size(), 1 + below(256));
      switch (below(6)) {
      case 0:
        bytes[at] = char(random());
        break;
      case 1:
        bytes[at] ^= char(1 << below(8));
        break;
      case 2: {
        static const uint64_t edges[] = {0,      1,          0x7f,
                                         0xffff, 0x7fffffff, 0xffffffff,
                                         ~0ull,  1ull << 63, 1ull << 40};
        uint64_t edge = edges[below(std::size(edges))];
        for (unsigned i = 0; i < 8 && at + i < bytes.size(); ++i)
          bytes[at + i] = char(edge >> (8 * i));
        break;
      }
      case 3:
        bytes.resize(at);
        break;
      case 4:
        bytes.erase(at, 1 + below(16));
        break;
      case 5:
        bytes.insert(at, below(2) ? "999999999999" : ",-()'[:L");
        break;
      }
    }
  }

  const uint64_t seed, files;
  std::mt19937_64 random;
};

/// Reads an array of bytes. Empty if it is refused, or larger than any that was
/// written.
std::optional<std::string> readNpy(const std::string &path, bool &refused) {
  llvm::Expected<NpyFile> file = NpyFile::open(path);
  refused = !file;
  if (!file) {
    EXPECT_FALSE(llvm::toString(file.takeError()).empty());
    return std::nullopt;
  }
  uint64_t count = 1;
  for (int64_t size : file->shape) {
    EXPECT_GE(size, 0);
    if (size && count > (1 << 16) / uint64_t(size))
      return std::nullopt;
    count *= size;
  }
  std::string elements(count, '\0');
  llvm::Error error = file->read({elements.data(), elements.size()});
  refused = bool(error);
  if (!error)
    return elements;
  llvm::consumeError(std::move(error));
  return std::nullopt;
}

TEST_F(ArrayFiles, Npy) {
  for (uint64_t i = 0; i < files; ++i) {
    SCOPED_TRACE("file " + std::to_string(i) + " of seed " +
                 std::to_string(seed));
    std::string bytes = npy();
    bool refused = false;
    std::optional<std::string> read =
        readNpy(MemoryFile(bytes).path(), refused);
    ASSERT_TRUE(read);
    ASSERT_EQ(*read, bytes.substr(bytes.size() - read->size()));
    mutate(bytes);
    if (std::optional<std::string> other =
            readNpy(MemoryFile(bytes).path(), refused))
      ASSERT_NE(bytes.find(*other), std::string::npos);
  }
}

TEST_F(ArrayFiles, Npz) {
  uint64_t refused = 0;
  for (uint64_t i = 0; i < files; ++i) {
    SCOPED_TRACE("file " + std::to_string(i) + " of seed " +
                 std::to_string(seed));
    std::string bytes = npz();
    {
      MemoryFile file(bytes);
      llvm::Expected<ZipMember> member = readZipMember(file.path(), "a");
      ASSERT_TRUE(bool(member)) << llvm::toString(member.takeError());
      ASSERT_TRUE(member->bytes.starts_with("\x93NUMPY"));
    }
    mutate(bytes);
    MemoryFile file(bytes);
    for (const char *name : {"a", "b.npy", ""}) {
      llvm::Expected<ZipMember> member = readZipMember(file.path(), name);
      if (!member) {
        ++refused;
        ASSERT_FALSE(llvm::toString(member.takeError()).empty());
        continue;
      }
      // Each byte can be read.
      (void)llvm::crc32(llvm::arrayRefFromStringRef(member->bytes));
    }
  }
  // It reaches both sides.
  EXPECT_GT(refused, files);
  EXPECT_LT(refused, 3 * files);
}

} // namespace
