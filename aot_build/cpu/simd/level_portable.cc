// SPDX-License-Identifier: Apache-2.0
// The kernels of the portable level.
#include "isa_portable.h"
#include "make_level.h"

namespace rnnt {

extern const Level kPortableLevel;
constexpr Level kPortableLevel = MakeLevel<Portable>("portable");

}  // namespace rnnt
