//===- HipImage.cpp - Which code object fits a chip, what is in it --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice among code objects by target id, and the number of parameters of a
// kernel read from the metadata (MessagePack in an ELF note) of its object.
//===----------------------------------------------------------------------===//

#include "device/hip/HipDriver.h"
#include "shim/base/ElfFile.h"

using namespace gpuasync;
using namespace gpuasync::hip;

/// Takes what stands before the next ':' off `text`.
static std::string_view takePart(std::string_view &text) {
  size_t end = text.find(':');
  std::string_view part = text.substr(0, end);
  text =
      end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

// A target id is the processor, then features with '+' or '-' behind
// ("gfx90a:sramecc+:xnack-"). A code object that does not name a feature runs
// with either setting; one that does needs the device's setting.
uint32_t HipDriver::rank(const VendorLimits &limits,
                         const gpuasync_image &image, std::string *why) const {
  auto misfit = [&](const char *reason) {
    if (why)
      *why = reason;
    return 0;
  };
  if (image.format != GPUASYNC_IMAGE_HSACO)
    return misfit("not for HIP");
  std::string_view wanted = image.arch ? image.arch : "";
  std::string_view device = limits.arch;
  std::string_view processor = takePart(wanted);
  if (processor.empty() || processor != takePart(device))
    return misfit("machine code of another chip");
  uint32_t named = 0;
  while (!wanted.empty()) {
    std::string_view feature = takePart(wanted), rest = device;
    bool same = false;
    while (!same && !rest.empty())
      same = takePart(rest) == feature;
    if (!same)
      return misfit("for another setting of the chip's features");
    ++named;
  }
  return 5000 + named;
}

bool HipDriver::builtinImage(const VendorLimits &limits,
                             gpuasync_image &image) const {
  for (size_t i = 0; i < builtinObjectCount; ++i) {
    const BuiltinObject &object = builtinObjects[i];
    image = {};
    image.format = GPUASYNC_IMAGE_HSACO;
    image.arch = object.arch;
    image.data = object.data;
    image.size = object.bytes();
    if (rank(limits, image))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Parameters of a kernel
//===----------------------------------------------------------------------===//

namespace {
/// Reads MessagePack from front to back. Every function returns false at the
/// end of the bytes, and where it finds something else than it is asked for.
class Reader {
public:
  explicit Reader(std::string_view bytes) : rest(bytes) {}

  bool map(uint64_t &entries) { return take(Map) && set(entries); }
  bool array(uint64_t &elements) { return take(Array) && set(elements); }
  bool string(std::string_view &text) {
    if (!take(String) || length > rest.size())
      return false;
    text = rest.substr(0, length);
    rest.remove_prefix(length);
    return true;
  }
  /// Passes over one value with all that is in it.
  bool skip() {
    for (uint64_t values = 1; values; --values) {
      if (!head())
        return false;
      if (kind == Map)
        values += 2 * length;
      else if (kind == Array)
        values += length;
      else if (length > rest.size())
        return false;
      else
        rest.remove_prefix(length);
    }
    return true;
  }

private:
  enum Kind { Map, Array, String, Other };

  bool take(Kind wanted) { return head() && kind == wanted; }
  bool set(uint64_t &out) {
    out = length;
    return true;
  }

  /// Reads the first bytes of a value: its kind, and the number of its entries
  /// or of the bytes that follow.
  bool head() {
    if (rest.empty())
      return false;
    unsigned byte = static_cast<unsigned char>(rest[0]);
    rest.remove_prefix(1);
    kind = Other;
    length = 0;
    if (byte < 0x80 || byte >= 0xe0)
      return true; // an integer
    if (byte < 0xc0) {
      kind = byte < 0x90 ? Map : byte < 0xa0 ? Array : String;
      length = byte & (kind == String ? 31 : 15);
      return true;
    }
    // 0xc0 on: nothing, false, true; then lengths of 1, 2 or 4 bytes, numbers
    // of 1 to 8 bytes, and extensions, which have a type byte besides.
    static const signed char lengthBytes[32] = {0, 0, 0, 0, 1, 2, 4, 1, 2, 4, 0,
                                                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                0, 0, 0, 1, 2, 4, 2, 4, 2, 4};
    static const signed char plainBytes[32] = {0, 0, 0,  0, 0, 0, 0, 1, 1, 1, 4,
                                               8, 1, 2,  4, 8, 1, 2, 4, 8, 2, 3,
                                               5, 9, 17, 0, 0, 0, 0, 0, 0, 0};
    unsigned index = byte - 0xc0, count = unsigned(lengthBytes[index]);
    if (count > rest.size())
      return false;
    for (unsigned i = 0; i < count; ++i)
      length = length << 8 | static_cast<unsigned char>(rest[i]);
    rest.remove_prefix(count);
    length += uint64_t(plainBytes[index]);
    kind = byte >= 0xde   ? Map
           : byte >= 0xdc ? Array
           : byte >= 0xd9 ? String
                          : Other;
    return true;
  }

  std::string_view rest;
  Kind kind = Other;
  uint64_t length = 0;
};
} // namespace

/// The note with the metadata of a code object, empty if there is none.
static std::string_view findMetadata(std::string_view object) {
  const ElfFile file(object);
  for (uint32_t i = 0; i < file.segmentCount(); ++i) {
    Elf64_Phdr segment = file.segment(i);
    if (segment.p_type != PT_NOTE)
      continue;
    std::string_view notes = file.bytes(segment);
    Elf64_Nhdr note;
    while (notes.size() >= sizeof(note)) {
      memcpy(&note, notes.data(), sizeof(note));
      notes.remove_prefix(sizeof(note));
      uint64_t name = (uint64_t(note.n_namesz) + 3) & ~uint64_t(3);
      uint64_t description = (uint64_t(note.n_descsz) + 3) & ~uint64_t(3);
      if (name > notes.size() || note.n_descsz > notes.size() - name)
        break;
      const unsigned metadataType = 32;
      if (note.n_type == metadataType &&
          notes.substr(0, name).substr(0, 6) == "AMDGPU")
        return notes.substr(name, note.n_descsz);
      notes.remove_prefix(description < notes.size() - name ? name + description
                                                            : notes.size());
    }
  }
  return {};
}

/// The number of explicit parameters in the array that the reader is at.
static int64_t countParameters(Reader &reader) {
  uint64_t parameters = 0;
  int64_t count = 0;
  if (!reader.array(parameters))
    return -1;
  for (; parameters; --parameters) {
    uint64_t entries = 0;
    bool hidden = false;
    if (!reader.map(entries))
      return -1;
    for (; entries; --entries) {
      std::string_view key, value;
      if (!reader.string(key))
        return -1;
      if (key != ".value_kind") {
        if (!reader.skip())
          return -1;
        continue;
      }
      if (!reader.string(value))
        return -1;
      hidden = value.substr(0, 7) == "hidden_";
    }
    count += !hidden;
  }
  return count;
}

int64_t HipDriver::imageParamCount(const gpuasync_image &image,
                                   const char *kernel) const {
  Reader reader(findMetadata(
      std::string_view(static_cast<const char *>(image.data), image.size)));
  uint64_t entries = 0;
  if (!reader.map(entries))
    return -1;
  for (; entries; --entries) {
    std::string_view key;
    if (!reader.string(key))
      return -1;
    if (key != "amdhsa.kernels") {
      if (!reader.skip())
        return -1;
      continue;
    }
    uint64_t kernels = 0;
    if (!reader.array(kernels))
      return -1;
    for (; kernels; --kernels) {
      uint64_t fields = 0;
      // A kernel without parameters has no list of them.
      int64_t count = 0;
      bool found = false;
      if (!reader.map(fields))
        return -1;
      for (; fields; --fields) {
        std::string_view field, name;
        if (!reader.string(field))
          return -1;
        if (field == ".args") {
          count = countParameters(reader);
          if (count < 0)
            return -1;
        } else if (field == ".name") {
          if (!reader.string(name))
            return -1;
          found = name == kernel;
        } else if (!reader.skip()) {
          return -1;
        }
      }
      if (found)
        return count;
    }
    return -1;
  }
  return -1;
}
