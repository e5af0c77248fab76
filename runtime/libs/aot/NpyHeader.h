//===- NpyHeader.h - The format of .npy files -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's format of one array:
// https://numpy.org/doc/stable/reference/generated/ numpy.lib.format.html. A
// magic word, a version, a header that is a Python dictionary with the keys
// descr, fortran_order and shape, and the elements.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_AOT_NPYHEADER_H
#define GPUASYNC_LIBS_AOT_NPYHEADER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gpuasync {

/// An array in C order, little endian.
struct NpyHeader {
  std::string descr; ///< NumPy's type name: "<f4", "|u1"
  std::vector<int64_t> shape;
};

/// Reads up to the elements. `read` fills so many bytes, fewer at the end of
/// the file. Returns "" or what is wrong, to follow the file's name.
std::string readNpyHeader(const std::function<size_t(char *, size_t)> &read,
                          NpyHeader &out);

/// All bytes before the elements.
std::string makeNpyHeader(const NpyHeader &header);

/// Returns "" or what is wrong with `bytes` bytes of elements of the type
/// `descr`, to follow the file's name: booleans are 0 and 1.
std::string checkNpyElements(const std::string &descr, const char *elements,
                             size_t bytes);

} // namespace gpuasync

#endif // GPUASYNC_LIBS_AOT_NPYHEADER_H
