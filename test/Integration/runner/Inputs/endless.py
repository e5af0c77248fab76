#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command whose '{}' is a pipe: FILE's bytes, then zeros without end.

    python3 endless.py FILE COMMAND...
"""

import os
import subprocess
import sys
import threading

with open(sys.argv[1], "rb") as file:
    content = file.read()
reader, writer = os.pipe()


def write():
    try:
        os.write(writer, content)
        while True:
            os.write(writer, bytes(4096))
    except BrokenPipeError:
        pass


child = subprocess.Popen([word.replace("{}", "/dev/fd/%d" % reader) for word in sys.argv[2:]], pass_fds=[reader])
os.close(reader)
threading.Thread(target=write, daemon=True).start()
sys.exit(child.wait(timeout=60))
