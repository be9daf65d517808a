/* raster.h - values that all lie on a grid coarser than the bound, and a step that goes by it.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts, images, numbers with two decimals and unpacked integers are multiples of one number, the
 * spacing of their raster, perhaps plus an offset. A step that is the spacing, or an odd multiple
 * of it if that is still within the bound, leaves fewer lattice points than a step of two bounds.
 * It may be larger than two bounds, because values are not anywhere between its points. So every
 * value needs the check, and levels frames, which have none, are not written.
 *
 * The raster is found in a sample of the values. Whatever it is, the check keeps the bound: values
 * that are off the raster are kept exactly, and if they are many, the field is coded anew without
 * it. docs/format.md, section 12, has the rule.
 */
#ifndef SZG_RASTER_H
#define SZG_RASTER_H

#include "core/tiles.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* Fields of fewer values are not looked at. */
enum { SZG_RASTER_LEAST_VALUES = 4096 };

/* Blocks of a sample. */
enum { SZG_RASTER_BLOCKS = 8, SZG_RASTER_BLOCK_VALUES = SZG_MOST_PICKED / SZG_RASTER_BLOCKS };

/* Values that were picked, run by run; NaN: not finite, or missing. Or blocks of them, with x
 * varying fastest, then y and z. */
typedef struct szg_raster_sample {
  uint32_t count, run_values;
  uint32_t extents[3];  /* of a block: x, y, z */
  uint32_t exact_count; /* values that are not finite or not valid, and no fill value */
  double values[SZG_MOST_PICKED];
} szg_raster_sample;

/* Takes a sample of runs of at most 32 values. missing: bits of the field's type. */
szgpu_status szg_raster_take_runs(const szg_value_source *source, const szg_missing *missing,
                                  const szg_runs *runs, szg_raster_sample *sample) SZG_CHECKED;

/* What a sample says: its values are n * spacing + offset for integers n, to within 2 * rounding,
 * and |offset| is at most half a spacing. */
typedef struct szg_raster {
  double spacing, offset;
  double rounding;        /* of one value; 0: all is exact */
  double least, greatest; /* of the sample */
} szg_raster;

/* Looks for the largest spacing, which must be least_spacing or more. dtype: the coded one. */
bool szg_raster_find(const szg_raster_sample *sample, szgpu_dtype dtype, double least_spacing,
                     szg_raster *raster);

/* What a value takes in a sample of blocks, in units of 2^-16 bits (raster_cost.c): by differences
 * of a raster's points, of those of the ordinary step, and by interpolation with that. inverse: of
 * either step; parts: steps between two points of the raster. All are 0 if the blocks are too small
 * to tell. */
typedef struct szg_raster_costs {
  uint64_t differences, ordinary_differences, interpolation;
} szg_raster_costs;
szg_raster_costs szg_raster_costs_of(const szg_raster_sample *blocks, double raster_inverse,
                                     int parts, double ordinary_inverse);

/* The same by the bytes of the field's type, each in a code of its own. */
uint64_t szg_raster_planes_cost(const szg_raster_sample *sample, const szg_mapping *mapping);

/* What a call asks for besides its bound. */
typedef struct szg_raster_asked {
  const szg_grid *grid;      /* of the field */
  bool may_interpolate;      /* the ordinary step may have levels frames */
  bool may_have_planes;      /* and planes frames, if it keeps most values exactly */
  bool keeps_values_exactly; /* values are restored as they are, or not coded by the step */
} szg_raster_asked;

/* Gives the plan of a bound that was not declared the step of a raster, if the values have one and
 * it pays. Not with SZG_MAPPING_LOG. */
szgpu_status szg_raster_settle(const szg_raster_asked *asked, const szg_value_source *source,
                               szg_bound_plan *plan) SZG_CHECKED;

SZG_C_END

#endif
