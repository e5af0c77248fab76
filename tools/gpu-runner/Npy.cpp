//===- Npy.cpp - Arrays in NumPy's .npy format ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format: https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html. A magic word, a version, a header that is a Python
// dictionary with the keys descr, fortran_order and shape, and the elements.
//===----------------------------------------------------------------------===//

#include "Npy.h"
#include "Files.h"

using namespace llvm;

namespace gpurunner {

static Error npyError(StringRef path, const Twine &what) {
  return createStringError("'" + path + "' " + what);
}

/// Finds the text of `key`'s value in the header dictionary: what follows
/// "'key':".
static std::optional<StringRef> findValue(StringRef header, StringRef key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = (Twine(quote) + key + Twine(quote)).str();
    size_t at = header.find(quoted);
    if (at == StringRef::npos)
      continue;
    StringRef rest = header.drop_front(at + quoted.size()).ltrim();
    if (rest.consume_front(":"))
      return rest.ltrim();
  }
  return std::nullopt;
}

NpyFile &NpyFile::operator=(NpyFile &&other) {
  std::swap(descr, other.descr);
  std::swap(shape, other.shape);
  std::swap(path, other.path);
  std::swap(file, other.file);
  std::swap(member, other.member);
  std::swap(consumed, other.consumed);
  return *this;
}

NpyFile::~NpyFile() {
  if (file != sys::fs::kInvalidFile)
    (void)sys::fs::closeFile(file);
}

Expected<size_t> NpyFile::fill(MutableArrayRef<char> bytes) {
  if (file == sys::fs::kInvalidFile) {
    StringRef rest = member.bytes.drop_front(consumed).take_front(bytes.size());
    llvm::copy(rest, bytes.begin());
    consumed += rest.size();
    return rest.size();
  }
  size_t done = 0;
  while (done < bytes.size()) {
    // Linux reads no more than 2 GiB at once.
    Expected<size_t> count = sys::fs::readNativeFile(
        file,
        bytes.slice(done, std::min<size_t>(bytes.size() - done, 1 << 30)));
    if (!count)
      return npyError(path, "cannot be read: " + toString(count.takeError()));
    if (!*count)
      break;
    done += *count;
  }
  consumed += done;
  return done;
}

Expected<NpyFile> NpyFile::open(StringRef path) {
  NpyFile array;
  array.path = path.str();
  size_t colon = path.rfind(".npz:");
  if (path.ends_with(".npz") || colon != StringRef::npos) {
    auto [archive, name] =
        colon == StringRef::npos
            ? std::pair(path, StringRef())
            : std::pair(path.take_front(colon + 4), path.drop_front(colon + 5));
    Expected<ZipMember> found = readZipMember(archive, name);
    if (!found)
      return found.takeError();
    array.member = std::move(*found);
  } else {
    Expected<sys::fs::file_t> opened = sys::fs::openNativeFileForRead(path);
    if (!opened)
      return npyError(path, "cannot be read: " + toString(opened.takeError()));
    array.file = *opened;
  }

  // The magic word, two bytes of the version, the length of the header.
  char prefix[12];
  auto get = [&](MutableArrayRef<char> bytes) -> Error {
    Expected<size_t> count = array.fill(bytes);
    if (!count)
      return count.takeError();
    if (*count < bytes.size())
      return npyError(path, "ends inside its header");
    return Error::success();
  };
  Expected<size_t> begun = array.fill(MutableArrayRef(prefix, 8));
  if (!begun)
    return begun.takeError();
  if (*begun < 8 || !StringRef(prefix, 8).starts_with("\x93NUMPY"))
    return npyError(path, "is not a .npy file");
  unsigned version = static_cast<unsigned char>(prefix[6]);
  if (version < 1 || version > 3)
    return npyError(path, "has .npy version " + Twine(version) +
                              "; versions 1 to 3 are known");
  unsigned lengthBytes = version == 1 ? 2 : 4;
  if (Error error = get(MutableArrayRef(prefix + 8, lengthBytes)))
    return std::move(error);
  uint64_t length = 0;
  for (unsigned i = 0; i < lengthBytes; ++i)
    length |= uint64_t(static_cast<unsigned char>(prefix[8 + i])) << (8 * i);
  // NumPy itself reads no more without being asked to.
  constexpr uint64_t maxHeader = 1 << 20;
  if (length > maxHeader)
    return npyError(path, "has a header of " + Twine(length) +
                              " bytes, more than " + Twine(maxHeader));
  std::string header(length, '\0');
  if (Error error = get(MutableArrayRef(header.data(), header.size())))
    return std::move(error);
  if (Error error = array.parse(header))
    return std::move(error);
  return std::move(array);
}

Error NpyFile::read(MutableArrayRef<char> elements) {
  Expected<size_t> count = fill(elements);
  if (!count)
    return count.takeError();
  if (*count < elements.size())
    return npyError(path, "is cut off: " + Twine(elements.size()) +
                              " bytes of elements expected, " + Twine(*count) +
                              " found");
  return Error::success();
}

AlignedBytes NpyFile::map(uint64_t bytes) const {
  // For less the pages are not worth it.
  constexpr uint64_t least = 1 << 20;
  sys::fs::file_status status;
  if (file == sys::fs::kInvalidFile || bytes < least ||
      sys::fs::status(file, status) ||
      status.type() != sys::fs::file_type::regular_file ||
      status.getSize() < consumed || status.getSize() - consumed < bytes)
    return AlignedBytes();
  return AlignedBytes::map(file, consumed, bytes);
}

Error NpyFile::parse(StringRef header) {
  std::optional<StringRef> name = findValue(header, "descr");
  std::optional<StringRef> order = findValue(header, "fortran_order");
  std::optional<StringRef> dims = findValue(header, "shape");
  if (!name || !order || !dims)
    return npyError(path, "has a header without descr, fortran_order or shape");
  if (name->empty() || (name->front() != '\'' && name->front() != '"'))
    return npyError(path, "holds records; only plain arrays are read");
  descr = name->drop_front().split(name->front()).first.str();
  if (StringRef(descr).starts_with(">"))
    return npyError(path, "is big endian (" + descr +
                              "); save it with .astype('<...')");
  if (!dims->consume_front("("))
    return npyError(path, "has a malformed shape");
  for (StringRef rest = dims->split(')').first; !rest.trim().empty();) {
    StringRef dim;
    std::tie(dim, rest) = rest.split(',');
    int64_t size = 0;
    // Python 2 wrote long integers as 3L.
    if (dim.trim().rtrim('L').getAsInteger(10, size) || size < 0)
      return npyError(path, "has a malformed shape");
    shape.push_back(size);
  }
  // The two orders are the same for a vector.
  bool fortran = order->starts_with("True");
  if (fortran && shape.size() > 1)
    return npyError(path, "is stored in Fortran order; save it with "
                          "numpy.ascontiguousarray");

  return Error::success();
}

Error writeNpy(StringRef path, StringRef descr, ArrayRef<int64_t> shape,
               ArrayRef<char> data) {
  std::string header;
  raw_string_ostream os(header);
  os << "{'descr': '" << descr << "', 'fortran_order': False, 'shape': (";
  interleaveComma(shape, os);
  os << (shape.size() == 1 ? ",), }" : "), }");
  // The elements begin at a multiple of 64, as numpy.save does it.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';

  return writeFile(path, [&](raw_ostream &file) {
    file << StringRef("\x93NUMPY\x01\x00", 8) << char(header.size() & 0xff)
         << char(header.size() >> 8) << header;
    file.write(data.data(), data.size());
  });
}

} // namespace gpurunner
