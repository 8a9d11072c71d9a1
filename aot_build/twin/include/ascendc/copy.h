// SPDX-License-Identifier: Apache-2.0
// DataCopy and DataCopyPad between GM and UB. The byte work is in model/copy.cpp.
#ifndef TWIN_ASCENDC_COPY_H_
#define TWIN_ASCENDC_COPY_H_

#include <cstdint>
#include <cstring>

#include "ascendc/params.h"
#include "ascendc/tensor.h"
#include "ascendc/types.h"
#include "model/copy.h"

namespace twin {

template <typename T>
UbPlace PlaceOf(const AscendC::LocalTensor<T>& tensor) {
  return {tensor.TwinAddress(), tensor.TwinBytes(), static_cast<int>(tensor.TwinPosition())};
}

template <typename T>
GmWindow WindowOf(const AscendC::GlobalTensor<T>& tensor) {
  return {tensor.TwinPlace(), tensor.TwinLimit()};
}

template <typename T>
constexpr bool kCopyable = sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8;

}  // namespace twin

namespace AscendC {

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count) {
  const uint32_t bytes = twin::WholeBlocks("DataCopy", uint64_t{count} * sizeof(T));
  twin::CopyIn("DataCopy", twin::PlaceOf(dst), twin::WindowOf(src), sizeof(T), sizeof(T),
               {1, bytes, 0, 0}, {});
}

template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count) {
  const uint32_t bytes = twin::WholeBlocks("DataCopy", uint64_t{count} * sizeof(T));
  twin::CopyOut("DataCopy", twin::WindowOf(dst), twin::PlaceOf(src), sizeof(T), sizeof(T),
                {1, bytes, 0, 0});
}

template <typename T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                 const DataCopyExtParams& dataCopyParams,
                 const DataCopyPadExtParams<T>& padParams) {
  static_assert(twin::kCopyable<T>, "data_type: 1, 2, 4 or 8 bytes");
  twin::Padding padding;
  padding.enabled = padParams.isPad;
  padding.left = padParams.leftPadding;
  padding.right = padParams.rightPadding;
  std::memcpy(padding.value, &padParams.paddingValue, sizeof(T));
  twin::CopyIn("DataCopyPad", twin::PlaceOf(dst), twin::WindowOf(src), sizeof(T), 1,
               {dataCopyParams.blockCount, dataCopyParams.blockLen, dataCopyParams.srcStride,
                dataCopyParams.dstStride},
               padding);
}

template <typename T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src,
                 const DataCopyExtParams& dataCopyParams) {
  static_assert(twin::kCopyable<T>, "data_type: 1, 2, 4 or 8 bytes");
  twin::CopyOut("DataCopyPad", twin::WindowOf(dst), twin::PlaceOf(src), sizeof(T), 1,
                {dataCopyParams.blockCount, dataCopyParams.blockLen, dataCopyParams.dstStride,
                 dataCopyParams.srcStride});
}

}  // namespace AscendC

#endif  // TWIN_ASCENDC_COPY_H_
