// SPDX-License-Identifier: Apache-2.0
// What a kernel entry finds around it: tiling data, kernel type, workspace.
#ifndef TWIN_ASCENDC_ENTRY_H_
#define TWIN_ASCENDC_ENTRY_H_

#include <cstring>
#include <type_traits>

#include "ascendc/types.h"
#include "model/core.h"

// The tiling struct is plain data that the host filled; both sides compile the same header.
#define REGISTER_TILING_DEFAULT(tiling_struct) \
  static_assert(std::is_trivially_copyable<tiling_struct>::value, "tiling data is plain data")

#define GET_TILING_DATA_WITH_STRUCT(tiling_struct, tiling_data, tiling_arg) \
  tiling_struct tiling_data;                                                \
  twin::LoadTiling(&tiling_data, sizeof(tiling_struct), tiling_arg)

#define KERNEL_TASK_TYPE_DEFAULT(value) twin::g_machine.kernel_type = (value)

namespace twin {

void LoadTiling(void* data, size_t size, const uint8_t* tiling);
uint8_t* UserWorkspace(const uint8_t* workspace);

}  // namespace twin

namespace AscendC {

// The user's part of the workspace lies behind what the framework keeps for itself.
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return twin::UserWorkspace(workspace); }

}  // namespace AscendC

#endif  // TWIN_ASCENDC_ENTRY_H_
