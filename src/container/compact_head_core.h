/* compact_head_core.h - what the headers of an archive say, in its compact form.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What follows from the rest is not stated: the frame is the only one, and has all values. Both
 * directions are beside each other; docs/format.md, section 21, has the fields.
 */
#ifndef SZG_COMPACT_HEAD_CORE_H
#define SZG_COMPACT_HEAD_CORE_H

#include "container/compact_bits_core.h"
#include "container/header_core.h"

/* How a double is stated. */
enum {
  SZG_BOUND_DECIMAL = 0, /* m / 10^k: a number, and four bits */
  SZG_BOUND_F32 = 1,
  SZG_BOUND_F64 = 2,
  SZG_ABSOLUTE_IS_BOUND = 0,
  SZG_ABSOLUTE_IS_SHARE = 1, /* of the range */
  SZG_ABSOLUTE_F64 = 2,
  SZG_ABSOLUTE_IS_ROUNDED = 3, /* the share, rounded up to 44 bits */
  SZG_NUMBER_ZERO = 0,         /* the step and the range */
  SZG_NUMBER_F32 = 1,
  SZG_NUMBER_F64 = 2,
  SZG_RANGE_OF_LIMITS = 3 /* the range only */
};

/* In the place of the mode, before the set of joined axes and the mode. */
enum { SZG_COMPACT_JOINED = 7 };

/* Exact, for k up to 15: their quotient with a small integer is rounded once. */
SZG_HD double szg_power_of_ten(uint32_t k) {
  double power = 1.0;
  for (uint32_t i = 0; i < k; i++) power *= 10.0;
  return power;
}

/* The absolute bound that mostly follows from one relative to the range: quant/bound.c lowers the
 * product by two units in the last place. */
SZG_HD double szg_share_of_range(double bound, double range) {
  uint64_t const bits = szg_bits_of_double(bound * range);
  return szg_double_of_bits(bits < 2 ? 0 : bits - 2);
}

/* As quant/bound.c rounds the bounds of integers and halves. */
SZG_HD double szg_rounded_share(double bound, double range) {
  uint64_t const bits = szg_bits_of_double(szg_share_of_range(bound, range));
  return szg_double_of_bits((bits + 511) & ~(uint64_t)511);
}

/* The bits of the f32 that the double is; false if it is none. Told by its bits, because a float
 * may flush what is denormal. */
SZG_HD bool szg_narrow_double(double x, uint32_t *narrow) {
  float const near = (float)x;
  memcpy(narrow, &near, sizeof near);
  return x == 0.0 ? szg_bits_of_double(x) == 0
                  : szg_is_positive(x < 0 ? -x : x) &&
                        szg_bits_of_double((double)near) == szg_bits_of_double(x);
}

SZG_HD double szg_widen_float(uint32_t narrow) {
  float x;
  memcpy(&x, &narrow, sizeof x);
  return (double)x;
}

/* ---- the archive's header ---- */

SZG_HD void szg_put_bound(szg_packer *out, double bound) {
  enum { MOST_DECIMAL = 1000 };
  double power = 1.0;
  for (uint32_t k = 0; k < 16; k++, power *= 10.0) {
    double const m = bound * power + 0.5;
    uint32_t const whole = m < MOST_DECIMAL ? (uint32_t)m : 0;
    if (whole == 0 || (double)whole / power != bound) continue;
    szg_pack_bits(out, SZG_BOUND_DECIMAL, 2);
    szg_pack_number(out, whole);
    szg_pack_bits(out, k, 4);
    return;
  }
  uint32_t narrow;
  bool const is_narrow = szg_narrow_double(bound, &narrow);
  szg_pack_bits(out, is_narrow ? SZG_BOUND_F32 : SZG_BOUND_F64, 2);
  szg_pack_wide(out, is_narrow ? narrow : szg_bits_of_double(bound), is_narrow ? 32 : 64);
}

SZG_HD double szg_take_bound(szg_unpacker *in) {
  uint32_t const form = szg_unpack_bits(in, 2);
  in->is_bad |= form > SZG_BOUND_F64;
  if (form == SZG_BOUND_F32) return szg_widen_float(szg_unpack_bits(in, 32));
  if (form == SZG_BOUND_F64) return szg_double_of_bits(szg_unpack_wide(in, 64));
  uint32_t const m = szg_unpack_number(in);
  return (double)m / szg_power_of_ten(szg_unpack_bits(in, 4));
}

SZG_HD void szg_put_number_of(szg_packer *out, double x) {
  uint32_t narrow;
  bool const is_zero = szg_bits_of_double(x) == 0, is_narrow = szg_narrow_double(x, &narrow);
  szg_pack_bits(out, is_zero ? SZG_NUMBER_ZERO : is_narrow ? SZG_NUMBER_F32 : SZG_NUMBER_F64, 2);
  if (is_zero) return;
  szg_pack_wide(out, is_narrow ? narrow : szg_bits_of_double(x), is_narrow ? 32 : 64);
}

SZG_HD double szg_take_number_of(szg_unpacker *in, uint32_t form) {
  if (form == SZG_NUMBER_F32) return szg_widen_float(szg_unpack_bits(in, 32));
  return form == SZG_NUMBER_F64 ? szg_double_of_bits(szg_unpack_wide(in, 64)) : 0;
}

/* The limits, of the coded type. */
SZG_HD void szg_put_limit(szg_packer *out, bool is_f32, double limit) {
  uint32_t narrow = 0;
  if (is_f32) out->fails |= !szg_narrow_double(limit, &narrow);
  szg_pack_wide(out, is_f32 ? narrow : szg_bits_of_double(limit), is_f32 ? 32 : 64);
}

SZG_HD double szg_take_limit(szg_unpacker *in, bool is_f32) {
  uint64_t const bits = szg_unpack_wide(in, is_f32 ? 32 : 64);
  return is_f32 ? szg_widen_float((uint32_t)bits) : szg_double_of_bits(bits);
}

SZG_HD void szg_put_absolute(szg_packer *out, const szg_header *header) {
  uint64_t const bits = szg_bits_of_double(header->absolute_bound);
  double const bound = header->bound, range = header->value_range;
  uint32_t form = SZG_ABSOLUTE_F64;
  if (szg_bits_of_double(szg_rounded_share(bound, range)) == bits) form = SZG_ABSOLUTE_IS_ROUNDED;
  if (szg_bits_of_double(szg_share_of_range(bound, range)) == bits) form = SZG_ABSOLUTE_IS_SHARE;
  if (szg_bits_of_double(bound) == bits) form = SZG_ABSOLUTE_IS_BOUND;
  szg_pack_bits(out, form, 2);
  if (form == SZG_ABSOLUTE_F64) szg_pack_wide(out, bits, 64);
}

SZG_HD double szg_take_absolute(szg_unpacker *in, double bound, double range) {
  switch (szg_unpack_bits(in, 2)) {
    case SZG_ABSOLUTE_IS_BOUND:
      return bound;
    case SZG_ABSOLUTE_IS_SHARE:
      return szg_share_of_range(bound, range);
    case SZG_ABSOLUTE_IS_ROUNDED:
      return szg_rounded_share(bound, range);
    default:
      return szg_double_of_bits(szg_unpack_wide(in, 64));
  }
}

SZG_HD void szg_put_numbers(szg_packer *out, const szg_header *header) {
  bool const is_f32 = szg_header_coded_dtype(header) == SZGPU_F32;
  szg_put_bound(out, header->bound);
  szg_pack_bits(out, header->has_limits, 1);
  if (header->has_limits) szg_put_limit(out, is_f32, header->least);
  if (header->has_limits) szg_put_limit(out, is_f32, header->greatest);
  szg_put_number_of(out, header->step);
  uint64_t const range_bits = szg_bits_of_double(header->value_range);
  if (header->has_limits && szg_bits_of_double(header->greatest - header->least) == range_bits)
    szg_pack_bits(out, SZG_RANGE_OF_LIMITS, 2);
  else
    szg_put_number_of(out, header->value_range);
  szg_put_absolute(out, header);
}

SZG_HD void szg_take_numbers(szg_unpacker *in, szg_header *header) {
  bool const is_f32 = szg_header_coded_dtype(header) == SZGPU_F32;
  header->bound = szg_take_bound(in);
  header->has_limits = szg_unpack_bits(in, 1) != 0;
  header->least = header->has_limits ? szg_take_limit(in, is_f32) : 0;
  header->greatest = header->has_limits ? szg_take_limit(in, is_f32) : 0;
  uint32_t const step_form = szg_unpack_bits(in, 2);
  header->step = szg_take_number_of(in, step_form);
  uint32_t const range_form = szg_unpack_bits(in, 2);
  header->value_range = range_form == SZG_RANGE_OF_LIMITS ? header->greatest - header->least
                                                          : szg_take_number_of(in, range_form);
  in->is_bad |=
      step_form > SZG_NUMBER_F64 || (range_form == SZG_RANGE_OF_LIMITS && !header->has_limits);
  header->absolute_bound = szg_take_absolute(in, header->bound, header->value_range);
}

/* Bits of a value of the type. */
SZG_HD uint32_t szg_dtype_bits(szgpu_dtype dtype) { return 8 * (uint32_t)szg_dtype_bytes(dtype); }

/* The type of the fill value in the header: the field's in mode 4, else the coded one. */
SZG_HD uint32_t szg_fill_bit_count(const szg_header *header) {
  bool const is_log = header->mode == SZGPU_MODE_PWREL;
  return szg_dtype_bits(is_log ? header->shape.dtype : szg_header_coded_dtype(header));
}

SZG_HD void szg_put_fills(szg_packer *out, const szg_header *header) {
  bool const is_log = header->mode == SZGPU_MODE_PWREL;
  bool const has_fill = is_log ? header->has_own_fill : header->has_fill;
  szg_pack_bits(out, has_fill, 1);
  if (!has_fill) return;
  szg_pack_wide(out, is_log ? header->own_fill_bits : header->fill_bits,
                szg_fill_bit_count(header));
  szg_pack_bits(out, header->more_fill_count, 2);
  for (uint32_t i = 0; i < header->more_fill_count; i++)
    szg_pack_wide(out, header->more_fill_bits[i], szg_dtype_bits(header->shape.dtype));
}

SZG_HD void szg_take_fills(szg_unpacker *in, szg_header *header) {
  header->has_fill = szg_unpack_bits(in, 1) != 0;
  if (header->has_fill) {
    header->fill_bits = szg_unpack_wide(in, szg_fill_bit_count(header));
    header->more_fill_count = szg_unpack_bits(in, 2);
    for (uint32_t i = 0; i < header->more_fill_count; i++)
      header->more_fill_bits[i] = szg_unpack_wide(in, szg_dtype_bits(header->shape.dtype));
  }
  if (header->mode == SZGPU_MODE_PWREL) szg_header_take_log_fill(header);
}

/* The header of an archive of one frame. */
SZG_HD void szg_put_header(szg_packer *out, const szg_header *header) {
  szg_pack_bits(out, header->shape.dtype, 4);
  szg_pack_bits(out, (uint32_t)header->shape.ndim - 1, 2);
  for (int i = 0; i < header->shape.ndim; i++) szg_pack_number(out, header->shape.dims[i]);
  if (header->joined) szg_pack_bits(out, SZG_COMPACT_JOINED, 3);
  if (header->joined) szg_pack_bits(out, header->joined, 3);
  szg_pack_bits(out, header->mode, 3);
  szg_pack_bits(out, header->layout, 1);
  if (header->layout == SZGPU_LAYOUT_LINEAR) szg_pack_bits(out, header->has_gaps, 1);
  szg_pack_bits(out, header->source != 0, 1);
  if (header->source) szg_pack_bits(out, header->source, 4);
  if (header->mode == SZGPU_MODE_LOSSLESS) return;
  szg_pack_bits(out, header->arithmetic, 2);
  szg_put_fills(out, header);
  szg_put_numbers(out, header);
}

/* *header: empty. *value_count: at most SZG_COMPACT_MOST_VALUES, or the archive is bad. */
SZG_HD void szg_take_header(szg_unpacker *in, szg_header *header, uint64_t *value_count) {
  header->shape.dtype = (szgpu_dtype)szg_unpack_bits(in, 4);
  header->shape.ndim = 1 + (int)szg_unpack_bits(in, 2);
  *value_count = 1;
  for (int i = 0; i < header->shape.ndim; i++) {
    header->shape.dims[i] = szg_unpack_number(in);
    *value_count *= header->shape.dims[i];
    in->is_bad |= *value_count == 0 || *value_count > SZG_COMPACT_MOST_VALUES;
    if (in->is_bad) return; /* also before the product overflows */
  }
  uint32_t mode = szg_unpack_bits(in, 3);
  if (mode == SZG_COMPACT_JOINED) {
    header->joined = szg_unpack_bits(in, 3);
    in->is_bad |= header->joined == 0 || !szg_joined_are_sound(header->joined, header->shape.ndim);
    mode = szg_unpack_bits(in, 3);
  }
  header->mode = (szgpu_mode)mode;
  header->layout = (szgpu_layout)szg_unpack_bits(in, 1);
  header->has_gaps = header->layout == SZGPU_LAYOUT_LINEAR && szg_unpack_bits(in, 1) != 0;
  bool const has_source = szg_unpack_bits(in, 1) != 0;
  header->source = has_source ? szg_unpack_bits(in, 4) : 0;
  in->is_bad |= header->mode > SZGPU_MODE_PWREL || header->shape.dtype > SZGPU_I32;
  header->frame_count = 1;
  if (in->is_bad || header->mode == SZGPU_MODE_LOSSLESS) return;
  header->arithmetic = szg_unpack_bits(in, 2);
  szg_take_fills(in, header);
  szg_take_numbers(in, header);
}

/* ---- the frame's header ---- */

/* No frame has 0 axes: 0 in their place says that the stencils are blended. */
SZG_HD void szg_put_levels(szg_packer *out, const szg_levels_facts *levels) {
  if (levels->is_blended) szg_pack_bits(out, levels->is_quintic, 3);
  szg_pack_bits(out, levels->axis_count, 2);
  szg_pack_bits(out, levels->level_count, 3);
  szg_pack_bits(out, levels->fine_bits, 4);
  szg_pack_bits(out, levels->is_linear, 1);
  szg_pack_bits(out, levels->is_wide, 1);
  if (levels->axis_count == 1) szg_pack_bits(out, levels->is_halved, 1);
  for (int axis = 0; axis < 3; axis++) szg_pack_bits(out, levels->ranks[axis], 2);
  szg_pack_number(out, levels->fold);
}

SZG_HD void szg_take_levels(szg_unpacker *in, szg_levels_facts *levels) {
  levels->axis_count = szg_unpack_bits(in, 2);
  levels->is_blended = levels->axis_count == 0;
  if (levels->is_blended) {
    levels->is_quintic = szg_unpack_bits(in, 1) != 0;
    levels->axis_count = szg_unpack_bits(in, 2);
  }
  levels->level_count = szg_unpack_bits(in, 3);
  levels->fine_bits = szg_unpack_bits(in, 4);
  levels->is_linear = szg_unpack_bits(in, 1) != 0;
  levels->is_wide = szg_unpack_bits(in, 1) != 0;
  if (levels->axis_count == 1) levels->is_halved = szg_unpack_bits(in, 1) != 0;
  for (int axis = 0; axis < 3; axis++) levels->ranks[axis] = (uint8_t)szg_unpack_bits(in, 2);
  levels->fold = szg_unpack_number(in);
}

/* Width, modes and constants of byte planes. */
SZG_HD void szg_put_planes(szg_packer *out, const szg_frame_header *frame) {
  szg_pack_bits(out, frame->value_bytes - 1, 3);
  szg_pack_bits(out, frame->plane_modes, 2 * frame->value_bytes);
  for (uint32_t p = 0; p < frame->value_bytes; p++)
    if ((frame->plane_modes >> 2 * p & 3) == SZG_PLANE_CONSTANT)
      szg_pack_bits(out, (uint32_t)(frame->constant_bits >> 8 * p) & 255, 8);
}

SZG_HD void szg_take_planes(szg_unpacker *in, szg_frame_header *frame) {
  frame->value_bytes = 1 + szg_unpack_bits(in, 3);
  frame->plane_modes = szg_unpack_bits(in, 2 * frame->value_bytes);
  for (uint32_t p = 0; p < frame->value_bytes; p++)
    if ((frame->plane_modes >> 2 * p & 3) == SZG_PLANE_CONSTANT)
      frame->constant_bits |= (uint64_t)szg_unpack_bits(in, 8) << 8 * p;
}

/* The sections that a frame has in most cases, as bits of a mask. A tile frame has all of its
 * sections; here only those count that are not empty. */
SZG_HD uint32_t szg_usual_sections(const szg_header *header, const szg_frame_header *frame) {
  uint32_t const book_and_sizes = 1u << SZG_SECTION_CODEBOOK | 1u << SZG_SECTION_TILE_SIZES;
  uint32_t const gaps = 1u << SZG_SECTION_GAPS | 1u << SZG_SECTION_SEQUENCE_CODES;
  uint32_t stored = 0, coded = 0;
  switch (frame->kind) {
    case SZG_FRAME_LINEAR:
      return book_and_sizes | 1u << SZG_SECTION_BITSTREAM | (header->has_gaps ? gaps : 0);
    case SZG_FRAME_RAW:
      return 1u << SZG_SECTION_RAW;
    case SZG_FRAME_TILE:
      return book_and_sizes | 1u << SZG_SECTION_BITSTREAM;
    case SZG_FRAME_LEVELS:
      return ((2u << frame->levels.level_count) - 1) << SZG_SECTION_BASE;
    case SZG_FRAME_PLANES:
      for (uint32_t p = 0; p < frame->value_bytes; p++) {
        stored += (frame->plane_modes >> 2 * p & 3) == SZG_PLANE_STORED;
        coded += (frame->plane_modes >> 2 * p & 3) == SZG_PLANE_CODED;
      }
      return (stored ? 1u << SZG_SECTION_RAW : 0) |
             (coded ? book_and_sizes | 1u << SZG_SECTION_PLANE_WORDS : 0);
    default:
      return 0;
  }
}

SZG_HD void szg_put_frame_header(szg_packer *out, const szg_header *header,
                                 const szg_frame_header *frame) {
  bool const has_axes = frame->kind == SZG_FRAME_LINEAR || frame->kind == SZG_FRAME_TILE ||
                        frame->kind == SZG_FRAME_LEVELS;
  szg_pack_bits(out, frame->kind, 3);
  if (has_axes) szg_pack_bits(out, frame->axes, 3);
  if (frame->kind == SZG_FRAME_LINEAR) szg_pack_bits(out, frame->escape_bytes, 4);
  if (frame->kind == SZG_FRAME_LINEAR) szg_pack_number(out, frame->radius);
  if (frame->kind == SZG_FRAME_CONSTANT)
    szg_pack_wide(out, frame->constant_bits, szg_dtype_bits(szg_header_coded_dtype(header)));
  if (frame->kind == SZG_FRAME_TILE) szg_pack_bits(out, frame->zero_groups, 2);
  if (frame->kind == SZG_FRAME_TILE) szg_pack_bits(out, frame->has_16_bits, 1);
  if (frame->kind == SZG_FRAME_PLANES) szg_put_planes(out, frame);
  if (frame->kind == SZG_FRAME_LEVELS) szg_put_levels(out, &frame->levels);
}

/* *frame: empty. What no frame says is found where its header is checked. */
SZG_HD void szg_take_frame_header(szg_unpacker *in, const szg_header *header,
                                  szg_frame_header *frame) {
  frame->kind = szg_unpack_bits(in, 3);
  bool const has_axes = frame->kind == SZG_FRAME_LINEAR || frame->kind == SZG_FRAME_TILE ||
                        frame->kind == SZG_FRAME_LEVELS;
  if (has_axes) frame->axes = szg_unpack_bits(in, 3);
  if (frame->kind == SZG_FRAME_LINEAR) frame->escape_bytes = szg_unpack_bits(in, 4);
  if (frame->kind == SZG_FRAME_LINEAR) frame->radius = szg_unpack_number(in);
  if (frame->kind == SZG_FRAME_CONSTANT)
    frame->constant_bits = szg_unpack_wide(in, szg_dtype_bits(szg_header_coded_dtype(header)));
  if (frame->kind == SZG_FRAME_TILE) frame->zero_groups = szg_unpack_bits(in, 2);
  if (frame->kind == SZG_FRAME_TILE) frame->has_16_bits = szg_unpack_bits(in, 1) != 0;
  if (frame->kind == SZG_FRAME_PLANES) szg_take_planes(in, frame);
  if (frame->kind == SZG_FRAME_LEVELS) szg_take_levels(in, &frame->levels);
}

#endif
