/* planes_items.cuh - what the kernels over many lossless frames share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_PLANES_ITEMS_CUH
#define SZG_PLANES_ITEMS_CUH

#include <type_traits>

#include "codecs/planes/plane_rows.cuh"
#include "codecs/planes/planes_items.h"
#include "core/cuda_check.cuh"

namespace szg {

/* Launches have up to so many blocks for each that the device holds at once: frames end at
 * different times, and the blocks of others fill the places. More would only come and go, if there
 * are many small frames beside a large one. */
constexpr unsigned kItemWaves = 8;

/* useful: blocks that the largest frame has work for. */
inline dim3 item_blocks(uint64_t useful, unsigned resident_blocks, uint32_t item_count) {
  return dim3(szg_blocks_each(useful, kItemWaves * resident_blocks, item_count), item_count);
}

/* Fields of floats mostly have the planes of the exponent coded and the others stored; fields of
 * bytes have their only plane coded. Kernels for that know it when compiled. The 11 bits of an
 * exponent of f64 are in two planes, and the 8 of f32 and bf16 are all of the top plane. */
template <uint32_t kValueBytes>
struct PlanesKinds {
  static constexpr uint32_t kTopPlanes = kValueBytes == 8 ? 2 : 1;
  static constexpr uint32_t kTopModes =
      (SZG_PLANE_CODED << 2 * (kValueBytes - 1)) |
      (kTopPlanes == 2 ? SZG_PLANE_CODED << 2 * (kValueBytes - 2) : 0);
  static_assert(SZG_PLANE_STORED == 0, "in all others");
  typedef PlanesForm<kValueBytes, kTopModes> Top;
  typedef PlanesForm<kValueBytes, kAnyModes> Any;
};

/* Whether a kernel of this kind is for frames of the layout. */
template <class Kind>
__device__ __forceinline__ bool is_of_kind(const szg_planes_layout &layout) {
  constexpr uint32_t kTopModes = PlanesKinds<Kind::kValueBytes>::kTopModes;
  bool const is_top = layout.modes == kTopModes;
  return layout.value_bytes == Kind::kValueBytes && is_top == (Kind::kModes == kTopModes);
}

/* Planes that may be coded in frames of the kind. */
template <class Kind>
constexpr uint32_t most_coded_planes() {
  constexpr uint32_t kValueBytes = Kind::kValueBytes;
  return Kind::kModes == kAnyModes ? kValueBytes : PlanesKinds<kValueBytes>::kTopPlanes;
}

/* Whether a step is for the item. */
template <uint32_t kValueBytes>
__device__ __forceinline__ bool is_item_of(const szg_planes_write_item &item, bool is_again) {
  return item.output.layout.value_bytes == kValueBytes && item.is_again == is_again;
}

/* Calls launch(width) for the widths that a list may have; 0: all. */
template <class Launch>
szgpu_status for_each_width(uint32_t value_bytes, Launch launch) {
  if (value_bytes <= 1) SZG_TRY(launch(std::integral_constant<uint32_t, 1>()));
  if (value_bytes == 2 || !value_bytes) SZG_TRY(launch(std::integral_constant<uint32_t, 2>()));
  if (value_bytes == 4 || !value_bytes) SZG_TRY(launch(std::integral_constant<uint32_t, 4>()));
  if (value_bytes == 8 || !value_bytes) SZG_TRY(launch(std::integral_constant<uint32_t, 8>()));
  return SZGPU_OK;
}

} // namespace szg

#endif
