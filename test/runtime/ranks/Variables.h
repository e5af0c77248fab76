//===- Variables.h - Variables of a launcher --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Environment variables that a test sets.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_RANKS_VARIABLES_H
#define GPUASYNC_TEST_RUNTIME_RANKS_VARIABLES_H

#include <initializer_list>
#include <stdlib.h>
#include <utility>
#include <vector>

namespace gpuasync_test {

/// Sets variables, and removes them at its end.
class Variables {
public:
  Variables(std::initializer_list<std::pair<const char *, const char *>> all) {
    for (const auto &[name, value] : all)
      set(name, value);
  }
  ~Variables() {
    for (const char *name : names)
      unsetenv(name);
  }
  void set(const char *name, const char *value) {
    setenv(name, value, 1);
    names.push_back(name);
  }

private:
  std::vector<const char *> names;
};

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_RANKS_VARIABLES_H
