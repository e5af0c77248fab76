//===- Main.cpp - A compiled function as a program ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `main` of --emit=exe: arguments from .npy files and the command line,
// results to .npy files. docs/how-to/AheadOfTime.md describes it.
//===----------------------------------------------------------------------===//

#include "NewFile.h"
#include "NpyHeader.h"
#include "Rank.h"
#include "gpuasync/CFunction.h"
#include "gpuasync/Context.h"
#include "gpuasync/Status.h"

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using gpuasync::NewFile;
using gpuasync::NpyHeader;

namespace {

gpuasync::Rank rank;

/// Prints the error, tells other ranks of it, and ends the process.
[[noreturn]] void die(const std::string &message) {
  const std::string of =
      rank.isLaunched() ? " (on rank " + std::to_string(rank.number()) + ")"
                        : "";
  std::fprintf(stderr, "%s: error: %s%s\n", program_invocation_short_name,
               message.c_str(), of.c_str());
  rank.fail(message);
  std::exit(1);
}

struct FreeMemory {
  void operator()(void *memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<char, FreeMemory>;

struct CloseFile {
  void operator()(FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

/// An argument or result: its words for gpuasync_c_call and what they refer to.
struct Value {
  const gpuasync_c_value *type;
  std::string output; ///< file; empty: none
  std::string format; ///< of the elements: signs are as the input has them
  std::vector<int64_t> shape, strides;
  std::vector<int64_t> written; ///< by the call: what a result's words point to
  Memory memory;                ///< elements; of a result of other sizes none
  const char *data = nullptr;

  size_t bytes() const {
    size_t count = type->elementBytes;
    for (int64_t size : shape)
      count *= size_t(size);
    return count;
  }
};

class Program {
public:
  Program(int argc, char **argv);
  void run();

private:
  void parse(int argc, char **argv);
  void addOutput(const std::string &text, size_t &next, bool hasNumber);
  void readArgument(Value &value, const char *text);
  void addResult(Value &value);
  void takeResult(Value &value);
  Value *find(const std::string &name);

  const gpuasync_c_function &function = _gpuasync_c_main;
  const char *device = nullptr;
  std::vector<std::string> inputs;
  std::vector<Value> arguments, results;
  std::vector<uint64_t> words;
};

} // namespace

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static bool isInteger(const char *format) {
  return std::strchr("biu", format[1]);
}

/// Writes the number that `text` is in the words of the type. Returns "" or
/// what is wrong. Types that C has no text for (f16, bf16, complex) want a
/// file.
static std::string parseNumber(const gpuasync_c_value &type, const char *text,
                               char *to) {
  const std::string of = std::string(type.name) + ", " + type.type;
  const std::string none =
      "is no number for " + of + "; a .npy file of shape () may have it";
  const std::string tooLarge = "does not fit in " + of;
  char *end = nullptr;
  if (type.format[1] == 'f' && type.elementBytes >= 4) {
    // To nearest, once: not by way of a double.
    bool isSingle = type.elementBytes == 4;
    float single = isSingle ? std::strtof(text, &end) : 0;
    double number = isSingle ? double(single) : std::strtod(text, &end);
    if (end == text || *end)
      return none;
    // Infinite is what is written so ("inf"), and nothing else.
    bool isWritten = std::strpbrk(text, "iI") != nullptr;
    if (std::isinf(number) && !isWritten)
      return tooLarge + "; inf is infinite";
    std::memcpy(to,
                isSingle ? static_cast<void *>(&single)
                         : static_cast<void *>(&number),
                type.elementBytes);
    return "";
  }
  if (!isInteger(type.format))
    return none;
  errno = 0;
  bool isNegative = *text == '-';
  uint64_t number = isNegative ? uint64_t(std::strtoll(text, &end, 0))
                               : std::strtoull(text, &end, 0);
  if (end == text || *end)
    return none;
  unsigned bits = type.format[1] == 'b' ? 1 : 8 * type.elementBytes;
  bool fits = isNegative ? int64_t(number) >= -(int64_t(1) << (bits - 1))
                         : bits == 64 || number >> bits == 0;
  if (errno || !fits)
    return tooLarge;
  if (bits == 1)
    number &= 1; // -1 is true
  std::memcpy(to, &number, type.elementBytes);
  return "";
}

/// False for types that C has no text for.
static bool printNumber(const gpuasync_c_value &type, const char *from) {
  int64_t whole = 0;
  std::memcpy(&whole, from, type.elementBytes > 8 ? 8 : type.elementBytes);
  if (type.format[1] == 'f' && type.elementBytes >= 4) {
    float single;
    double number;
    std::memcpy(&single, &whole, sizeof(single));
    std::memcpy(&number, &whole, sizeof(number));
    bool isSingle = type.elementBytes == 4;
    std::printf("%s: %.*g\n", type.name, isSingle ? 9 : 17,
                isSingle ? double(single) : number);
    return true;
  }
  if (!isInteger(type.format))
    return false;
  if (type.format[1] == 'b')
    whole = whole != 0;
  unsigned shift = 64 - 8 * type.elementBytes;
  if (type.format[1] == 'i')
    std::printf("%s: %" PRId64 "\n", type.name,
                int64_t(uint64_t(whole) << shift) >> shift);
  else
    std::printf("%s: %" PRIu64 "\n", type.name, uint64_t(whole));
  return true;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Integers of one width are one, whatever their sign.
static bool fits(const char *format, const std::string &descr) {
  if (descr.size() < 3)
    return false;
  char kind = descr[1];
  bool isSame = kind == format[1] ||
                (std::strchr("iu", kind) && std::strchr("iu", format[1]));
  return isSame && descr.substr(2) == format + 2;
}

static void readFile(Value &value, const std::string &path) {
  auto refuse = [&](const std::string &why) { die("'" + path + "' " + why); };
  File file(std::fopen(path.c_str(), "rb"));
  if (!file)
    refuse(std::string("cannot be read: ") + std::strerror(errno));
  NpyHeader header;
  std::string wrong = gpuasync::readNpyHeader(
      [&](char *to, size_t size) {
        return std::fread(to, 1, size, file.get());
      },
      header);
  if (!wrong.empty())
    refuse(wrong);
  const gpuasync_c_value &type = *value.type;
  bool right =
      header.shape.size() == type.rank && fits(type.format, header.descr);
  for (uint32_t i = 0; right && i < type.rank; ++i)
    right =
        type.shape[i] == GPUASYNC_C_DYNAMIC || type.shape[i] == header.shape[i];
  if (!right) {
    std::string shape;
    for (int64_t size : header.shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    refuse("is an array (" + shape + ") of " + header.descr + ", but " +
           type.name + " is " + type.type + ", in NumPy " + type.format);
  }
  size_t bytes = type.elementBytes;
  for (int64_t size : header.shape)
    if (__builtin_mul_overflow(bytes, size_t(size), &bytes) || bytes >> 46)
      refuse("is too large");
  value.shape = header.shape;
  value.format = header.descr;
  value.memory.reset(
      static_cast<char *>(std::aligned_alloc(64, (bytes + 64) / 64 * 64)));
  if (!value.memory)
    refuse("does not fit in memory");
  size_t count = std::fread(value.memory.get(), 1, bytes, file.get());
  if (count < bytes)
    refuse("is cut off: " + std::to_string(bytes) +
           " bytes of elements expected, " + std::to_string(count) + " found");
  wrong = gpuasync::checkNpyElements(header.descr, value.memory.get(), bytes);
  if (!wrong.empty())
    refuse(wrong);
}

static bool isSpecial(const std::string &path) {
  struct stat there;
  return stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode);
}

static void copyRowMajor(const Value &value, size_t dimension, const char *from,
                         std::string &to) {
  if (dimension == value.shape.size()) {
    to.append(from, value.type->elementBytes);
    return;
  }
  for (int64_t i = 0; i < value.shape[dimension]; ++i)
    copyRowMajor(value, dimension + 1,
                 from + i * value.strides[dimension] *
                            int64_t(value.type->elementBytes),
                 to);
}

/// The files of the results. All are written before any takes its place.
class NewFiles {
public:
  void add(const Value &value);
  /// As `die`, and leaves nothing of them.
  [[noreturn]] void abandon(const std::string &message) {
    files.clear();
    die(message);
  }
  void commit();

private:
  struct Output {
    std::string path;
    NewFile file;
  };
  void check(const std::string &path, int error) {
    if (error)
      abandon("'" + path + "' cannot be written: " + std::strerror(error));
  }
  std::vector<Output> files;
};

void NewFiles::add(const Value &value) {
  files.push_back({value.output, NewFile()});
  NewFile &file = files.back().file;
  std::string elements;
  if (!value.strides.empty())
    copyRowMajor(value, 0, value.data, elements);
  const char *data = value.strides.empty() ? value.data : elements.data();
  std::string header = gpuasync::makeNpyHeader({value.format, value.shape});
  int error = file.create(value.output);
  if (!error)
    error = file.write(header.data(), header.size());
  if (!error)
    error = file.write(data, value.bytes());
  if (!error)
    error = file.close();
  check(std::string(value.output), error);
}

void NewFiles::commit() {
  std::vector<NewFile *> together;
  for (Output &output : files)
    together.push_back(&output.file);
  size_t failed = 0;
  if (int error = gpuasync::commit(together, failed))
    check(std::string(files[failed].path), error);
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

static void printUsage(const gpuasync_c_function &function, FILE *to) {
  std::fprintf(to, "usage: %s [--device=auto|cpu|cuda[:N]|hip[:N]]",
               program_invocation_short_name);
  for (uint32_t i = 0; i < function.argumentCount; ++i)
    std::fprintf(to, " ARG%u", i);
  std::fprintf(to, " [-o FILE.npy].. [-o NAME=FILE.npy]..\n");
  for (uint32_t i = 0; i < function.argumentCount; ++i)
    std::fprintf(to, "  %s: %s, %s\n", function.arguments[i].name,
                 function.arguments[i].type,
                 function.arguments[i].kind == GPUASYNC_C_NUMBER
                     ? "a number or a file"
                     : "a .npy file");
  for (uint32_t i = 0; i < function.resultCount; ++i)
    std::fprintf(to, "  %s: %s\n", function.results[i].name,
                 function.results[i].type);
  std::fprintf(to, "-o names the files of the results in order, or of an "
                   "argument after the call.\n");
}

Value *Program::find(const std::string &name) {
  for (std::vector<Value> *list : {&arguments, &results})
    for (Value &value : *list)
      if (name == value.type->name)
        return &value;
  return nullptr;
}

Program::Program(int argc, char **argv) {
  for (uint32_t i = 0; i < function.argumentCount; ++i)
    arguments.emplace_back().type = &function.arguments[i];
  for (uint32_t i = 0; i < function.resultCount; ++i)
    results.emplace_back().type = &function.results[i];
  parse(argc, argv);
}

void Program::parse(int argc, char **argv) {
  size_t next = 0;
  bool optionsEnd = false;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    if (!optionsEnd && (text == "--help" || text == "-h")) {
      printUsage(function, stdout);
      std::exit(0);
    }
    if (!optionsEnd && text == "--") {
      optionsEnd = true;
    } else if (!optionsEnd && text.compare(0, 9, "--device=") == 0) {
      device = argv[i] + 9;
    } else if (!optionsEnd && text == "-o") {
      // A file whose name begins with - is ./-NAME.
      if (++i == argc || (argv[i][0] == '-' && argv[i][1]))
        die("-o needs a file");
      addOutput(rank.replaceNumber(argv[i]), next,
                std::strstr(argv[i], "%r") != nullptr);
    } else if (!optionsEnd && text[0] == '-' && text[1] &&
               !std::strchr("0123456789.inIN", text[1])) {
      // -inf and -nan are numbers.
      die("unknown option '" + text + "'; see --help");
    } else {
      inputs.push_back(rank.replaceNumber(argv[i]));
    }
  }
  if (inputs.size() != arguments.size()) {
    printUsage(function, stderr);
    die(std::to_string(arguments.size()) + " arguments expected, " +
        std::to_string(inputs.size()) + " given");
  }
}

/// Takes the word behind -o; `next` is the first result that no word without a
/// name was for. `hasNumber`: other ranks have another word.
void Program::addOutput(const std::string &text, size_t &next, bool hasNumber) {
  std::string path = text;
  size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  Value *value = nullptr;
  if (equals != std::string::npos && name.find('/') == std::string::npos) {
    value = find(name);
    if (!value)
      die("-o " + text + ": there is no '" + name +
          "', see --help; a file of this name is -o ./" + text);
    path.erase(0, equals + 1);
  } else if (next < results.size()) {
    value = &results[next++];
  } else {
    die("-o " + text + ": there are " + std::to_string(results.size()) +
        " results; an argument's elements after the call are -o "
        "arg0=FILE.npy");
  }
  if (path.empty())
    die("-o '" + text + "': a file is missing; " + value->type->name +
        " without -o is not written");
  if (rank.hasOthers() && !hasNumber && !isSpecial(path))
    die("-o " + text +
        ": all ranks write the same file; %r in its name is the number of the "
        "rank");
  if (path == "-")
    die("-o " + text +
        ": a result without -o is printed; a file of this name "
        "is ./-");
  if (!value->output.empty())
    die("-o " + text + ": " + value->type->name + " is written to '" +
        value->output + "' already");
  for (std::vector<Value> *list : {&arguments, &results})
    for (const Value &other : *list)
      if (!other.output.empty() && gpuasync::isSameNewFile(other.output, path))
        die("-o " + text + ": " + other.type->name +
            " is written to that file already");
  value->output = path;
}

void Program::readArgument(Value &value, const char *text) {
  const gpuasync_c_value &type = *value.type;
  uint64_t word = 0;
  bool isNumber = type.kind == GPUASYNC_C_NUMBER;
  size_t length = std::strlen(text);
  bool isFile = length > 4 && std::strcmp(text + length - 4, ".npy") == 0;
  if (isNumber && !isFile) {
    std::string wrong =
        parseNumber(type, text, reinterpret_cast<char *>(&word));
    if (!wrong.empty())
      die(std::string("'") + text + "' " + wrong);
  } else {
    readFile(value, text);
    value.data = value.memory.get();
    if (isNumber && type.format[1] != 'c')
      std::memcpy(&word, value.data, type.elementBytes);
    else
      word = reinterpret_cast<uint64_t>(value.data);
  }
  words.push_back(word);
  for (uint32_t i = 0; i < type.rank; ++i)
    if (type.shape[i] == GPUASYNC_C_DYNAMIC)
      words.push_back(uint64_t(value.shape[i]));
  // A file has no gaps. Strides that the type says are gpuasync_c_call's.
  int64_t stride = 1;
  bool isEmpty = false;
  std::vector<int64_t> rowMajor(type.rank);
  for (uint32_t i = type.rank; i-- > 0; stride *= value.shape[i]) {
    rowMajor[i] = stride;
    isEmpty |= value.shape[i] == 0;
  }
  for (uint32_t i = 0; type.strides && i < type.rank; ++i)
    if (type.strides[i] == GPUASYNC_C_DYNAMIC)
      words.push_back(uint64_t(rowMajor[i]));
    else if (type.strides[i] != rowMajor[i] && value.shape[i] > 1 && !isEmpty)
      die(std::string(type.name) + " of " + type.type +
          " has gaps, which a file has not");
}

/// Adds the words of a result: pointers to what the call writes.
void Program::addResult(Value &value) {
  const gpuasync_c_value &type = *value.type;
  value.format = type.format;
  value.written.resize(1 + 2 * type.rank);
  size_t dynamic = 0;
  for (uint32_t i = 0; i < type.rank; ++i)
    dynamic += type.shape[i] == GPUASYNC_C_DYNAMIC;
  for (uint32_t i = 0; type.strides && i < type.rank; ++i)
    dynamic += type.strides[i] == GPUASYNC_C_DYNAMIC;
  bool isGiven = type.kind == GPUASYNC_C_NUMBER ||
                 (type.kind == GPUASYNC_C_TENSOR && dynamic == 0);
  if (isGiven) {
    value.shape.assign(type.shape, type.shape + type.rank);
    value.memory.reset(static_cast<char *>(
        std::aligned_alloc(64, (value.bytes() + 64) / 64 * 64)));
    if (!value.memory)
      die(std::string("no memory for ") + type.name + " of " + type.type);
    value.data = value.memory.get();
    words.push_back(reinterpret_cast<uint64_t>(value.data));
    return;
  }
  for (size_t i = 0; i < 1 + dynamic; ++i)
    words.push_back(reinterpret_cast<uint64_t>(&value.written[i]));
}

/// Reads what the call wrote.
void Program::takeResult(Value &value) {
  const gpuasync_c_value &type = *value.type;
  if (value.data)
    return;
  size_t next = 0;
  value.data = reinterpret_cast<const char *>(value.written[next++]);
  for (uint32_t i = 0; i < type.rank; ++i)
    value.shape.push_back(type.shape[i] == GPUASYNC_C_DYNAMIC
                              ? value.written[next++]
                              : type.shape[i]);
  for (uint32_t i = 0; type.strides && i < type.rank; ++i)
    value.strides.push_back(type.strides[i] == GPUASYNC_C_DYNAMIC
                                ? value.written[next++]
                                : type.strides[i]);
  // Memrefs are the program's.
  if (type.kind == GPUASYNC_C_TENSOR)
    value.memory.reset(const_cast<char *>(value.data));
}

void Program::run() {
  gpuasync::Context context;
  std::unique_ptr<gpuasync::ContextScope> scope;
  if (device || rank.isLaunched()) {
    gpuasync::Status opened = rank.isLaunched()
                                  ? rank.join(device, context)
                                  : gpuasync::Context::open(device, context);
    if (!opened.ok())
      die((device ? std::string("--device=") + device + ": " : "") +
          opened.message());
    scope = std::make_unique<gpuasync::ContextScope>(context);
    if (!scope->status().ok())
      die(scope->status().message());
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    readArgument(arguments[i], inputs[i].c_str());
  for (Value &value : results)
    addResult(value);
  gpuasync::Status status(gpuasync_c_call(&function, words.data()));
  if (!status.ok())
    die(rank.describe(status));
  if (gpuasync::Status others = rank.end(); !others.ok())
    die(std::string("no results: ") + others.message());
  for (Value &value : results)
    takeResult(value);
  NewFiles files;
  // What is no regular file comes last: it cannot be taken back.
  for (bool special : {false, true})
    for (const std::vector<Value> *list : {&arguments, &results})
      for (const Value &value : *list) {
        if (value.output.empty() || isSpecial(value.output) != special)
          continue;
        if (!value.data)
          files.abandon("-o " + std::string(value.type->name) + "=" +
                        value.output +
                        ": a number that the function was given");
        files.add(value);
      }
  bool isFirst = true;
  for (const Value &value : results) {
    const gpuasync_c_value &type = *value.type;
    if (value.output.empty() && rank.isLaunched() &&
        std::exchange(isFirst, false))
      std::printf("rank %u:\n", rank.number());
    if (value.output.empty() &&
        (type.kind != GPUASYNC_C_NUMBER || !printNumber(type, value.data)))
      std::printf("%s: %s, not written; -o %s=FILE.npy writes it\n", type.name,
                  type.type, type.name);
  }
  if (std::fflush(stdout) != 0)
    files.abandon(std::string("the standard output cannot be written: ") +
                  std::strerror(errno));
  files.commit();
}

int main(int argc, char **argv) {
  // A pipe that nobody reads is an error like others, after which no file is
  // left half done.
  std::signal(SIGPIPE, SIG_IGN);
  gpuasync::removeFilesOnSignals();
  if (std::string wrong = rank.find(); !wrong.empty())
    die(wrong);
  // In one piece: other processes may write to the same terminal.
  if (rank.isLaunched())
    std::setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
  Program(argc, argv).run();
  rank.release();
  gpuasync::Status closed(gpuasync_shutdown());
  if (!closed.ok())
    die(closed.message());
  return 0;
}
