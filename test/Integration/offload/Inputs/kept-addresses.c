/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Functions outside of a program, which keep an array's address. */
static float *kept;

void keep_outside(float *allocated, float *aligned, long offset, long size,
                  long stride) {
  (void)allocated, (void)size, (void)stride;
  kept = aligned + offset;
}

void add_ten_outside(void) { kept[0] += 10; }
