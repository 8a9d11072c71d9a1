// SPDX-License-Identifier: Apache-2.0
// Calls the inference exports of the CPU library as MindSpore does: they return C++ vectors.
#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

enum TypeId : int {};
using Shape = std::vector<int64_t>;

void* Find(const char* library, const std::string& name) {
  return dlsym(dlopen(library, RTLD_LAZY | RTLD_LOCAL), name.c_str());
}

}  // namespace

// Per output: its dtype, its rank and its sizes. The numbers written, or -1 if there is no export.
extern "C" int Probe(const char* library, const char* op, int outputs, int inputs, int* ranks,
                     int64_t** shapes, const int* dtypes, int64_t* out) {
  void* infer_shape = Find(library, std::string(op) + "InferShape");
  void* infer_type = Find(library, std::string(op) + "InferType");
  if (infer_shape == nullptr || infer_type == nullptr) return -1;
  std::vector<TypeId> types;
  for (int i = 0; i < inputs; ++i) types.push_back(static_cast<TypeId>(dtypes[i]));

  std::vector<Shape> shape_list;
  std::vector<TypeId> type_list;
  if (outputs == 1) {
    using OneShape = Shape (*)(int*, int64_t**, void*);
    using OneType = TypeId (*)(std::vector<TypeId>, void*);
    shape_list = {reinterpret_cast<OneShape>(infer_shape)(ranks, shapes, nullptr)};
    type_list = {reinterpret_cast<OneType>(infer_type)(types, nullptr)};
  } else {
    using AllShapes = std::vector<Shape> (*)(int*, int64_t**, void*);
    using AllTypes = std::vector<TypeId> (*)(std::vector<TypeId>, void*);
    shape_list = reinterpret_cast<AllShapes>(infer_shape)(ranks, shapes, nullptr);
    type_list = reinterpret_cast<AllTypes>(infer_type)(types, nullptr);
  }
  int64_t* end = out;
  for (size_t i = 0; i < shape_list.size(); ++i) {
    *end++ = type_list[i];
    *end++ = static_cast<int64_t>(shape_list[i].size());
    for (const int64_t size : shape_list[i]) *end++ = size;
  }
  return static_cast<int>(end - out);
}
