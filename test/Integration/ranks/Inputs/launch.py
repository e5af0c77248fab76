# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Starts processes as torchrun does, without PyTorch: the same variables, and when one
# process fails, the others are ended.
#
#   launch.py -n 4 gpu-runner f.mlir --device=cpu
#   launch.py -n 1 COMMAND : -n 2 OTHER COMMAND
#
# --survive: the others go on when one fails. --hosts=2: the variables of the first of two
# hosts.

import os
import signal
import socket
import subprocess
import sys
import time
import uuid

INTERVAL = 0.1  # seconds between two looks at the processes, torchrun's default
GRACE = 10


def main():
    arguments, survives, hosts = sys.argv[1:], False, 1
    while arguments and arguments[0].startswith("--"):
        option = arguments.pop(0)
        survives |= option == "--survive"
        if option.startswith("--hosts="):
            hosts = int(option.split("=")[1])
    commands = []
    while arguments:
        end = arguments.index(":") if ":" in arguments else len(arguments)
        part, arguments = arguments[:end], arguments[end + 1:]
        assert part[0] == "-n", part
        commands += [part[2:]] * int(part[1])

    # The agent listens on the port of the job while its processes run.
    agent = socket.create_server(("127.0.0.1", 0))
    count = len(commands)
    job = dict(os.environ, WORLD_SIZE=str(count * hosts), LOCAL_WORLD_SIZE=str(count), GROUP_RANK="0", MASTER_ADDR="127.0.0.1",
               MASTER_PORT=str(agent.getsockname()[1]), TORCHELASTIC_RUN_ID=str(uuid.uuid4()), TORCHELASTIC_RESTART_COUNT="0",
               TORCHELASTIC_MAX_RESTARTS="0")
    processes = [subprocess.Popen(command, env=dict(job, RANK=str(rank), LOCAL_RANK=str(rank)))
                 for rank, command in enumerate(commands)]

    def end(signals):
        for process in processes:
            if process.poll() is None:
                process.send_signal(signals)

    def stop(*_):
        end(signal.SIGKILL)
        os._exit(1)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    limit = None
    while any(process.poll() is None for process in processes):
        time.sleep(INTERVAL)
        if survives or all(process.poll() in (None, 0) for process in processes):
            continue
        if limit is None:
            end(signal.SIGTERM)
            limit = time.time() + GRACE
        elif time.time() > limit:
            end(signal.SIGKILL)
    return 1 if any(process.returncode for process in processes) else 0


sys.exit(main())
