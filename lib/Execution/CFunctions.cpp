//===- CFunctions.cpp - Public functions as C calls them ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See CFunctions.h. The tables are those of gpuasync/CFunction.h.
//===----------------------------------------------------------------------===//

#include "Execution/CFunctions.h"
#include "Execution/Types.h"

#include "GPUAsync/Conversion/LoweredNames.h"
#include "gpuasync/CFunction.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

namespace gpuexec {

//===----------------------------------------------------------------------===//
// What C sees
//===----------------------------------------------------------------------===//

namespace {
/// An argument or result, as gpuasync_c_value has it.
struct CValue {
  std::string name, type;
  ElementType element;
  gpuasync_c_kind kind;
  SmallVector<int64_t> shape;
  SmallVector<int64_t> strides; ///< empty: row-major
  int64_t offset = 0;
  std::string unsupported;

  bool isResult() const { return name[0] == 'r'; }
  bool isStream() const { return name[0] == 's'; }
  bool isStatic() const {
    return !is_contained(shape, mlir::ShapedType::kDynamic);
  }
};

/// A parameter of a function in C.
struct CParameter {
  std::string type, name; ///< the type ends with a space or a star
};
} // namespace

static CValue describe(mlir::Type type, std::string name) {
  CValue value;
  value.name = std::move(name);
  value.type = typeText(type);
  value.kind = isa<mlir::TensorType>(type)       ? GPUASYNC_C_TENSOR
               : isa<mlir::BaseMemRefType>(type) ? GPUASYNC_C_MEMREF
                                                 : GPUASYNC_C_NUMBER;
  value.unsupported = unsupported(type);
  if (!value.unsupported.empty())
    return value;
  ValueType known = ValueType::get(type);
  value.element = known.element;
  value.shape = known.shape;
  if (known.rank != known.shape.size())
    value.unsupported = "has vectors as elements, which C has no arrays of";
  if (auto memref = dyn_cast<mlir::MemRefType>(type);
      memref && !memref.getLayout().isIdentity()) {
    if (failed(memref.getStridesAndOffset(value.strides, value.offset)))
      value.unsupported = "has a layout that is not strided";
    // The caller's pointer is to the first element.
    if (mlir::ShapedType::isDynamic(value.offset))
      value.offset = 0;
  }
  return value;
}

static SmallVector<CValue> describe(const Signature &signature) {
  SmallVector<CValue> values;
  for (auto [i, type] : enumerate(signature.arguments))
    values.push_back(describe(type, "arg" + std::to_string(i)));
  if (signature.stream)
    values.push_back(describe(signature.stream, "stream"));
  for (auto [i, type] : enumerate(signature.results))
    values.push_back(describe(type, "result" + std::to_string(i)));
  return values;
}

/// The type of a number, or of an element in memory.
static StringRef cType(const ElementType &element) {
  switch (element.kind) {
  case ElementType::Int:
    return element.bits == 1    ? "uint8_t"
           : element.bits == 8  ? "int8_t"
           : element.bits == 16 ? "int16_t"
           : element.bits == 32 ? "int32_t"
                                : "int64_t";
  case ElementType::UInt:
    return element.bits == 8    ? "uint8_t"
           : element.bits == 16 ? "uint16_t"
           : element.bits == 32 ? "uint32_t"
                                : "uint64_t";
  case ElementType::BFloat:
    return "uint16_t";
  case ElementType::Float:
    return element.bits == 16   ? "uint16_t"
           : element.bits == 32 ? "float"
                                : "double";
  case ElementType::Complex:
    return element.bits == 64 ? "float" : "double";
  case ElementType::Pointer:
    return "void *";
  }
  return "";
}

/// The parameters of a value; gpuasync/CFunction.h has their order.
static void addParameters(const CValue &value,
                          SmallVectorImpl<CParameter> &out) {
  StringRef element = cType(value.element);
  std::string pointer =
      element.ends_with("*") ? element.str() + "*" : element.str() + " *";
  bool isComplex = value.element.kind == ElementType::Complex;
  if (value.kind == GPUASYNC_C_NUMBER) {
    std::string plain =
        element.ends_with("*") ? element.str() : element.str() + " ";
    out.push_back({value.isResult() ? pointer
                   : isComplex      ? "const " + pointer
                                    : plain,
                   value.name});
    return;
  }
  bool isGiven = !value.isResult() ||
                 (value.kind == GPUASYNC_C_TENSOR && value.isStatic());
  if (!value.isResult() && value.kind == GPUASYNC_C_TENSOR)
    pointer = "const " + pointer;
  out.push_back({isGiven ? pointer : pointer + "*", value.name});
  StringRef number = value.isResult() ? "int64_t *" : "int64_t ";
  auto addDynamic = [&](ArrayRef<int64_t> list, StringRef what) {
    for (auto [i, size] : enumerate(list))
      if (mlir::ShapedType::isDynamic(size))
        out.push_back(
            {number.str(), (value.name + "_" + what + Twine(i)).str()});
  };
  addDynamic(value.shape, "size");
  addDynamic(value.strides, "stride");
}

std::string cIdentifier(StringRef file) {
  StringRef stem = sys::path::filename(file);
  stem.consume_front("lib");
  std::string name;
  for (char letter : stem.split('.').first)
    name += isAlnum(letter) ? letter : '_';
  return name.empty() || isDigit(name[0]) ? "_" + name : name;
}

/// Whether the C library has a function of this name. Compiled code calls some
/// of them by themselves, and the whole process would get one that a shared
/// object exports.
static bool isInCLibrary(StringRef name) {
  TargetLibraryInfoImpl known{Triple(sys::getProcessTriple())};
  LibFunc function;
  return known.getLibFunc(name, function) &&
         TargetLibraryInfo(known).has(function);
}

bool isCName(StringRef name) {
  static const StringSet<> words = {
      // C
      "auto", "break", "case", "char", "const", "continue", "default", "do",
      "double", "else", "enum", "extern", "float", "for", "goto", "if",
      "inline", "int", "long", "register", "restrict", "return", "short",
      "signed", "sizeof", "static", "struct", "switch", "typedef", "union",
      "unsigned", "void", "volatile", "while", "asm", "typeof", "typeof_unqual",
      // C++
      "alignas", "alignof", "and", "and_eq", "bitand", "bitor", "bool", "catch",
      "char8_t", "char16_t", "char32_t", "class", "compl", "concept",
      "consteval", "constexpr", "constinit", "const_cast", "co_await",
      "co_return", "co_yield", "decltype", "delete", "dynamic_cast", "explicit",
      "export", "false", "friend", "mutable", "namespace", "new", "noexcept",
      "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
      "protected", "public", "reinterpret_cast", "requires", "static_assert",
      "static_cast", "template", "this", "thread_local", "throw", "true", "try",
      "typeid", "typename", "using", "virtual", "wchar_t", "xor", "xor_eq",
      // Macros of compilers and of what the header includes
      "linux", "unix", "i386", "NULL", "offsetof", "errno"};
  // What begins with _ is C's and the linker's own, but cIdentifier makes such
  // names of digits; what ends with _t is a type of the headers; gpuasync
  // begins the runtime's names.
  bool isReserved =
      (name.starts_with("_") && !(name.size() > 1 && isDigit(name[1]))) ||
      name.ends_with("_t") || name.starts_with("gpuasync") ||
      words.contains(name) || isInCLibrary(name);
  return !name.empty() && !isDigit(name[0]) && !isReserved &&
         all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
}

std::string unsupportedInC(const CFunction &function) {
  for (const CValue &value : describe(function.signature))
    if (!value.unsupported.empty())
      return (value.isResult() ? "result " : "argument ") +
             value.name.substr(value.isResult() ? 6 : 3) + ", " + value.type +
             ", " + value.unsupported;
  return "";
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

/// What the comment of a function says of a value.
static std::string about(const CValue &value) {
  std::string text;
  if (value.isStream())
    return "; what the call is ordered into, without waiting: a CUstream or\n"
           " *     hipStream_t, on cpu what gpuasync_context_stream_native "
           "gives; null: the\n"
           " *     device's default stream";
  bool isArray = value.kind != GPUASYNC_C_NUMBER;
  if (value.element.kind == ElementType::Complex)
    text += "; real and imaginary parts";
  if (value.element.kind == ElementType::BFloat ||
      (value.element.kind == ElementType::Float && value.element.bits == 16))
    text += "; the bits of " + value.element.name();
  if (value.element.bits == 1)
    text += isArray ? "; a byte each, 0 is false" : "; 0 is false";
  if (!isArray)
    return text;
  if (!value.isResult()) {
    text += value.kind == GPUASYNC_C_TENSOR ? "; read only" : "";
  } else if (value.kind == GPUASYNC_C_MEMREF) {
    text += "; the program's memory, not to be freed";
  } else if (value.isStatic()) {
    int64_t count = 1;
    for (int64_t size : value.shape)
      count *= size;
    text += "; memory of the caller's for " + std::to_string(count) +
            (count == 1 ? " element" : " elements") +
            ", that of no other value";
  } else {
    text += "; allocated, the caller calls free() of stdlib.h";
  }
  return text;
}

std::string makeCHeader(ArrayRef<CFunction> functions, StringRef file,
                        StringRef source) {
  std::string text;
  raw_string_ostream os(text);
  std::string guard = StringRef(cIdentifier(file)).upper() + "_H";
  os << "/* Functions of " << sys::path::filename(source)
     << ", compiled by gpu-runner --emit=shared. */\n\n"
     << "#ifndef " << guard << "\n#define " << guard << "\n\n"
     << "#include \"gpuasync/Status.h\"\n\n#include <stdint.h>\n\n"
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
     << "/* Each returns null, or an error that the caller frees with "
        "gpuasync_status_free;\n * then no result was written, but for memory "
        "that was given for one. Any number of\n * threads may call at once. "
        "Arrays are row-major where no strides are passed;\n * sizes and "
        "strides count elements. */\n";
  for (const CFunction &function : functions) {
    SmallVector<CValue> values = describe(function.signature);
    os << "\n/* @" << function.signature.name << "\n";
    SmallVector<CParameter> parameters;
    for (const CValue &value : values) {
      os << " *   " << value.name << ": " << value.type << about(value) << "\n";
      addParameters(value, parameters);
    }
    os << " */\ngpuasync_status *" << function.name << "(";
    size_t column = 0;
    for (auto [i, parameter] : enumerate(parameters)) {
      std::string next = parameter.type + parameter.name;
      bool isNewLine = i == 0 || column + next.size() > 72;
      os << (i ? "," : "") << (isNewLine ? "\n    " : " ") << next;
      column = (isNewLine ? 4 : column + 2) + next.size();
    }
    os << (parameters.empty() ? "void" : "") << ");\n";
  }
  os << "\n#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n\n#endif /* "
     << guard << " */\n";
  return text;
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

namespace {
/// Makes the tables of gpuasync/CFunction.h.
class Tables {
public:
  explicit Tables(Module &module)
      : module(module), context(module.getContext()),
        pointer(PointerType::getUnqual(context)),
        i32(Type::getInt32Ty(context)), i64(Type::getInt64Ty(context)) {}

  Constant *addFunction(const CFunction &function, StringRef name = "");

private:
  GlobalVariable *add(Constant *value, StringRef name = "") {
    auto *global =
        new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                           name.empty() ? GlobalValue::PrivateLinkage
                                        : GlobalValue::ExternalLinkage,
                           value, name);
    if (!name.empty())
      global->setVisibility(GlobalValue::HiddenVisibility);
    return global;
  }
  Constant *text(StringRef value) {
    return add(ConstantDataArray::getString(context, value));
  }
  Constant *number(uint64_t value) { return ConstantInt::get(i64, value); }
  Constant *word(uint64_t value) { return ConstantInt::get(i32, value); }
  Constant *null() { return ConstantPointerNull::get(pointer); }
  /// A table of structs; null if it is empty.
  Constant *table(ArrayRef<Constant *> rows) {
    if (rows.empty())
      return null();
    auto *type = ArrayType::get(rows.front()->getType(), rows.size());
    return add(ConstantArray::get(type, rows));
  }
  Constant *sizes(ArrayRef<int64_t> list);
  Constant *value(const CValue &value, int64_t place, uint64_t returned);

  Module &module;
  LLVMContext &context;
  PointerType *pointer;
  IntegerType *i32, *i64;
};
} // namespace

Constant *Tables::sizes(ArrayRef<int64_t> list) {
  SmallVector<Constant *> rows;
  for (int64_t size : list)
    rows.push_back(number(uint64_t(
        mlir::ShapedType::isDynamic(size) ? GPUASYNC_C_DYNAMIC : size)));
  return table(rows);
}

Constant *Tables::value(const CValue &value, int64_t place, uint64_t returned) {
  static_assert(sizeof(gpuasync_c_value) == 80);
  return ConstantStruct::getAnon(
      {text(value.name), text(value.type),
       text(value.element.kind == ElementType::Pointer ? "<u8"
                                                       : value.element.descr()),
       word(value.kind), word(value.shape.size()), word(value.element.bytes()),
       word(0), sizes(value.shape), sizes(value.strides),
       number(uint64_t(value.offset)), number(uint64_t(place)),
       number(returned)});
}

Constant *Tables::addFunction(const CFunction &function, StringRef name) {
  static_assert(sizeof(gpuasync_c_rule) == 32);
  static_assert(sizeof(gpuasync_c_function) == 64);
  const Signature &signature = function.signature;
  SmallVector<ValueType> types;
  for (mlir::Type type : signature.results)
    types.push_back(ValueType::get(type));
  size_t count = signature.arguments.size() + (signature.stream ? 1 : 0);
  CallLayout layout = CallLayout::get(count, types, signature.destinations);
  SmallVector<CValue> values = describe(signature);
  SmallVector<Constant *> arguments, results, rules;
  for (auto [value, place] : zip(values, layout.arguments))
    arguments.push_back(this->value(value, place, 0));
  for (auto [value, destination, offset] :
       zip(ArrayRef(values).drop_front(arguments.size()),
           signature.destinations, layout.resultOffsets))
    results.push_back(this->value(value, destination, offset));
  for (const SizeRule &rule : signature.sizeRules)
    rules.push_back(
        ConstantStruct::getAnon({word(rule.argument), word(rule.dimension),
                                 number(uint64_t(rule.other)),
                                 number(uint64_t(rule.size)), text(rule.op)}));
  Function *packed =
      module.getFunction((mlir::gpuasync::packedPrefix + signature.name).str());
  return add(ConstantStruct::getAnon(
                 {text(function.name), packed, table(arguments), table(results),
                  table(rules), word(arguments.size()), word(results.size()),
                  word(rules.size()), word(layout.storage),
                  number(layout.resultBytes)}),
             name);
}

/// The type of a parameter, by its text in C.
static Type *irType(LLVMContext &context, StringRef type) {
  if (type.ends_with("*"))
    return PointerType::getUnqual(context);
  type = type.trim();
  if (type == "float")
    return Type::getFloatTy(context);
  if (type == "double")
    return Type::getDoubleTy(context);
  unsigned bits = 0;
  type.consume_front("u");
  type.consume_front("int");
  type.consumeInteger(10, bits);
  return Type::getIntNTy(context, bits);
}

void defineCFunctions(Module &module, ArrayRef<CFunction> functions) {
  LLVMContext &context = module.getContext();
  auto *pointer = PointerType::getUnqual(context);
  auto *i64 = Type::getInt64Ty(context);
  Tables tables(module);
  FunctionCallee call = module.getOrInsertFunction(
      "gpuasync_c_call", FunctionType::get(pointer, {pointer, pointer}, false));
  for (const CFunction &function : functions) {
    if (GlobalValue *other = module.getNamedValue(function.name))
      other->setName(function.name + ".lowered");
    SmallVector<CParameter> parameters;
    for (const CValue &value : describe(function.signature))
      addParameters(value, parameters);
    SmallVector<Type *> types;
    for (const CParameter &parameter : parameters)
      types.push_back(irType(context, parameter.type));
    auto *defined =
        Function::Create(FunctionType::get(pointer, types, false),
                         GlobalValue::ExternalLinkage, function.name, module);
    IRBuilder<> builder(BasicBlock::Create(context, "", defined));
    auto *list = ArrayType::get(i64, parameters.size());
    llvm::Value *words = builder.CreateAlloca(list);
    for (auto [i, argument] : enumerate(defined->args()))
      builder.CreateStore(
          &argument, builder.CreateConstInBoundsGEP2_64(list, words, 0, i));
    builder.CreateRet(
        builder.CreateCall(call, {tables.addFunction(function), words}));
  }
}

void defineCMain(Module &module, const CFunction &function) {
  Tables(module).addFunction(function, "_gpuasync_c_main");
}

} // namespace gpuexec
