//===- OrderJudge.cpp - HappensBefore, printed and judged -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a module in the linear form from standard input. `--print` prints what
// HappensBefore says of each work and host wait. Otherwise the streams are
// assigned, each work gets all that HappensBefore puts before it as its
// `after`, and ScheduleOrder, which shares no code with it, has to agree.
// `--plant` claims that all works are in the order of the text, which
// ScheduleOrder has to refuse where streams overlap.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Schedule/ScheduleOrder.h"
#include "GPUAsync/Analysis/Streams/HappensBefore.h"
#include "GPUAsync/IR/RegionTokens.h"
#include "GPUAsync/InitAll.h"
#include "GPUAsync/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::gpuasync;

static llvm::cl::opt<bool> print("print"), plant("plant");
static llvm::cl::opt<unsigned> maxStreams("max-streams", llvm::cl::init(0));

/// Nobody waits for a free, nor for a host-shared allocation.
static bool isWaitedFor(Operation *work) {
  auto alloc = dyn_cast<AllocOp>(work);
  return !isa<DeallocOp>(work) && !(alloc && alloc.getHostShared());
}

namespace {

/// By the number of each work, which becomes its id.
using Claims = std::vector<llvm::BitVector>;

/// Items are all that is waited for, as in ScheduleOrder.
class Order : public HappensBefore<llvm::BitVector> {
public:
  explicit Order(FunctionOpInterface function) : HappensBefore(function) {
    function->walk<WalkOrder::PreOrder>([&](WorkOpInterface work) {
      idOf[work] = ids.size();
      ids.push_back(work);
    });
    claims.resize(ids.size(), llvm::BitVector(ids.size()));
    run();
  }

  Claims claims;

private:
  bool addItem(Operation *op) override {
    return isa<WorkOpInterface>(op) && isWaitedFor(op);
  }

  void visit(Operation *op, const llvm::BitVector &before) override {
    auto wait = dyn_cast<WaitOp>(op);
    std::optional<unsigned> number = getNumber(op);
    if (!wait && !number)
      return;
    if (print) {
      llvm::outs() << "  ";
      if (number)
        llvm::outs() << idOf[op] << " ";
      llvm::outs() << op->getName().stripDialect();
      if (carriedLoop)
        llvm::outs() << " in a later iteration of "
                     << carriedLoop->getName().getStringRef();
      llvm::outs() << ":";
      for (unsigned item : before.set_bits())
        llvm::outs() << " " << idOf[getItem(item)];
      llvm::outs() << "\n";
    }
    if (!number)
      return;
    for (unsigned item : before.set_bits()) {
      Operation *work = getItem(item);
      // ScheduleOrder is asked for the latest of several runs.
      if (!carriedLoop || isLatest(work, op))
        claims[idOf[op]].set(idOf[work]);
    }
  }

  /// Whether the run of `work` in the last iteration is its latest one: the
  /// loop is in no other one, and `work` does not come between.
  bool isLatest(Operation *work, Operation *op) const {
    Operation *parent = carriedLoop->getParentOp();
    while (parent && !isTokenLoop(parent))
      parent = parent->getParentOp();
    if (parent || !isInside(*getNumber(work), carriedLoop))
      return false;
    for (Region &region : carriedLoop->getRegions()) {
      Operation *a = region.findAncestorOpInRegion(*work);
      Operation *b = region.findAncestorOpInRegion(*op);
      if (a && b)
        return b->isBeforeInBlock(a);
      if (a || b)
        return b;
    }
    return false;
  }

  std::vector<Operation *> ids;
  llvm::DenseMap<Operation *, unsigned> idOf;
};

} // namespace

/// Gives the work of a stream form what was claimed before it was one.
static unsigned claim(FunctionOpInterface function, const Claims &claims) {
  unsigned count = 0;
  llvm::DenseMap<unsigned, WorkOpInterface> byId;
  function->walk(
      [&](WorkOpInterface work) { byId[unsigned(*work.getId())] = work; });
  for (auto [id, before] : llvm::enumerate(claims)) {
    SmallVector<int64_t> after;
    for (unsigned other = 0; other < claims.size(); ++other)
      if (before.test(other) ||
          (plant && other < id && isWaitedFor(byId[other])))
        after.push_back(other);
    count += after.size();
    if (!after.empty())
      byId[id].setAfter(ArrayRef<int64_t>(after));
  }
  return count;
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv);
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllGPUAsyncDialects(registry);
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  auto input = llvm::MemoryBuffer::getSTDIN();
  if (!input)
    return EXIT_FAILURE;
  sources.AddNewSourceBuffer(std::move(*input), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return EXIT_FAILURE;
  llvm::StringMap<Claims> claims;
  for (auto function : module->getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    if (print)
      llvm::outs() << "@" << function.getName() << "\n";
    claims[function.getName()] = Order(function).claims;
  }
  if (print)
    return EXIT_SUCCESS;

  GPUAsyncAssignStreamsOptions options;
  options.maxStreams = maxStreams;
  PassManager passes(&context);
  passes.addPass(createGPUAsyncAssignStreams(options));
  if (failed(passes.run(*module)))
    return EXIT_FAILURE;
  unsigned count = 0, refused = 0;
  for (auto function : module->getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    count += claim(function, claims[function.getName()]);
    for (const ScheduleFinding &finding : findScheduleErrors(function)) {
      ++refused;
      finding.at->emitError("is not known to be after ") << *finding.other;
    }
  }
  llvm::outs() << count << " claims, " << refused << " refused\n";
  return refused || !count ? EXIT_FAILURE : EXIT_SUCCESS;
}
