//===- TestLibrary.h - A library whose calls graphs hold --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library's function over another program, which takes the stream of its call
// for its caller's: so it enqueues on every device.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_TESTLIBRARY_H
#define GPUASYNC_TEST_RUNTIME_TESTLIBRARY_H

#include "Fixture.h"

#include <functional>

namespace gpuasync_test {

class TestLibrary {
public:
  /// x[i] = x[i] * factor + term for each of `words`, `times` times, each a
  /// kernel of its own.
  void call(FrameScope &frame, gpuasync_stream *stream, uint32_t *x,
            uint32_t words, uint32_t factor, uint32_t term,
            uint32_t times = 1) {
    const Arguments arguments = {this, x, words, factor, term, times};
    gpuasync_call_replayable(frame, &stream, 1, &enqueue, &arguments,
                             sizeof(arguments), SITE("library.call"));
  }

  std::atomic<uint32_t> calls{0};    ///< on streams of the frame
  std::atomic<uint32_t> captures{0}; ///< for graphs
  /// Before it enqueues; a result other than 0 is the function's.
  std::function<int32_t(const gpuasync_call &call)> before;

private:
  struct Arguments {
    TestLibrary *library;
    uint32_t *x;
    uint32_t words, factor, term, times;
  };

  static int32_t enqueue(const gpuasync_call *call, const void *bytes) {
    Arguments arguments;
    memcpy(&arguments, bytes, sizeof(arguments));
    TestLibrary &library = *arguments.library;
    ++(call->flags & GPUASYNC_CALL_CAPTURED ? library.captures : library.calls);
    if (library.before)
      if (int32_t result = library.before(*call))
        return result;
    FrameScope frame(library.program);
    gpuasync_stream *stream = gpuasync_stream_external(frame, 0, call->stream,
                                                       SITE("library.stream"));
    for (uint32_t i = 0; i < arguments.times; ++i)
      frame.launch(stream, MulAdd, 1, arguments.words,
                   detail::MulAddParams{arguments.x, arguments.words,
                                        arguments.factor, arguments.term});
    frame.destroy(stream);
    Status status = frame.leave();
    if (status.ok())
      return 0;
    call->report(call, status.message());
    return 1;
  }

  TestProgram program;
};

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_TESTLIBRARY_H
