//===- Programs.h - what the sweep makes fail -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs of the sweep; what each is about stands at its definition.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_SWEEP_PROGRAMS_H
#define GPUASYNC_TEST_RUNTIME_SWEEP_PROGRAMS_H

#include "Life.h"

namespace gpuasync_test {

void openAndClose(Life &life);
void useDefault(Life &life);
void forkAndJoin(Life &life);
void traced(Life &life);
void hostShared(Life &life);
void fillsAndStrides(Life &life);
void manyStreams(Life &life);
void regions(Life &life);
void modules(Life &life);
void callersStream(Life &life);
void registrations(Life &life);
void tokens(Life &life);
void staging(Life &life);
void errorsAndLeaks(Life &life);
void devicesAndThreads(Life &life);
void sharedRegistration(Life &life);
void trimmed(Life &life);
void kernelAssert(Life &life);
void captured(Life &life);
void meetingKernels(Life &life);
void prepared(Life &life);
void ptxCache(Life &life);
void diskCache(Life &life);

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_SWEEP_PROGRAMS_H
