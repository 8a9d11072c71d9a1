// SPDX-License-Identifier: Apache-2.0
// The headers of GCC 11 and newer let std::vector call std::__throw_bad_array_new_length, which
// libstdc++ has from GLIBCXX_3.4.29 on. The linker's --wrap sends those calls here, so that the
// library runs where an older libstdc++ is installed. std::bad_alloc is the base of what it throws.
#include <new>

extern "C" [[noreturn]] void __wrap__ZSt28__throw_bad_array_new_lengthv() {
  throw std::bad_alloc();
}
