// SPDX-License-Identifier: Apache-2.0
// The kernels of AVX-512.
#include "isa_avx512.h"
#include "make_level.h"

namespace rnnt {

extern const Level kAvx512Level;
constexpr Level kAvx512Level = MakeLevel<Avx512>("avx512");

}  // namespace rnnt
