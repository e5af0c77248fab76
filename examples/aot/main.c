/*===- main.c - calls layer.mlir, compiled ahead of time ----------*- C -*-===*\
|*                                                                            *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* docs/how-to/AheadOfTime.md has the commands.                               *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "layer.h"

#include <stdio.h>
#include <stdlib.h>

int main(void) {
  float x[2][4] = {{1, 2, 3, 4}, {-1, -2, -3, -4}};
  float w[4][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
  float b[3] = {0.5f, 0.25f, 0};
  float *y;
  int64_t rows, i;
  gpuasync_status *status = layer(x[0], 2, w[0], b, &y, &rows);
  if (status) {
    fprintf(stderr, "%s\n", gpuasync_status_get_message(status));
    gpuasync_status_free(status);
    return 1;
  }
  for (i = 0; i < rows; ++i)
    printf("%g %g %g\n", y[3 * i], y[3 * i + 1], y[3 * i + 2]);
  free(y);

  /* What is wrong with a call is said before anything runs. */
  status = layer(x[0], -1, w[0], b, &y, &rows);
  printf("%s\n", gpuasync_status_get_message(status));
  gpuasync_status_free(status);
  return 0;
}
