// SPDX-License-Identifier: Apache-2.0
// The kernels of NEON.
#include "isa_neon.h"
#include "make_level.h"

namespace rnnt {

extern const Level kNeonLevel;
constexpr Level kNeonLevel = MakeLevel<Neon>("neon");

}  // namespace rnnt
