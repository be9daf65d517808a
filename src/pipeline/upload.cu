/* upload.cu - copies a field to the GPU and finds its range slice by slice.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   copies      | slice 0 up | slice 1 up | slice 2 up | ...
 *   the call's               | range of 0 | range of 1 | ...
 *
 * This is the order for pinned memory. The host requests the next slice before it waits for the
 * range of the current one, so the link is never idle. Least, greatest and fill value do not depend
 * on the order of the values.
 */
#include "pipeline/upload.h"

#include <math.h>

#include "core/bytes.h"
#include "core/tiles.h"
#include "quant/restored.h"

enum { SLICE_BYTES = 1 << 25 }; /* half a millisecond on the link; a wait of the host: 20 us */

/* Values per slice. One slice holds everything if copies block the host anyway, or if stages are
 * timed. */
static uint64_t slice_values(const szg_upload_cuda *upload) {
  bool const is_whole = upload->there->device->is_timed || !szg_device_is_pinned(upload->from);
  return is_whole ? upload->source.value_count
                  : SLICE_BYTES / szg_dtype_bytes(upload->source.dtype);
}

/* Sends up to `count` values from `first` on, up to the end of the field. */
static szgpu_status send(const szg_upload_cuda *upload, uint64_t first, uint64_t count) {
  uint64_t const value_count = upload->source.value_count;
  uint64_t const width = szg_dtype_bytes(upload->source.dtype);
  uint64_t const sent = szg_min_u64(count, value_count - first);
  return szg_device_copy_beside(upload->there->device, SZG_SIDE_COPIES, upload->to + first * width,
                                upload->from + first * width, sent * width);
}

/* Merges the extremes of a slice on the device into those of the slices before it. */
static szgpu_status take_slice(const szg_upload_cuda *upload, uint64_t first, uint64_t count,
                               const uint64_t *named_fill, szg_extremes *extremes) {
  const szg_value_source_cuda *const there = upload->there;
  uint64_t const width = szg_dtype_bytes(upload->source.dtype);
  szg_value_source_cuda slice;
  szg_value_source_open_cuda(there->device, upload->source.dtype, upload->to + first * width, count,
                             there->work, there->pinned_work, &slice);
  szg_extremes found;
  SZG_TRY(slice.source.find_extremes(&slice.source, named_fill, &found));
  szg_extremes_merge(&found, extremes);
  return SZGPU_OK;
}

static szgpu_status find_extremes(const szg_value_source *source, const uint64_t *named_fill,
                                  szg_extremes *extremes) {
  auto const *const upload = (const szg_upload_cuda *)source->where;
  szg_device *const device = upload->there->device;
  uint64_t const value_count = source->value_count, most = slice_values(upload);
  if (*upload->is_there)
    return upload->there->source.find_extremes(&upload->there->source, named_fill, extremes);
  *extremes = {INFINITY, -INFINITY, 0};
  SZG_TRY(szg_device_fork(device, SZG_SIDE_COPIES));
  SZG_TRY(send(upload, 0, most));
  for (uint64_t first = 0; first < value_count; first += most) {
    uint64_t const count = szg_min_u64(most, value_count - first);
    SZG_TRY(szg_device_join(device, SZG_SIDE_COPIES)); /* this slice is there; the next goes */
    SZG_TRY(send(upload, first + count, most));
    SZG_TRY(szg_device_mark(device, "field to device"));
    SZG_TRY(take_slice(upload, first, count, named_fill, extremes));
  }
  *upload->is_there = true;
  return SZGPU_OK;
}

/* No range keeps the device busy, so all values come at once. */
static szgpu_status sample_extremes(const szg_value_source *source, szg_extremes *extremes) {
  auto const *const upload = (const szg_upload_cuda *)source->where;
  szg_device *const device = upload->there->device;
  SZG_TRY(szg_device_fork(device, SZG_SIDE_COPIES));
  SZG_TRY(send(upload, 0, source->value_count));
  SZG_TRY(szg_device_join(device, SZG_SIDE_COPIES));
  SZG_TRY(szg_device_mark(device, "field to device"));
  *upload->is_there = true;
  return upload->there->source.sample_extremes(&upload->there->source, extremes);
}

static szgpu_status greatest_up_to(const szg_value_source *source, const szg_range *range,
                                   double limit, double *greatest) {
  auto const *const upload = (const szg_upload_cuda *)source->where;
  return upload->there->source.greatest_up_to(&upload->there->source, range, limit, greatest);
}

/* After find_extremes, which has brought the field. */
static szgpu_status survey_values(const szg_value_source *source, const szg_survey *survey,
                                  szg_ends *ends) {
  auto const *const upload = (const szg_upload_cuda *)source->where;
  return upload->there->source.survey(&upload->there->source, survey, ends);
}

static szgpu_status find_restored(const szg_value_source *source, const szg_restored_look *look,
                                  szg_restored_found *found) {
  auto const *const upload = (const szg_upload_cuda *)source->where;
  return upload->there->source.find_restored(&upload->there->source, look, found);
}

static szgpu_status pick(const szg_value_source *source, const szg_runs *runs, void *picked) {
  auto const *const upload = (const szg_upload_cuda *)source->where;
  return upload->there->source.pick(&upload->there->source, runs, picked);
}

void szg_upload_open_cuda(const szg_value_source_cuda *there, const void *from, void *to,
                          bool *is_there, szg_upload_cuda *upload) {
  upload->source = there->source;
  upload->source.where = upload;
  upload->source.find_extremes = find_extremes;
  upload->source.sample_extremes = sample_extremes;
  upload->source.greatest_up_to = greatest_up_to;
  upload->source.survey = survey_values;
  upload->source.find_restored = find_restored;
  upload->source.pick = pick;
  upload->there = there;
  upload->from = (const uint8_t *)from;
  upload->to = (uint8_t *)to;
  upload->is_there = is_there;
}
