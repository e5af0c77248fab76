//===- NewFileTest.cpp - The files that our tools make --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links, modes, special files, errors and signals around aot/NewFile.h, in a
// folder of the test's own.
//===----------------------------------------------------------------------===//

#include "libs/aot/NewFile.h"
#include "gtest/gtest.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <future>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using gpuasync::NewFile;

/// Runs after the given number of renames; null: never.
static std::function<void()> onRename;
static int renamesLeft;

/// In the place of the C library's.
extern "C" int rename(const char *from, const char *to) noexcept {
  int result = renameat(AT_FDCWD, from, AT_FDCWD, to);
  if (onRename && --renamesLeft == 0)
    onRename();
  return result;
}

namespace {

class NewFiles : public testing::Test {
protected:
  NewFiles() {
    char name[] = "/tmp/gpu-async-new-file-XXXXXX";
    work = mkdtemp(name);
    mask = umask(022);
  }
  ~NewFiles() override {
    umask(mask);
    EXPECT_EQ(system(("rm -rf " + work).c_str()), 0);
  }

  std::string path(const std::string &name) const { return work + "/" + name; }

  static std::string read(const std::string &path) {
    std::string text;
    char buffer[4096];
    int file = open(path.c_str(), O_RDONLY);
    for (ssize_t count;
         file >= 0 && (count = ::read(file, buffer, sizeof(buffer))) > 0;)
      text.append(buffer, size_t(count));
    if (file >= 0)
      close(file);
    return text;
  }

  static void put(const std::string &path, const std::string &text,
                  mode_t mode = 0644) {
    int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(file, 0);
    EXPECT_EQ(write(file, text.data(), text.size()), ssize_t(text.size()));
    EXPECT_EQ(fchmod(file, mode), 0);
    close(file);
  }

  /// Makes the whole file; 0 or the errno.
  static int make(const std::string &path, const std::string &text,
                  bool isExecutable = false) {
    NewFile file;
    int error = file.create(path, isExecutable);
    if (!error)
      error = file.write(text.data(), text.size());
    if (!error)
      error = file.close();
    return error ? error : file.commit();
  }

  static mode_t modeOf(const std::string &path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }

  std::set<std::string> names(const std::string &folder) const {
    std::set<std::string> found;
    DIR *open = opendir(folder.c_str());
    while (dirent *entry = readdir(open))
      if (entry->d_name != std::string(".") &&
          entry->d_name != std::string(".."))
        found.insert(entry->d_name);
    closedir(open);
    return found;
  }
  std::set<std::string> names() const { return names(work); }

  /// Its status.
  static int inChild(const std::function<int()> &body) {
    pid_t child = fork();
    if (child == 0)
      _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  std::string work;
  mode_t mask;
};

using Names = std::set<std::string>;

TEST_F(NewFiles, ANewOneHasTheModeOfTheUmask) {
  EXPECT_EQ(make(path("a"), "one"), 0);
  EXPECT_EQ(read(path("a")), "one");
  EXPECT_EQ(modeOf(path("a")), 0644u);
  EXPECT_EQ(make(path("x"), "run", /*isExecutable=*/true), 0);
  EXPECT_EQ(modeOf(path("x")), 0755u);
  umask(077);
  EXPECT_EQ(make(path("b"), "two"), 0);
  EXPECT_EQ(modeOf(path("b")), 0600u);
  EXPECT_EQ(names(), (Names{"a", "b", "x"}));
}

TEST_F(NewFiles, OneThatIsReplacedKeepsItsMode) {
  put(path("a"), "old", 0640);
  EXPECT_EQ(make(path("a"), "new"), 0);
  EXPECT_EQ(read(path("a")), "new");
  EXPECT_EQ(modeOf(path("a")), 0640u);
  put(path("x"), "old", 0600);
  EXPECT_EQ(make(path("x"), "run", /*isExecutable=*/true), 0);
  EXPECT_EQ(modeOf(path("x")), 0700u);
  // Not what gives rights to others.
  put(path("s"), "old", 06755);
  EXPECT_EQ(make(path("s"), "new"), 0);
  EXPECT_EQ(modeOf(path("s")), 0755u);
}

TEST_F(NewFiles, NothingHappensWithoutCommit) {
  put(path("a"), "old");
  {
    NewFile file;
    ASSERT_EQ(file.create(path("a")), 0);
    EXPECT_EQ(file.write("new", 3), 0);
    EXPECT_EQ(read(path("a")), "old");
    EXPECT_EQ(names().size(), 2u);
    EXPECT_EQ(file.close(), 0);
    EXPECT_EQ(read(path("a")), "old");
    NewFile moved = std::move(file);
  }
  EXPECT_EQ(read(path("a")), "old");
  EXPECT_EQ(names(), Names{"a"});
}

TEST_F(NewFiles, SymbolicLinksStay) {
  ASSERT_EQ(mkdir(path("d").c_str(), 0755), 0);
  put(path("d/a"), "old", 0640);
  ASSERT_EQ(symlink("d/a", path("link").c_str()), 0);
  ASSERT_EQ(symlink(path("link").c_str(), path("d/again").c_str()), 0);
  EXPECT_EQ(make(path("d/again"), "new"), 0);
  EXPECT_EQ(read(path("d/a")), "new");
  EXPECT_EQ(modeOf(path("d/a")), 0640u);
  struct stat info;
  EXPECT_TRUE(lstat(path("link").c_str(), &info) == 0 && S_ISLNK(info.st_mode));
  // One that leads to nothing makes it.
  ASSERT_EQ(symlink("d/made", path("dangling").c_str()), 0);
  EXPECT_EQ(make(path("dangling"), "made"), 0);
  EXPECT_EQ(read(path("d/made")), "made");
  EXPECT_TRUE(lstat(path("dangling").c_str(), &info) == 0 &&
              S_ISLNK(info.st_mode));
  // One that leads to itself.
  ASSERT_EQ(symlink("loop", path("loop").c_str()), 0);
  EXPECT_EQ(make(path("loop"), "x"), ELOOP);
  EXPECT_EQ(names(path("d")), (Names{"a", "again", "made"}));
}

TEST_F(NewFiles, AnotherHardLinkKeepsTheOldContents) {
  put(path("a"), "old");
  ASSERT_EQ(link(path("a").c_str(), path("b").c_str()), 0);
  EXPECT_EQ(make(path("a"), "new"), 0);
  EXPECT_EQ(read(path("a")), "new");
  EXPECT_EQ(read(path("b")), "old");
}

TEST_F(NewFiles, ErrorsLeaveAllAsItWas) {
  EXPECT_EQ(make(path("no/a"), "x"), ENOENT);
  EXPECT_EQ(make(work, "x"), EISDIR);
  EXPECT_EQ(make("", "x"), ENOENT);
  put(path("file"), "old");
  EXPECT_EQ(make(path("file/a"), "x"), ENOTDIR);
  EXPECT_EQ(make("/dev/full", std::string(10, 'x')), ENOSPC);
  EXPECT_EQ(make(path(std::string(300, 'n')), "x"), ENAMETOOLONG);
  // The longest name there is.
  EXPECT_EQ(make(path(std::string(255, 'n')), "x"), 0);
  EXPECT_EQ(names(), (Names{"file", std::string(255, 'n')}));
}

TEST_F(NewFiles, SpecialFilesAreWrittenAtOnce) {
  EXPECT_EQ(make("/dev/null", "x"), 0);
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read(path("pipe")); });
  EXPECT_EQ(make(path("pipe"), "through"), 0);
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_EQ(names(), Names{"pipe"});
}

TEST_F(NewFiles, OwnOpenFilesGoOnWhereTheyAre) {
  int file = open(path("out").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(write(file, "one,", 4), 4);
  std::string number = std::to_string(file);
  EXPECT_EQ(make("/dev/fd/" + number, "two,"), 0);
  EXPECT_EQ(make("/proc/self/fd/" + number, "three,"), 0);
  ASSERT_EQ(symlink(("/dev/fd/" + number).c_str(), path("link").c_str()), 0);
  EXPECT_EQ(make(path("link"), "four,"), 0);
  ASSERT_EQ(write(file, "five", 4), 4);
  close(file);
  EXPECT_EQ(read(path("out")), "one,two,three,four,five");
  EXPECT_EQ(names(), (Names{"link", "out"}));
}

// A name that an attacker has guessed would be a link to a file of the user's.
TEST_F(NewFiles, NamesCannotBeGuessed) {
  std::set<std::string> seen;
  std::vector<NewFile> files(32);
  for (NewFile &file : files)
    ASSERT_EQ(file.create(path("a")), 0);
  seen = names();
  EXPECT_EQ(seen.size(), 32u);
  const std::string pid = std::to_string(getpid());
  for (const std::string &name : seen) {
    EXPECT_EQ(name.find("a."), std::string::npos);
    EXPECT_EQ(name.compare(0, 11, ".gpu-async-"), 0) << name;
    EXPECT_EQ(name.size(), 27u);
    struct stat info;
    EXPECT_TRUE(lstat(path(name).c_str(), &info) == 0 &&
                S_ISREG(info.st_mode) && info.st_nlink == 1);
  }
}

TEST_F(NewFiles, WithoutRights) {
  if (geteuid() != 0)
    GTEST_SKIP() << "needs root, to be somebody else";
  put(path("a"), "old", 0444);
  put(path("b"), "old", 0666);
  ASSERT_EQ(chmod(work.c_str(), 0755), 0);
  int status = inChild([&] {
    if (setgid(65534) || setuid(65534))
      return 9;
    // In a folder of somebody else's what may be written is, in place.
    if (make(path("a"), "new") != EACCES || make(path("c"), "new") != EACCES)
      return 1;
    return make(path("b"), "new") == 0 ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read(path("a")), "old");
  EXPECT_EQ(read(path("b")), "new");
  EXPECT_EQ(modeOf(path("b")), 0666u);
  EXPECT_EQ(names(), (Names{"a", "b"}));

  // What somebody else owns stays theirs; the group's rights are for no other.
  ASSERT_EQ(chown(path("b").c_str(), 12345, 23456), 0);
  ASSERT_EQ(chmod(path("b").c_str(), 0664), 0);
  EXPECT_EQ(make(path("b"), "again"), 0);
  struct stat info;
  ASSERT_EQ(stat(path("b").c_str(), &info), 0);
  EXPECT_TRUE(info.st_uid == 12345 && info.st_gid == 23456);
  EXPECT_EQ(info.st_mode & 0777u, 0664u);
  // Somebody else's link in a folder for all leads nowhere.
  ASSERT_EQ(symlink("b", path("link").c_str()), 0);
  ASSERT_EQ(lchown(path("link").c_str(), 12345, 23456), 0);
  ASSERT_EQ(chmod(work.c_str(), 01777), 0);
  EXPECT_EQ(make(path("link"), "x"), EACCES);
  EXPECT_EQ(read(path("b")), "again");
  ASSERT_EQ(unlink(path("link").c_str()), 0);
  ASSERT_EQ(chmod(work.c_str(), 0777), 0);
  ASSERT_EQ(chmod(path("b").c_str(), 0666), 0);
  EXPECT_EQ(inChild([&] {
              return setgid(65534) || setuid(65534) ? 9
                                                    : make(path("b"), "mine");
            }),
            0);
  ASSERT_EQ(stat(path("b").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534u);
  EXPECT_EQ(info.st_mode & 0777u, 0606u);
}

TEST_F(NewFiles, AnotherUsersFileInAFolderForAllIsWrittenOver) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root makes files of other users";
  ASSERT_EQ(chmod(work.c_str(), 0755), 0);
  ASSERT_EQ(mkdir(path("all").c_str(), 0777), 0);
  ASSERT_EQ(chmod(path("all").c_str(), 01777), 0);
  put(path("all/b"), "old, and longer than the new one");
  ASSERT_EQ(chown(path("all/b").c_str(), 1, 1), 0);
  ASSERT_EQ(chmod(path("all/b").c_str(), 0666), 0);
  struct stat before, after;
  ASSERT_EQ(stat(path("all/b").c_str(), &before), 0);
  EXPECT_EQ(inChild([&] {
              if (setgid(65534) || setuid(65534))
                return 9;
              NewFile a, b;
              if (a.create(path("all/a")) || a.write("one", 3) || a.close() ||
                  b.create(path("all/b")) || b.write("new", 3) || b.close())
                return 8;
              size_t failed = 0;
              return gpuasync::commit({&a, &b}, failed);
            }),
            0);
  EXPECT_EQ(read(path("all/a")), "one");
  EXPECT_EQ(read(path("all/b")), "new");
  ASSERT_EQ(stat(path("all/b").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(after.st_uid, 1u);
  EXPECT_EQ(names(path("all")), (std::set<std::string>{"a", "b"}));
}

TEST_F(NewFiles, NamesOfOneFile) {
  using gpuasync::isSameNewFile;
  put(path("a"), "old");
  ASSERT_EQ(mkdir(path("d").c_str(), 0755), 0);
  ASSERT_EQ(link(path("a").c_str(), path("hard").c_str()), 0);
  ASSERT_EQ(symlink("a", path("soft").c_str()), 0);
  ASSERT_EQ(symlink("d/new", path("dangling").c_str()), 0);
  ASSERT_EQ(symlink("loop", path("loop").c_str()), 0);
  ASSERT_EQ(symlink("d", path("e").c_str()), 0);
  EXPECT_TRUE(isSameNewFile(path("a"), path("./a")));
  EXPECT_TRUE(isSameNewFile(path("a"), path("d/../a")));
  EXPECT_TRUE(isSameNewFile(path("a"), path("soft")));
  EXPECT_TRUE(isSameNewFile(path("d/new"), path("dangling")));
  EXPECT_TRUE(isSameNewFile(path("e/new"), path("d//new")));
  EXPECT_TRUE(isSameNewFile("new", "./new"));
  EXPECT_FALSE(isSameNewFile(path("a"), path("d/a")));
  EXPECT_FALSE(isSameNewFile(path("a"), path("hard")));
  EXPECT_FALSE(isSameNewFile(path("no/a"), path("no/a")));
  EXPECT_FALSE(isSameNewFile(path("loop"), path("loop")));
  EXPECT_FALSE(isSameNewFile("", ""));
  EXPECT_FALSE(isSameNewFile("/dev/null", "/dev/null"));
  // An open file is written, and another file would take its place.
  int open = ::open(path("a").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(open, 0);
  const std::string opened = "/dev/fd/" + std::to_string(open);
  EXPECT_TRUE(isSameNewFile(opened, path("a")));
  EXPECT_TRUE(isSameNewFile(path("soft"), opened));
  EXPECT_TRUE(isSameNewFile(opened, opened));
  EXPECT_FALSE(isSameNewFile(opened, path("d/new")));
  EXPECT_EQ(::close(open), 0);
  if (geteuid() != 0)
    return;
  // Written in place they stay one file.
  ASSERT_EQ(chmod(work.c_str(), 0755), 0);
  EXPECT_EQ(inChild([&] {
              if (setgid(65534) || setuid(65534))
                return 9;
              return isSameNewFile(path("a"), path("hard")) ? 0 : 1;
            }),
            0);
}

TEST_F(NewFiles, SignalsLeaveNothing) {
  put(path("a"), "old");
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGALRM,
                     SIGUSR1, SIGUSR2, SIGXCPU, SIGPROF, SIGVTALRM}) {
    int status = inChild([&] {
      (void)::signal(signal, SIG_DFL); // nohup has some ignored
      gpuasync::removeFilesOnSignals();
      NewFile first, second, done;
      if (first.create(path("a")) || second.create(path("b")) ||
          done.create(path("done")) || done.close() || done.commit())
        return 1;
      first.write("half", 4);
      raise(signal);
      return 2;
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_EQ(names(), (Names{"a", "done"})) << signal;
    EXPECT_EQ(read(path("a")), "old");
  }
  // One that is ignored stays so.
  EXPECT_EQ(inChild([&] {
              signal(SIGHUP, SIG_IGN);
              gpuasync::removeFilesOnSignals();
              raise(SIGHUP);
              return make(path("b"), "whole");
            }),
            0);
  EXPECT_EQ(read(path("b")), "whole");
  // A file that may not be so large is an error.
  EXPECT_EQ(WEXITSTATUS(inChild([&] {
              rlimit limit = {1000, 1000};
              setrlimit(RLIMIT_FSIZE, &limit);
              gpuasync::removeFilesOnSignals();
              return make(path("c"), std::string(5000, 'x'));
            })),
            EFBIG);
  EXPECT_EQ(names(), (Names{"a", "b", "done"}));
}

class Commits : public NewFiles {
protected:
  Commits() {
    put(path("a"), "old");
    put(path("b"), "old");
  }
  ~Commits() override { onRename = nullptr; }

  /// Commits two files. `between` runs after the first rename.
  int commitBoth(const std::function<void()> &between) {
    NewFile a, b;
    if (a.create(path("a")) || b.create(path("b")) || a.write("new", 3) ||
        b.write("new", 3) || a.close() || b.close())
      return 1;
    onRename = between;
    renamesLeft = 1;
    size_t failed = 9;
    return gpuasync::commit({&a, &b}, failed) ? 2 : 0;
  }

  void expectBoth(const std::string &text) {
    EXPECT_EQ(read(path("a")), text);
    EXPECT_EQ(read(path("b")), text);
    EXPECT_EQ(names(), (Names{"a", "b"}));
  }
};

TEST_F(Commits, ASignalBetweenTwoFilesComesAfterBoth) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPROF}) {
    put(path("a"), "old");
    put(path("b"), "old");
    int status = inChild([&] {
      (void)::signal(signal, SIG_DFL);
      gpuasync::removeFilesOnSignals();
      (void)commitBoth([&] { kill(getpid(), signal); });
      return 3;
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    expectBoth("new");
  }
}

/// Waits until the thread blocks the signal, as its handler does.
static void waitForHandler(pid_t thread, int signal) {
  std::string status = "/proc/self/task/" + std::to_string(thread) + "/status";
  for (;;) {
    unsigned long long blocked = 0;
    if (FILE *file = fopen(status.c_str(), "r")) {
      char line[256];
      while (fgets(line, sizeof(line), file))
        if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
          break;
      fclose(file);
    }
    if (blocked >> (signal - 1) & 1)
      return;
  }
}

TEST_F(Commits, ASignalToAnotherThreadComesAfterBoth) {
  int status = inChild([&] {
    gpuasync::removeFilesOnSignals();
    std::promise<pid_t> started;
    std::thread other([&] {
      started.set_value(gettid());
      for (;;)
        pause();
    });
    pid_t thread = started.get_future().get();
    (void)commitBoth([&] {
      pthread_kill(other.native_handle(), SIGTERM);
      waitForHandler(thread, SIGTERM);
    });
    for (;;)
      pause();
    return 3;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  expectBoth("new");
}

// A time limit's thread ends the process so.
TEST_F(Commits, AnEndFromAnotherThreadComesAfterBoth) {
  int status = inChild([&] {
    std::promise<void> reached;
    std::thread other([&] {
      reached.get_future().wait();
      gpuasync::removeUnfinishedFiles();
      _exit(7);
    });
    (void)commitBoth([&] {
      reached.set_value();
      // The other thread may remove the second file only if it does not wait.
      for (int i = 0; i < 1000 && names().size() == 3; ++i)
        std::this_thread::yield();
    });
    for (;;)
      pause();
    return 3;
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  expectBoth("new");
}

// A forked child that ends removes no files of its parent's.
TEST_F(Commits, AForkedChildLeavesItsParentsFiles) {
  int status = inChild([&] {
    gpuasync::removeFilesOnSignals();
    NewFile before;
    if (before.create(path("a")) || before.write("new", 3) || before.close())
      return 4;
    if (!WIFSIGNALED(inChild([] { return raise(SIGTERM); })))
      return 5;
    if (before.commit())
      return 6;
    // A child of the moment between the renames waits for nothing.
    int ended = 0;
    int result = commitBoth([&] {
      ended = inChild([] {
        gpuasync::removeUnfinishedFiles();
        return 8;
      });
    });
    return result ? result : WEXITSTATUS(ended) == 8 ? 0 : 7;
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expectBoth("new");
}

} // namespace
