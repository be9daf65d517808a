/* joined.c - parts of a field whose archive has joined axes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A box of the field is no box of the archive's grid: along joined axes it is lines at a distance.
 * So the least box of the grid that has them all is restored first, and they are taken out of it.
 */
#include <string.h>

#include "pipeline/pipeline.h"

/* The axes of a field's box, fastest last, and those of its archive's grid. */
typedef struct axes_map {
  uint64_t extent[SZG_BOX_AXES]; /* of the field */
  uint64_t step[SZG_BOX_AXES];   /* between two values of the wanted level */
  int in[SZG_BOX_AXES];          /* the grid's axis that has it */
  int first;                     /* axes before this one have extent 1 */
} axes_map;

static axes_map map_axes(const szg_header *header, uint32_t level) {
  const szgpu_shape *const shape = &header->shape;
  axes_map map = {.extent = {1, 1, 1, 1}, .step = {1, 1, 1, 1}, .first = SZG_BOX_AXES};
  int to = SZG_BOX_AXES - 1;
  bool is_joined = true; /* with the axis behind it, across dims of 1 */
  for (int i = shape->ndim - 1; i >= 0; i--) {
    is_joined &= header->joined >> i & 1;
    if (shape->dims[i] == 1) continue;
    bool const is_last = map.first == SZG_BOX_AXES;
    map.first--;
    if (!is_last && !is_joined) to--;
    map.in[map.first] = to;
    map.extent[map.first] = shape->dims[i];
    map.step[map.first] = (uint64_t)1 << (map.first == 0 ? 0 : level); /* 0: the batch's */
    is_joined = true;
  }
  return map;
}

/* Where a value of the level is along each axis of the grid. */
static void place_in_grid(const axes_map *map, const uint64_t at[SZG_BOX_AXES],
                          uint64_t place[SZG_BOX_AXES]) {
  memset(place, 0, SZG_BOX_AXES * sizeof *place);
  for (int axis = map->first; axis < SZG_BOX_AXES; axis++) {
    uint64_t *const to = &place[map->in[axis]];
    *to = *to * map->extent[axis] + at[axis] * map->step[axis];
  }
}

/* The least box of the grid that has a box of the level. */
static szg_box surround(const axes_map *map, const szg_box *box) {
  uint64_t last[SZG_BOX_AXES];
  szg_box around;
  for (int axis = 0; axis < SZG_BOX_AXES; axis++) last[axis] = box->end[axis] - 1;
  place_in_grid(map, box->first, around.first);
  place_in_grid(map, last, around.end);
  for (int axis = 0; axis < SZG_BOX_AXES; axis++) around.end[axis]++;
  return around;
}

/* Takes a row of the box, values that are `step` apart. */
static void take_row(const uint8_t *from, uint64_t count, uint64_t step, size_t width,
                     uint8_t *row) {
  if (step == 1) memcpy(row, from, count * width);
  for (uint64_t i = 0; i < count && step > 1; i++)
    memcpy(row + i * width, from + i * step * width, width);
}

static void take_box(const axes_map *map, const szg_box *box, const szg_box *around, size_t width,
                     const uint8_t *values, uint8_t *field) {
  uint64_t const count = box->end[3] - box->first[3];
  uint64_t at[SZG_BOX_AXES], place[SZG_BOX_AXES];
  at[3] = box->first[3];
  for (at[0] = box->first[0]; at[0] < box->end[0]; at[0]++)
    for (at[1] = box->first[1]; at[1] < box->end[1]; at[1]++)
      for (at[2] = box->first[2]; at[2] < box->end[2]; at[2]++) {
        uint64_t offset = 0;
        place_in_grid(map, at, place);
        for (int axis = 0; axis < SZG_BOX_AXES; axis++)
          offset = offset * (around->end[axis] - around->first[axis]) + place[axis] -
                   around->first[axis];
        take_row(values + offset * width, count, map->step[3], width, field);
        field += count * width;
      }
}

szgpu_status szg_decompress_joined(szgpu_ctx *ctx, const szg_opened *opened,
                                   const szg_wanted *wanted, void *field) {
  size_t const width = szg_dtype_bytes(opened->header.shape.dtype);
  axes_map const map = map_axes(&opened->header, wanted->level);
  szg_wanted there = {.box = surround(&map, &wanted->box)};
  uint64_t const value_count = szg_box_value_count(&there.box);
  there.is_partial = value_count < opened->grid.value_count;
  szg_buffer values = {.account = &ctx->account};
  if (opened->asking) return szg_decompress_cpu(ctx, opened, &there, NULL);
  szgpu_status status =
      szg_ctx_make_room(ctx, &values, value_count * width, "room for a box of joined axes");
  if (status == SZGPU_OK) status = szg_decompress_cpu(ctx, opened, &there, values.bytes);
  if (status == SZGPU_OK) take_box(&map, &wanted->box, &there.box, width, values.bytes, field);
  szg_buffer_release(&values);
  return status;
}
