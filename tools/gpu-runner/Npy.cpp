//===- Npy.cpp - Arrays in NumPy's .npy format ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format: https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html. A magic word, a version, a header that is a Python
// dictionary with the keys descr, fortran_order and shape, and the elements.
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace gpurunner {

static Error npyError(StringRef path, const Twine &what) {
  return createStringError("'" + path + "' " + what);
}

uint64_t NpyArray::elementBytes(StringRef descr) {
  uint64_t bytes = 0;
  if (descr.size() < 3 || descr.drop_front(2).getAsInteger(10, bytes))
    return 0;
  return bytes;
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

Expected<NpyArray> readNpy(StringRef path) {
  auto opened = MemoryBuffer::getFile(path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!opened)
    return npyError(path, "cannot be read: " + opened.getError().message());
  NpyArray array;
  array.file = std::move(*opened);
  StringRef bytes = array.file->getBuffer();

  if (!bytes.consume_front("\x93NUMPY") || bytes.size() < 2)
    return npyError(path, "is not a .npy file");
  unsigned version = static_cast<unsigned char>(bytes[0]);
  if (version < 1 || version > 3)
    return npyError(path, "has .npy version " + Twine(version) +
                              "; versions 1 to 3 are known");
  bytes = bytes.drop_front(2);
  unsigned lengthBytes = version == 1 ? 2 : 4;
  if (bytes.size() < lengthBytes)
    return npyError(path, "ends inside its header");
  uint64_t length = 0;
  for (unsigned i = 0; i < lengthBytes; ++i)
    length |= uint64_t(static_cast<unsigned char>(bytes[i])) << (8 * i);
  bytes = bytes.drop_front(lengthBytes);
  if (bytes.size() < length)
    return npyError(path, "ends inside its header");
  StringRef header = bytes.take_front(length);
  StringRef data = bytes.drop_front(length);

  std::optional<StringRef> descr = findValue(header, "descr");
  std::optional<StringRef> order = findValue(header, "fortran_order");
  std::optional<StringRef> shape = findValue(header, "shape");
  if (!descr || !order || !shape)
    return npyError(path, "has a header without descr, fortran_order or shape");
  if (descr->empty() || (descr->front() != '\'' && descr->front() != '"'))
    return npyError(path, "holds records; only plain arrays are read");
  array.descr = descr->drop_front().split(descr->front()).first.str();
  if (StringRef(array.descr).starts_with(">"))
    return npyError(path, "is big endian (" + array.descr +
                              "); save it with .astype('<...')");
  if (!shape->consume_front("("))
    return npyError(path, "has a malformed shape");
  for (StringRef dims = shape->split(')').first; !dims.trim().empty();) {
    StringRef dim;
    std::tie(dim, dims) = dims.split(',');
    int64_t size = 0;
    // Python 2 wrote long integers as 3L.
    if (dim.trim().rtrim('L').getAsInteger(10, size) || size < 0)
      return npyError(path, "has a malformed shape");
    array.shape.push_back(size);
  }
  // The two orders are the same for a vector.
  bool fortran = order->starts_with("True");
  if (fortran && array.shape.size() > 1)
    return npyError(path, "is stored in Fortran order; save it with "
                          "numpy.ascontiguousarray");

  uint64_t expected = NpyArray::elementBytes(array.descr);
  if (expected == 0)
    return npyError(path, "has the element type '" + array.descr +
                              "', which is not a number");
  for (int64_t dim : array.shape) {
    if (dim != 0 && expected > UINT64_MAX / uint64_t(dim))
      return npyError(path, "has a malformed shape");
    expected *= dim;
  }
  if (data.size() < expected)
    return npyError(path, "is cut off: " + Twine(expected) +
                              " bytes of elements expected, " +
                              Twine(data.size()) + " found");
  array.data = ArrayRef<char>(data.data(), expected);
  return array;
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

  std::error_code error;
  raw_fd_ostream file(path, error, sys::fs::OF_None);
  if (error)
    return npyError(path, "cannot be written: " + error.message());
  file << StringRef("\x93NUMPY\x01\x00", 8) << char(header.size() & 0xff)
       << char(header.size() >> 8) << header;
  file.write(data.data(), data.size());
  file.close();
  if (file.has_error()) {
    error = file.error();
    file.clear_error();
    return npyError(path, "cannot be written: " + error.message());
  }
  return Error::success();
}

} // namespace gpurunner
