//===- Lists.h - Lists of a context's objects -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linked through the objects themselves, so that warm calls allocate nothing.
// None is thread safe.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_BASE_LISTS_H
#define GPUASYNC_SHIM_BASE_LISTS_H

#include <atomic>
#include <new>
#include <stddef.h>
#include <stdint.h>
#include <vector>

namespace gpuasync {

/// A list of objects with `previous` and `next`.
template <typename T>
void linkFront(T *&list, T *node) {
  node->previous = nullptr;
  node->next = list;
  if (list)
    list->previous = node;
  list = node;
}
template <typename T>
void unlink(T *&list, T *node) {
  if (node->previous)
    node->previous->next = node->next;
  else
    list = node->next;
  if (node->next)
    node->next->previous = node->previous;
  node->previous = node->next = nullptr;
}

/// Objects with `next`, last in, first out.
template <typename T>
struct Stack {
  T *first = nullptr;
  uint32_t count = 0;
  void push(T *node) {
    node->next = first;
    first = node;
    ++count;
  }
  /// Null if there is none.
  T *pop() {
    T *node = first;
    if (node) {
      first = node->next;
      node->next = nullptr;
      --count;
    }
    return node;
  }
};

/// Objects with `next`, first in, first out.
template <typename T>
struct Queue {
  T *first = nullptr, *last = nullptr;
  void append(T *node) {
    node->next = nullptr;
    (last ? last->next : first) = node;
    last = node;
  }
  /// Null if there is none.
  T *pop() {
    T *node = first;
    if (node)
      cut(nullptr, node, node->next);
    return node;
  }
  /// Takes out the first, of `looks` ones, of which `is` says so; null: none.
  template <typename Is>
  T *takeFirst(Is is, uint32_t looks) {
    T *previous = nullptr;
    for (T *node = first; node && looks; --looks) {
      if (is(node)) {
        cut(previous, node, node->next);
        node->next = nullptr;
        return node;
      }
      previous = node;
      node = node->next;
    }
    return nullptr;
  }
  /// Takes out those of which `take` says so; it may put them on other lists.
  template <typename Take>
  void removeIf(Take take) {
    T *previous = nullptr;
    for (T *node = first, *next; node; node = next) {
      next = node->next;
      if (!take(node)) {
        previous = node;
        continue;
      }
      cut(previous, node, next);
    }
  }

private:
  void cut(T *previous, T *node, T *next) {
    (previous ? previous->next : first) = next;
    if (last == node)
      last = previous;
  }
};

/// Objects that nobody uses, for reuse.
template <typename T>
class Spares {
public:
  Spares() = default;
  Spares(const Spares &) = delete;
  ~Spares() {
    while (T *node = stack.pop())
      delete node;
  }
  /// As new (may throw bad_alloc).
  T *take() {
    T *node = stack.pop();
    if (!node)
      return new T;
    node->~T();
    return new (node) T;
  }
  void give(T *node) { stack.push(node); }

private:
  Stack<T> stack;
};

/// What the driver has given, noted down under a mutex.
template <typename T>
struct DriverList : std::vector<T> {
  std::atomic<size_t> promised{0};
};

/// Room in a list for one more, made with its mutex held before the driver is
/// asked without it, and kept from other threads that ask meanwhile: what could
/// not be noted down would be lost, and giving it back may wait.
class Room {
public:
  template <typename T>
  explicit Room(DriverList<T> &list) : promised(list.promised) {
    list.reserve(list.size() + promised.load(std::memory_order_relaxed) + 1);
    promised.fetch_add(1, std::memory_order_relaxed);
  }
  Room(const Room &) = delete;
  ~Room() { promised.fetch_sub(1, std::memory_order_relaxed); }

private:
  std::atomic<size_t> &promised;
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_BASE_LISTS_H
