//===- NpyHeader.cpp - The format of .npy files ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See NpyHeader.h.
//===----------------------------------------------------------------------===//

#include "NpyHeader.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace gpuasync {

static const char magic[] = "\x93NUMPY";

/// What follows "'key':" in the dictionary; null if there is no such key.
static const char *findValue(const std::string &header, const char *key) {
  for (const char *quote : {"'", "\""}) {
    std::string quoted = std::string(quote) + key + quote;
    size_t at = header.find(quoted);
    if (at == std::string::npos)
      continue;
    at = header.find_first_not_of(" \t\n", at + quoted.size());
    if (at == std::string::npos || header[at] != ':')
      continue;
    at = header.find_first_not_of(" \t\n", at + 1);
    if (at != std::string::npos)
      return header.c_str() + at;
  }
  return nullptr;
}

/// Reads "(2, 3)", "(4,)" or "()". Python 2 wrote long integers as 3L.
static bool parseShape(const char *text, std::vector<int64_t> &shape) {
  auto skip = [&] { text += std::strspn(text, " \t\n"); };
  if (*text++ != '(')
    return false;
  for (skip(); *text != ')'; skip()) {
    if (*text < '0' || *text > '9')
      return false;
    errno = 0;
    char *end = nullptr;
    shape.push_back(std::strtoll(text, &end, 10));
    if (errno)
      return false;
    text = end + (*end == 'L');
    skip();
    if (*text == ',')
      ++text;
    else if (*text != ')')
      return false;
  }
  return true;
}

static std::string parse(const std::string &text, NpyHeader &out) {
  const char *name = findValue(text, "descr");
  const char *order = findValue(text, "fortran_order");
  const char *shape = findValue(text, "shape");
  if (!name || !order || !shape)
    return "has a header without descr, fortran_order or shape";
  const char *end =
      *name == '\'' || *name == '"' ? strchr(name + 1, *name) : nullptr;
  if (!end)
    return "holds records; only plain arrays are read";
  out.descr.assign(name + 1, end);
  if (out.descr[0] == '>')
    return "is big endian (" + out.descr + "); save it with .astype('<...')";
  if (!parseShape(shape, out.shape))
    return "has a malformed shape";
  // The two orders are the same for a vector.
  if (std::strncmp(order, "True", 4) == 0 && out.shape.size() > 1)
    return "is stored in Fortran order; save it with numpy.ascontiguousarray";
  return "";
}

std::string readNpyHeader(const std::function<size_t(char *, size_t)> &read,
                          NpyHeader &out) {
  // The magic word, two bytes of the version, the length of the header.
  char prefix[12];
  if (read(prefix, 8) < 8 || std::memcmp(prefix, magic, 6) != 0)
    return "is not a .npy file";
  auto byte = [&](size_t i) { return static_cast<unsigned char>(prefix[i]); };
  unsigned version = byte(6);
  if (version < 1 || version > 3)
    return "has .npy version " + std::to_string(version) +
           "; versions 1 to 3 are known";
  size_t lengthBytes = version == 1 ? 2 : 4, length = 0;
  if (read(prefix + 8, lengthBytes) < lengthBytes)
    return "ends inside its header";
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= size_t(byte(8 + i)) << (8 * i);
  // NumPy itself reads no more without being asked to.
  constexpr size_t maxHeader = 1 << 20;
  if (length > maxHeader)
    return "has a header of " + std::to_string(length) + " bytes, more than " +
           std::to_string(maxHeader);
  std::string text(length, '\0');
  if (read(text.data(), length) < length)
    return "ends inside its header";
  return parse(text, out);
}

std::string makeNpyHeader(const NpyHeader &header) {
  std::string text =
      "{'descr': '" + header.descr + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < header.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(header.shape[i]);
  text += header.shape.size() == 1 ? ",), }" : "), }";
  // The elements begin at a multiple of 64, as numpy.save does it.
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string bytes(magic, 6);
  bytes += {'\x01', '\x00', char(text.size() & 0xff), char(text.size() >> 8)};
  return bytes + text;
}

std::string checkNpyElements(const std::string &descr, const char *elements,
                             size_t bytes) {
  if (descr.size() < 2 || descr[1] != 'b')
    return "";
  // Blocks without an early exit: the compiler vectorises these loops.
  constexpr size_t blockBytes = 4096;
  for (size_t begin = 0; begin < bytes; begin += blockBytes) {
    size_t end = bytes - begin < blockBytes ? bytes : begin + blockBytes;
    unsigned char all = 0;
    for (size_t i = begin; i < end; ++i)
      all |= static_cast<unsigned char>(elements[i]);
    if (all <= 1)
      continue;
    while (static_cast<unsigned char>(elements[begin]) <= 1)
      ++begin;
    return "has a bool that is neither 0 nor 1: element " +
           std::to_string(begin) + " is " +
           std::to_string(static_cast<unsigned char>(elements[begin])) +
           "; save a.view('u1') != 0";
  }
  return "";
}

} // namespace gpuasync
