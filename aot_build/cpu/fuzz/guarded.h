// SPDX-License-Identifier: Apache-2.0
// Memory between two pages that may not be touched. It ends at the second page or begins behind the
// first; the bytes on its other side are canaries. Inputs are read-only.
#ifndef MINDSPORE_RNNT_CPU_FUZZ_GUARDED_H_
#define MINDSPORE_RNNT_CPU_FUZZ_GUARDED_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>

namespace fuzz {

class Guarded {
 public:
  Guarded(int64_t bytes, bool at_end) : bytes_(bytes) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    inner_bytes_ = (bytes + page) / page * page;  // one page at least
    map_bytes_ = inner_bytes_ + 2 * page;
    void* map = mmap(nullptr, map_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) throw std::bad_alloc();
    map_ = static_cast<uint8_t*>(map);
    inner_ = map_ + page;
    Protect(PROT_READ | PROT_WRITE);
    memset(inner_, kCanary, inner_bytes_);
    data_ = at_end ? inner_ + inner_bytes_ - bytes : inner_;
  }
  ~Guarded() { munmap(map_, map_bytes_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  void* data() const { return data_; }
  void MakeReadOnly() { Protect(PROT_READ); }

  bool CanariesLive() const {
    for (const uint8_t* p = inner_; p < inner_ + inner_bytes_; ++p) {
      if (p == data_) p += bytes_;
      if (p < inner_ + inner_bytes_ && *p != kCanary) return false;
    }
    return true;
  }

 private:
  static constexpr int kCanary = 0xA5;

  void Protect(int protection) const {
    if (mprotect(inner_, inner_bytes_, protection) != 0) throw std::runtime_error("mprotect");
  }

  int64_t bytes_, inner_bytes_, map_bytes_;
  uint8_t *map_, *inner_, *data_;
};

}  // namespace fuzz

#endif  // MINDSPORE_RNNT_CPU_FUZZ_GUARDED_H_
