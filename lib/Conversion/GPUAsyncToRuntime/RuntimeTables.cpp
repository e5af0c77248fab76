//===- RuntimeTables.cpp - constant tables of a lowered program -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the structs of RuntimeABI.h as internal constants of the LLVM dialect.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "RuntimeLowering.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::runtime;

Position runtime::getPosition(Location loc) {
  if (auto range = dyn_cast<FileLineColRange>(loc)) {
    // The parser's name for standard input is no file that a user knows.
    return {range.getFilename().getValue(), range.getStartLine(),
            range.getStartColumn()};
  }
  if (auto name = dyn_cast<NameLoc>(loc))
    return getPosition(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    Position position = getPosition(call.getCallee());
    return position.file.empty() ? getPosition(call.getCaller()) : position;
  }
  if (auto opaque = dyn_cast<OpaqueLoc>(loc))
    return getPosition(opaque.getFallbackLocation());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (Position position = getPosition(part); !position.file.empty())
        return position;
  return {};
}

bool runtime::isDeviceOp(Operation *op) {
  return (isAsyncOp(op) && !isa<BinaryOp, GroupOp, YieldOp>(op)) ||
         isa<nvgpu::TmaCreateDescriptorOp>(op);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The value of a table: an integer, the address of a symbol, null, or an
/// aggregate of such.
struct Tables::Constant {
  Type type;
  uint64_t value = 0;
  FlatSymbolRefAttr symbol;
  std::vector<Constant> elements;
  bool isAggregate = false;
  Attribute data; ///< of an array
};

Tables::Constant Tables::integer(Type type, uint64_t value) {
  return {type, value, {}, {}, false, {}};
}
Tables::Constant Tables::null() { return {ptrType, 0, {}, {}, false, {}}; }
Tables::Constant Tables::symbol(FlatSymbolRefAttr symbol) {
  return {ptrType, 0, symbol, {}, false, {}};
}
Tables::Constant Tables::address(LLVM::GlobalOp global) {
  return symbol(FlatSymbolRefAttr::get(global.getSymNameAttr()));
}
Tables::Constant Tables::aggregate(Type type, ArrayRef<Constant> elements) {
  return {type, 0, {}, elements.vec(), true, {}};
}

Value Tables::build(OpBuilder &builder, Location loc, const Constant &value) {
  if (value.isAggregate) {
    Value result = LLVM::PoisonOp::create(builder, loc, value.type);
    for (auto [i, element] : llvm::enumerate(value.elements))
      result = LLVM::InsertValueOp::create(builder, loc, result,
                                           build(builder, loc, element), i);
    return result;
  }
  if (value.data)
    return LLVM::ConstantOp::create(builder, loc, value.type,
                                    cast<TypedAttr>(value.data));
  if (value.symbol)
    return LLVM::AddressOfOp::create(builder, loc, ptrType, value.symbol);
  if (value.type == ptrType)
    return LLVM::ZeroOp::create(builder, loc, ptrType);
  return constant(builder, loc, value.type, value.value);
}

LLVM::GlobalOp Tables::addGlobal(StringRef name, Type type, Attribute value,
                                 bool isConstant) {
  builder.setInsertionPointToEnd(module.getBody());
  auto global =
      LLVM::GlobalOp::create(builder, module.getLoc(), type, isConstant,
                             LLVM::Linkage::Internal, name, value);
  symbols.insert(global);
  return global;
}

LLVM::GlobalOp Tables::addTable(StringRef name, const Constant &value) {
  LLVM::GlobalOp global = addGlobal(name, value.type, Attribute());
  OpBuilder body =
      OpBuilder::atBlockBegin(&global.getInitializerRegion().emplaceBlock());
  Location loc = module.getLoc();
  LLVM::ReturnOp::create(body, loc, build(body, loc, value));
  return global;
}

FlatSymbolRefAttr Tables::bytes(StringRef name, StringRef data,
                                unsigned alignment) {
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), data.size());
  LLVM::GlobalOp global = addGlobal(name, type, builder.getStringAttr(data));
  global.setUnnamedAddr(LLVM::UnnamedAddr::Global);
  if (alignment > 1)
    global.setAlignment(alignment);
  return FlatSymbolRefAttr::get(global.getSymNameAttr());
}

Tables::Constant Tables::string(StringRef text) {
  FlatSymbolRefAttr &known = strings[text];
  if (!known)
    known = bytes("_gpuasync_string", (text + Twine('\0')).str(), 1);
  return symbol(known);
}

Tables::Constant Tables::integers(StringRef name, ArrayRef<int64_t> values) {
  if (values.empty())
    return null();
  SmallVector<int32_t> narrow(values.begin(), values.end());
  auto tensor = DenseElementsAttr::get(
      RankedTensorType::get(narrow.size(), i32Type), ArrayRef(narrow));
  auto type = LLVM::LLVMArrayType::get(i32Type, narrow.size());
  return address(addGlobal(name, type, tensor));
}

Tables::Constant Tables::table(StringRef name, Type type,
                               ArrayRef<Constant> elements) {
  if (elements.empty())
    return null();
  auto array = LLVM::LLVMArrayType::get(type, elements.size());
  return address(addTable(name, aggregate(array, elements)));
}

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

uint32_t SiteTable::addText(StringRef text) {
  auto [entry, isNew] = texts.try_emplace(text, pool.size());
  if (isNew)
    pool.append(text.data(), text.size()).push_back('\0');
  return entry->second;
}

uint32_t SiteTable::add(const Site &site) {
  // Ops that cannot be told apart share one, as the waits before one op.
  StringRef key(reinterpret_cast<const char *>(site.data()),
                sizeof(gpuasync_site));
  auto [entry, isNew] = known.try_emplace(key, sites.size());
  if (isNew)
    sites.push_back(site);
  return entry->second;
}

std::vector<int32_t> SiteTable::getNumbers() const {
  std::vector<int32_t> numbers;
  numbers.reserve(sites.size() * std::tuple_size_v<Site>);
  for (auto [i, site] : llvm::enumerate(sites)) {
    Site relative = site;
    uint32_t toPool = (sites.size() - i) * sizeof(gpuasync_site);
    relative[offsetof(gpuasync_site, file) / sizeof(uint32_t)] += toPool;
    relative[offsetof(gpuasync_site, op) / sizeof(uint32_t)] += toPool;
    numbers.insert(numbers.end(), relative.begin(), relative.end());
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

Tables::Tables(ModuleOp module, SymbolTable &symbols)
    : module(module), symbols(symbols), builder(module.getContext()) {
  MLIRContext *context = module.getContext();
  ptrType = LLVM::LLVMPointerType::get(context);
  i32Type = builder.getI32Type();
  i64Type = builder.getI64Type();
  auto structOf = [&](ArrayRef<Type> fields) {
    return LLVM::LLVMStructType::getLiteral(context, fields);
  };
  Type p = ptrType, i32 = i32Type, i64 = i64Type;
  kernelType = structOf({p, p, p, i32, i32});
  imageType = structOf({i32, i32, p, p, i64, LLVM::LLVMArrayType::get(i64, 2)});
  cpuKernelType = structOf({p, p, i64, i32, i32, i32, i32, i64, p});
  moduleType = structOf({p, p, p, i32, i32});
  programType = structOf({i32, i32, p, p, p, p, i32, i32});
  functionType = structOf({p, p, i32, i32, p, p, i32, i32, i32, i32});
  fragmentType = structOf({i32, i32, i32, i32, p, p, p, p});
  groupType = structOf({p, i32, i32, p});
  collectiveType = structOf({i64, i32, i32, i32, i32, i32, i32, p, p, p, i32});
  Type three = LLVM::LLVMArrayType::get(i64, 3);
  block = structOf({three, three, three, i64, i32, i32, p});
  for (auto binary : module.getOps<BinaryOp>())
    binaries.insert({binary.getSymNameAttr(), binary});
}

FailureOr<KernelRef> Tables::lookupKernel(WorkOpInterface work) {
  SymbolRefAttr code = work.getCode();
  StringAttr moduleName = code.getRootReference();
  auto it = binaries.find(moduleName);
  if (it == binaries.end()) {
    Operation *other = symbols.lookup(moduleName);
    if (!other)
      return work->emitOpError()
             << "names the kernel " << code
             << ", but the program has no kernels @" << moduleName.getValue();
    InFlightDiagnostic diag = work->emitOpError()
                              << "needs the compiled kernels @"
                              << moduleName.getValue()
                              << ": run gpu-async-lower-kernels first";
    diag.attachNote(other->getLoc()) << "this is not a gpu_async.binary";
    return diag;
  }
  BinaryOp binary = it->second;
  std::optional<unsigned> kernel =
      binary.lookupKernel(code.getLeafReference().getValue());
  if (!kernel) {
    InFlightDiagnostic diag = work->emitOpError()
                              << "names the kernel " << code
                              << ", which the compiled module does not have";
    diag.attachNote(binary.getLoc()) << "compiled module";
    return diag;
  }
  return KernelRef{static_cast<unsigned>(it - binaries.begin()), *kernel,
                   cast<KernelAttr>(binary.getKernels()[*kernel])};
}

FailureOr<LLVM::LLVMFuncOp>
Tables::declareLibrary(WorkOpInterface work, FlatSymbolRefAttr name,
                       LLVM::LLVMFunctionType type) {
  Operation *symbol = symbols.lookup(name.getAttr());
  if (auto known = dyn_cast_or_null<LLVM::LLVMFuncOp>(symbol)) {
    if (known.getFunctionType() == type)
      return known;
    InFlightDiagnostic diag = work->emitOpError()
                              << "needs " << name << " to be declared as "
                              << type;
    diag.attachNote(known.getLoc()) << "it is here";
    return diag;
  }
  const StringRef replayable = GPUAsyncDialect::getReplayableName();
  OpBuilder::InsertionGuard guard(builder);
  if (!symbol) {
    builder.setInsertionPointToEnd(module.getBody());
    auto made =
        LLVM::LLVMFuncOp::create(builder, work.getLoc(), name.getValue(), type);
    if (work.isReplayable())
      made->setAttr(replayable, builder.getUnitAttr());
    symbols.insert(made);
    return made;
  }
  auto declared = dyn_cast<func::FuncOp>(symbol);
  if (!declared || !declared.isExternal())
    return work->emitOpError()
           << "calls " << name << ", which is no declared func.func";
  if (auto uses = SymbolTable::getSymbolUses(declared, module))
    for (const SymbolTable::SymbolUse &use : *uses)
      if (!isa<WorkOpInterface>(use.getUser())) {
        InFlightDiagnostic diag =
            use.getUser()->emitOpError()
            << "uses " << name
            << ", which gpu_async.call calls with another first argument";
        diag.attachNote(work.getLoc()) << "the call";
        return diag;
      }
  builder.setInsertionPoint(declared);
  auto made = LLVM::LLVMFuncOp::create(builder, declared.getLoc(),
                                       name.getValue(), type);
  if (Attribute attr = declared->getAttr(replayable))
    made->setAttr(replayable, attr);
  symbols.erase(declared);
  symbols.insert(made);
  return made;
}

LLVM::LLVMFuncOp Tables::getUnpacked(LLVM::LLVMFuncOp library) {
  std::string name = ("_gpuasync_unpacked_" + library.getSymName()).str();
  if (auto known = symbols.lookup<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  Location loc = library.getLoc();
  auto made = LLVM::LLVMFuncOp::create(
      builder, loc, name,
      LLVM::LLVMFunctionType::get(i32Type, {ptrType, ptrType}),
      LLVM::Linkage::Internal);
  symbols.insert(made);
  Block *body = made.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);
  SmallVector<Value> operands = {body->getArgument(0)};
  ArrayRef<Type> types = library.getFunctionType().getParams();
  for (auto [i, type] : llvm::enumerate(types.drop_front())) {
    Value place = LLVM::GEPOp::create(
        builder, loc, ptrType, builder.getI8Type(), body->getArgument(1),
        ArrayRef<LLVM::GEPArg>(static_cast<int32_t>(8 * i)));
    operands.push_back(LLVM::LoadOp::create(builder, loc, type, place));
  }
  auto result = LLVM::CallOp::create(builder, loc, library, operands);
  LLVM::ReturnOp::create(builder, loc, result.getResult());
  return made;
}

unsigned Tables::getConstant(ConstantOp op) {
  StringAttr name = op.getNameAttr().getAttr();
  auto [entry, isNew] =
      constants.try_emplace(name, symbols.lookup<memref::GlobalOp>(name));
  return binaries.size() + (entry - constants.begin());
}

const LaunchParams *Tables::getParams(LaunchOp launch) {
  MLIRContext *context = module.getContext();
  TypeRange types = launch.getKernelOperands().getTypes();
  auto [entry, isNew] =
      params.try_emplace(FunctionType::get(context, types, {}));
  LaunchParams &found = entry->second;
  if (!isNew)
    return &found;
  auto emitError = [&] { return launch.emitOpError(); };
  FailureOr<SmallVector<int64_t>> sizes =
      getKernelParamSizes(types, context, emitError);
  if (failed(sizes)) {
    params.erase(entry);
    return nullptr;
  }
  found.sizes = std::move(*sizes);
  found.offsets = getKernelParamOffsets(found.sizes);
  if (!found.sizes.empty())
    found.bytes = found.offsets.back() + found.sizes.back();
  for (Type type : types)
    if (isa<nvgpu::TensorMapDescriptorType>(type) ||
        !llvm::all_of(*getKernelParamTypes(type, context, emitError),
                      isCommonKernelParam)) {
      found.uncommon = type;
      break;
    }
  return &found;
}

/// GPUASYNC_SITE_AWAITED. Memory that is freed behind it nobody waits for.
static bool isAwaited(WorkOpInterface launch) {
  Value stream = launch.getStream();
  for (Operation *op = launch->getNextNode(); op;) {
    if (auto wait = dyn_cast<StreamSynchronizeOp>(op))
      if (llvm::is_contained(wait.getStreams(), stream))
        return true;
    if (!isa<DeallocOp>(op) && llvm::is_contained(op->getOperands(), stream))
      return false;
    // A region's block goes on where the region ends.
    auto branch = dyn_cast<cf::BranchOp>(op);
    bool goesOn = branch && branch.getDest() != launch->getBlock() &&
                  branch.getDest()->getSinglePredecessor();
    op = goesOn ? &branch.getDest()->front() : op->getNextNode();
  }
  return false;
}

uint32_t Tables::addSite(Operation *op, const KernelRef *kernel, StringRef text,
                         std::optional<uint32_t> number) {
  SymbolRefAttr code = getCode(op);
  auto addText = [&](StringRef text) {
    if (!code)
      return sites.addText(text);
    std::string full = (text + " @" + code.getRootReference().getValue()).str();
    for (FlatSymbolRefAttr nested : code.getNestedReferences())
      full += ("::@" + nested.getValue()).str();
    return sites.addText(full);
  };
  Position position = getPosition(op->getLoc());
  uint32_t file = sites.addText(position.file), place;
  if (!text.empty()) {
    place = addText(text);
  } else {
    Attribute key = code ? Attribute(code) : op->getName().getIdentifier();
    auto [known, isNew] = opTexts.try_emplace(key);
    if (isNew)
      known->second = addText(op->getName().getStringRef());
    place = known->second;
  }
  uint64_t id = number.value_or(UINT32_MAX);
  auto work = dyn_cast<WorkOpInterface>(op);
  if (work)
    id = work.getId().value_or(UINT32_MAX);
  uint32_t flags =
      runsKernel(op) && isAwaited(work) ? GPUASYNC_SITE_AWAITED : 0;
  return sites.add({file, place, position.line, position.column,
                    static_cast<uint32_t>(id), kernel ? kernel->module : 0,
                    kernel ? kernel->kernel : 0, flags});
}

Tables::Constant Tables::siteTable() {
  if (!sites.size())
    return null();
  // One constant that holds no address: the texts behind the numbers.
  std::vector<int32_t> numbers = sites.getNumbers();
  StringRef pool = sites.getPool();
  auto numbersType = LLVM::LLVMArrayType::get(i32Type, numbers.size());
  auto poolType = LLVM::LLVMArrayType::get(builder.getI8Type(), pool.size());
  Constant numbersPart = {numbersType, 0, {}, {}, false, {}};
  numbersPart.data = DenseElementsAttr::get(
      RankedTensorType::get(numbers.size(), i32Type), ArrayRef(numbers));
  Constant poolPart = {poolType, 0, {}, {}, false, {}};
  poolPart.data = builder.getStringAttr(pool);
  auto type = LLVM::LLVMStructType::getLiteral(module.getContext(),
                                               {numbersType, poolType});
  return address(
      addTable("_gpuasync_sites", aggregate(type, {numbersPart, poolPart})));
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// The tables of all fragments; each fragment has their addresses.
static constexpr llvm::StringLiteral indicesSymbol = "_gpuasync_indices",
                                     configsSymbol = "_gpuasync_configs";

/// Where `part` is in `pool`, at a multiple of its size if it `isAligned`.
template <typename T>
static size_t addToPool(std::vector<T> &pool, ArrayRef<T> part,
                        bool isAligned) {
  auto found = pool.begin();
  while (true) {
    found = std::search(found, pool.end(), part.begin(), part.end());
    size_t place = found - pool.begin();
    if (found == pool.end())
      break;
    if (!isAligned || place % part.size() == 0)
      return place;
    ++found;
  }
  pool.insert(pool.end(), part.begin(), part.end());
  return pool.size() - part.size();
}

uint32_t Tables::addIndices(ArrayRef<uint32_t> part) {
  return part.empty() ? 0 : addToPool(indices, part, /*isAligned=*/false);
}

uint32_t Tables::addConfig(const gpuasync_launch_config &config) {
  uint64_t words[sizeof(config) / sizeof(uint64_t)];
  memcpy(words, &config, sizeof(config));
  return sizeof(uint64_t) *
         addToPool(configs, ArrayRef(words), /*isAligned=*/true);
}

FlatSymbolRefAttr Tables::addFragment(ArrayRef<gpuasync_command> commands,
                                      uint32_t lanes, uint32_t argumentBytes,
                                      uint32_t site) {
  SmallVector<int64_t> numbers;
  bool hasIndices = false, hasConfigs = false;
  for (const gpuasync_command &command : commands) {
    uint32_t fields[sizeof(command) / sizeof(uint32_t)];
    memcpy(fields, &command, sizeof(command));
    numbers.append(std::begin(fields), std::end(fields));
    hasIndices |= command.afterCount || command.waitCount;
    hasConfigs |= command.config != GPUASYNC_NO_CONFIG;
  }
  auto addressIf = [&](bool isThere, StringRef name) {
    return isThere ? symbol(FlatSymbolRefAttr::get(module.getContext(), name))
                   : null();
  };
  Constant fragment = aggregate(
      fragmentType, {integer(i32Type, commands.size()), integer(i32Type, lanes),
                     integer(i32Type, argumentBytes), integer(i32Type, site),
                     integers("_gpuasync_commands", numbers),
                     addressIf(hasIndices, indicesSymbol), null(),
                     addressIf(hasConfigs, configsSymbol)});
  return FlatSymbolRefAttr::get(
      addTable("_gpuasync_fragment", fragment).getSymNameAttr());
}

void Tables::addPools() {
  auto add = [&](StringRef name, Type element, auto numbers) {
    if (numbers.empty())
      return;
    auto tensor = DenseElementsAttr::get(
        RankedTensorType::get(numbers.size(), element), ArrayRef(numbers));
    addGlobal(name, LLVM::LLVMArrayType::get(element, numbers.size()), tensor);
  };
  add(indicesSymbol, i32Type,
      std::vector<int32_t>(indices.begin(), indices.end()));
  add(configsSymbol, i64Type,
      std::vector<int64_t>(configs.begin(), configs.end()));
}

FlatSymbolRefAttr Tables::addTensorFormat(ArrayRef<uint32_t> fields) {
  assert(fields.size() * sizeof(uint32_t) == sizeof(gpuasync_tensor_format));
  FlatSymbolRefAttr &known =
      formats[StringRef(reinterpret_cast<const char *>(fields.data()),
                        sizeof(gpuasync_tensor_format))];
  if (!known)
    known = integers("_gpuasync_tensor_format",
                     SmallVector<int64_t>(fields.begin(), fields.end()))
                .symbol;
  return known;
}

Tables::Constant Tables::group(FlatSymbolRefAttr name) {
  if (!name)
    return null();
  FlatSymbolRefAttr &known = groups[name];
  if (!known) {
    auto op = symbols.lookup<GroupOp>(name.getValue());
    SmallVector<int64_t> members = op.getMembers();
    std::string text = name.getValue().str();
    Constant table =
        aggregate(groupType, {string(text), integer(i32Type, members.size()),
                              integer(i32Type, op.getListSize()),
                              integers("_gpuasync_members_" + text, members)});
    known = address(addTable("_gpuasync_group_" + text, table)).symbol;
  }
  return symbol(known);
}

Value Tables::addressOfGroup(OpBuilder &builder, Operation *op,
                             FlatSymbolRefAttr name) {
  return build(builder, op->getLoc(), group(name));
}

FlatSymbolRefAttr Tables::addCollective(CollectiveOp op) {
  CollectiveAttr what = op.getWhat();
  Position position = getPosition(op.getLoc());
  Attribute name = op.getGroupAttr();
  Attribute fields[] = {what,
                        builder.getI32IntegerAttr(op.getElement()),
                        name ? name : builder.getUnitAttr(),
                        builder.getStringAttr(position.file),
                        builder.getI64IntegerAttr(position.line),
                        builder.getBoolAttr(op.getOverlapped())};
  FlatSymbolRefAttr &known = collectives[builder.getArrayAttr(fields)];
  if (known)
    return known;
  SmallVector<int64_t> pairs(what.getPairs());
  Constant table = aggregate(
      collectiveType,
      {integer(i64Type, sizeof(gpuasync_collective)),
       integer(i32Type, static_cast<uint32_t>(what.getKind())),
       integer(i32Type, static_cast<uint32_t>(what.getReduction())),
       integer(i32Type, op.getElement()), integer(i32Type, what.getRoot()),
       integer(i32Type, pairs.size() / 2), integer(i32Type, position.line),
       integers("_gpuasync_pairs", pairs), group(op.getGroupAttr()),
       string(position.file), integer(i32Type, op.getOverlapped())});
  known = address(addTable("_gpuasync_collective", table)).symbol;
  return known;
}

FlatSymbolRefAttr Tables::addFunction(StringRef name, Location loc,
                                      ArrayRef<unsigned> modules) {
  hasFunctions = true;
  Position position = getPosition(loc);
  SmallVector<int64_t> indices(modules.begin(), modules.end());
  std::string symbolName = ("_gpuasync_function_" + name).str();
  Constant function = aggregate(
      functionType,
      {string(name), string(position.file), integer(i32Type, position.line),
       integer(i32Type, position.column),
       symbol(FlatSymbolRefAttr::get(module.getContext(), programSymbol)),
       integers("_gpuasync_modules_of_" + name.str(), indices),
       integer(i32Type, indices.size()), integer(i32Type, 0),
       integer(i32Type, 1), integer(i32Type, 0)});
  return FlatSymbolRefAttr::get(
      addTable(symbolName, function).getSymNameAttr());
}

Tables::Constant Tables::image(BinaryOp binary, ImageAttr attr) {
  Constant data = null();
  uint64_t size = 0;
  llvm::XXH128_hash_t hash = {0, 0};
  std::string name = ("_gpuasync_image_" + binary.getSymName()).str();
  if (attr.getFormat() == ImageFormat::CPU) {
    SmallVector<Constant> functions;
    for (auto [entry, kernel] :
         llvm::zip_equal(attr.getFunctions(), binary.getKernels())) {
      auto cpu = cast<CpuKernelAttr>(entry);
      functions.push_back(aggregate(
          cpuKernelType,
          {string(cast<KernelAttr>(kernel).getName()),
           symbol(cpu.getFunction()), integer(i64Type, cpu.getWorkgroupBytes()),
           integer(i32Type, getKernelFlags(cpu)),
           integer(i32Type, cpu.getThreadBytes()),
           integer(i32Type, cpu.getStackBytes()), integer(i32Type, 0),
           integer(i64Type, cpu.getKnownOperations()),
           cpu.getCounter() ? symbol(cpu.getCounter()) : null()}));
    }
    data = table(name, cpuKernelType, functions);
    size = functions.size() * sizeof(gpuasync_cpu_kernel);
  } else {
    // What decides about equality of images, with a separator that no part has.
    StringRef raw = attr.getData().getValue();
    std::string key = (Twine(static_cast<uint32_t>(attr.getFormat())) +
                       Twine('\0') + attr.getArch() + Twine('\0') + raw)
                          .str();
    hash = llvm::xxh3_128bits(
        ArrayRef(reinterpret_cast<const uint8_t *>(key.data()), key.size()));
    // PTX is text for the driver; the NUL does not count.
    data = symbol(bytes(name, (raw + Twine('\0')).str(), 16));
    size = raw.size();
  }
  Constant hashes =
      aggregate(LLVM::LLVMArrayType::get(i64Type, 2),
                {integer(i64Type, hash.low64), integer(i64Type, hash.high64)});
  return aggregate(imageType,
                   {integer(i32Type, static_cast<uint32_t>(attr.getFormat())),
                    integer(i32Type, 0), string(attr.getArch()), data,
                    integer(i64Type, size), hashes});
}

/// What decides about equality of constant arrays: 0, 0 if it is not known.
static llvm::XXH128_hash_t hashConstant(memref::GlobalOp global) {
  ArrayRef<char> bytes;
  auto value = *global.getInitialValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    bytes = dense.getRawData();
  else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value);
           resource && resource.getRawHandle().getBlob())
    bytes = resource.getRawHandle().getBlob()->getData();
  else
    return {0, 0};
  auto hash = [](const void *data, size_t size) {
    return llvm::xxh3_128bits(
        ArrayRef(static_cast<const uint8_t *>(data), size));
  };
  // Of what is one value for all elements only that is there.
  llvm::XXH128_hash_t content = hash(bytes.data(), bytes.size());
  std::string key;
  llvm::raw_string_ostream(key) << global.getType() << ' ' << bytes.size()
                                << ' ' << content.low64 << content.high64;
  return hash(key.data(), key.size());
}

Tables::Constant Tables::image(memref::GlobalOp global) {
  llvm::XXH128_hash_t hash = hashConstant(global);
  uint64_t bytes = global.getType().getNumElements() *
                   getElementBytes(global.getType().getElementType());
  Constant hashes =
      aggregate(LLVM::LLVMArrayType::get(i64Type, 2),
                {integer(i64Type, hash.low64), integer(i64Type, hash.high64)});
  return aggregate(imageType,
                   {integer(i32Type, GPUASYNC_IMAGE_DATA), integer(i32Type, 0),
                    string(""),
                    symbol(FlatSymbolRefAttr::get(global.getSymNameAttr())),
                    integer(i64Type, bytes), hashes});
}

Tables::Constant Tables::module_(BinaryOp binary) {
  StringRef name = binary.getSymName();
  SmallVector<Constant> kernels, images;
  for (auto kernel : binary.getKernels().getAsRange<KernelAttr>()) {
    std::string suffix = (name + "_" + kernel.getName()).str();
    Constant offsets = null(), sizes = null();
    uint64_t count = UINT32_MAX, bytes = 0;
    if (DenseI64ArrayAttr params = kernel.getParams()) {
      offsets =
          integers("_gpuasync_offsets_" + suffix, kernel.getParamOffsets());
      sizes = integers("_gpuasync_sizes_" + suffix, params.asArrayRef());
      count = params.size();
      bytes = kernel.getParamBytes();
    }
    kernels.push_back(aggregate(kernelType, {string(kernel.getName()), offsets,
                                             sizes, integer(i32Type, count),
                                             integer(i32Type, bytes)}));
  }
  for (auto attr : binary.getImages().getAsRange<ImageAttr>())
    images.push_back(image(binary, attr));
  Constant kernelTable =
      table(("_gpuasync_kernels_" + name).str(), kernelType, kernels);
  Constant imageTable =
      table(("_gpuasync_images_" + name).str(), imageType, images);
  return aggregate(moduleType, {string(name), kernelTable, imageTable,
                                integer(i32Type, kernels.size()),
                                integer(i32Type, images.size())});
}

LogicalResult Tables::finish(bool withDestructor) {
  if (!wrongDeclarations.empty())
    return failure();
  addPools();
  if (hasFunctions) {
    if (Operation *other = symbols.lookup(programSymbol))
      return other->emitError()
             << "the program is lowered already, but has device work that is "
                "not: link programs only after lowering";
    SmallVector<Constant> modules;
    for (auto &[name, binary] : binaries)
      modules.push_back(module_(binary));
    for (auto &[name, global] : constants)
      modules.push_back(aggregate(
          moduleType, {string(name.getValue()), null(),
                       table(("_gpuasync_images_" + name.getValue()).str(),
                             imageType, image(global)),
                       integer(i32Type, 0), integer(i32Type, 1)}));
    StringRef name = module.getName().value_or("");
    if (name.empty())
      name = getPosition(module.getLoc()).file;
    Constant moduleTable = table("_gpuasync_modules", moduleType, modules);
    LLVM::GlobalOp slot =
        addGlobal("_gpuasync_slot", ptrType, Attribute(), /*constant=*/false);
    OpBuilder body =
        OpBuilder::atBlockBegin(&slot.getInitializerRegion().emplaceBlock());
    LLVM::ReturnOp::create(
        body, module.getLoc(),
        Value(LLVM::ZeroOp::create(body, module.getLoc(), ptrType)));
    LLVM::GlobalOp program = addTable(
        programSymbol,
        aggregate(programType,
                  {integer(i32Type, GPUASYNC_ABI_VERSION),
                   integer(i32Type, modules.size()), string(name), moduleTable,
                   address(slot), siteTable(), integer(i32Type, sites.size()),
                   integer(i32Type, 0)}));
    // A JIT finds the program by its name; objects that are linked into one
    // binary each have their own.
    if (!withDestructor)
      program.setLinkage(LLVM::Linkage::External);

    if (withDestructor) {
      Location loc = module.getLoc();
      builder.setInsertionPointToEnd(module.getBody());
      auto release = LLVM::LLVMFuncOp::create(
          builder, loc, "_gpuasync_release",
          LLVM::LLVMFunctionType::get(
              LLVM::LLVMVoidType::get(module.getContext()), {}),
          LLVM::Linkage::Internal);
      symbols.insert(release);
      OpBuilder code = OpBuilder::atBlockBegin(release.addEntryBlock(builder));
      call(code, loc, gpuasync_program_release_or_abort_name, {},
           addressOf(code, loc,
                     FlatSymbolRefAttr::get(program.getSymNameAttr())));
      LLVM::ReturnOp::create(code, loc, ValueRange());
      builder.setInsertionPointToEnd(module.getBody());
      LLVM::GlobalDtorsOp::create(
          builder, loc,
          builder.getArrayAttr(
              FlatSymbolRefAttr::get(release.getSymNameAttr())),
          builder.getI32ArrayAttr({65535}),
          builder.getArrayAttr(LLVM::ZeroAttr::get(module.getContext())));
    }
  }
  for (auto &[name, binary] : binaries)
    symbols.erase(binary);
  binaries.clear();
  for (auto group : llvm::make_early_inc_range(module.getOps<GroupOp>()))
    symbols.erase(group);
  return success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

LLVM::CallOp Tables::call(OpBuilder &builder, Location loc, StringRef name,
                          Type result, ValueRange operands) {
  auto type = LLVM::LLVMFunctionType::get(
      result ? result : LLVM::LLVMVoidType::get(module.getContext()),
      llvm::to_vector(operands.getTypes()));
  auto function = symbols.lookup<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder::InsertionGuard guard(this->builder);
    this->builder.setInsertionPointToEnd(module.getBody());
    function =
        LLVM::LLVMFuncOp::create(this->builder, module.getLoc(), name, type);
    symbols.insert(function);
  }
  if (function.getFunctionType() != type &&
      wrongDeclarations.insert(name).second)
    function.emitOpError() << "declares the runtime's '" << name << "' with "
                           << function.getFunctionType() << "; its type is "
                           << type;
  return LLVM::CallOp::create(builder, loc, type,
                              FlatSymbolRefAttr::get(function), operands);
}

IntegerAttr Tables::integerAttr(Type type, int64_t value) {
  APInt bits(64, value, /*isSigned=*/true);
  return builder.getIntegerAttr(type, bits.trunc(type.getIntOrFloatBitWidth()));
}

Value Tables::addressOf(OpBuilder &builder, Location loc,
                        FlatSymbolRefAttr symbol) {
  return LLVM::AddressOfOp::create(builder, loc, ptrType, symbol);
}
