//===- State.h - The model behind the fake vendor libraries -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts, streams, events, modules and memory as a vendor's driver keeps
// them, with the rules that callers must follow. Cuda.cpp and Hip.cpp put the
// vendors' entry points on top; codes are those that both vendors share.
//===----------------------------------------------------------------------===//
//
// One mutex guards everything; an entry point holds it from beginning to end,
// except while it blocks. Work runs on one thread per stream without it.
// Objects are never freed, so that a stale handle is recognised; memory comes
// from one range of addresses and becomes inaccessible when it is given back.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_MOCK_STATE_H
#define GPUASYNC_TEST_RUNTIME_MOCK_STATE_H

#include "Mock.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdint.h>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mock {

enum Code : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  UnsupportedPtxVersion = 222,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  ContextIsDestroyed = 709,
  HostMemoryAlreadyRegistered = 712,
  HostMemoryNotRegistered = 713,
  LaunchFailed = 719,
  CooperativeLaunchTooLarge = 720,
  NotSupported = 801,
  CaptureUnsupported = 900,
  CaptureInvalidated = 901,
  CaptureUnjoined = 904,
  CaptureIsolation = 905,
  CapturedEvent = 907,
  GraphUpdateFailure = 910
};

/// Each device has its one context from the beginning, and a thread a current
/// device (HIP).
extern const bool implicitContexts;

struct Stream;
struct Capture;

/// How far streams of a capture have come, as far as somebody waited for them.
using Clock = std::map<Stream *, uint64_t>;

enum class Kind {
  Context,
  Stream,
  Event,
  Module,
  Function,
  Pool,
  Graph,
  GraphNode,
  Executable
};

struct Context;

/// What a handle points to.
struct Object {
  Object(Kind kind, Context *context);
  virtual ~Object() = default;
  const Kind kind;
  Context *const context; ///< null for contexts and pools
  uint64_t contextId = 0; ///< which life of the context
  bool alive = true;
  bool lost = false; ///< its destruction was made to fail
};

struct Context : Object {
  explicit Context(int device) : Object(Kind::Context, nullptr) {
    this->device = device;
    alive = false;
  }
  int device = 0;
  uint64_t id = 0; ///< of this life
  uint32_t retained = 0;
  int sticky = Success; ///< what every call returns after a fault
  size_t stackLimit = 1024;
};

/// A recorded point; shared by the event and what waits for it.
struct Point {
  bool reached = false;
  int64_t at = 0; ///< when, by the device's own clock
  std::vector<Stream *> waiting;
};

struct Event : Object {
  Event(Context *context, bool isTimed)
      : Object(Kind::Event, context), isTimed(isTimed) {}
  const bool isTimed;
  std::shared_ptr<Point> point; ///< null: never recorded
  Capture *capture = nullptr;   ///< that it was last recorded in
  Clock clock;
};

struct Module;
struct Executable;

struct Operation {
  std::function<int()> run;    ///< may be null; returns a fault's code
  std::function<void()> ended; ///< may be null; with the lock
  std::shared_ptr<Point> after, reaches;
  Module *module = nullptr; ///< whose kernel it is
  std::string kernel;
  Executable *executable = nullptr; ///< that it runs
};

struct Stream : Object {
  Stream(Context *context, unsigned flags)
      : Object(Kind::Stream, context), flags(flags) {}
  const unsigned flags;
  std::deque<Operation> queue; ///< its front is what runs
  uint64_t finished = 0;
  bool hasThread = false;
  std::condition_variable wake;
  Capture *capture = nullptr;
  Clock clock;
};

enum class MemoryOf { Device, Pool, Managed, Pinned, Registered };

struct Launch {
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  bool cooperative;
};

struct Rows {
  char *destination;
  const char *source;
  size_t destinationPitch, sourcePitch, width, height;
};

/// What a node of a graph does.
struct Work {
  enum Of { Kernel, Copy, Captured, Child } of = Kernel;
  std::function<int()> run;
  // Of what was captured
  std::string operation; ///< which an update does not change
  // Of a child graph: its nodes, in an order that is right
  std::vector<std::shared_ptr<const Work>> children;
  // Of a kernel
  std::string kernel;
  Module *module = nullptr;
  Launch launch = {};
  bool packed = false;      ///< the parameters came in a buffer
  uint32_t *slot = nullptr; ///< by which the kernel tells the host of its end
  // Of a copy
  Rows rows = {};
  MemoryOf to = MemoryOf::Device, from = MemoryOf::Device;
};

/// What a kernel counts on the device it counts in the host's word here. The
/// rest of a kernel that does so is held at the gate "told".
inline void tell(uint32_t *slot) {
  __atomic_store_n(slot, *slot + 1, __ATOMIC_RELEASE);
}
void tellAndEnd(uint32_t *slot);

/// Of a stream into a graph; ended ones stay, for what still refers to them.
struct Capture {
  uint64_t id = 0;
  Stream *origin = nullptr;
  int mode = 0;
  const void *owner = nullptr; ///< the thread that began it
  bool active = true, valid = true;
  std::vector<Work> nodes;       ///< in an order that is right
  std::vector<uintptr_t> memory; ///< of the graph's own
};

struct Parameter {
  size_t offset, size;
};

struct Function : Object {
  explicit Function(Context *context) : Object(Kind::Function, context) {}
  Module *module = nullptr;
  std::string name;
  std::vector<Parameter> parameters;
  size_t parameterBytes = 0;
  const gpuasync_cpu_kernel *kernel = nullptr;
  int maxDynamicShared = 48 << 10;
  bool loaded = false;
};

struct Module : Object {
  explicit Module(Context *context) : Object(Kind::Module, context) {}
  std::vector<std::unique_ptr<Function>> functions;
  uint64_t pending = 0;         ///< operations that run its kernels
  bool waits = false;           ///< its kernels do, for what they come after
  bool signals = false;         ///< its kernels tell the host of their end
  std::vector<uint64_t> counts; ///< of what does, of the built-in kernels
};

struct Pool;

struct Memory {
  uintptr_t base = 0;
  size_t bytes = 0;
  MemoryOf of = MemoryOf::Device;
  Context *context = nullptr;
  uint64_t contextId = 0;
  Pool *pool = nullptr;
  bool freed = false;         ///< in stream order, which has not come to it yet
  Capture *capture = nullptr; ///< whose graph it belongs to
  bool lost = false;
};

struct Pool : Object {
  explicit Pool() : Object(Kind::Pool, nullptr) {}
  int device = 0;
  uint64_t threshold = 0;
  bool internalDependencies = true; ///< reuse may order streams
  std::multimap<size_t, uintptr_t> idle;
};

struct Graph;

struct GraphNode : Object {
  explicit GraphNode(Context *context) : Object(Kind::GraphNode, context) {}
  Graph *graph = nullptr;
  uint32_t index = 0;
  std::vector<uint32_t> after; ///< of the same graph
  bool overlaps = false;       ///< with a node that is before it or behind it
  std::shared_ptr<const Work> work;
};

/// What a captured graph allocates; it and what is made of it hold it.
using GraphMemory = std::vector<uintptr_t>;

struct Graph : Object {
  explicit Graph(Context *context) : Object(Kind::Graph, context) {}
  std::vector<GraphNode *> nodes;
  std::shared_ptr<GraphMemory> memory;
};

struct GraphEdges {
  std::vector<uint32_t> before; ///< how many edges come to each node
  std::vector<std::vector<uint32_t>> after;
};

struct Executable : Object {
  explicit Executable(Context *context) : Object(Kind::Executable, context) {}
  Graph *graph = nullptr; ///< whose nodes name its own
  std::shared_ptr<const GraphEdges> edges;
  std::vector<std::shared_ptr<const Work>> work;
  std::vector<bool> enabled;
  std::shared_ptr<Point> last; ///< where its last launch ends
  uint64_t running = 0;        ///< launches that have not ended
  /// Of them those that have told the host of their end: the executable may be
  /// destroyed.
  std::shared_ptr<std::atomic<uint64_t>> signalled =
      std::make_shared<std::atomic<uint64_t>>(0);
  std::shared_ptr<GraphMemory> memory;
};

class State {
public:
  State();
  /// Host code for the runtime's own kernels.
  void addBuiltins();

  /// Settings, by the keys of mock_configure.
  std::map<std::string, uint64_t> settings;

  std::mutex mutex;
  std::condition_variable progress; ///< an operation finished
  std::condition_variable gates;    ///< a gate opened, or somebody came to one

  //===--- Calls

  /// Begins a call: counts it, holds it at its gate, fails it if its turn has
  /// come. `lock` holds the mutex.
  int begin(const char *name, bool needsContext, uintptr_t firstArgument,
            std::unique_lock<std::mutex> &lock);
  void violation(const std::string &reason);
  /// This call waits for whatever kernels run now, as the H100 does.
  void block(std::unique_lock<std::mutex> &lock);

  //===--- Contexts

  Context *current();
  int primary(int device, Context *&out);
  int retain(int device, Context *&out);
  int release(int device, std::unique_lock<std::mutex> &lock);
  int setCurrent(void *handle);
  int contextId(void *handle, uint64_t &id);
  void destroy(Context &context, std::unique_lock<std::mutex> &lock);

  //===--- Streams and events

  int createStream(unsigned flags, bool nonBlocking, Stream *&out);
  int destroyStream(void *handle);
  int query(void *stream);
  int synchronize(void *stream, std::unique_lock<std::mutex> &lock);
  int enqueueForeign(void *stream, std::function<int()> run);
  int wait(void *stream, void *event);
  int writeValue(void *stream, void *address, uint32_t value);
  int createEvent(bool isTimed, Event *&out);
  int destroyEvent(void *handle);
  int record(void *event, void *stream);
  int queryEvent(void *event);
  int elapsed(float &milliseconds, void *from, void *to);

  //===--- Modules

  int load(const void *image, Module *&out, std::string &log,
           std::unique_lock<std::mutex> &lock);
  int unload(void *handle, std::unique_lock<std::mutex> &lock);
  int global(void *module, const char *name, void *&address);
  int function(void *module, const char *name, Function *&out);
  /// Checks the handle; `loads`: the call loads the function if it is not.
  int function(void *handle, Function *&out, bool loads,
               std::unique_lock<std::mutex> &lock);
  int launch(Function &function, void *stream, const Launch &launch,
             const void *parameters, size_t parameterBytes,
             std::unique_lock<std::mutex> &lock);
  /// Checks a launch and says what it does.
  int kernelWork(Function &function, const Launch &launch,
                 const void *parameters, size_t parameterBytes, Work &out,
                 std::unique_lock<std::mutex> &lock);

  //===--- Memory

  int allocate(MemoryOf of, size_t bytes, void *&out);
  /// Of cuMemFree and the like: `first` or `second` is what it must be.
  int free(void *pointer, MemoryOf first, MemoryOf second,
           std::unique_lock<std::mutex> &lock);
  int createPool(int device, Pool *&out);
  int destroyPool(void *handle);
  int pool(void *handle, Pool *&out);
  int trim(void *handle, size_t keepBytes, std::unique_lock<std::mutex> &lock);
  int allocateFrom(void *pool, size_t bytes, void *stream, void *&out);
  int freeAsync(void *pointer, void *stream);
  int registerHost(void *pointer, size_t bytes);
  int unregisterHost(void *pointer, std::unique_lock<std::mutex> &lock);
  /// Null if the vendor does not know the address.
  Memory *find(const void *pointer);
  uint64_t freeBytes();

  //===--- Copies and fills

  int copy(const Rows &rows, void *stream, std::unique_lock<std::mutex> &lock);
  int fill(void *destination, size_t pitch, uint32_t value, unsigned element,
           size_t width, size_t height, void *stream);

  /// What a copy node of a graph does.
  int copyWork(const Rows &rows, Work &out);

  //===--- Graphs (Graphs.cpp)

  int createGraph(Graph *&out);
  int addNode(void *graph, void *const *after, size_t count, Work work,
              GraphNode *&out);
  /// `node` waits itself for kernels `after`.
  int addOverlapping(void *graph, void *node, void *const *after, size_t count);
  int makeCooperative(void *node);
  /// A copy of `child` as a node.
  int addChild(void *graph, void *const *after, size_t count, void *child,
               GraphNode *&out);
  int setChild(void *executable, void *node, void *child);
  int childWork(void *child, Work &out);
  int destroyGraph(void *graph);
  int graphNodes(void *graph, size_t &count);
  int instantiate(void *graph, Executable *&out);
  int setNode(void *executable, void *node, Work work);
  int setEnabled(void *executable, void *node, bool enabled);
  int upload(void *executable, void *stream);
  int launchGraph(void *executable, void *stream);
  int destroyExecutable(void *executable);

  //===--- Captures (Capture.cpp)

  /// Ends the captures that a call of this name, which a graph cannot hold,
  /// disturbs; the code for the call. `stream`: the one that it names.
  int disturb(const char *name, void *stream);
  int invalidate(Capture &capture, int code);
  /// Of a wait: the stream joins the event's capture.
  int joinCapture(Stream &stream, Event &event);
  int captureInfo(void *stream, int &status, uint64_t &id);
  int beginCapture(void *stream, int mode);
  int endCapture(void *stream, void *&graph);
  std::vector<std::unique_ptr<Capture>> captures;

  //===--- For the control functions

  struct Failing {
    std::string name; ///< empty: of any name
    uint64_t left = 0;
    int code = 0;
  };
  std::map<std::string, uint64_t> counts;
  uint64_t total = 0, numbered = 0;
  Failing failing;
  std::string failed;
  std::vector<std::pair<std::string, std::string>> violations;
  std::map<std::string, uint32_t> closedGates; ///< who stands there
  std::map<std::string, const gpuasync_cpu_kernel *> kernels;
  std::vector<std::unique_ptr<Object>> objects; ///< also those that are gone
  std::vector<Object *> present;                ///< see presentObjects
  std::unordered_map<void *, Object *> byHandle;
  std::map<uintptr_t, Memory> memory;
  std::map<int, Context *> primaries;
  std::map<Context *, Stream *> defaultStreams;
  uint64_t nextContextId = 0;
  uint64_t graphRuns = 0;

  template <typename T, typename... Args>
  T *make(Args &&...args) {
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T *result = object.get();
    byHandle[result] = result;
    keep(std::move(object));
    return result;
  }
  void keep(std::unique_ptr<Object> object) {
    present.push_back(object.get());
    objects.push_back(std::move(object));
  }
  /// Objects that are alive, contexts, which may live again, and streams that
  /// still have work.
  const std::vector<Object *> &presentObjects();
  /// Holds a call or a kernel at its gate.
  void passGate(const std::string &name, std::unique_lock<std::mutex> &lock);

private:
  /// The handle, memory or device could not be given back.
  void lose(uintptr_t argument);
  template <typename T>
  int resolve(void *handle, Kind kind, const char *what, T *&out,
              bool anywhere = false);
  int resolveStream(void *handle, Stream *&out);
  void enqueue(Stream &stream, Operation operation);
  int checkCooperative(const Work &work);
  int nodeOf(void *executable, void *node, Executable *&out, uint32_t &index);
  void release(std::shared_ptr<GraphMemory> &memory);
  int checkRows(const Rows &rows);
  void work(Stream &stream);
  bool idle(const Stream &stream) const { return stream.queue.empty(); }
  /// Checks that an access lies within one piece of memory. `known`: the vendor
  /// knows the address.
  int checkRange(const void *pointer, size_t bytes, const char *what,
                 bool &known);
  void *takeAddresses(size_t bytes);
  void giveAddresses(uintptr_t base, size_t bytes);
  void returnToPool(uintptr_t base);
  void freed(uintptr_t base);

  char *arena = nullptr;
  size_t arenaBytes = 0, arenaUsed = 0;
  uint64_t deviceBytes = 0;
};

template <typename T>
int State::resolve(void *handle, Kind kind, const char *what, T *&out,
                   bool anywhere) {
  auto found = byHandle.find(handle);
  if (found == byHandle.end() || found->second->kind != kind) {
    violation(std::string("this is no ") + what);
    return InvalidHandle;
  }
  out = static_cast<T *>(found->second);
  if (!out->alive || (out->context && out->contextId != out->context->id)) {
    violation(std::string("the ") + what + " was destroyed");
    return InvalidHandle;
  }
  if (out->context && !anywhere && out->context != current()) {
    violation(std::string("the ") + what + " belongs to another context");
    return InvalidHandle;
  }
  return Success;
}

/// Never destroyed: threads of ours may outlive main.
State &state();

/// The calling thread's.
struct Thread {
  std::vector<Context *> stack;
  int device = 0;             ///< with implicitContexts
  const char *call = nullptr; ///< the vendor call it is in
  int depth = 0;
  int midFrame = 0;
  bool enqueued = false;    ///< since the frame began
  bool outOfMemory = false; ///< since the frame began
  bool worker = false;
  int captureMode = 0; ///< global
  /// The last call if it was a query that said "not ready".
  const char *polled = nullptr;
  uintptr_t polledArgument = 0;
};
Thread &thread();

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

/// The call that an entry point's body serves: its lock.
struct Call {
  std::unique_lock<std::mutex> lock;
};

/// An object as the vendor's type of handle.
template <typename Handle>
Handle to(void *object) {
  return static_cast<Handle>(object);
}

struct ErrorText {
  int code;
  const char *name, *text;
};
/// Looks the error up in the vendor's list, as the vendors do.
template <size_t count>
int errorText(const ErrorText (&list)[count], int error,
              const char *ErrorText::*what, const char **out) {
  *out = nullptr;
  for (const ErrorText &entry : list)
    if (entry.code == error)
      *out = entry.*what;
  return *out ? Success : InvalidValue;
}

template <size_t count>
constexpr bool isOneOf(const char *const (&names)[count],
                       std::string_view name) {
  for (std::string_view other : names)
    if (other == name)
      return true;
  return false;
}

template <typename T>
uintptr_t asWord(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<uintptr_t>(value);
  else
    return static_cast<uintptr_t>(value);
}

/// Whether the first argument is an executable graph, on which no two threads
/// call at once.
constexpr bool takesExecutable(std::string_view name) {
  for (const char *part :
       {"GraphExec", "GraphLaunch", "GraphUpload", "GraphNodeSetEnabled"})
    if (name.find(part) != std::string_view::npos)
      return true;
  return false;
}

/// Marks an object as called on.
class InCall {
public:
  explicit InCall(uintptr_t object);
  ~InCall();
  InCall(const InCall &) = delete;
  const bool alone; ///< nobody else was

private:
  uintptr_t object;
};

/// The entry point itself, around a body that takes the Call first.
template <auto body, const char *const &name, bool needsContext>
struct Entry;
template <typename... Args, int (*body)(Call &, Args...),
          const char *const &name, bool needsContext>
struct Entry<body, name, needsContext> {
  static int call(Args... args) {
    Thread &self = thread();
    const char *outer = self.call;
    self.call = name;
    ++self.depth;
    int code;
    {
      uintptr_t first[] = {asWord(args)..., 0};
      InCall inCall(takesExecutable(name) ? first[0] : 0);
      Call call{std::unique_lock<std::mutex>(state().mutex)};
      if (!inCall.alone)
        state().violation("two threads call on one executable graph at once");
      code = state().begin(name, needsContext, first[0], call.lock);
      if (code == Success)
        code = body(call, args...);
      if (code == OutOfMemory)
        self.outOfMemory = true;
      if (code == NotReady) {
        self.polled = name;
        self.polledArgument = first[0];
      }
    }
    --self.depth;
    self.call = outer;
    return code;
  }
};

/// Exports `target`, a variable with the address of a function, under a name
/// that is only known as a string.
#if defined(__x86_64__)
#define MOCK_EXPORT(exported, variable)                                        \
  __asm__(".text\n.globl " exported "\n.type " exported                        \
          ",@function\n" exported ":\n  jmpq *" variable                       \
          "(%rip)\n.size " exported ", .-" exported "\n");
#elif defined(__aarch64__)
#define MOCK_EXPORT(exported, variable)                                        \
  __asm__(".text\n.globl " exported "\n.type " exported                        \
          ",%function\n" exported ":\n  adrp x16, " variable                   \
          "\n  ldr x16, [x16, :lo12:" variable "]\n  br x16\n.size " exported  \
          ", .-" exported "\n");
#endif

} // namespace mock

#endif // GPUASYNC_TEST_RUNTIME_MOCK_STATE_H
