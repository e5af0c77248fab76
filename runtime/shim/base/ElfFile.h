//===- ElfFile.h - Reading ELF files that nobody has checked ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cubins and code objects as files in memory. Whatever one says of itself,
// nothing outside of it is read.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_BASE_ELFFILE_H
#define GPUASYNC_SHIM_BASE_ELFFILE_H

#include <elf.h>
#include <string.h>
#include <string_view>

namespace gpuasync {

class ElfFile {
public:
  explicit ElfFile(std::string_view file) : file(file) {
    if (file.size() < sizeof(header) ||
        memcmp(file.data(), ELFMAG, SELFMAG) != 0)
      return;
    memcpy(&header, file.data(), sizeof(header));
    if (holds<Elf64_Shdr>(header.e_shoff, header.e_shentsize, header.e_shnum))
      sections = header.e_shnum;
    if (holds<Elf64_Phdr>(header.e_phoff, header.e_phentsize, header.e_phnum))
      segments = header.e_phnum;
  }

  /// 0 if the file is cut short, or no ELF file at all.
  uint32_t sectionCount() const { return sections; }
  uint32_t segmentCount() const { return segments; }
  /// All zeros beyond the last.
  Elf64_Shdr section(uint32_t index) const {
    return index < sections ? record<Elf64_Shdr>(header.e_shoff, index)
                            : Elf64_Shdr();
  }
  Elf64_Phdr segment(uint32_t index) const {
    return index < segments ? record<Elf64_Phdr>(header.e_phoff, index)
                            : Elf64_Phdr();
  }

  /// Empty where a part of it is outside of the file.
  std::string_view bytes(const Elf64_Shdr &section) const {
    return bytes(section.sh_offset, section.sh_size);
  }
  std::string_view bytes(const Elf64_Phdr &segment) const {
    return bytes(segment.p_offset, segment.p_filesz);
  }
  /// The names of sections.
  std::string_view sectionNames() const {
    return bytes(section(header.e_shstrndx));
  }
  /// What stands in a table of strings up to its NUL, empty beyond the table.
  static std::string_view string(std::string_view table, uint64_t offset) {
    if (offset >= table.size())
      return {};
    table.remove_prefix(offset);
    return table.substr(0, strnlen(table.data(), table.size()));
  }

private:
  template <typename Record>
  bool holds(uint64_t offset, size_t recordBytes, uint64_t count) const {
    return recordBytes == sizeof(Record) && offset <= file.size() &&
           (file.size() - offset) / sizeof(Record) >= count;
  }
  template <typename Record>
  Record record(uint64_t offset, uint32_t index) const {
    Record result;
    memcpy(&result, file.data() + offset + index * sizeof(result),
           sizeof(result));
    return result;
  }
  std::string_view bytes(uint64_t offset, uint64_t size) const {
    bool inside = offset <= file.size() && size <= file.size() - offset;
    return inside ? file.substr(offset, size) : std::string_view();
  }

  std::string_view file;
  Elf64_Ehdr header = {};
  uint32_t sections = 0, segments = 0;
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_BASE_ELFFILE_H
