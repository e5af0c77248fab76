// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Around the disk cache of docs/how-to/EmbedTheRuntime.md: an embedder's
// compile job.
// @INCLUDES@

static bool compile(std::string &object) { return !object.empty(); }
template <typename Bytes>
static void use(const Bytes &) {}

static void job() {
  // @BLOCK@
}

int main() { return &job == nullptr; }
