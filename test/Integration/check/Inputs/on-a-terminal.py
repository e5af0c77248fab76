# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command on a terminal, prints what it says there, and exits as it does.

usage: on-a-terminal.py <command>..
"""
import os
import pty
import sys

os.environ["TERM"] = "xterm-256color"
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
