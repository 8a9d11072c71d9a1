// SPDX-License-Identifier: Apache-2.0
// gert::TilingContext: what a tiling function sees and what it decides.
#ifndef TWIN_HOST_TILING_CONTEXT_H_
#define TWIN_HOST_TILING_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exe_graph/runtime/context.h"

namespace gert {

class TilingContext : public ExtendedKernelContext {
 public:
  const StorageShape* GetInputShape(const size_t index) const {
    return index < inputs.size() ? &inputs[index] : nullptr;
  }
  fe::PlatFormInfos* GetPlatformInfo() const { return const_cast<fe::PlatFormInfos*>(&platform); }

  ge::graphStatus SetTilingKey(const uint64_t tiling_key) {
    return Set(&this->tiling_key, tiling_key);
  }
  ge::graphStatus SetScheduleMode(const uint32_t schedule_mode) {
    return Set(&this->schedule_mode, schedule_mode);
  }
  ge::graphStatus SetBlockDim(const uint32_t block_dim) { return Set(&this->block_dim, block_dim); }
  uint32_t GetBlockDim() const { return block_dim; }

  // Null when the framework's buffer is too small. It is not cleared: a tiling function has to set
  // every field.
  template <typename T>
  auto GetTilingData() -> T* {
    if (sizeof(T) > sizeof(tiling_data)) return nullptr;
    tiling_bytes = sizeof(T);
    return reinterpret_cast<T*>(tiling_data);
  }
  size_t* GetWorkspaceSizes(const size_t workspace_count) {
    workspaces.assign(workspace_count, 0);
    return workspaces.data();
  }

  uint64_t tiling_key = 0;
  uint32_t schedule_mode = 0;
  uint32_t block_dim = 0;
  size_t tiling_bytes = 0;
  std::vector<size_t> workspaces;
  alignas(16) uint8_t tiling_data[2048];

 private:
  template <typename Field, typename Value>
  static ge::graphStatus Set(Field* field, Value value) {
    *field = value;
    return ge::GRAPH_SUCCESS;
  }
};

}  // namespace gert

#endif  // TWIN_HOST_TILING_CONTEXT_H_
