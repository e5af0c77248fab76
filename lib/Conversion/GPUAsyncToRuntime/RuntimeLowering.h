//===- RuntimeLowering.h - parts of convert-gpu-async-to-runtime *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to this folder: constant tables (RuntimeTables.cpp), frames and
// error exits (RuntimeFrames.cpp), what the ops of a function share
// (RuntimeFunction.cpp), commands of regions (RuntimeFragments.cpp), single ops
// (RuntimeOps.cpp, RuntimeTensorMaps.cpp), wrappers for a runner
// (RuntimeWrappers.cpp). The pass puts them together.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_CONVERSION_GPUASYNCTORUNTIME_RUNTIMELOWERING_H
#define GPUASYNC_LIB_CONVERSION_GPUASYNCTORUNTIME_RUNTIMELOWERING_H

#include "GPUAsync/Conversion/LoweredNames.h"
#include "GPUAsync/Conversion/RuntimeLowerings.h"
#include "GPUAsync/Options.h"
#include "gpuasync/Ranks.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <array>

namespace mlir::nvgpu {
class TmaCreateDescriptorOp;
} // namespace mlir::nvgpu

namespace mlir::gpuasync::runtime {

/// The names of the runtime's functions: `runtime::gpuasync_launch_name`.
#define GPUASYNC_NAME(name)                                                    \
  inline constexpr llvm::StringLiteral name##_name = #name;
GPUASYNC_LOWERED_FUNCTIONS(GPUASYNC_NAME)
GPUASYNC_NAME(gpuasync_collective_enqueue)
GPUASYNC_NAME(gpuasync_group_rank)
GPUASYNC_NAME(gpuasync_group_size)
#undef GPUASYNC_NAME

/// Before the name of the private body of a public function.
inline constexpr llvm::StringLiteral bodyPrefix = "_gpuasync_body_";

/// A file position, as tables store it. `file` is "" if unknown.
struct Position {
  StringRef file;
  uint32_t line = 0, column = 0;
};
/// The position of `loc`: of a call site its callee, of a fused location the
/// first part that has one.
Position getPosition(Location loc);

/// Whether `op` is a device op, which becomes calls with a frame: any op of the
/// dialect except gpu_async.binary, gpu_async.group and gpu_async.yield, and
/// the one that makes tensor maps.
bool isDeviceOp(Operation *op);

//===----------------------------------------------------------------------===//
// RuntimeTables.cpp
//===----------------------------------------------------------------------===//

/// A kernel that a launch names.
struct KernelRef {
  unsigned module = 0, kernel = 0;
  KernelAttr attr;
};

/// What the arguments of a launch become.
struct LaunchParams {
  /// In bytes, and each one's place in the packed buffer.
  SmallVector<int64_t> sizes, offsets;
  int64_t bytes = 0; ///< of all
  /// Of the first argument that compilers pass in different ways, if any.
  Type uncommon;
};

/// The sites of a program: numbers in the order of gpuasync_site, then a pool
/// of texts. Equal sites are one, as are equal texts.
class SiteTable {
public:
  using Site = std::array<uint32_t, sizeof(gpuasync_site) / sizeof(uint32_t)>;

  /// The place of a text in the pool.
  uint32_t addText(StringRef text);
  /// `site` names its texts by their places. Its index.
  uint32_t add(const Site &site);
  /// The numbers with the texts' offsets from the sites.
  std::vector<int32_t> getNumbers() const;
  StringRef getPool() const { return pool; }
  uint32_t size() const { return sites.size(); }

private:
  std::vector<Site> sites;
  std::string pool;
  llvm::StringMap<uint32_t> texts;
  llvm::StringMap<uint32_t> known;
};

/// The constant tables of one program and the declarations of the runtime's
/// functions. All symbols are made at the end of the module.
class Tables {
public:
  Tables(ModuleOp module, SymbolTable &symbols);

  ModuleOp getModule() const { return module; }
  Type ptr() const { return ptrType; }
  Type i32() const { return i32Type; }
  Type i64() const { return i64Type; }
  Type blockType() const { return block; }

  /// How work ops are lowered.
  RuntimeLowerings lowerings;

  /// Resolves the kernel that `work` runs; reports an error if there is none.
  FailureOr<KernelRef> lookupKernel(WorkOpInterface work);

  /// The index of the module that a constant array is.
  unsigned getConstant(ConstantOp op);

  /// The parameters of `launch`, valid until the next call; null after an error
  /// that was reported.
  const LaunchParams *getParams(LaunchOp launch);

  /// The index of the site of `op`, described by `text` or else by its name, as
  /// an i32. `number` is that of its region, for what has no place in the
  /// schedule.
  Value site(OpBuilder &builder, Operation *op,
             const KernelRef *kernel = nullptr, StringRef text = "",
             std::optional<uint32_t> number = std::nullopt) {
    return constant(builder, op->getLoc(), i32Type,
                    addSite(op, kernel, text, number));
  }
  /// This index as a number.
  uint32_t addSite(Operation *op, const KernelRef *kernel = nullptr,
                   StringRef text = "",
                   std::optional<uint32_t> number = std::nullopt);
  /// The number of another region, so that its sites are its own.
  uint32_t addRegion() { return numRegions++; }

  /// The function `name` that `work` calls, with its type in C: its declaration
  /// is replaced by that. Reports an error if something else uses it.
  FailureOr<LLVM::LLVMFuncOp> declareLibrary(WorkOpInterface work,
                                             FlatSymbolRefAttr name,
                                             LLVM::LLVMFunctionType type);

  /// The function that calls `library` with arguments that lie in memory, each
  /// in 8 bytes.
  LLVM::LLVMFuncOp getUnpacked(LLVM::LLVMFuncOp library);

  /// Where the indices are in those of the program's fragments.
  uint32_t addIndices(ArrayRef<uint32_t> indices);
  /// The offset of the config in the constants of the program's fragments.
  uint32_t addConfig(const gpuasync_launch_config &config);
  /// The symbol of a gpuasync_fragment.
  FlatSymbolRefAttr addFragment(ArrayRef<gpuasync_command> commands,
                                uint32_t lanes, uint32_t argumentBytes,
                                uint32_t site);

  /// The symbol of a gpuasync_tensor_format with these fields.
  FlatSymbolRefAttr addTensorFormat(ArrayRef<uint32_t> fields);

  /// The symbol of a gpuasync_collective.
  FlatSymbolRefAttr addCollective(CollectiveOp op);
  /// The address of the gpuasync_group that `op` names, null if it names none.
  Value addressOfGroup(OpBuilder &builder, Operation *op,
                       FlatSymbolRefAttr name);

  /// The symbol of the gpuasync_function of a public function `name` that
  /// reaches the modules with the given indices.
  FlatSymbolRefAttr addFunction(StringRef name, Location loc,
                                ArrayRef<unsigned> modules);

  /// Emits the program with all modules, if a function was added, and the
  /// destructor that releases it if `withDestructor`. Binaries are erased.
  LogicalResult finish(bool withDestructor);

  /// Calls the runtime. `result` is null for a function that returns nothing. A
  /// declaration of another type is an error, after which `finish` fails.
  LLVM::CallOp call(OpBuilder &builder, Location loc, StringRef name,
                    Type result, ValueRange operands);

  /// Truncated to the type's width: ids use all 32 bits.
  IntegerAttr integerAttr(Type type, int64_t value);
  Value constant(OpBuilder &builder, Location loc, Type type, int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, type,
                                    integerAttr(type, value));
  }
  Value addressOf(OpBuilder &builder, Location loc, FlatSymbolRefAttr symbol);

private:
  struct Constant;
  LLVM::GlobalOp addGlobal(StringRef name, Type type, Attribute value,
                           bool constant = true);
  LLVM::GlobalOp addTable(StringRef name, const Constant &value);
  Value build(OpBuilder &builder, Location loc, const Constant &value);
  Constant integer(Type type, uint64_t value);
  Constant null();
  Constant symbol(FlatSymbolRefAttr symbol);
  Constant address(LLVM::GlobalOp global);
  Constant aggregate(Type type, ArrayRef<Constant> elements);
  /// A NUL-terminated string; equal ones are one symbol.
  Constant string(StringRef text);
  /// Constant bytes; `string` deduplicates, this does not.
  FlatSymbolRefAttr bytes(StringRef name, StringRef data, unsigned alignment);
  Constant integers(StringRef name, ArrayRef<int64_t> values);
  Constant table(StringRef name, Type type, ArrayRef<Constant> elements);
  /// The table of all sites, null if there are none.
  Constant siteTable();
  /// Emits what the program's fragments share.
  void addPools();
  Constant module_(BinaryOp binary);
  /// The table of a group, made once; null if `name` is.
  Constant group(FlatSymbolRefAttr name);
  Constant image(BinaryOp binary, ImageAttr attr);
  Constant image(memref::GlobalOp global);

  ModuleOp module;
  SymbolTable &symbols;
  OpBuilder builder;
  Type ptrType, i32Type, i64Type;
  LLVM::LLVMStructType kernelType, imageType, cpuKernelType, moduleType,
      programType, functionType, fragmentType, groupType, collectiveType, block;
  llvm::StringMap<FlatSymbolRefAttr> strings, formats;
  /// Tables by the names of groups, and by the fields of collectives.
  llvm::DenseMap<Attribute, FlatSymbolRefAttr> groups, collectives;
  SiteTable sites;
  std::vector<uint32_t> indices;
  /// Size of gpuasync_launch_config, in words.
  std::vector<uint64_t> configs;
  /// The place of an op's text among those of the sites, by its name or its
  /// kernel's.
  llvm::DenseMap<Attribute, uint32_t> opTexts;
  /// By the types of the arguments.
  llvm::DenseMap<FunctionType, LaunchParams> params;
  llvm::MapVector<StringAttr, BinaryOp> binaries;
  /// Those that are used; their modules follow the binaries'.
  llvm::MapVector<StringAttr, memref::GlobalOp> constants;
  bool hasFunctions = false;
  uint32_t numRegions = 0;
  llvm::StringSet<> wrongDeclarations;
};

//===----------------------------------------------------------------------===//
// RuntimeFunction.cpp
//===----------------------------------------------------------------------===//

/// `value` in its LLVM type.
Value toLLVM(OpBuilder &builder, const LLVMTypeConverter &converter,
             Value value);
/// `value`, of an LLVM type, as `type`.
Value fromLLVM(OpBuilder &builder, Type type, Value value);

/// The ranked memref that an unranked one is the cast of, as it usually is;
/// else `memref`.
Value lookThroughCast(Value memref);

/// The type that `out` of a lowered function points to, null without results.
Type getResultsType(const LLVMTypeConverter &converter, TypeRange results);
/// Stores results, of which there is at least one, to `out`.
void storeResults(OpBuilder &builder, Location loc,
                  const LLVMTypeConverter &converter, ValueRange values,
                  Value out);

struct RegionPlan;

/// A straight run of a region's commands: a table, and one call where the last
/// of them is.
struct Fragment {
  struct Command {
    uint32_t kind = 0, flags = 0, lane = 0, site = 0;
    std::optional<gpuasync_launch_config>
        config; ///< of a launch, if it is constant
    int64_t argument = 0, bytes = 0;
    bool isMade = false;
    SmallVector<uint32_t, 4> after, wait;
  };
  const RegionPlan *plan = nullptr;
  SmallVector<Value> lanes; ///< pointers; null: a stream of its own
  std::vector<Command> commands;
  int64_t bytes = 0; ///< of all arguments
};

/// The form that a region becomes.
struct RegionPlan {
  enum Form {
    Empty, ///< it has no commands
    Run,   ///< one fragment is all
    Calls  ///< calls between gpuasync_region_begin and gpuasync_region_end
  };
  Form form = Empty;
  uint32_t site = 0;
  std::vector<std::unique_ptr<Fragment>> fragments;
};

/// The function that is being lowered: its frame and stack storage, and the way
/// out after an error.
struct FunctionState : Storages {
  FunctionState(func::FuncOp func, Tables &tables,
                const LLVMTypeConverter &converter)
      : func(func), tables(tables), converter(converter) {}

  /// Storage in the entry block that all ops share, at least `bytes` large. The
  /// runtime reads what it is given before a call returns.
  Value getStorage(Storage which, int64_t bytes);
  /// The address `bytes` into that storage, made once in the entry block.
  Value getAddress(Storage which, int64_t bytes);
  /// The number of the frame's device, made once in the entry block.
  Value getDevice();

  /// Ops of a straight line of code share what one of them made: storage that
  /// holds a value already is not written again, and descriptors are taken
  /// apart once. Says that the op to lower next is in `block`.
  void startAt(mlir::Block *block);
  /// Whether the `size` bytes at `offset` of a storage that only holds launches
  /// are component `part` of `value` already; they are from now on.
  bool holds(Storage which, int64_t offset, int64_t size, OpFoldResult value,
             unsigned part = 0);
  /// How many scalars `value` is in LLVM.
  static unsigned countParts(Value value);
  /// Stores what is not in the buffer's storage yet. `addresses` are those of
  /// the buffers before it. Returns its own.
  Value store(OpBuilder &builder, Location loc, const Command::Buffer &buffer,
              ArrayRef<Value> addresses);
  /// Stores the buffer in a fragment's arguments, from `offset` on, and zeros
  /// where it has nothing. Instead of an address it has null.
  void storeArguments(OpBuilder &builder, Location loc,
                      const Command::Buffer &buffer, int64_t offset);
  void storeZeros(OpBuilder &builder, Location loc, int64_t offset,
                  int64_t bytes);
  /// The scalars of a descriptor, or of what is one value in LLVM.
  ArrayRef<Value> unpack(OpBuilder &builder, Location loc, Value value);
  /// Stores `values`, of 8 bytes each, one after the other.
  Value storeAll(OpBuilder &builder, Location loc, Storage which,
                 ValueRange values);
  /// \name Of a ranked memref, constants where the type says them
  /// @{
  SmallVector<Value> getSizes(OpBuilder &builder, Location loc, Value memref);
  SmallVector<Value> getStrides(OpBuilder &builder, Location loc, Value memref);
  /// @}
  /// The address of a memref's first element.
  Value getStart(OpBuilder &builder, Location loc, Value memref);
  /// A memref of any rank as runtime calls take it: arrays of `rank` sizes and
  /// strides, in storage where the memref has none in memory.
  struct Shape {
    Value sizes, strides, rank;
  };
  Shape getShape(OpBuilder &builder, Location loc, Value memref);
  /// The bytes of memrefs without gaps that have been asked for.
  llvm::DenseMap<Value, Value> bytes;

  /// Splits the block before the builder's insertion point and goes to the
  /// error exit if `failed` (an i1) holds; the builder then is in the rest.
  void exitIf(OpBuilder &builder, Location loc, Value failed);
  /// The same if the frame has failed.
  void exitIfFrameFailed(OpBuilder &builder, Location loc);
  /// Splits the block in the same way; what the result makes runs before the
  /// rest if `condition` (an i1) holds.
  OpBuilder makeBranch(OpBuilder &builder, Location loc, Value condition);
  /// Hands `event` over to code outside the frame, as the result; `op` and
  /// `text` say where.
  Value exportEvent(OpBuilder &builder, Operation *op, StringRef text,
                    Value event);
  /// Takes `event` over for all its users.
  void importEvent(OpBuilder &builder, Operation *op, StringRef text,
                   Value event);
  /// Whether the frame has failed, as an i1.
  Value loadFailed(OpBuilder &builder, Location loc);

  func::FuncOp func;
  Tables &tables;
  const LLVMTypeConverter &converter;
  Value frame;
  /// By RegionOp.
  std::map<Operation *, RegionPlan> regions;
  /// The commands of fragments, by the ops that they are made of.
  llvm::DenseMap<Operation *, std::pair<Fragment *, size_t>> commands;
  /// The block without arguments that leaves after an error; made on demand.
  mlir::Block *getErrorExit();
  mlir::Block *errorExit = nullptr;

private:
  void storeFields(OpBuilder &builder, Location loc,
                   const Command::Buffer &buffer, ArrayRef<Value> addresses,
                   Storage into, int64_t start);

  LLVM::AllocaOp storages[NumStorages];
  int64_t storageBytes[NumStorages] = {};
  llvm::DenseMap<std::pair<int, int64_t>, Value> addresses;
  Value device;

  /// What holds in `line`, a block or the rest of one that was split.
  mlir::Block *line = nullptr;
  struct Content {
    int64_t size;
    OpFoldResult value;
    unsigned part;
  };
  std::map<int64_t, Content> contents[NumStorages];
  llvm::DenseMap<Value, SmallVector<Value, 5>> unpacked;
};

//===----------------------------------------------------------------------===//
// RuntimeFragments.cpp
//===----------------------------------------------------------------------===//

/// Plans the function's regions, before anything of it is lowered. Streams and
/// events that become a part of fragments are erased.
LogicalResult planFragments(FunctionState &state);

/// Whether the elements of `type` are one piece of memory in row-major order,
/// whatever its offset.
bool isOnePiece(MemRefType type);

/// The launch's config, if all of it is constant. `params` is null.
std::optional<gpuasync_launch_config> getConstantConfig(LaunchOp launch,
                                                        int64_t paramBytes);

/// Makes the command of `op` a part of its fragment. Fails if it is not the one
/// that was planned.
LogicalResult addToFragment(const gpuasync::Command &made, Operation *op,
                            FunctionState &state, OpBuilder &builder);

//===----------------------------------------------------------------------===//
// RuntimeOps.cpp
//===----------------------------------------------------------------------===//

/// Lowers the device op `op` and erases it. The host's own allocation, a
/// memref.alloc, gets a check of its sizes.
LogicalResult lowerOp(Operation *op, FunctionState &state);
/// RuntimeTensorMaps.cpp
LogicalResult lowerTensorMap(nvgpu::TmaCreateDescriptorOp op,
                             FunctionState &state);

//===----------------------------------------------------------------------===//
// RuntimeFrames.cpp
//===----------------------------------------------------------------------===//

/// Lowers all functions with device work. Adds the names of those whose result
/// became a status to `statusFunctions`.
LogicalResult lowerFunctions(ModuleOp module, Tables &tables,
                             SymbolTable &symbols,
                             const LLVMTypeConverter &converter,
                             OnError onError,
                             llvm::DenseSet<StringAttr> &statusFunctions);

//===----------------------------------------------------------------------===//
// RuntimeWrappers.cpp
//===----------------------------------------------------------------------===//

/// A function with its signature before lowering, for which a wrapper is made.
struct PublicFunction {
  func::FuncOp func;
  FunctionType type;
};
/// The public functions with a body that have no wrapper yet.
SmallVector<PublicFunction> collectPublicFunctions(ModuleOp module);

/// Emits `_gpuasync_packed_f` for each of `functions`, and for each public
/// llvm.func that has none.
LogicalResult
emitPackedWrappers(ModuleOp module, ArrayRef<PublicFunction> functions,
                   const LLVMTypeConverter &converter,
                   const llvm::DenseSet<StringAttr> &statusFunctions);

} // namespace mlir::gpuasync::runtime

#endif // GPUASYNC_LIB_CONVERSION_GPUASYNCTORUNTIME_RUNTIMELOWERING_H
