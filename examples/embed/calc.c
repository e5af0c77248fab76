/*===- calc.c - A compiler of formulas, in C ----------------------*- C -*-===*\
|*                                                                            *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* usage: calc 'a * (b + 1.5)' 1,2,3 4,5,6                                    *|
|* Makes MLIR text of a formula over the arrays a, b, ..., has libgpuasync    *|
|* compile it for the best device there is, and calls it.                     *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "GPUAsync-C/GPUAsync.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARRAYS = 26, MAX_ELEMENTS = 1000, MAX_TEXT = 1 << 16 };

static const char *rest;    /* of the formula: what is still to read */
static int arrays, values;  /* %v0 to %v<arrays - 1> are the arguments */
static char text[MAX_TEXT]; /* of the program */

static void die(const char *what, const char *where) {
  fprintf(stderr, "calc: %s%s\n", what, where);
  exit(1);
}

static void emit(const char *format, ...) {
  size_t length = strlen(text);
  va_list list;
  va_start(list, format);
  if ((size_t)vsnprintf(text + length, MAX_TEXT - length, format, list) >=
      MAX_TEXT - length)
    die("the formula is too long", "");
  va_end(list);
}

/* Takes one of these letters; 0 if another is next. */
static int take(const char *letters) {
  rest += strspn(rest, " ");
  return *rest && strchr(letters, *rest) ? *rest++ : 0;
}

/* These read a part of the formula, write its ops, and return its value:
 * sum = product {("+" | "-") product}, product = atom {("*" | "/") atom},
 * atom = letter | number | "(" sum ")". */
static int readSum(void);

static int readAtom(void) {
  char *end;
  double number;
  int value, letter = take("abcdefghijklmnopqrstuvwxyz");
  if (letter && letter - 'a' >= arrays)
    die("there is no array ", rest - 1);
  if (letter)
    return letter - 'a';
  if (take("(")) {
    value = readSum();
    if (!take(")"))
      die("expected ) at the end or at ", rest);
    return value;
  }
  number = strtod(rest, &end);
  if (end == rest)
    die("expected a letter, a number or ( at the end or at ", rest);
  rest = end;
  emit("  %%c%d = arith.constant %.9e : f32\n", values, number);
  emit("  %%v%d = tensor.splat %%c%d[%%n] : tensor<?xf32>\n", values, values);
  return values++;
}

static int readOps(int (*readPart)(void), const char *letters,
                   const char *ops[2]) {
  int left = readPart(), right, letter;
  while ((letter = take(letters)) != 0) {
    right = readPart();
    emit("  %%v%d = arith.%s %%v%d, %%v%d : tensor<?xf32>\n", values,
         ops[letter != letters[0]], left, right);
    left = values++;
  }
  return left;
}

static int readProduct(void) {
  static const char *ops[] = {"mulf", "divf"};
  return readOps(readAtom, "*/", ops);
}

static int readSum(void) {
  static const char *ops[] = {"addf", "subf"};
  return readOps(readProduct, "+-", ops);
}

static void compileFormula(void) {
  int i;
  values = arrays;
  emit("func.func @formula(");
  for (i = 0; i < arrays; ++i)
    emit("%s%%v%d: tensor<?xf32>", i ? ", " : "", i);
  emit(") -> tensor<?xf32> {\n  %%c0 = arith.constant 0 : index\n  %%n = "
       "tensor.dim %%v0, %%c0 : tensor<?xf32>\n");
  i = readSum();
  if (*rest)
    die("expected an operator at ", rest);
  emit("  return %%v%d : tensor<?xf32>\n}\n", i);
}

int main(int argc, char **argv) {
  static float elements[MAX_ARRAYS][MAX_ELEMENTS];
  gpuasync_value arguments[MAX_ARRAYS], result = {0};
  gpuasync_executable *program = NULL;
  gpuasync_status *status;
  char *next;
  int64_t i, count;
  arrays = argc - 2;
  if (arrays < 1 || arrays > MAX_ARRAYS)
    die("usage: calc FORMULA ARRAY..", "");
  for (i = 0; i < arrays; ++i) {
    next = argv[i + 2];
    for (count = 0; *next && count < MAX_ELEMENTS;
         next += strcspn(next, ",") + (strchr(next, ',') != NULL))
      elements[i][count++] = (float)atof(next);
    if (i && count != arguments[0].shape[0])
      die("the arrays are not of one length: ", argv[i + 2]);
    arguments[i] =
        gpuasync_value_make(elements[i], GPUASYNC_TYPE_F32, 1, &count);
  }
  rest = argv[1];
  compileFormula();
  status = gpuasync_compile(text, strlen(text), NULL, &program);
  if (!status)
    status = gpuasync_executable_call(program, "formula", arguments,
                                      (size_t)arrays, &result, 1);
  if (status)
    die(gpuasync_status_get_message(status), "");
  for (i = 0; i < result.shape[0]; ++i)
    printf("%g ", ((float *)result.data)[i * result.strides[0]]);
  printf("\n");
  gpuasync_value_release(&result);
  return gpuasync_executable_release(program) != NULL;
}
