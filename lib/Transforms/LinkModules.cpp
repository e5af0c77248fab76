//===- LinkModules.cpp - one gpu.module for all kernels -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves what the gpu.modules of a program hold into the first of them that has
// the same attributes.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/Transforms/Passes.h"

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCLINKMODULES
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
using Renames = llvm::DenseMap<StringAttr, StringAttr>;

/// Where the symbols of a module have gone.
struct Moved {
  StringAttr module;
  Renames symbols;
};

/// The gpu.modules that become one.
struct Group {
  gpu::GPUModuleOp module; ///< the first, which takes the others in
  llvm::DenseMap<StringAttr, Operation *> symbols;
};

struct LinkModules
    : public gpuasync::impl::GPUAsyncLinkModulesBase<LinkModules> {
  void runOnOperation() override;

private:
  void link(ModuleOp program);
  std::optional<Renames> findRenames(Group &group, gpu::GPUModuleOp module);
};
} // namespace

/// Whether the symbol names something outside of its module.
static bool isDeclaration(Operation *symbol) {
  if (auto function = dyn_cast<FunctionOpInterface>(symbol))
    return function.isExternal();
  if (auto global = dyn_cast<memref::GlobalOp>(symbol))
    return global.isExternal();
  if (auto global = dyn_cast<LLVM::GlobalOp>(symbol))
    return !global.getValueAttr() && !global.getInitializerBlock() &&
           (global.getLinkage() == LLVM::Linkage::External ||
            global.getLinkage() == LLVM::Linkage::ExternWeak);
  auto interface = dyn_cast<SymbolOpInterface>(symbol);
  return interface && interface.isDeclaration();
}

static StringAttr nameOf(Operation *op) {
  return op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
}

/// What two modules have to agree in: all but their names.
static DictionaryAttr getSharedAttributes(gpu::GPUModuleOp module) {
  NamedAttrList attributes(module->getAttrDictionary());
  attributes.erase(SymbolTable::getSymbolAttrName());
  return attributes.getDictionary(module.getContext());
}

/// Replaces references of the symbol table of `table`, those of tables nested
/// in it excepted.
static void
replaceReferences(Operation *table,
                  function_ref<SymbolRefAttr(SymbolRefAttr)> replace) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](SymbolRefAttr reference) -> std::pair<Attribute, WalkResult> {
        return {replace(reference), WalkResult::skip()};
      });
  table->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == table)
      return WalkResult::advance();
    replacer.replaceElementsIn(op);
    return op->hasTrait<OpTrait::SymbolTable>() ? WalkResult::skip()
                                                : WalkResult::advance();
  });
}

/// The new names of the symbols of `module` that clash with those of the group,
/// or nothing if both cannot be one module.
std::optional<Renames> LinkModules::findRenames(Group &group,
                                                gpu::GPUModuleOp module) {
  Renames renames;
  llvm::StringSet<> taken;
  for (Operation &op : *module.getBody())
    if (StringAttr name = nameOf(&op))
      taken.insert(name);
  auto makeName = [&](StringRef module, StringAttr name) {
    // Outlining has numbered its modules already.
    std::string base = module.starts_with(name.getValue())
                           ? module.str()
                           : (module + "_" + name.getValue()).str();
    std::string result = base;
    for (unsigned number = 0;
         !taken.insert(result).second ||
         group.symbols.contains(StringAttr::get(&getContext(), result));
         ++number)
      result = base + "_" + std::to_string(number);
    return StringAttr::get(&getContext(), result);
  };
  for (Operation &op : *module.getBody()) {
    StringAttr name = nameOf(&op);
    Operation *other = name ? group.symbols.lookup(name) : nullptr;
    if (!other)
      continue;
    if (!isDeclaration(&op)) {
      renames[name] = makeName(module.getName(), name);
      continue;
    }
    // The name of what comes from elsewhere is not ours to change.
    if (!isDeclaration(other) ||
        !OperationEquivalence::isEquivalentTo(
            &op, other, OperationEquivalence::IgnoreLocations)) {
      auto remark = module.emitRemark("stays apart from @")
                    << group.module.getName() << ": its declaration of @"
                    << name.getValue()
                    << " does not agree with the other module's "
                    << (isDeclaration(other) ? "declaration" : "definition");
      remark.attachNote(op.getLoc()) << "the declaration";
      remark.attachNote(other->getLoc()) << "the other module's";
      return std::nullopt;
    }
  }
  return renames;
}

void LinkModules::link(ModuleOp program) {
  SmallVector<gpu::GPUModuleOp> modules(program.getOps<gpu::GPUModuleOp>());
  if (modules.size() < 2)
    return;

  llvm::MapVector<DictionaryAttr, Group> groups;
  llvm::DenseMap<StringAttr, Moved> moved;
  for (gpu::GPUModuleOp module : modules) {
    DictionaryAttr attributes = getSharedAttributes(module);
    auto [known, isNew] = groups.try_emplace(attributes);
    Group &group = known->second;
    if (isNew) {
      group.module = module;
      for (Operation &op : *module.getBody())
        if (StringAttr name = nameOf(&op))
          group.symbols[name] = &op;
      if (groups.size() == 1)
        continue;
      auto &[otherAttributes, other] = groups.front();
      StringRef what = "attributes";
      if (module.getTargetsAttr() != other.module.getTargetsAttr())
        what = "targets";
      else if (module.getOffloadingHandlerAttr() !=
               other.module.getOffloadingHandlerAttr())
        what = "offloading handlers";
      auto remark = module.emitRemark("stays apart from @")
                    << other.module.getName() << ": their " << what
                    << " differ";
      remark.attachNote(other.module.getLoc()) << "the other module";
      continue;
    }

    std::optional<Renames> renames = findRenames(group, module);
    if (!renames)
      continue;
    if (!renames->empty())
      replaceReferences(module, [&](SymbolRefAttr reference) -> SymbolRefAttr {
        StringAttr name = renames->lookup(reference.getRootReference());
        return name ? SymbolRefAttr::get(name, reference.getNestedReferences())
                    : reference;
      });
    for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
      StringAttr name = nameOf(&op);
      if (name && isDeclaration(&op) && group.symbols.contains(name)) {
        op.erase();
        continue;
      }
      if (StringAttr newName = name ? renames->lookup(name) : StringAttr()) {
        SymbolTable::setSymbolName(&op, newName);
        name = newName;
      }
      op.moveBefore(group.module.getBody(), group.module.getBody()->end());
      if (name)
        group.symbols[name] = &op;
    }
    moved[module.getNameAttr()] =
        Moved{group.module.getNameAttr(), std::move(*renames)};
    Decision(*this, module, "Linked").count(numLinked, "linked-modules");
    module.erase();
  }
  if (moved.empty())
    return;
  replaceReferences(program, [&](SymbolRefAttr reference) -> SymbolRefAttr {
    auto known = moved.find(reference.getRootReference());
    if (known == moved.end())
      return reference;
    SmallVector<FlatSymbolRefAttr> nested(reference.getNestedReferences());
    if (!nested.empty())
      if (StringAttr name =
              known->second.symbols.lookup(nested.front().getAttr()))
        nested.front() = FlatSymbolRefAttr::get(name);
    return SymbolRefAttr::get(known->second.module, nested);
  });
}

void LinkModules::runOnOperation() {
  // Each symbol table on its own: a nested module is another program.
  SmallVector<ModuleOp> programs;
  getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto program = dyn_cast<ModuleOp>(op))
      programs.push_back(program);
    return isa<gpu::GPUModuleOp, FunctionOpInterface>(op)
               ? WalkResult::skip()
               : WalkResult::advance();
  });
  for (ModuleOp program : programs)
    link(program);
}
