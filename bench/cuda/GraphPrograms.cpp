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

static std::string ptxText(const std::vector<int> &works,
                           const std::vector<int> &joins) {
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
  for (int work : works)
    text += kernel("mix" + std::to_string(work),
                   ".param .u64 x, .param .u64 y, .param .u32 salt",
                   element("x") +
                       "  ld.global.u32 %r3, [%a0];\n"
                       "  ld.param.u32 %r4, [salt];\n"
                       "  mov.u32 %r5, 0;\n"
                       "again:\n"
                       "  mad.lo.u32 %r3, %r3, 1664525, %r4;\n"
                       "  add.u32 %r5, %r5, 1;\n"
                       "  setp.lt.u32 %p, %r5, " +
                       std::to_string(work) +
                       ";\n"
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

  CUgraphNode add(const std::string &name, unsigned grid, unsigned block,
                  const std::vector<CUgraphNode> &after,
                  const std::vector<uint64_t> &arguments) {
    CUfunction function;
    CHECK_CUDA(cuda.moduleGetFunction(&function, module, name.c_str()));
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

  CUgraphNode copy(size_t bytes, void *host, CUdeviceptr device, bool up,
                   const std::vector<CUgraphNode> &after) {
    CopyNode node = {};
    (up ? node.source : node.target).memoryType = memoryHost;
    (up ? node.source : node.target).host = host;
    (up ? node.target : node.source).memoryType = memoryDevice;
    (up ? node.target : node.source).device = device;
    node.widthInBytes = bytes, node.height = node.depth = 1;
    CUcontext context;
    CHECK_CUDA(cuda.ctxGetCurrent(&context));
    CUgraphNode made;
    CHECK_CUDA(cuda.graphAddMemcpyNode(&made, graph, after.data(), after.size(),
                                       &node, context));
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

/// What a graph reads and writes: the program's own memory, or, if that is the
/// host's, device memory with a copy before and a copy behind.
class Around {
public:
  Around(const GraphProgram &program, bool kernelFirst) : program(program) {
    in = program.in, out = program.out;
    if (!program.io) {
      if (kernelFirst)
        first = {graph.add("nothing", 1, 1, {}, {})};
      return;
    }
    in = allocate(program.input.size()), out = allocate(words());
    if (kernelFirst)
      first = {graph.add("nothing", 1, 1, {}, {})};
    first = {graph.copy(program.input.size() * 4, program.hostIn, in,
                        /*up=*/true, first)};
  }
  CUgraphExec finish(CUgraphNode last) {
    if (program.io)
      graph.copy(words() * 4, program.hostOut, out, /*up=*/false, {last});
    return graph.finish();
  }

  Builder graph;
  std::vector<CUgraphNode> first; ///< what the first kernels come after
  CUdeviceptr in, out;

private:
  size_t words() const { return program.expected.size(); }
  const GraphProgram &program;
};

/// The factor and the term of step number `k` of a program.
static float factorOf(int k) {
  return k % 3 == 0 ? 0.5f : k % 3 == 1 ? 0.25f : 0.75f;
}
static float termOf(int k) { return float(1 + k % 5); }
static float stepOf(int k, float value) {
  return value * factorOf(k) + termOf(k);
}

constexpr size_t floats = 1024, integers = 4096;

/// With its input and memory, and without a graph.
static GraphProgram start(const std::string &name, const char *function,
                          bool io, bool isFloat, size_t outputs) {
  GraphProgram program;
  program.name = name + (io ? "_io" : "");
  program.function = function;
  program.isFloat = isFloat, program.io = io;
  for (size_t i = 0; i < (isFloat ? floats : integers); ++i)
    program.input.push_back(isFloat ? bits(float(i) / 8)
                                    : uint32_t(i) * 2654435761u);
  program.expected.resize(outputs);
  size_t inBytes = program.input.size() * 4, outBytes = outputs * 4;
  if (io) {
    void *memory;
    CHECK_CUDA(cuda.memHostAlloc(&memory, inBytes, 0));
    program.hostIn = static_cast<uint32_t *>(memory);
    CHECK_CUDA(cuda.memHostAlloc(&memory, outBytes, 0));
    program.hostOut = static_cast<uint32_t *>(memory);
    std::memcpy(program.hostIn, program.input.data(), inBytes);
    std::memset(program.hostOut, 0, outBytes);
    return program;
  }
  program.in = allocate(program.input.size());
  program.out = allocate(outputs);
  CHECK_CUDA(cuda.memcpyHtoD(program.in, program.input.data(), inBytes));
  return program;
}

static CUgraphNode addStep(Builder &graph, int k, CUdeviceptr from,
                           CUdeviceptr to,
                           const std::vector<CUgraphNode> &after) {
  return graph.add("step", 4, 256, after,
                   {from, to, bits(factorOf(k)), bits(termOf(k))});
}

static GraphProgram makeSteps(int count, bool io, bool graphs) {
  GraphProgram program = start("steps" + std::to_string(count), "steps", io,
                               /*isFloat=*/true, floats);
  for (size_t i = 0; i < floats; ++i) {
    float value = float(i) / 8;
    for (int k = 0; k < count; ++k)
      value = stepOf(k, value);
    program.expected[i] = bits(value);
  }
  for (int kernelFirst = 0; graphs && kernelFirst <= io; ++kernelFirst) {
    Around around(program, kernelFirst);
    std::vector<CUgraphNode> last = around.first;
    CUdeviceptr from = around.in;
    for (int k = 0; k < count; ++k) {
      CUdeviceptr to = k == count - 1 ? around.out : allocate(floats);
      last = {addStep(around.graph, k, from, to, last)};
      from = to;
    }
    program.graphs.push_back(around.finish(last[0]));
  }
  return program;
}

static GraphProgram makeFork(bool io, bool graphs) {
  GraphProgram program = start("fork4", "fork", io, /*isFloat=*/true, floats);
  for (size_t i = 0; i < floats; ++i) {
    float value = stepOf(0, float(i) / 8), sum = 0;
    for (int b = 0; b < 4; ++b)
      sum += stepOf(2 + 2 * b, stepOf(1 + 2 * b, value));
    program.expected[i] = bits(sum);
  }
  for (int kernelFirst = 0; graphs && kernelFirst <= io; ++kernelFirst) {
    Around around(program, kernelFirst);
    Builder &graph = around.graph;
    CUdeviceptr root = allocate(floats);
    CUgraphNode first = addStep(graph, 0, around.in, root, around.first);
    std::vector<CUgraphNode> ends;
    std::vector<uint64_t> parts;
    for (int b = 0; b < 4; ++b) {
      CUdeviceptr one = allocate(floats), two = allocate(floats);
      CUgraphNode middle = addStep(graph, 1 + 2 * b, root, one, {first});
      ends.push_back(addStep(graph, 2 + 2 * b, one, two, {middle}));
      parts.push_back(two);
    }
    parts.push_back(around.out);
    program.graphs.push_back(
        around.finish(graph.add("sum4", 4, 256, ends, parts)));
  }
  return program;
}

static uint32_t saltOf(int k) { return 1013904223u - 977u * uint32_t(k); }

/// `work` times x * 1664525 + salt is x * factor + term.
static void mixOf(int work, uint32_t salt, uint32_t &factor, uint32_t &term) {
  factor = 1, term = 0;
  uint32_t stepFactor = 1664525, stepTerm = salt;
  for (; work; work >>= 1) {
    if (work & 1)
      term = stepFactor * term + stepTerm, factor *= stepFactor;
    stepTerm = stepFactor * stepTerm + stepTerm, stepFactor *= stepFactor;
  }
}

std::vector<uint32_t> branchesOf(const GraphProgram &program, int branches,
                                 int kernels, int work, uint32_t change) {
  std::vector<uint32_t> all;
  for (int b = 0; b < branches; ++b) {
    std::vector<uint32_t> values = program.input;
    for (int k = 0; k < kernels; ++k) {
      uint32_t factor, term;
      mixOf(work, saltOf(b * kernels + k) + change, factor, term);
      for (uint32_t &value : values)
        value = value * factor + term;
    }
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

static GraphProgram makeBranches(const char *name, int branches, int kernels,
                                 int work, bool io, bool graphs) {
  GraphProgram program = start(name, "inception", io, /*isFloat=*/false,
                               integers * size_t(branches));
  program.expected = branchesOf(program, branches, kernels, work);
  for (int kernelFirst = !io; graphs && kernelFirst <= 1; ++kernelFirst) {
    Around around(program, kernelFirst);
    Builder &graph = around.graph;
    std::vector<CUgraphNode> ends;
    std::vector<uint64_t> parts;
    for (int b = 0; b < branches; ++b) {
      std::vector<CUgraphNode> last = around.first;
      CUdeviceptr from = around.in;
      for (int k = 0; k < kernels; ++k) {
        CUdeviceptr to = allocate(integers);
        last = {graph.add("mix" + std::to_string(work), 32, 128, last,
                          {from, to, saltOf(b * kernels + k)})};
        from = to;
      }
      ends.push_back(last[0]);
      parts.push_back(from);
    }
    parts.push_back(around.out);
    program.graphs.push_back(around.finish(
        graph.add("concat" + std::to_string(branches), 32, 128, ends, parts)));
  }
  return program;
}

std::vector<GraphProgram> makeGraphPrograms(bool graphs) {
  if (graphs) {
    std::string text = ptxText({64, longWork}, {1, 3, 4, 12});
    CHECK_CUDA(cuda.streamCreate(&stream, streamNonBlocking));
    CHECK_CUDA(cuda.moduleLoadData(&module, text.c_str()));
  }
  std::vector<GraphProgram> programs;
  for (bool io : {false, true}) {
    programs.push_back(makeSteps(10, io, graphs));
    programs.push_back(makeFork(io, graphs));
    programs.push_back(makeBranches("branches4", 4, 3, 64, io, graphs));
    programs.push_back(makeBranches("branches12", 12, 3, 64, io, graphs));
  }
  programs.push_back(makeBranches("long3", 3, 1, longWork, false, graphs));
  programs.push_back(makeBranches("longchain", 1, 3, longWork, false, graphs));
  return programs;
}

void runGraph(const GraphProgram &program, size_t which) {
  CHECK_CUDA(cuda.graphLaunch(program.graphs[which], stream));
  CHECK_CUDA(cuda.streamSynchronize(stream));
}

} // namespace bench
