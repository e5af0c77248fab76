/*===- capi.c - A compiler in C that embeds gpu-async -------------*- C -*-===*\
|*                                                                            *|
|* Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.     *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* usage: embed-capi <pass pipeline> <file.mlir>                              *|
|* Runs the pipeline on the file by MLIR's C API, and prints the result.      *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "GPUAsync/CAPI/Register.h"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"

#include <stdio.h>

static void print(MlirStringRef text, void *file) {
  fwrite(text.data, 1, text.length, (FILE *)file);
}

static int fail(const char *what) {
  fprintf(stderr, "embed-capi: %s\n", what);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return fail("usage: embed-capi <pass pipeline> <file.mlir>");

  /* Once more is no error: other parts of a compiler may have done it. */
  mlirRegisterAllGPUAsyncPasses();
  mlirRegisterAllGPUAsyncPasses();
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  MlirDialectHandle dialect = mlirGetDialectHandle__gpu_async__();
  mlirDialectHandleInsertDialect(dialect, registry);
  mlirRegisterAllGPUAsyncDialects(registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, true);
  mlirDialectRegistryDestroy(registry);

  int result = 0;
  MlirModule module = mlirModuleCreateParseFromFile(
      context, mlirStringRefCreateFromCString(argv[2]));
  MlirPassManager passes = mlirPassManagerCreate(context);
  if (mlirModuleIsNull(module))
    result = fail("the file is no program");
  else if (mlirLogicalResultIsFailure(mlirParsePassPipeline(
               mlirPassManagerGetAsOpPassManager(passes),
               mlirStringRefCreateFromCString(argv[1]), print, stderr)))
    result = fail("the text is no pipeline");
  else if (mlirLogicalResultIsFailure(
               mlirPassManagerRunOnOp(passes, mlirModuleGetOperation(module))))
    result = fail("the program is not lowered");
  else
    mlirOperationPrint(mlirModuleGetOperation(module), print, stdout);
  mlirPassManagerDestroy(passes);
  if (!mlirModuleIsNull(module))
    mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return result;
}
