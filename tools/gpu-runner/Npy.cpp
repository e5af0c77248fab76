//===- Npy.cpp - Arrays in NumPy's .npy format ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Npy.h; aot/NpyHeader.h has the format.
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include "libs/aot/NpyHeader.h"

using namespace llvm;

namespace gpurunner {

static Error npyError(StringRef path, const Twine &what) {
  return createStringError("'" + path + "' " + what);
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

  Error failure = Error::success();
  gpuasync::NpyHeader header;
  std::string wrong = gpuasync::readNpyHeader(
      [&](char *to, size_t size) -> size_t {
        Expected<size_t> count = array.fill(MutableArrayRef(to, size));
        if (count)
          return *count;
        failure = joinErrors(std::move(failure), count.takeError());
        return 0;
      },
      header);
  if (failure)
    return std::move(failure);
  if (!wrong.empty())
    return npyError(path, wrong);
  array.descr = std::move(header.descr);
  array.shape.assign(header.shape.begin(), header.shape.end());
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

Expected<NewFile> makeNpy(StringRef path, StringRef descr,
                          ArrayRef<int64_t> shape, ArrayRef<char> data) {
  std::string header = gpuasync::makeNpyHeader({descr.str(), shape.vec()});
  return makeFile(path, [&](raw_ostream &file) {
    file << header;
    file.write(data.data(), data.size());
  });
}

} // namespace gpurunner
