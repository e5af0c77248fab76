//===- Link.cpp - From an object file to functions to call ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ORC links the object. Its own support for constructors is not used: it would
// compile a module of its own for each program.
//===----------------------------------------------------------------------===//

#include "Execution/Link.h"
#include "Execution/Compile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

#include <dlfcn.h>
#include <link.h>

using namespace llvm;

namespace gpuexec {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// What the program handed to atexit. It would be called at exit otherwise,
/// when its code is gone. Never destroyed.
namespace {
struct AtExit {
  std::mutex mutex;
  struct Call {
    void (*function)(void *);
    void *argument;
    const void *program; ///< null: of the only one
  };
  std::vector<Call> calls;
};
} // namespace

static AtExit &atExit() {
  static AtExit *calls = new AtExit;
  return *calls;
}

static int registerAtExit(void (*function)(void *), void *argument,
                          void *program) {
  std::lock_guard<std::mutex> lock(atExit().mutex);
  atExit().calls.push_back({function, argument, program});
  return 0;
}

static int registerPlainAtExit(void (*function)()) {
  return registerAtExit(
      [](void *plain) { reinterpret_cast<void (*)()>(plain)(); },
      reinterpret_cast<void *>(function), nullptr);
}

static void runAtExit(const void *program) {
  for (;;) {
    AtExit::Call call;
    {
      std::lock_guard<std::mutex> lock(atExit().mutex);
      std::vector<AtExit::Call> &calls = atExit().calls;
      auto last = find_if(reverse(calls), [&](const AtExit::Call &call) {
        return !call.program || call.program == program;
      });
      if (last == calls.rend())
        return;
      call = *last;
      calls.erase(std::next(last).base());
    }
    call.function(call.argument);
  }
}

/// What programs pass to __cxa_atexit has an address of its own in each; this
/// one only says that the name is known.
static char anyHandle;

static const std::pair<const char *, void *> ownSymbols[] = {
#define GPUASYNC_ENTRY(name) {#name, reinterpret_cast<void *>(&name)},
    GPUASYNC_LOWERED_FUNCTIONS(GPUASYNC_ENTRY)
#undef GPUASYNC_ENTRY
        {"__cxa_atexit", reinterpret_cast<void *>(&registerAtExit)},
    {"__dso_handle", &anyHandle}};

/// Opens a library of MLIR's that lies next to this tool or library (the
/// package), with LLVM, or where the loader looks; null if there is none.
static void *openOfMLIR(StringRef library, int scope) {
  static int anchor;
  std::string tool = sys::fs::getMainExecutable("gpu-runner", &anchor);
  SmallString<128> near(sys::path::parent_path(tool)), here;
  sys::path::append(near, "..", "lib");
  if (Dl_info info; dladdr(&anchor, &info) && info.dli_fname)
    here = sys::path::parent_path(info.dli_fname);
  for (StringRef folder : {StringRef(near), StringRef(here),
                           StringRef(GPUASYNC_LLVM_LIBRARY_DIR), StringRef()})
    for (StringRef suffix : {"", ".22.1"}) {
      SmallString<128> path(folder);
      sys::path::append(path, library + suffix);
      if (void *handle = dlopen(path.c_str(), RTLD_NOW | scope))
        return handle;
    }
  return nullptr;
}

/// MLIR's runner utilities.
static ArrayRef<void *> runnerUtilities() {
  static const std::vector<void *> opened = [] {
    std::vector<void *> result;
    for (const char *library :
         {"libmlir_c_runner_utils.so", "libmlir_runner_utils.so",
          "libmlir_float16_utils.so"})
      if (void *handle = openOfMLIR(library, RTLD_LOCAL))
        result.push_back(handle);
    return result;
  }();
  return opened;
}

std::string findOwnLibrary(StringRef name) {
  Dl_info runtime;
  if (!dladdr(reinterpret_cast<void *>(&gpuasync_launch), &runtime))
    return "";
  for (const char *suffix : {".so", ".so.0"}) {
    SmallString<128> path(sys::path::parent_path(runtime.dli_fname));
    sys::path::append(path, "libgpuasync_" + name + suffix);
    if (sys::fs::exists(path))
      return path.str().str();
  }
  return "";
}

void *openOwnLibrary(StringRef name) {
  std::string path = findOwnLibrary(name);
  return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

void *Libraries::findInOwnLibraries(StringRef name) const {
  static constexpr std::pair<const char *, const char *> libraries[] = {
      {"gpuasync_lapack_", "blas"},
      {"gpuasync_collective_", "ranks"},
      {"gpuasync_group_", "ranks"}};
  for (auto [prefix, library] : libraries) {
    if (!name.starts_with(prefix))
      continue;
    void *handle = openOwnLibrary(library);
    void *found = handle ? dlsym(handle, name.str().c_str()) : nullptr;
    if (found && !is_contained(ownLibraries, handle))
      ownLibraries.push_back(handle);
    return found;
  }
  return nullptr;
}

static void *vectorMath() {
  static void *const library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
  return library;
}

void *findVectorMath(StringRef name) {
  return vectorMath() && name.starts_with("_ZGV")
             ? dlsym(vectorMath(), name.str().c_str())
             : nullptr;
}

const void *addressInVectorMath() {
  link_map *map = nullptr;
  return vectorMath() && dlinfo(vectorMath(), RTLD_DI_LINKMAP, &map) == 0
             ? map->l_ld
             : nullptr;
}

Error Libraries::open(ArrayRef<std::string> sharedLibs) {
  for (const std::string &library : sharedLibs) {
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    std::string why = handle ? "" : dlerror();
    if (!handle && !StringRef(library).contains('/'))
      handle = openOfMLIR(library, RTLD_GLOBAL);
    if (!handle)
      return createStringError("--shared-libs=" + library + ": " + why);
    handles.push_back(handle);
  }
  return Error::success();
}

void *Libraries::find(StringRef name) const {
  if (overriding)
    if (void *address = overriding(name.str().c_str()))
      return address;
  for (auto &[own, address] : ownSymbols)
    if (name == own)
      return address;
  for (auto &[own, address] : named)
    if (name == own)
      return address;
  if (hasAtExit && name == "atexit")
    return reinterpret_cast<void *>(&registerPlainAtExit);
  std::string text = name.str();
  for (void *handle : handles)
    if (void *address = dlsym(handle, text.c_str()))
      return address;
  if (void *address = dlsym(RTLD_DEFAULT, text.c_str()))
    return address;
  if (void *address = findInOwnLibraries(name))
    return address;
  if (hasRunnerUtilities)
    for (void *handle : runnerUtilities())
      if (void *address = dlsym(handle, text.c_str()))
        return address;
  return findVectorMath(name);
}

std::vector<std::string> Libraries::files() const {
  std::vector<std::string> paths;
  std::vector<void *> all = handles;
  append_range(all, ownLibraries);
  for (void *handle : all) {
    link_map *map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name)
      paths.push_back(map->l_name);
  }
  return paths;
}

namespace {
class FromLibraries : public orc::DefinitionGenerator {
public:
  FromLibraries(const Libraries &libraries, void *program)
      : libraries(libraries), program(program) {}

  Error tryToGenerate(orc::LookupState &, orc::LookupKind, orc::JITDylib &dylib,
                      orc::JITDylibLookupFlags,
                      const orc::SymbolLookupSet &names) override {
    orc::SymbolMap found;
    for (auto &[name, flags] : names)
      if (void *address =
              *name == "__dso_handle" ? program : libraries.find(*name))
        found[name] = {orc::ExecutorAddr::fromPtr(address),
                       JITSymbolFlags::Exported};
    if (found.empty())
      return Error::success();
    return dylib.define(orc::absoluteSymbols(std::move(found)));
  }

private:
  Libraries libraries;
  void *program;
};
} // namespace

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

static Expected<std::vector<ObjectSymbol>> readSymbols(MemoryBufferRef object) {
  auto file = object::ObjectFile::createELFObjectFile(object);
  if (!file)
    return file.takeError();
  std::vector<ObjectSymbol> symbols;
  for (const object::SymbolRef &ref : (*file)->symbols()) {
    Expected<object::SymbolRef::Type> type = ref.getType();
    if (!type)
      return type.takeError();
    Expected<StringRef> name = ref.getName();
    if (!name)
      return name.takeError();
    Expected<object::section_iterator> section = ref.getSection();
    if (!section)
      return section.takeError();
    Expected<uint64_t> offset = ref.getAddress();
    if (!offset)
      return offset.takeError();
    Expected<uint32_t> flags = ref.getFlags();
    if (!flags)
      return flags.takeError();
    bool placed = *section != (*file)->section_end();
    symbols.push_back({name->str(), placed ? (*section)->getIndex() : 0,
                       *offset, object::ELFSymbolRef(ref).getSize(),
                       bool(*flags & object::SymbolRef::SF_Global),
                       !(*flags & object::SymbolRef::SF_Undefined),
                       placed && *type == object::SymbolRef::ST_Function,
                       bool(*flags & object::SymbolRef::SF_Weak)});
  }
  return symbols;
}

bool LinkedProgram::canLink(MemoryBufferRef object,
                            const Libraries &libraries) {
  Expected<std::vector<ObjectSymbol>> symbols = readSymbols(object);
  if (!symbols) {
    consumeError(symbols.takeError());
    return false;
  }
  return all_of(*symbols, [&](const ObjectSymbol &symbol) {
    return symbol.defined || symbol.weak || symbol.name.empty() ||
           symbol.name == "_GLOBAL_OFFSET_TABLE_" ||
           libraries.find(symbol.name);
  });
}

//===----------------------------------------------------------------------===//
// LinkedProgram
//===----------------------------------------------------------------------===//

namespace {
class NoCompiler : public orc::IRCompileLayer::IRCompiler {
public:
  NoCompiler() : IRCompiler(orc::IRSymbolMapper::ManglingOptions()) {}
  Expected<std::unique_ptr<MemoryBuffer>> operator()(Module &) override {
    return createStringError("internal error: nothing is compiled here");
  }
};
} // namespace

namespace {
/// Lists the sections of an object that have no write access once it is linked.
class FindReadOnly : public orc::ObjectLinkingLayer::Plugin {
public:
  explicit FindReadOnly(std::vector<std::pair<uintptr_t, uintptr_t>> &list)
      : list(list) {}

  void modifyPassConfig(orc::MaterializationResponsibility &,
                        jitlink::LinkGraph &,
                        jitlink::PassConfiguration &passes) override {
    passes.PostAllocationPasses.push_back([this](jitlink::LinkGraph &graph) {
      for (jitlink::Section &section : graph.sections()) {
        bool isWritten =
            (section.getMemProt() & orc::MemProt::Write) != orc::MemProt::None;
        if (isWritten || section.getMemLifetime() != orc::MemLifetime::Standard)
          continue;
        jitlink::SectionRange range(section);
        list.emplace_back(range.getStart().getValue(),
                          range.getEnd().getValue());
      }
      return Error::success();
    });
  }
  Error notifyFailed(orc::MaterializationResponsibility &) override {
    return Error::success();
  }
  Error notifyRemovingResources(orc::JITDylib &, orc::ResourceKey) override {
    return Error::success();
  }
  void notifyTransferringResources(orc::JITDylib &, orc::ResourceKey,
                                   orc::ResourceKey) override {}

private:
  std::vector<std::pair<uintptr_t, uintptr_t>> &list;
};
} // namespace

/// Whether a library, or the executable, has `address` in a segment without
/// write access.
static bool isReadOnlyInLibrary(const void *address) {
  dl_find_object object;
  if (_dl_find_object(const_cast<void *>(address), &object) != 0)
    return false;
  auto *begin = static_cast<const char *>(object.dlfo_map_start);
  auto *header = reinterpret_cast<const ElfW(Ehdr) *>(begin);
  auto *segments =
      reinterpret_cast<const ElfW(Phdr) *>(begin + header->e_phoff);
  uintptr_t place =
      reinterpret_cast<uintptr_t>(address) - object.dlfo_link_map->l_addr;
  return any_of(
      ArrayRef(segments, header->e_phnum), [place](const ElfW(Phdr) & segment) {
        return place - segment.p_vaddr < segment.p_memsz &&
               (segment.p_type == PT_GNU_RELRO ||
                (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W)));
      });
}

LinkedProgram::LinkedProgram() = default;
LinkedProgram::~LinkedProgram() = default;

void LinkedProgram::forEachFunction(
    function_ref<void(StringRef, uint64_t, uint64_t, uint64_t, uint64_t)>
        visit) {
  // Only global symbols can be looked up; the others of a section lie at the
  // same distance.
  DenseMap<uint64_t, uint64_t> bases;
  for (const ObjectSymbol &symbol : symbols) {
    if (!symbol.function || !symbol.global || bases.count(symbol.section))
      continue;
    if (auto address = jit->lookup(symbol.name))
      bases[symbol.section] = address->getValue() - symbol.offset;
    else
      consumeError(address.takeError());
  }
  for (const ObjectSymbol &symbol : symbols)
    if (auto base = bases.find(symbol.section);
        symbol.function && base != bases.end())
      visit(symbol.name, base->second + symbol.offset, symbol.size,
            symbol.offset, symbol.section);
}

Expected<PackedFunction> LinkedProgram::lookup(StringRef entryPoint) {
  std::string name = (packedPrefix + entryPoint).str();
  if (none_of(symbols, [&](const ObjectSymbol &symbol) {
        return symbol.defined && symbol.name == name;
      }))
    return createStringError("internal error: @" + entryPoint +
                             " is not in the compiled program");
  Expected<orc::ExecutorAddr> address = jit->lookup(name);
  if (!address)
    return createStringError("the program cannot be linked: " +
                             toString(address.takeError()));
  return address->toPtr<PackedFunction>();
}

Error LinkedProgram::link(MemoryBufferRef object, const Libraries &libraries) {
  Expected<std::vector<ObjectSymbol>> read = readSymbols(object);
  if (!read)
    return read.takeError();
  symbols = std::move(*read);
  dsoHandle = std::make_unique<char>();
  Triple triple(sys::getProcessTriple());
  auto made =
      orc::LLJITBuilder()
          .setJITTargetMachineBuilder(orc::JITTargetMachineBuilder(triple))
          .setDataLayout(DataLayout(triple.computeDataLayout()))
          .setCompileFunctionCreator([](orc::JITTargetMachineBuilder) {
            return std::make_unique<NoCompiler>();
          })
          .setPlatformSetUp(orc::setUpInactivePlatform)
          .create();
  if (!made)
    return made.takeError();
  jit = std::move(*made);
  if (auto *layer =
          dyn_cast<orc::ObjectLinkingLayer>(&jit->getObjLinkingLayer()))
    layer->addPlugin(std::make_shared<FindReadOnly>(readOnly));
  std::string linkError;
  jit->getExecutionSession().setErrorReporter([&linkError](Error error) {
    linkError += toString(std::move(error)) + " ";
  });

  orc::JITDylib &dylib = jit->getMainJITDylib();
  dylib.addGenerator(
      std::make_unique<FromLibraries>(libraries, dsoHandle.get()));
  if (Error error = jit->addObjectFile(MemoryBuffer::getMemBufferCopy(
          object.getBuffer(), object.getBufferIdentifier())))
    return error;
  auto find = [&](const Twine &name, auto &out) -> Error {
    std::string text = name.str();
    // What the object does not define is not for the libraries to supply.
    if (none_of(symbols, [&](const ObjectSymbol &symbol) {
          return symbol.defined && symbol.name == text;
        }))
      return Error::success();
    auto address = jit->lookup(text);
    if (!address)
      return createStringError("the program cannot be linked: " + linkError +
                               toString(address.takeError()));
    out = address->toPtr<std::remove_reference_t<decltype(out)>>();
    return Error::success();
  };
  if (Error error = find(programSymbol, program))
    return error;
  if (Error error = find(constructorsSymbol, constructors))
    return error;
  if (Error error = find(destructorsSymbol, destructors))
    return error;
  jit->getExecutionSession().setErrorReporter(
      [](Error error) { consumeError(std::move(error)); });
  return Error::success();
}

bool LinkedProgram::isReadOnly(const void *address) const {
  auto place = reinterpret_cast<uintptr_t>(address);
  return any_of(readOnly,
                [place](const std::pair<uintptr_t, uintptr_t> &range) {
                  return range.first <= place && place < range.second;
                }) ||
         isReadOnlyInLibrary(address);
}

void LinkedProgram::construct() {
  if (constructors)
    constructors();
}

gpuasync::Status LinkedProgram::release() {
  gpuasync::Status status(gpuasync_program_release(program));
  if (!status.ok())
    return status;
  program = nullptr;
  runAtExit(dsoHandle.get());
  if (destructors)
    destructors();
  destructors = nullptr;
  return status;
}

} // namespace gpuexec
