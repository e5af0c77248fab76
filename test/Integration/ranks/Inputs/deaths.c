// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function of deaths.mlir: ends its process in one of several ways.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { Lives, Killed, Exits, ExitsWithSuccess, Aborts, IsLate };

void _mlir_ciface_meetDeath(int64_t how) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  dprintf(2, "death: %.6f\n", (double)now.tv_sec + (double)now.tv_nsec / 1e9);
  switch (how) {
  case Killed:
    raise(SIGKILL);
    break;
  case Exits:
    exit(7);
  case ExitsWithSuccess:
    _exit(0);
  case Aborts:
    abort();
  case IsLate:
    sleep(30);
  }
}
