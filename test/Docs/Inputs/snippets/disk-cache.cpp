// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Around the disk cache of docs/Runtime.md: an embedder's compile job.
// @INCLUDES@
#include <stdio.h>
#include <string>

static bool compile(std::string &object) { return !object.empty(); }
template <typename Bytes>
static void use(const Bytes &) {}

static void job(const std::string &text, const std::string &options,
                const std::string &cpuNameAndFeatures,
                const char *toolThatIsRun) {
  std::string object;
  // @BLOCK@
}

int main() { return &job == nullptr; }
