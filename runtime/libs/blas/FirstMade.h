//===- FirstMade.h - What is made at its first use --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Libraries are opened at their first use, without a lock: a thread that is in
// dlopen may be about to come here, and another one that opened a library under
// our lock would wait for the first, which waits for that lock.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_BLAS_FIRSTMADE_H
#define GPUASYNC_LIBS_BLAS_FIRSTMADE_H

#include <atomic>
#include <memory>

namespace gpuasync {
namespace blas {

/// A value of static lifetime, which is never destroyed. Thread safe.
template <typename T>
class FirstMade {
public:
  constexpr FirstMade() = default;
  FirstMade(const FirstMade &) = delete;

  /// `make` returns a std::unique_ptr<T>. Threads that come before the value is
  /// there each make one, and all get the one that was ready first.
  template <typename Make>
  T &get(Make make) {
    T *known = value.load(std::memory_order_acquire);
    if (known)
      return *known;
    std::unique_ptr<T> mine = make();
    if (value.compare_exchange_strong(known, mine.get(),
                                      std::memory_order_acq_rel))
      return *mine.release();
    return *known;
  }

private:
  std::atomic<T *> value{nullptr};
};

} // namespace blas
} // namespace gpuasync

#endif // GPUASYNC_LIBS_BLAS_FIRSTMADE_H
