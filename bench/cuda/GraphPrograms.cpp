//===- GraphPrograms.cpp - Programs as graphs written by hand -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GraphPrograms.h. Everything is made once, before any call.
//===----------------------------------------------------------------------===//

#include "GraphPrograms.h"

#include <cstring>

namespace bench {

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// `body` between the element's number, in %i, and the end; %o is its offset.
static std::string kernel(const std::string &name,
                          const std::string &parameters,
                          const std::string &body) {
  return ".visible .entry " + name + "(" + parameters +
         ")\n{\n"
         "  .reg .pred %p;\n"
         "  .reg .f32 %f<6>;\n"
         "  .reg .b32 %r<8>;\n"
         "  .reg .b32 %i;\n"
         "  .reg .b64 %o, %a<3>;\n"
         "  mov.u32 %r0, %ctaid.x;\n"
         "  mov.u32 %r1, %ntid.x;\n"
         "  mov.u32 %r2, %tid.x;\n"
         "  mad.lo.u32 %i, %r0, %r1, %r2;\n"
         "  mul.wide.u32 %o, %i, 4;\n" +
         body + "  ret;\n}\n";
}

/// The address of this thread's element of a parameter, in %a0.
static std::string element(const std::string &parameter) {
  return "  ld.param.u64 %a0, [" + parameter +
         "];\n"
         "  cvta.to.global.u64 %a0, %a0;\n"
         "  add.u64 %a0, %a0, %o;\n";
}

static std::string ptxText(const std::vector<int> &joins) {
  std::string text = ".version 6.4\n.target sm_70\n.address_size 64\n";
  text += kernel("nothing", "", "");
  text += kernel("step",
                 ".param .u64 x, .param .u64 y, .param .f32 factor, "
                 ".param .f32 term",
                 element("x") +
                     "  ld.global.f32 %f0, [%a0];\n"
                     "  ld.param.f32 %f1, [factor];\n"
                     "  ld.param.f32 %f2, [term];\n"
                     "  mul.rn.f32 %f3, %f0, %f1;\n"
                     "  add.rn.f32 %f4, %f3, %f2;\n" +
                     element("y") + "  st.global.f32 [%a0], %f4;\n");
  text += kernel("sum4",
                 ".param .u64 p0, .param .u64 p1, .param .u64 p2, "
                 ".param .u64 p3, .param .u64 y",
                 element("p0") + "  ld.global.f32 %f0, [%a0];\n" +
                     element("p1") + "  ld.global.f32 %f1, [%a0];\n" +
                     element("p2") + "  ld.global.f32 %f2, [%a0];\n" +
                     element("p3") + "  ld.global.f32 %f3, [%a0];\n" +
                     "  add.rn.f32 %f0, %f0, %f1;\n"
                     "  add.rn.f32 %f0, %f0, %f2;\n"
                     "  add.rn.f32 %f0, %f0, %f3;\n" +
                     element("y") + "  st.global.f32 [%a0], %f0;\n");
  text += kernel("mix", ".param .u64 x, .param .u64 y, .param .u32 salt",
                 element("x") +
                     "  ld.global.u32 %r3, [%a0];\n"
                     "  ld.param.u32 %r4, [salt];\n"
                     "  mov.u32 %r5, 0;\n"
                     "again:\n"
                     "  mad.lo.u32 %r3, %r3, 1664525, %r4;\n"
                     "  add.u32 %r5, %r5, 1;\n"
                     "  setp.lt.u32 %p, %r5, 64;\n"
                     "  @%p bra again;\n" +
                     element("y") + "  st.global.u32 [%a0], %r3;\n");
  for (int count : joins) {
    std::string parameters, body;
    for (int i = 0; i < count; ++i) {
      std::string part = "p" + std::to_string(i);
      parameters += ".param .u64 " + part + ", ";
      body += element(part) + "  ld.global.u32 %r3, [%a0];\n" + element("y") +
              "  st.global.u32 [%a0+" + std::to_string(i * 4096 * 4) +
              "], %r3;\n";
    }
    text += kernel("concat" + std::to_string(count),
                   parameters + ".param .u64 y", body);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static CUstream stream;
static CUmodule module;

static CUdeviceptr allocate(size_t words) {
  CUdeviceptr memory;
  CHECK_CUDA(cuda.memAlloc(&memory, words * 4));
  return memory;
}

/// A graph that grows node by node.
class Builder {
public:
  Builder() { CHECK_CUDA(cuda.graphCreate(&graph, 0)); }

  CUgraphNode add(const char *name, unsigned grid, unsigned block,
                  const std::vector<CUgraphNode> &after,
                  const std::vector<uint64_t> &arguments) {
    CUfunction function;
    CHECK_CUDA(cuda.moduleGetFunction(&function, module, name));
    std::vector<const void *> pointers;
    for (const uint64_t &argument : arguments)
      pointers.push_back(&argument);
    KernelNode node = {function, grid,    1,
                       1,        block,   1,
                       1,        0,       const_cast<void **>(pointers.data()),
                       nullptr,  nullptr, nullptr};
    CUgraphNode made;
    CHECK_CUDA(cuda.graphAddKernelNode(&made, graph, after.data(), after.size(),
                                       &node));
    return made;
  }

  CUgraphExec finish() {
    CUgraphExec executable;
    CHECK_CUDA(cuda.graphInstantiate(&executable, graph, 0));
    CHECK_CUDA(cuda.graphUpload(executable, stream));
    CHECK_CUDA(cuda.streamSynchronize(stream));
    return executable;
  }

private:
  CUgraph graph;
};

static uint32_t bits(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  return word;
}

/// The factor and the term of step number `k` of a program.
static float factorOf(int k) {
  return k % 3 == 0 ? 0.5f : k % 3 == 1 ? 0.25f : 0.75f;
}
static float termOf(int k) { return float(1 + k % 5); }

static CUgraphNode addStep(Builder &graph, int k, CUdeviceptr from,
                           CUdeviceptr to,
                           const std::vector<CUgraphNode> &after) {
  return graph.add("step", 4, 256, after,
                   {from, to, bits(factorOf(k)), bits(termOf(k))});
}

constexpr size_t floats = 1024, integers = 4096;

static GraphProgram floatProgram(const char *name) {
  GraphProgram program = {name, name, /*isFloat=*/true, {}, {}};
  for (size_t i = 0; i < floats; ++i)
    program.input.push_back(bits(float(i) / 8));
  program.in = allocate(floats);
  program.out = allocate(floats);
  return program;
}

static GraphProgram makeSteps() {
  GraphProgram program = floatProgram("steps10");
  Builder graph;
  std::vector<CUgraphNode> last;
  CUdeviceptr from = program.in;
  for (int k = 0; k < 10; ++k) {
    CUdeviceptr to = k == 9 ? program.out : allocate(floats);
    last = {addStep(graph, k, from, to, last)};
    from = to;
  }
  program.graph = graph.finish();
  for (size_t i = 0; i < floats; ++i) {
    float value = float(i) / 8;
    for (int k = 0; k < 10; ++k)
      value = value * factorOf(k) + termOf(k);
    program.expected.push_back(bits(value));
  }
  return program;
}

static GraphProgram makeFork() {
  GraphProgram program = floatProgram("fork4");
  Builder graph;
  CUdeviceptr root = allocate(floats);
  CUgraphNode first = addStep(graph, 0, program.in, root, {});
  std::vector<CUgraphNode> ends;
  std::vector<uint64_t> parts;
  for (int b = 0; b < 4; ++b) {
    CUdeviceptr one = allocate(floats), two = allocate(floats);
    CUgraphNode middle = addStep(graph, 1 + 2 * b, root, one, {first});
    ends.push_back(addStep(graph, 2 + 2 * b, one, two, {middle}));
    parts.push_back(two);
  }
  parts.push_back(program.out);
  graph.add("sum4", 4, 256, ends, parts);
  program.graph = graph.finish();
  for (size_t i = 0; i < floats; ++i) {
    float value = float(i) / 8 * factorOf(0) + termOf(0), sum = 0;
    for (int b = 0; b < 4; ++b)
      sum += (value * factorOf(1 + 2 * b) + termOf(1 + 2 * b)) *
                 factorOf(2 + 2 * b) +
             termOf(2 + 2 * b);
    program.expected.push_back(bits(sum));
  }
  return program;
}

static GraphProgram makeBranches(const char *name, int branches) {
  GraphProgram program = {name, "inception", /*isFloat=*/false, {}, {}};
  for (size_t i = 0; i < integers; ++i)
    program.input.push_back(uint32_t(i) * 2654435761u);
  program.in = allocate(integers);
  program.out = allocate(integers * size_t(branches));
  Builder graph;
  CUgraphNode root = graph.add("nothing", 1, 1, {}, {});
  std::vector<CUgraphNode> ends;
  std::vector<uint64_t> parts;
  for (int b = 0; b < branches; ++b) {
    CUgraphNode last = root;
    CUdeviceptr from = program.in;
    std::vector<uint32_t> values = program.input;
    for (int k = 0; k < 3; ++k) {
      uint32_t salt = 1013904223u - 977u * uint32_t(b * 3 + k);
      CUdeviceptr to = allocate(integers);
      last = graph.add("mix", 32, 128, {last}, {from, to, salt});
      from = to;
      for (uint32_t &value : values)
        for (int step = 0; step < 64; ++step)
          value = value * 1664525u + salt;
    }
    ends.push_back(last);
    parts.push_back(from);
    program.expected.insert(program.expected.end(), values.begin(),
                            values.end());
  }
  parts.push_back(program.out);
  graph.add(("concat" + std::to_string(branches)).c_str(), 32, 128, ends,
            parts);
  program.graph = graph.finish();
  return program;
}

std::vector<GraphProgram> makeGraphPrograms() {
  CHECK_CUDA(cuda.streamCreate(&stream, streamNonBlocking));
  CHECK_CUDA(cuda.moduleLoadData(&module, ptxText({4, 12}).c_str()));
  std::vector<GraphProgram> programs;
  programs.push_back(makeSteps());
  programs.push_back(makeFork());
  programs.push_back(makeBranches("branches4", 4));
  programs.push_back(makeBranches("branches12", 12));
  for (GraphProgram &program : programs)
    CHECK_CUDA(cuda.memcpyHtoD(program.in, program.input.data(),
                               program.input.size() * 4));
  return programs;
}

void runGraph(const GraphProgram &program) {
  CHECK_CUDA(cuda.graphLaunch(program.graph, stream));
  CHECK_CUDA(cuda.streamSynchronize(stream));
}

} // namespace bench
