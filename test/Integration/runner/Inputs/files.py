# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# files.py COMMAND..: runs it, where A and B in its words are two files that it writes.
# Prints what becomes of them in the folder "work" of the current one.
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

command = [os.path.abspath(word) if os.path.isfile(word) else word for word in sys.argv[1:]]
shutil.rmtree("work", ignore_errors=True)
os.mkdir("work")
os.chdir("work")
os.mkdir("d")
os.umask(0o022)


def start(a, b="/dev/null", **more):
    words = [word.replace("A", a).replace("B", b) if word in ("A", "B", "--output=@A", "--output=@B") else word
             for word in command]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True, **more)


def run(a, b="/dev/null", **more):
    process = start(a, b, **more)
    error = process.communicate()[1]
    if process.returncode:
        print(error, end="")
    return process.returncode


def state(name):
    info = os.lstat(name)
    kind = "link to " + os.readlink(name) if stat.S_ISLNK(info.st_mode) else "regular"
    data = open(name, "rb").read()
    text = "result" if data[:6] == b"\x93NUMPY" and data[-16:] == bytes([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]) else data.decode()
    return f"{text} {os.stat(name).st_mode & 0o7777:04o} {kind}"


def put(name, mode=0o644):
    with open(name, "w") as file:
        file.write("old")
    os.chmod(name, mode)


run("a")
print("new:", state("a"))
os.remove("a")
run("a", umask=0o077)
print("umask 077:", state("a"))
put("a", 0o640)
run("a")
print("mode 0640:", state("a"))
put("d/real", 0o604)
os.symlink("d/real", "link")
run("link")
print("link:", state("link"))
os.symlink("d/made", "dangling")
run("dangling")
print("link to nothing:", state("dangling"))
os.remove("dangling")
os.remove("link")
put("a")
os.link("a", "other")
run("a")
print("hard link:", state("a") + ", the other name:", state("other"))

# Somebody who sees the process start can make files before it does.
put("victim", 0o600)


def predict():
    for name in ("a.%d" % os.getpid(), "a.%d.0" % os.getpid(), ".a.%d" % os.getpid()):
        os.symlink("victim", name)


run("a", preexec_fn=predict)
print("a predicted name:", state("a") + ", the victim:", state("victim"))
for name in os.listdir("."):
    if os.path.islink(name):
        os.remove(name)

read, write = os.pipe()
run("/dev/stdout", stdout=write)
os.close(write)
data = os.read(read, 4096)
print("/dev/stdout:", "result" if data[:6] == b"\x93NUMPY" else data)
run("/dev/null")
print("/dev/null: nothing" if stat.S_ISCHR(os.stat("/dev/null").st_mode) else "/dev/null: a file")
os.mkfifo("pipe")
got = []
thread = threading.Thread(target=lambda: got.append(open("pipe", "rb").read()))
thread.start()
run("pipe")
thread.join()
print("FIFO:", "result" if got[0][:6] == b"\x93NUMPY" else got[0])

put("a")
if start("a", "no/b").wait() != 1:
    print("no error")
print("an error:", state("a"))

# The first file is complete but for its name; the second is a pipe that nobody reads.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)  # not as whoever started this has it
    process = start("a", "pipe")
    limit = time.monotonic() + 60
    while len(os.listdir(".")) == 5 and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    process.send_signal(number)
    if process.wait() != -number:
        print("ended as", process.returncode)
print("SIGINT, SIGTERM, SIGHUP:", state("a"))
print("the folder:", *sorted(os.listdir(".")))
