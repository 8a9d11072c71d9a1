// SPDX-License-Identifier: Apache-2.0
// The kernels of AVX2.
#include "isa_avx2.h"
#include "make_level.h"

namespace rnnt {

extern const Level kAvx2Level;
constexpr Level kAvx2Level = MakeLevel<Avx2>("avx2");

}  // namespace rnnt
