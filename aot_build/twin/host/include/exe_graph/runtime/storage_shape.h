// SPDX-License-Identifier: Apache-2.0
#ifndef TWIN_HOST_STORAGE_SHAPE_H_
#define TWIN_HOST_STORAGE_SHAPE_H_

#include "exe_graph/runtime/shape.h"

#endif  // TWIN_HOST_STORAGE_SHAPE_H_
