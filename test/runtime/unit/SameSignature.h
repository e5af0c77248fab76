//===- SameSignature.h - Two declarations of one function -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a function may be called by a declaration of our own: the parameters
// are passed alike, and what they point to has the same size.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_UNIT_SAMESIGNATURE_H
#define GPUASYNC_TEST_RUNTIME_UNIT_SAMESIGNATURE_H

#include <stdint.h>
#include <type_traits>

namespace gpuasync_test {

/// The size, or 0 for what has none (void, structs that are only declared).
template <typename T, typename = void>
struct SizeOf : std::integral_constant<size_t, 0> {};
template <typename T>
struct SizeOf<T, std::void_t<decltype(sizeof(T))>>
    : std::integral_constant<size_t, std::is_function_v<T> ? 0 : sizeof(T)> {};

// An address may be a pointer or an integer (CUdeviceptr).
template <typename A, typename B>
constexpr bool passedAlike() {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    constexpr size_t a = SizeOf<std::remove_pointer_t<A>>::value;
    constexpr size_t b = SizeOf<std::remove_pointer_t<B>>::value;
    return !a || !b || a == b;
  } else {
    return sizeof(A) == sizeof(B) &&
           std::is_floating_point_v<A> == std::is_floating_point_v<B>;
  }
}

template <typename A, typename B>
struct SameSignature : std::false_type {};
template <bool, typename A, typename B>
struct SameParameters : std::false_type {};
template <typename RA, typename... A, typename RB, typename... B>
struct SameParameters<true, RA (*)(A...), RB (*)(B...)>
    : std::bool_constant<(passedAlike<A, B>() && ... &&
                          (sizeof(RA) == sizeof(RB)))> {};
template <typename RA, typename... A, typename RB, typename... B>
struct SameSignature<RA (*)(A...), RB (*)(B...)>
    : SameParameters<sizeof...(A) == sizeof...(B), RA (*)(A...), RB (*)(B...)> {
};

static_assert(SameSignature<int (*)(void *, int), int (*)(uint64_t, int)>());
static_assert(!SameSignature<int (*)(int *), int (*)(uint64_t *)>());
static_assert(!SameSignature<int (*)(int), int (*)(int, int)>());

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_UNIT_SAMESIGNATURE_H
