//===- DiskCacheTest.cpp - The cache of compile jobs ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys, damaged entries, the limit, several processes of which some are killed,
// folders that are not ours. The cache is one of the runtime's own, without a
// device.
//===----------------------------------------------------------------------===//

#include "gpuasync/DiskCache.h"
#include "../../Inputs/Seed.h"
#include "gpuasync/Status.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gpuasync;

namespace {

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

std::string hex(const gpuasync_digest &digest) {
  std::string text;
  for (uint8_t byte : digest.bytes) {
    char two[3];
    snprintf(two, sizeof(two), "%02x", byte);
    text += two;
  }
  return text;
}

std::string sha256(const std::string &bytes) {
  gpuasync_hasher hasher;
  gpuasync_hasher_begin(&hasher);
  gpuasync_hasher_add(&hasher, bytes.data(), bytes.size());
  gpuasync_digest digest;
  gpuasync_hasher_end(&hasher, &digest);
  return hex(digest);
}

gpuasync_digest keyOf(const std::string &text) {
  return KeyBuilder().add("test", text).key();
}

/// Bytes that belong to a key and a size.
std::string contentOf(const std::string &key, size_t size) {
  std::string bytes = key + ":";
  uint32_t x = uint32_t(std::hash<std::string>()(key)) | 1;
  while (bytes.size() < size) {
    x = x * 1664525 + 1013904223;
    bytes += char(x >> 24);
  }
  bytes.resize(size);
  return bytes;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class Cache {
public:
  explicit Cache(const std::string &folder, uint64_t limit = 1 << 20)
      : raw(gpuasync_disk_cache_open(folder.c_str(), limit)) {}
  Cache(const Cache &) = delete;
  Cache &operator=(const Cache &) = delete;
  ~Cache() { gpuasync_disk_cache_close(raw); }

  bool store(const std::string &key, const std::string &bytes) {
    gpuasync_digest digest = keyOf(key);
    return gpuasync_disk_cache_store(raw, &digest, bytes.data(), bytes.size());
  }
  /// "(none)" for a miss.
  std::string lookup(const std::string &key) {
    DiskEntry entry;
    if (!entry.lookup(raw, keyOf(key)))
      return "(none)";
    return std::string(entry.bytes());
  }
  std::string warning() {
    return Status(gpuasync_disk_cache_take_warning(raw)).message();
  }
  gpuasync_disk_cache_stats stats() {
    gpuasync_disk_cache_stats result;
    EXPECT_EQ(gpuasync_disk_cache_stats_read(raw, &result), nullptr);
    return result;
  }

private:
  gpuasync_disk_cache *raw;
};

class DiskCache : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/gpu-async-disk-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    work = name;
    folder = work + "/a/b";
  }
  void TearDown() override {
    if (!work.empty()) {
      int removed = system(("rm -rf " + work).c_str());
      EXPECT_EQ(removed, 0);
    }
  }
  std::string path(const std::string &key) {
    return folder + "/" + hex(keyOf(key));
  }
  std::vector<std::string> files() {
    std::vector<std::string> names;
    if (DIR *directory = opendir(folder.c_str())) {
      while (dirent *item = readdir(directory))
        if (item->d_name[0] != '.')
          names.push_back(item->d_name);
      closedir(directory);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  uint64_t bytes() {
    uint64_t total = 0;
    struct stat info;
    for (const std::string &name : files())
      if (stat((folder + "/" + name).c_str(), &info) == 0)
        total += uint64_t(info.st_size);
    return total;
  }
  /// Makes the entry as old as that.
  void setUsed(const std::string &key, time_t when) {
    timespec times[2] = {{when, 0}, {when, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path(key).c_str(), times, 0), 0);
  }

  std::string work, folder;
};

/// Runs `body` in a child; its exit code.
template <typename Body>
int inChild(Body body) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

// The examples of FIPS 180-4 and of NIST's test vectors.
TEST(Hasher, StandardVectors) {
  EXPECT_EQ(sha256(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                   "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256("\xbd"),
            "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
}

TEST(Hasher, PiecesOfAnyLength) {
  std::string bytes = contentOf("pieces", 300);
  for (size_t first = 0; first <= 130; ++first)
    for (size_t second : {0, 1, 55, 56, 63, 64, 65, 128}) {
      gpuasync_hasher hasher;
      gpuasync_hasher_begin(&hasher);
      size_t middle = std::min(bytes.size(), first + second);
      gpuasync_hasher_add(&hasher, bytes.data(), first);
      gpuasync_hasher_add(&hasher, bytes.data() + first, middle - first);
      gpuasync_hasher_add(&hasher, bytes.data() + middle,
                          bytes.size() - middle);
      gpuasync_digest digest;
      gpuasync_hasher_end(&hasher, &digest);
      ASSERT_EQ(hex(digest), sha256(bytes)) << first << " " << second;
    }
}

TEST(Hasher, PartsDoNotRunTogether_C15) {
  std::vector<gpuasync_digest> keys = {
      KeyBuilder().key(),
      KeyBuilder().add("a", "bc").key(),
      KeyBuilder().add("ab", "c").key(),
      KeyBuilder().add("a", "b").add("", "c").key(),
      KeyBuilder().add("a", "").add("b", "c").key(),
      KeyBuilder().add("b", "c").add("a", "").key(),
      KeyBuilder().add("a", uint64_t(1)).key(),
      KeyBuilder().add("a", uint64_t(11)).key(),
      KeyBuilder().addCode().key(),
      KeyBuilder().addFile("/nowhere").key()};
  for (size_t i = 0; i < keys.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(hex(keys[i]), hex(keys[j])) << i << " " << j;
}

TEST(Hasher, CodeIsTheSameInEachProcess_C16) {
  gpuasync_digest mine = KeyBuilder().addCode().key();
  // Of one file, the address within it does not matter.
  EXPECT_EQ(
      hex(KeyBuilder().addCode(reinterpret_cast<const void *>(&sha256)).key()),
      hex(KeyBuilder()
              .addCode(reinterpret_cast<const void *>(&contentOf))
              .key()));
  EXPECT_NE(hex(KeyBuilder().addCode(gnu_get_libc_version()).key()),
            hex(KeyBuilder()
                    .addCode(reinterpret_cast<const void *>(&contentOf))
                    .key()));
  setenv("DISK_CACHE_TEST_KEY", hex(mine).c_str(), 1);
  EXPECT_EQ(inChild([] {
              execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
                    "--gtest_brief=1",
                    "--gtest_filter=HasherBody.DISABLED_SameCode", nullptr);
              return 127;
            }),
            0);
}

// In a process of its own, at addresses of its own.
TEST(HasherBody, DISABLED_SameCode) {
  EXPECT_EQ(hex(KeyBuilder().addCode().key()), getenv("DISK_CACHE_TEST_KEY"));
}

TEST_F(DiskCache, FileOfAKeyChanges) {
  std::string tool = work + "/tool";
  gpuasync_digest without = KeyBuilder().addFile(tool.c_str()).key();
  writeFile(tool, "one");
  gpuasync_digest one = KeyBuilder().addFile(tool.c_str()).key();
  EXPECT_NE(hex(without), hex(one));
  EXPECT_EQ(hex(one), hex(KeyBuilder().addFile(tool.c_str()).key()));
  writeFile(tool, "three");
  EXPECT_NE(hex(one), hex(KeyBuilder().addFile(tool.c_str()).key()));
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

TEST_F(DiskCache, KeepsWhatItIsGiven_C15) {
  Cache cache(folder, 8 << 20);
  EXPECT_EQ(cache.lookup("a"), "(none)");
  EXPECT_TRUE(files().empty());
  for (size_t size : {0, 1, 63, 64, 65, 4096, 3000000}) {
    std::string key = std::to_string(size), content = contentOf(key, size);
    ASSERT_TRUE(cache.store(key, content));
    EXPECT_EQ(cache.lookup(key), content);
    EXPECT_EQ(Cache(folder).lookup(key), content);
  }
  ASSERT_TRUE(cache.store("1", "new"));
  EXPECT_EQ(cache.lookup("1"), "new");
  EXPECT_EQ(files().size(), 7u);
  EXPECT_EQ(cache.stats().hits, 8u);
  EXPECT_EQ(cache.stats().misses, 1u);
  EXPECT_EQ(cache.stats().stores, 8u);
  EXPECT_EQ(cache.warning(), "");
  struct stat info;
  ASSERT_EQ(stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ASSERT_EQ(stat(path("1").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(DiskCache, EveryDamageIsAMissAndIsRewritten_C15) {
  Cache cache(folder);
  const std::string content = contentOf("a", 200);
  ASSERT_TRUE(cache.store("a", content));
  const std::string whole = readFile(path("a"));
  ASSERT_EQ(whole.size(), 88 + content.size());
  uint64_t damaged = 0;
  auto expectMiss = [&](const std::string &bytes, const char *what, size_t at) {
    writeFile(path("a"), bytes);
    ASSERT_EQ(cache.lookup("a"), "(none)") << what << " " << at;
    ASSERT_TRUE(files().empty()) << what << " " << at;
    ASSERT_EQ(cache.stats().damaged, ++damaged);
  };
  for (size_t i = 0; i < whole.size(); ++i)
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[i] = char(bytes[i] ^ (1 << bit));
      expectMiss(bytes, "flip", i);
    }
  for (size_t length = 0; length < whole.size(); ++length) {
    expectMiss(whole.substr(0, length), "cut", length);
    expectMiss(whole.substr(0, length) +
                   std::string(whole.size() - length, '\0'),
               "zeros from", length);
  }
  expectMiss(whole + "x", "longer", 1);
  expectMiss(whole + whole, "twice", 2);
  // Another key's entry under this name.
  ASSERT_TRUE(cache.store("b", content));
  ASSERT_EQ(rename(path("b").c_str(), path("a").c_str()), 0);
  EXPECT_EQ(cache.lookup("a"), "(none)");

  ASSERT_TRUE(cache.store("a", content));
  EXPECT_EQ(cache.lookup("a"), content);
  EXPECT_EQ(readFile(path("a")), whole);
}

// The bytes are a matter of key and content alone.
TEST_F(DiskCache, BytesAreAsDocumented_C16) {
  Cache cache(folder);
  ASSERT_TRUE(cache.store("a", "payload"));
  std::string bytes = readFile(path("a"));
  gpuasync_digest key = keyOf("a");
  std::string expected("GPUACACH\1\0\0\0\0\0\0\0", 16);
  expected.append(reinterpret_cast<char *>(key.bytes), sizeof(key.bytes));
  expected.append("\7\0\0\0\0\0\0\0", 8);
  std::string sum = sha256(expected + "payload");
  for (size_t i = 0; i < sum.size(); i += 2)
    expected += char(strtol(sum.substr(i, 2).c_str(), nullptr, 16));
  EXPECT_EQ(bytes, expected + "payload");
}

TEST_F(DiskCache, ProcessesAtOtherAddressesWriteTheSame_C16) {
  std::string files[2];
  for (int i = 0; i < 2; ++i) {
    setenv("DISK_CACHE_TEST_FOLDER", folder.c_str(), 1);
    ASSERT_EQ(inChild([&] {
                // Once at the addresses that everything has without
                // randomisation, once elsewhere.
                if (i)
                  personality(ADDR_NO_RANDOMIZE);
                execl("/proc/self/exe", "self",
                      "--gtest_also_run_disabled_tests", "--gtest_brief=1",
                      "--gtest_filter=DiskCacheBody.DISABLED_Writes", nullptr);
                return 127;
              }),
              0);
    files[i] = readFile(path("from another process"));
    EXPECT_EQ(unlink(path("from another process").c_str()), 0);
  }
  EXPECT_EQ(files[0].size(), 1088u);
  EXPECT_EQ(files[0], files[1]);
}

// In a process of its own, at addresses of its own.
TEST(DiskCacheBody, DISABLED_Writes) {
  Cache cache(getenv("DISK_CACHE_TEST_FOLDER"));
  EXPECT_TRUE(cache.store("from another process",
                          contentOf("from another process", 1000)));
}

//===----------------------------------------------------------------------===//
// The limit
//===----------------------------------------------------------------------===//

TEST_F(DiskCache, DeletesWhatWasUsedLeastRecently_C16) {
  // Room for four.
  Cache cache(folder, 4 * 1088);
  for (const char *key : {"a", "b", "c", "d"})
    ASSERT_TRUE(cache.store(key, contentOf(key, 1000)));
  EXPECT_EQ(cache.stats().evictions, 0u);
  setUsed("a", 1000);
  setUsed("b", 2000);
  setUsed("c", 3000);
  setUsed("d", 4000);
  // Reading is a use.
  EXPECT_EQ(cache.lookup("a"), contentOf("a", 1000));
  ASSERT_TRUE(cache.store("e", contentOf("e", 1000)));
  EXPECT_EQ(cache.lookup("b"), "(none)");
  ASSERT_TRUE(cache.store("f", contentOf("f", 2000)));
  EXPECT_EQ(cache.lookup("c"), "(none)");
  EXPECT_EQ(cache.lookup("d"), "(none)");
  for (const char *key : {"a", "e"})
    EXPECT_EQ(cache.lookup(key), contentOf(key, 1000));
  EXPECT_EQ(cache.lookup("f"), contentOf("f", 2000));
  EXPECT_EQ(cache.stats().evictions, 3u);
  // What has just been stored stays, even if the clock of another machine that
  // uses the folder is ahead.
  for (const char *key : {"a", "e"})
    setUsed(key, 4000000000);
  setUsed("f", 4000000000);
  ASSERT_TRUE(cache.store("g", contentOf("g", 1000)));
  EXPECT_EQ(cache.lookup("g"), contentOf("g", 1000));
}

TEST_F(DiskCache, WhatIsLargerThanAllIsNotStored_C16) {
  Cache cache(folder, 2000);
  ASSERT_TRUE(cache.store("a", contentOf("a", 1000)));
  EXPECT_FALSE(cache.store("b", contentOf("b", 1913)));
  EXPECT_EQ(cache.lookup("a"), contentOf("a", 1000));
  EXPECT_TRUE(cache.store("b", contentOf("b", 1912)));
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(cache.warning(), "");
}

TEST_F(DiskCache, OtherFilesAreLeftAlone) {
  Cache cache(folder, 1500);
  ASSERT_TRUE(cache.store("a", contentOf("a", 1000)));
  writeFile(folder + "/README", contentOf("r", 5000));
  ASSERT_TRUE(cache.store("b", contentOf("b", 1000)));
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(readFile(folder + "/README").size(), 5000u);
}

TEST_F(DiskCache, DeadWritersFilesGo_C15) {
  Cache cache(folder);
  ASSERT_TRUE(cache.store("a", "x"));
  writeFile(folder + "/writing-1-dead", "half");
  writeFile(folder + "/writing-2-alive", "half");
  int alive = open((folder + "/writing-2-alive").c_str(), O_RDWR);
  ASSERT_EQ(flock(alive, LOCK_EX), 0);
  ASSERT_TRUE(cache.store("b", "x"));
  EXPECT_EQ(access((folder + "/writing-1-dead").c_str(), F_OK), -1);
  EXPECT_EQ(access((folder + "/writing-2-alive").c_str(), F_OK), 0);
  close(alive);
  ASSERT_TRUE(cache.store("b", "x"));
  EXPECT_EQ(files().size(), 2u);
}

//===----------------------------------------------------------------------===//
// Several processes and threads
//===----------------------------------------------------------------------===//

// Writers with a limit that makes them evict each other's entries, of which
// some are killed while they write; every hit in between is right.
TEST_F(DiskCache, KilledProcessesLeaveNothingBehind_C15) {
  const uint32_t seed = gpuasync_test::testSeed();
  SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr int keys = 24;
  constexpr uint64_t limit = 300000; // a dozen of them
  auto content = [](int key) {
    return contentOf(std::to_string(key), size_t(1000 + 2000 * key));
  };
  auto run = [&](uint32_t childSeed, int rounds, int report) {
    std::mt19937 own(childSeed);
    Cache cache(folder, limit);
    for (int i = 0; i < rounds; ++i) {
      int key = int(own() % keys);
      if (own() % 2) {
        std::string found = cache.lookup(std::to_string(key));
        if (found != "(none)" && found != content(key))
          return 1;
      } else {
        if (!cache.store(std::to_string(key), content(key)))
          return 5;
      }
      char byte = 0;
      if (write(report, &byte, 1) != 1)
        return 2;
    }
    if (cache.stats().damaged)
      return 3;
    return *cache.warning().c_str() ? 4 : 0;
  };
  for (int round = 0; round < 12; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::vector<pid_t> children;
    const int killed = 3, all = 5;
    for (int i = 0; i < all; ++i) {
      uint32_t childSeed = random();
      pid_t child = fork();
      if (child == 0) {
        close(ends[0]);
        _exit(run(childSeed, i < killed ? 1000000 : 40, ends[1]));
      }
      children.push_back(child);
    }
    close(ends[1]);
    // The first ones have no end of their own: each dies after some work of
    // all, wherever it is.
    char byte;
    for (int i = 0; i < killed; ++i) {
      for (uint32_t steps = random() % 40 + 1; steps; --steps)
        ASSERT_EQ(read(ends[0], &byte, 1), 1);
      kill(children[size_t(i)], SIGKILL);
    }
    while (read(ends[0], &byte, 1) == 1)
      ;
    close(ends[0]);
    for (int i = 0; i < all; ++i) {
      int status = 0;
      waitpid(children[size_t(i)], &status, 0);
      if (i >= killed)
        EXPECT_EQ(status, 0);
    }
  }
  // One more store makes all right: no half-written files, the limit holds.
  Cache cache(folder, limit);
  ASSERT_TRUE(cache.store("0", content(0)));
  EXPECT_LE(bytes(), limit);
  int hits = 0;
  for (const std::string &name : files())
    EXPECT_EQ(name.size(), 64u) << name;
  for (int key = 0; key < keys; ++key) {
    std::string found = cache.lookup(std::to_string(key));
    hits += found != "(none)";
    if (found != "(none)")
      EXPECT_EQ(found, content(key));
  }
  EXPECT_GT(hits, 3);
  EXPECT_EQ(cache.stats().damaged, 0u);
}

TEST_F(DiskCache, ThreadsShareACache_C15) {
  Cache cache(folder, 60000);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        std::string key = std::to_string((t + i) % 10);
        std::string content = contentOf(key, 10000);
        std::string found = cache.lookup(key);
        if (found == "(none)")
          cache.store(key, content);
        else if (found != content)
          ++wrong;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache.stats().hits + cache.stats().misses, 400u);
  EXPECT_EQ(cache.stats().damaged, 0u);
  EXPECT_EQ(cache.warning(), "");
}

TEST_F(DiskCache, FolderMayBeDeletedAtAnyTime) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    // Until the other end is gone.
    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    Cache busy(folder);
    char byte = 0;
    for (int i = 0; write(ends[1], &byte, 1) == 1; ++i)
      if (!busy.store(std::to_string(i % 7), contentOf("x", 3000)) &&
          !busy.warning().empty())
        _exit(1);
    _exit(0);
  }
  close(ends[1]);
  char bytes[16];
  for (int i = 0; i < 300; ++i) {
    ASSERT_GT(read(ends[0], bytes, sizeof(bytes)), 0);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);

  Cache cache(folder);
  ASSERT_TRUE(cache.store("a", "x"));
  ASSERT_EQ(system(("rm -rf " + work + "/a").c_str()), 0);
  EXPECT_EQ(cache.lookup("a"), "(none)");
  EXPECT_TRUE(cache.store("a", "x"));
  EXPECT_EQ(cache.lookup("a"), "x");
  EXPECT_EQ(cache.warning(), "");
}

//===----------------------------------------------------------------------===//
// Folders and files that are not ours
//===----------------------------------------------------------------------===//

TEST_F(DiskCache, FolderThatOthersMayUseIsRefusedOnce_C16) {
  ASSERT_TRUE(Cache(folder).store("a", "x"));
  for (unsigned mode : {0750u, 0701u, 0770u, 01777u}) {
    ASSERT_EQ(chmod(folder.c_str(), mode), 0);
    Cache cache(folder);
    EXPECT_EQ(cache.lookup("a"), "(none)");
    EXPECT_FALSE(cache.store("b", "x"));
    std::string warning = cache.warning();
    EXPECT_NE(warning.find("'" + folder + "' is not used: others may use it"),
              std::string::npos)
        << warning;
    EXPECT_NE(warning.find("GPU_ASYNC_CACHE_DIR"), std::string::npos);
    EXPECT_FALSE(cache.store("c", "x"));
    EXPECT_EQ(cache.warning(), "");
  }
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(DiskCache, FolderOfAnotherUserIsRefused_C16) {
  if (geteuid() != 0)
    GTEST_SKIP() << "needs root, to make a folder of another user";
  ASSERT_TRUE(Cache(folder).store("a", "x"));
  ASSERT_EQ(chown(folder.c_str(), 65534, 65534), 0);
  Cache cache(folder);
  EXPECT_EQ(cache.lookup("a"), "(none)");
  EXPECT_FALSE(cache.store("b", "x"));
  EXPECT_NE(cache.warning().find("it belongs to user 65534"),
            std::string::npos);
  // An entry of another user in a folder of ours.
  ASSERT_EQ(chown(folder.c_str(), 0, 0), 0);
  ASSERT_EQ(chown(path("a").c_str(), 65534, 65534), 0);
  EXPECT_EQ(Cache(folder).lookup("a"), "(none)");
}

TEST_F(DiskCache, LinksAreNotFollowed_C16) {
  ASSERT_TRUE(Cache(folder).store("a", "x"));
  std::string link = work + "/link";
  ASSERT_EQ(symlink(folder.c_str(), link.c_str()), 0);
  for (const char *end : {"", "/", "//"}) {
    Cache cache(link + end);
    EXPECT_EQ(cache.lookup("a"), "(none)");
    EXPECT_FALSE(cache.store("b", "x"));
    EXPECT_NE(cache.warning().find("symbolic link"), std::string::npos);
  }
  // An entry that is a link, even to a right one.
  Cache cache(folder);
  std::string target = work + "/target";
  ASSERT_EQ(rename(path("a").c_str(), target.c_str()), 0);
  ASSERT_EQ(symlink(target.c_str(), path("a").c_str()), 0);
  EXPECT_EQ(cache.lookup("a"), "(none)");
  ASSERT_EQ(symlink(target.c_str(), path("a").c_str()), 0);
  std::string before = readFile(target);
  EXPECT_TRUE(cache.store("a", "y"));
  EXPECT_EQ(readFile(target), before);
  EXPECT_EQ(cache.lookup("a"), "y");
}

TEST_F(DiskCache, PipeInPlaceOfAnEntryDoesNotBlock) {
  Cache cache(folder);
  ASSERT_TRUE(cache.store("b", "x"));
  ASSERT_EQ(mkfifo(path("a").c_str(), 0600), 0);
  EXPECT_EQ(cache.lookup("a"), "(none)");
  EXPECT_TRUE(cache.store("a", "x"));
  EXPECT_EQ(cache.lookup("a"), "x");
}

TEST_F(DiskCache, UnwritableFolderIsOneWarning_C16) {
  // Not even root can make a folder there.
  Cache cache("/proc/gpu-async/cache");
  EXPECT_EQ(cache.lookup("a"), "(none)");
  EXPECT_EQ(cache.warning(), "");
  EXPECT_FALSE(cache.store("a", "x"));
  std::string warning = cache.warning();
  EXPECT_NE(warning.find("the disk cache in '/proc/gpu-async/cache' takes "
                         "nothing more: No such file or directory"),
            std::string::npos)
      << warning;
  EXPECT_FALSE(cache.store("a", "x"));
  EXPECT_EQ(cache.warning(), "");
}

TEST_F(DiskCache, FileSizeLimitDoesNotKill_C16) {
  EXPECT_EQ(inChild([&] {
              rlimit limit = {4096, 4096};
              setrlimit(RLIMIT_FSIZE, &limit);
              Cache cache(folder);
              if (!cache.store("a", contentOf("a", 1000)))
                return 1;
              if (cache.store("b", contentOf("b", 5000)))
                return 2;
              if (cache.warning().find("File too large") == std::string::npos)
                return 3;
              // What is there can be read further on.
              if (cache.lookup("a") != contentOf("a", 1000))
                return 4;
              // One warning, whatever else goes wrong.
              chmod(folder.c_str(), 0755);
              if (cache.lookup("a") != "(none)")
                return 5;
              return cache.warning().empty() ? 0 : 6;
            }),
            0);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(DiskCache, FullDiskIsOneWarning_C16) {
  ASSERT_EQ(mkdir((work + "/small").c_str(), 0700), 0);
  int result = inChild([&] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("small", (work + "/small").c_str(), "tmpfs", 0, "size=64k") != 0)
      return 77;
    Cache cache(work + "/small/cache");
    if (!cache.store("a", contentOf("a", 20000)))
      return 1;
    if (cache.store("b", contentOf("b", 100000)))
      return 2;
    if (cache.warning().find("No space left") == std::string::npos)
      return 3;
    if (cache.store("c", "x") || !cache.warning().empty())
      return 4;
    if (cache.lookup("a") != contentOf("a", 20000))
      return 5;
    // The half-written file is gone.
    int count = 0;
    DIR *directory = opendir((work + "/small/cache").c_str());
    while (readdir(directory))
      ++count;
    closedir(directory);
    return count == 3 ? 0 : 6;
  });
  if (result == 77)
    GTEST_SKIP() << "needs the right to mount a small file system";
  EXPECT_EQ(result, 0);
}

//===----------------------------------------------------------------------===//
// The process's cache
//===----------------------------------------------------------------------===//

/// The folder of the default cache of a fresh process with the environment,
/// after it stored and read an entry; "off" if it is off.
std::string defaultFolder(std::vector<const char *> environment,
                          const char *program = "/proc/self/exe") {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_EQ(inChild([&] {
              dup2(ends[1], 100);
              environment.push_back("DISK_CACHE_TEST_REPORT=100");
              environment.push_back(nullptr);
              execle(program, "self", "--gtest_also_run_disabled_tests",
                     "--gtest_brief=1",
                     "--gtest_filter=DiskCacheBody.DISABLED_Default", nullptr,
                     environment.data());
              return 127;
            }),
            0);
  close(ends[1]);
  char text[4096];
  ssize_t length = read(ends[0], text, sizeof(text));
  close(ends[0]);
  return std::string(text, length > 0 ? size_t(length) : 0);
}

// In a process of its own, whose environment the parent chose.
TEST(DiskCacheBody, DISABLED_Default) {
  gpuasync_disk_cache *cache = gpuasync_disk_cache_default();
  ASSERT_EQ(cache, gpuasync_disk_cache_default());
  gpuasync_disk_cache_close(cache); // ignored
  gpuasync_digest key = keyOf("default");
  bool stored = gpuasync_disk_cache_store(cache, &key, "x", 1);
  DiskEntry entry;
  EXPECT_EQ(entry.lookup(cache, key), stored);
  std::string report = *gpuasync_disk_cache_folder(cache)
                           ? gpuasync_disk_cache_folder(cache)
                           : "off";
  Status warning(gpuasync_disk_cache_take_warning(cache));
  if (!warning.ok())
    report += std::string(" ") + warning.message();
  EXPECT_EQ(write(100, report.data(), report.size()), ssize_t(report.size()));
}

TEST_F(DiskCache, DefaultFolder_C16) {
  std::string own = "GPU_ASYNC_CACHE_DIR=" + work + "/own";
  std::string slashes = own + "//", xdg = "XDG_CACHE_HOME=" + work + "/xdg",
              home = "HOME=" + work + "/home";
  // Main.cpp would turn it off.
  const char *on = "GPU_ASYNC_CACHE=on";
  EXPECT_EQ(defaultFolder({on, own.c_str(), xdg.c_str(), home.c_str()}),
            work + "/own");
  EXPECT_EQ(defaultFolder({on, slashes.c_str()}), work + "/own");
  EXPECT_EQ(defaultFolder({on, xdg.c_str(), home.c_str()}),
            work + "/xdg/gpu-async");
  EXPECT_EQ(defaultFolder({on, "XDG_CACHE_HOME=relative", home.c_str()}),
            work + "/home/.cache/gpu-async");
  EXPECT_EQ(defaultFolder({on}), "off");
  EXPECT_EQ(defaultFolder({"GPU_ASYNC_CACHE=off", own.c_str()}), "off");
  EXPECT_EQ(defaultFolder({"GPU_ASYNC_CACHE=", own.c_str()}), work + "/own");
  for (const char *word : {"OFF", "no", "false", "0"})
    EXPECT_EQ(defaultFolder({("GPU_ASYNC_CACHE=" + std::string(word)).c_str(),
                             own.c_str()}),
              "off GPU_ASYNC_CACHE: '" + std::string(word) +
                  "' is none of off, on; the disk cache is not used");
  std::string deep = "GPU_ASYNC_CACHE_DIR=/" + std::string(5000, 'x');
  EXPECT_EQ(defaultFolder({on, deep.c_str()})
                .find("off the disk cache is not used: the path"),
            0u);
  for (const char *folder :
       {"/own", "/xdg/gpu-async", "/home/.cache/gpu-async"})
    EXPECT_EQ(
        access((work + folder + "/" + hex(keyOf("default"))).c_str(), F_OK), 0)
        << folder;
}

TEST_F(DiskCache, DefaultSize_C16) {
  std::string own = "GPU_ASYNC_CACHE_DIR=" + work + "/own";
  const char *on = "GPU_ASYNC_CACHE=on";
  for (const char *size : {"", "89", "4k", "1M", "2G", "1t"})
    EXPECT_EQ(
        defaultFolder({on, own.c_str(),
                       ("GPU_ASYNC_CACHE_SIZE=" + std::string(size)).c_str()}),
        work + "/own");
  for (const char *size :
       {"much", "1Gi", "-1", "99999999999999999999", "99999999999G"}) {
    std::string report =
        defaultFolder({on, own.c_str(),
                       ("GPU_ASYNC_CACHE_SIZE=" + std::string(size)).c_str()});
    EXPECT_NE(report.find("GPU_ASYNC_CACHE_SIZE: '" + std::string(size) +
                          "' is not a size"),
              std::string::npos)
        << report;
  }
  // Too small for one entry.
  ASSERT_EQ(system(("rm -rf " + work + "/own").c_str()), 0);
  EXPECT_EQ(defaultFolder({on, own.c_str(), "GPU_ASYNC_CACHE_SIZE=88"}),
            work + "/own");
  EXPECT_EQ(access((work + "/own").c_str(), F_OK), -1);
}

TEST_F(DiskCache, OffInASetuidProgram_C16) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer does not start in a setuid program";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer does not start in a setuid program";
#endif
#endif
  if (geteuid() != 0)
    GTEST_SKIP() << "needs root, to make a program of another user";
  std::string program = work + "/setuid";
  ASSERT_EQ(
      system(
          ("cp /proc/" + std::to_string(getpid()) + "/exe " + program).c_str()),
      0);
  std::string own = "GPU_ASYNC_CACHE_DIR=" + work + "/own";
  const char *on = "GPU_ASYNC_CACHE=on";
  ASSERT_EQ(chmod(work.c_str(), 0777), 0);
  ASSERT_EQ(chmod(program.c_str(), 0755), 0);
  EXPECT_EQ(defaultFolder({on, own.c_str()}, program.c_str()), work + "/own");
  ASSERT_EQ(system(("rm -rf " + work + "/own").c_str()), 0);
  ASSERT_EQ(chown(program.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  EXPECT_EQ(defaultFolder({on, own.c_str()}, program.c_str()), "off");
  EXPECT_EQ(access((work + "/own").c_str(), F_OK), -1);
}

} // namespace
