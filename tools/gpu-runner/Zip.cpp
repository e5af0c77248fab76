//===- Zip.cpp - Members of .npz archives ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, with
// the 64 bit fields that NumPy writes. Nothing that an archive says is believed
// before it is known to lie in the file.
//===----------------------------------------------------------------------===//

#include "Zip.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <zlib.h>

using namespace llvm;
using namespace llvm::support;

namespace gpurunner {

namespace {
constexpr uint64_t endBytes = 22, end64Bytes = 56, locatorBytes = 20,
                   entryBytes = 46, localBytes = 30;

/// A member as the directory at the archive's end describes it.
struct Entry {
  StringRef name;
  bool encrypted;
  unsigned method;
  uint32_t checksum;
  uint64_t packed, unpacked, header;
};

class Archive {
public:
  Archive(StringRef path, StringRef bytes) : path(path), bytes(bytes) {}
  Expected<std::vector<Entry>> directory() const;
  /// The stored bytes.
  Expected<StringRef> contents(const Entry &entry) const;

private:
  /// `length` bytes at `offset`, null if the file does not have them.
  const char *at(uint64_t offset, uint64_t length) const {
    return offset <= bytes.size() && length <= bytes.size() - offset
               ? bytes.data() + offset
               : nullptr;
  }
  Error damaged(const Twine &what) const {
    return createStringError("'" + path + "' is a damaged archive: " + what);
  }

  StringRef path, bytes;
};
} // namespace

/// Where the record begins that ends an archive; a comment may follow it.
static size_t findEnd(StringRef bytes) {
  for (size_t at = bytes.rfind("PK\5\6"); at != StringRef::npos;
       at = at ? bytes.take_front(at).rfind("PK\5\6") : StringRef::npos) {
    if (bytes.size() - at >= endBytes &&
        endian::read16le(bytes.data() + at + 20) ==
            bytes.size() - at - endBytes)
      return at;
    if (bytes.size() - at > endBytes + 0xffff)
      break;
  }
  return StringRef::npos;
}

/// Replaces sizes that do not fit in 32 bits by those of the extra field.
static bool readWideSizes(StringRef extra, Entry &entry) {
  SmallVector<uint64_t *> wide;
  for (uint64_t *size : {&entry.unpacked, &entry.packed, &entry.header})
    if (*size == 0xffffffff)
      wide.push_back(size);
  while (!wide.empty() && extra.size() >= 4) {
    unsigned id = endian::read16le(extra.data()),
             length = endian::read16le(extra.data() + 2);
    extra = extra.drop_front(4);
    if (length > extra.size())
      return false;
    if (id == 1) {
      if (length < 8 * wide.size())
        return false;
      for (auto [i, size] : enumerate(wide))
        *size = endian::read64le(extra.data() + 8 * i);
      return true;
    }
    extra = extra.drop_front(length);
  }
  return wide.empty();
}

Expected<std::vector<Entry>> Archive::directory() const {
  size_t end = findEnd(bytes);
  if (end == StringRef::npos)
    return createStringError("'" + path + "' is not a .npz archive");
  const char *record = bytes.data() + end;
  uint64_t count = endian::read16le(record + 10),
           size = endian::read32le(record + 12),
           offset = endian::read32le(record + 16);
  if (count == 0xffff || size == 0xffffffff || offset == 0xffffffff) {
    const char *locator =
        end >= locatorBytes ? at(end - locatorBytes, locatorBytes) : nullptr;
    const char *wide = locator && StringRef(locator, 4) == "PK\6\7"
                           ? at(endian::read64le(locator + 8), end64Bytes)
                           : nullptr;
    if (!wide || StringRef(wide, 4) != "PK\6\6")
      return damaged("its directory is not where it says");
    count = endian::read64le(wide + 32);
    size = endian::read64le(wide + 40);
    offset = endian::read64le(wide + 48);
  }
  if (!at(offset, size))
    return damaged("its directory does not lie in the file");

  std::vector<Entry> entries;
  StringRef rest(bytes.data() + offset, size);
  for (; count; --count) {
    if (rest.size() < entryBytes || !rest.starts_with("PK\1\2"))
      return damaged("entry " + Twine(entries.size()) +
                     " of its directory is cut off");
    const char *raw = rest.data();
    uint64_t name = endian::read16le(raw + 28),
             extra = endian::read16le(raw + 30),
             comment = endian::read16le(raw + 32);
    if (name + extra + comment > rest.size() - entryBytes)
      return damaged("entry " + Twine(entries.size()) +
                     " of its directory is cut off");
    Entry entry;
    entry.encrypted = endian::read16le(raw + 8) & 1;
    entry.method = endian::read16le(raw + 10);
    entry.checksum = endian::read32le(raw + 16);
    entry.packed = endian::read32le(raw + 20);
    entry.unpacked = endian::read32le(raw + 24);
    entry.header = endian::read32le(raw + 42);
    entry.name = rest.substr(entryBytes, name);
    if (!readWideSizes(rest.substr(entryBytes + name, extra), entry))
      return damaged("the sizes of '" + entry.name + "' are missing");
    entries.push_back(entry);
    rest = rest.drop_front(entryBytes + name + extra + comment);
  }
  return entries;
}

Expected<StringRef> Archive::contents(const Entry &entry) const {
  const char *local = at(entry.header, localBytes);
  if (!local || StringRef(local, 4) != "PK\3\4")
    return damaged("'" + entry.name + "' is not where the directory says");
  uint64_t begin = entry.header + localBytes + endian::read16le(local + 26) +
                   endian::read16le(local + 28);
  const char *found = at(begin, entry.packed);
  if (!found)
    return damaged("'" + entry.name + "' is cut off");
  return StringRef(found, entry.packed);
}

/// A member's name as it is shown in messages.
static std::string printableName(StringRef name) {
  std::string text;
  raw_string_ostream os(text);
  os.write_escaped(name);
  return text;
}

/// Inflates `packed`; false if that does not give just the bytes of `out`.
static bool inflateAll(StringRef packed, std::vector<char> &out) {
  z_stream stream = {};
  // Negative: no header of zlib's own.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  constexpr size_t most = 1 << 30;
  size_t read = 0, written = 0;
  int result = Z_OK;
  Bytef none;
  while (result == Z_OK) {
    stream.next_in =
        reinterpret_cast<Bytef *>(const_cast<char *>(packed.data() + read));
    stream.avail_in = std::min(packed.size() - read, most);
    stream.next_out =
        out.empty() ? &none : reinterpret_cast<Bytef *>(out.data() + written);
    stream.avail_out = std::min(out.size() - written, most);
    size_t in = stream.avail_in, room = stream.avail_out;
    result = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += room - stream.avail_out;
  }
  inflateEnd(&stream);
  return result == Z_STREAM_END && written == out.size() &&
         read == packed.size();
}

Expected<ZipMember> readZipMember(StringRef path, StringRef name) {
  sys::fs::file_status status;
  std::error_code code = sys::fs::status(path, status);
  if (!code && status.type() == sys::fs::file_type::directory_file)
    code = std::make_error_code(std::errc::is_a_directory);
  if (code)
    return createStringError("'" + path +
                             "' cannot be read: " + code.message());
  if (status.type() != sys::fs::file_type::regular_file)
    return createStringError("'" + path +
                             "' is not a regular file, as an "
                             "archive must be: its directory is at its end");
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return createStringError("'" + path +
                             "' cannot be read: " + file.getError().message());
  ZipMember member;
  member.archive = std::move(*file);
  Archive archive(path, member.archive->getBuffer());
  Expected<std::vector<Entry>> entries = archive.directory();
  if (!entries)
    return entries.takeError();
  auto entry = find_if(*entries, [&](const Entry &entry) {
    return entry.name == name ||
           (entry.name.ends_with(".npy") && entry.name.drop_back(4) == name);
  });
  if (entry == entries->end() || name.empty()) {
    std::string names;
    for (const Entry &entry : *entries) {
      StringRef shown = entry.name;
      shown.consume_back(".npy");
      names += (names.empty() ? "" : ", ") + printableName(shown);
    }
    return createStringError(
        "'" + path + "' " +
        (name.empty() ? std::string("is an archive")
                      : ("has no array '" + name + "'").str()) +
        "; " +
        (names.empty()
             ? std::string("it is empty")
             : ("name one of its arrays as " + path + ":NAME: " + names)
                   .str()));
  }
  auto refuse = [&](const Twine &what) {
    return createStringError("'" + path + ":" + name + "' " + what);
  };
  if (entry->encrypted)
    return refuse("is encrypted");
  if (entry->method != 0 && entry->method != 8)
    return refuse("is compressed by method " + Twine(entry->method) +
                  "; what numpy.savez and savez_compressed write is read");
  Expected<StringRef> packed = archive.contents(*entry);
  if (!packed)
    return packed.takeError();
  member.bytes = *packed;
  if (entry->method == 8) {
    // Deflate makes no more of a byte than 1032.
    if (entry->unpacked / 1032 > entry->packed)
      return refuse("is damaged: " + Twine(entry->packed) +
                    " bytes cannot be " + Twine(entry->unpacked));
    member.inflated.resize(entry->unpacked);
    if (!inflateAll(*packed, member.inflated))
      return refuse("is damaged: it cannot be inflated");
    member.bytes = StringRef(member.inflated.data(), member.inflated.size());
  }
  if (member.bytes.size() != entry->unpacked ||
      crc32(arrayRefFromStringRef(member.bytes)) != entry->checksum)
    return refuse("is damaged: its checksum is wrong");
  return std::move(member);
}

} // namespace gpurunner
