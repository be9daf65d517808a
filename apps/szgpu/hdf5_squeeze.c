/* hdf5_squeeze.c - works on a dataset's chunks: HDF5 in one thread, the library in all.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * HDF5 works in the calling thread alone, which reads boxes into a ring of slots and writes what
 * has become of them, in their order. Threads take the boxes out of the ring. If there are fewer
 * chunks than threads, the calling thread lets the library use all threads for one chunk.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "hdf5_squeeze.h"

#include "../chunks/lost.h"
#include "field.h"
#include "hdf5_range.h"
#include "hdf5_slots.h"
#include "launcher.h"
#include "values.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- in all threads ---- */

static szgpu_status compress_once(const struct squeeze_work *work, szgpu_ctx *ctx,
                                  const szgpu_params *params, struct slot *slot) {
  return szgpu_compress(ctx, params, &work->shape, slot->box.values, slot->room.bytes,
                        slot->room.byte_count, &slot->archive_bytes);
}

/* The filter keeps values that were restored before where they are, in case that a part of a chunk
 * is written later. That takes as long as the rest, and is for those that are likely to be. */
static szgpu_status compress(const struct squeeze_work *work, szgpu_ctx *ctx, struct slot *slot) {
  uint64_t const value_count = slot->box.value_count;
  size_t const chunk_bytes = (size_t)value_count * work->source.value_bytes;
  szgpu_params params = work->params;
  bool loses = false;
  if (!(work->may_grow && slot->box.is_cut)) {
    params.keep &= ~(uint64_t)SZGPU_KEEP_RESTORED;
    range_spare(&params, work->shape.dtype, slot->box.values, value_count);
  }
  szgpu_status status = compress_once(work, ctx, &params, slot);
  if (status == SZGPU_OK)
    status = chunk_find_lost(ctx, slot->room.bytes, slot->archive_bytes, slot->box.values,
                             chunk_bytes, work->source.value_bytes, &loses);
  if (loses) {
    params = chunk_lossless_params(&params);
    status = compress_once(work, ctx, &params, slot);
  }
  slot->is_plain = status == SZGPU_OK && slot->archive_bytes >= chunk_bytes;
  if (slot->is_plain && work->source.is_swapped)
    swap_bytes(slot->box.values, slot->box.values, value_count, work->shape.dtype);
  return status;
}

static void work_on(struct squeezer *squeezer, struct slot *slot) {
  const struct squeeze_work *const work = squeezer->of->work;
  slot->ctx = squeezer->ctx;
  slot->damage = pieces_make_values(&work->source, squeezer->ctx, &slot->box,
                                    squeezer->scratch.bytes, &slot->status);
  if (slot->damage || slot->status != SZGPU_OK) return;
  switch (work->kind) {
    case SQUEEZE_TO_ARCHIVES:
      slot->status = compress(work, squeezer->ctx, slot);
      break;
    case SQUEEZE_TO_VALUES:
      slot->is_plain = true;
      if (work->source.is_swapped)
        swap_bytes(slot->box.values, slot->box.values, slot->box.value_count, work->shape.dtype);
      break;
    case SQUEEZE_LOOK:
      slot->status =
          range_look(squeezer->ctx, work, &slot->box, &squeezer->fills, &squeezer->range);
      break;
    case SQUEEZE_COMPARE:
      slot->damage = pieces_make_values(&work->other, squeezer->ctx, &slot->other,
                                        squeezer->scratch.bytes, &slot->status);
      slot->is_other_damaged = slot->damage != NULL;
      if (!slot->damage && slot->status == SZGPU_OK)
        compare_boxes(work->variable, &work->fills, &slot->box, &slot->other,
                      &squeezer->difference);
  }
}

static void *run_squeezer(void *user) {
  struct squeezer *const squeezer = user;
  struct squeeze *const squeeze = squeezer->of;
  pthread_mutex_lock(&squeeze->lock);
  for (;;) {
    while (!squeeze->is_closing && squeeze->taken == squeeze->given)
      pthread_cond_wait(&squeeze->is_ready, &squeeze->lock);
    if (squeeze->taken == squeeze->given) break;
    struct slot *const slot = &squeeze->slots[squeeze->taken++ % (uint64_t)squeeze->slot_count];
    pthread_mutex_unlock(&squeeze->lock);
    work_on(squeezer, slot);
    pthread_mutex_lock(&squeeze->lock);
    slot->is_done = true;
    pthread_cond_signal(&squeeze->is_done);
  }
  pthread_mutex_unlock(&squeeze->lock);
  return NULL;
}

/* ---- a dataset, in the thread of HDF5 ---- */

/* The box of the i-th chunk. */
static void place_box(const struct squeeze_work *work, uint64_t i, struct box *box) {
  const struct plan_variable *const variable = work->variable;
  box->is_cut = false;
  for (int axis = variable->rank - 1; axis >= 0; axis--) {
    hsize_t const chunk = work->chunk[axis];
    uint64_t const chunks = (variable->dims[axis] - 1) / chunk + 1;
    box->start[axis] = i % chunks * chunk;
    i /= chunks;
    hsize_t const left = variable->dims[axis] - box->start[axis];
    box->dims[axis] = chunk;
    box->count[axis] = chunk < left ? chunk : left;
    box->is_cut |= box->count[axis] < chunk;
  }
}

/* What has become of a box, to the new dataset. */
static int finish_slot(struct squeeze *squeeze, struct squeeze_work *work, struct slot *slot) {
  const struct report *const report = &squeeze->job->report;
  if (slot->damage && slot->is_other_damaged)
    return report_failure(report, CODE_IO, squeeze_name_of(squeeze, work).text,
                          "has a damaged chunk in the new file, which was therefore not written; "
                          "check the disk and the memory of this machine");
  if (slot->damage)
    return report_failure(report, CODE_IO, squeeze_name_of(squeeze, work).text, "%s", slot->damage);
  if (slot->status != SZGPU_OK)
    return report_status(report, squeeze_name_of(squeeze, work).text, slot->status, slot->ctx);
  if (work->kind == SQUEEZE_LOOK || work->kind == SQUEEZE_COMPARE) return CODE_OK;
  size_t const plain_bytes = (size_t)slot->box.value_count * work->source.value_bytes;
  size_t const bytes = slot->is_plain ? plain_bytes : slot->archive_bytes;
  const void *const from = slot->is_plain ? slot->box.values : slot->room.bytes;
  work->archive_bytes += bytes;
  if (work->out < 0) return CODE_OK;
  bool const is_spared = slot->is_plain && work->kind == SQUEEZE_TO_ARCHIVES; /* the filter */
  return H5Dwrite_chunk(work->out, H5P_DEFAULT, is_spared, slot->box.start, bytes, from) >= 0
             ? CODE_OK
             : hdf5_fail_to_write(report, squeeze->job->options->output, "a chunk");
}

static void tell_progress(struct squeeze *squeeze, const struct squeeze_work *work,
                          const struct box *box) {
  uint64_t bytes = work->source.value_bytes;
  for (int axis = 0; axis < work->variable->rank; axis++) bytes *= box->count[axis];
  if (work->kind != SQUEEZE_LOOK) squeeze->done_bytes += bytes;
  progress_part(squeeze->job->progress, 0, 1);
  progress_tick(squeeze->job->progress, squeeze->done_bytes, squeeze->total_bytes);
}

/* Waits for the slot, and finishes what is in it. */
static int empty_slot(struct squeeze *squeeze, struct squeeze_work *work, uint64_t number) {
  struct slot *const slot = &squeeze->slots[number % (uint64_t)squeeze->slot_count];
  pthread_mutex_lock(&squeeze->lock);
  while (!slot->is_done) pthread_cond_wait(&squeeze->is_done, &squeeze->lock);
  pthread_mutex_unlock(&squeeze->lock);
  int const code = finish_slot(squeeze, work, slot);
  if (code == CODE_OK) tell_progress(squeeze, work, &slot->box);
  return code;
}

static void give_slot(struct squeeze *squeeze, struct slot *slot) {
  pthread_mutex_lock(&squeeze->lock);
  slot->is_done = false;
  squeeze->given++;
  pthread_cond_signal(&squeeze->is_ready);
  pthread_mutex_unlock(&squeeze->lock);
}

/* Works on it here, with all threads of the library, which tells how far it is. */
static void use_slot(struct squeeze *squeeze, struct slot *slot) {
  double const total = (double)squeeze->total_bytes;
  progress_part(squeeze->job->progress, (double)squeeze->done_bytes / total,
                (double)slot->values.byte_count / total);
  work_on(&squeeze->squeezers[squeeze->thread_count], slot);
  pthread_mutex_lock(&squeeze->lock);
  squeeze->taken = ++squeeze->given;
  pthread_mutex_unlock(&squeeze->lock);
}

/* Both boxes, if there are two: what one of them lacks must be what was never written. */
static bool read_slot(struct squeeze_work *work, uint64_t number, struct slot *slot, bool *is_there,
                      struct hdf5_sentence *why) {
  bool is_other_there = false;
  place_box(work, number, &slot->box);
  if (!pieces_read(&work->source, &slot->box, is_there, why)) return false;
  if (work->kind != SQUEEZE_COMPARE) return true;
  place_box(work, number, &slot->other);
  if (!pieces_read(&work->other, &slot->other, &is_other_there, why)) return false;
  *is_there |= is_other_there;
  return true;
}

/* Every chunk, or some of them; *run_count: how many there were. */
static int run_chunks(struct squeeze *squeeze, struct squeeze_work *work, bool is_wide,
                      uint64_t *run_count) {
  uint64_t const chunk_count = squeeze_count_chunks(work), first = squeeze->given;
  uint64_t const most = work->most_chunks ? work->most_chunks : chunk_count;
  uint64_t const step = (chunk_count - 1) / most + 1;
  uint64_t emptied = first;
  int code = CODE_OK;
  *run_count = 0;
  assert(squeeze->slot_count > 0);
  for (uint64_t i = 0; i < chunk_count && code == CODE_OK; i += step) {
    struct slot *const slot = &squeeze->slots[squeeze->given % (uint64_t)squeeze->slot_count];
    struct hdf5_sentence why;
    bool is_there = true;
    if (squeeze->given - emptied == (uint64_t)squeeze->slot_count)
      code = empty_slot(squeeze, work, emptied++);
    if (code != CODE_OK) break;
    ++*run_count;
    if (!read_slot(work, i, slot, &is_there, &why))
      code = report_failure(&squeeze->job->report, CODE_IO, squeeze_name_of(squeeze, work).text,
                            "%s", why.text);
    else if (is_there && is_wide)
      use_slot(squeeze, slot);
    else if (is_there)
      give_slot(squeeze, slot);
    else
      tell_progress(squeeze, work, &slot->box);
  }
  for (; emptied < squeeze->given; emptied++) { /* also after a failure: they are in use */
    struct slot *const slot = &squeeze->slots[emptied % (uint64_t)squeeze->slot_count];
    if (code == CODE_OK) {
      code = empty_slot(squeeze, work, emptied);
      continue;
    }
    pthread_mutex_lock(&squeeze->lock);
    while (!slot->is_done) pthread_cond_wait(&squeeze->is_done, &squeeze->lock);
    pthread_mutex_unlock(&squeeze->lock);
  }
  return code;
}

/* A chunk that HDF5 could not find looks like one that was never written. */
static int check_count(const struct squeeze *squeeze, const struct squeeze_work *work) {
  hsize_t stored_chunks = 0;
  if (!work->source.are_raw || work->most_chunks) return CODE_OK;
  hid_t const space = H5Dget_space(work->source.dataset);
  bool const is_known = H5Dget_num_chunks(work->source.dataset, space, &stored_chunks) >= 0;
  H5Sclose(space);
  if (is_known && stored_chunks == work->source.seen_chunks) return CODE_OK;
  return report_failure(&squeeze->job->report, CODE_IO, squeeze_name_of(squeeze, work).text,
                        "has a damaged index: HDF5 finds %" PRIu64
                        " of its chunks; replace the file with an intact copy",
                        work->source.seen_chunks);
}

int squeeze_run(struct squeeze *squeeze, struct squeeze_work *work) {
  bool const is_wide =
      squeeze_count_chunks(work) < (uint64_t)squeeze->thread_count || squeeze->thread_count == 0;
  uint64_t const chunk_count = squeeze_count_chunks(work);
  uint64_t run_count = 0;
  work->archive_bytes = 0;
  work->source.seen_chunks = 0;
  work->range = (struct squeeze_range){.has_values = false};
  int code = squeeze_take_slots(squeeze, work, is_wide);
  for (int i = 0; i <= squeeze->thread_count; i++) {
    squeeze->squeezers[i].fills = work->fills;
    squeeze->squeezers[i].range = work->range;
    squeeze->squeezers[i].difference = (struct difference){0};
  }
  squeeze->work = work;
  if (code == CODE_OK) code = run_chunks(squeeze, work, is_wide, &run_count);
  work->difference = (struct difference){0};
  for (int i = 0; i <= squeeze->thread_count; i++)
    difference_include(&work->difference, &squeeze->squeezers[i].difference);
  for (int i = 0; i <= squeeze->thread_count && work->kind == SQUEEZE_LOOK; i++) {
    const struct squeezer *const squeezer = &squeeze->squeezers[i];
    for (int k = 0; k < work->fills.count; k++)
      work->fills.is_found[k] |= squeezer->fills.is_found[k];
    if (squeezer->range.has_values)
      range_include(&work->range, squeezer->range.least, squeezer->range.greatest);
  }
  squeeze_drop_slots(squeeze);
  if (code == CODE_OK) code = check_count(squeeze, work);
  if (run_count > 0)
    work->archive_bytes =
        (uint64_t)((double)work->archive_bytes * (double)chunk_count / (double)run_count);
  return code;
}

/* ---- a file ---- */

/* Cores that this process may use. */
static int find_threads(const struct options *options) {
  cpu_set_t cores;
  if (options->context.threads > 0) return options->context.threads;
  int const there = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
  int const share = launcher_threads(there);
  return share > 0 ? share : there;
}

int squeeze_open(const struct job *job, const char *name, struct squeeze *squeeze) {
  *squeeze = (struct squeeze){.job = job, .name = name};
  int const wanted = find_threads(job->options);
  pthread_mutex_init(&squeeze->lock, NULL);
  pthread_cond_init(&squeeze->is_ready, NULL);
  pthread_cond_init(&squeeze->is_done, NULL);
  squeeze->squeezers = calloc((size_t)wanted + 1, sizeof *squeeze->squeezers);
  if (!squeeze->squeezers)
    return report_out_of_memory(&job->report, name, "its threads", (uint64_t)wanted);
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.backend = SZGPU_BACKEND_CPU;
  options.threads = 1;
  for (int i = 0; i < wanted && wanted > 1; i++) {
    struct squeezer *const squeezer = &squeeze->squeezers[i];
    squeezer->of = squeeze;
    szgpu_status const status = szgpu_create(&squeezer->ctx, &options);
    if (status != SZGPU_OK) return report_status(&job->report, name, status, NULL);
    if (pthread_create(&squeezer->thread, NULL, run_squeezer, squeezer) != 0) {
      szgpu_destroy(squeezer->ctx);
      squeezer->ctx = NULL;
      break; /* the system allows no more */
    }
    squeeze->thread_count++;
  }
  squeeze->squeezers[squeeze->thread_count] = (struct squeezer){.of = squeeze, .ctx = job->ctx};
  return CODE_OK;
}

void squeeze_close(struct squeeze *squeeze) {
  pthread_mutex_lock(&squeeze->lock);
  squeeze->is_closing = true;
  pthread_cond_broadcast(&squeeze->is_ready);
  pthread_mutex_unlock(&squeeze->lock);
  for (int i = 0; i < squeeze->thread_count; i++) {
    pthread_join(squeeze->squeezers[i].thread, NULL);
    szgpu_destroy(squeeze->squeezers[i].ctx);
  }
  free(squeeze->squeezers);
  pthread_cond_destroy(&squeeze->is_done);
  pthread_cond_destroy(&squeeze->is_ready);
  pthread_mutex_destroy(&squeeze->lock);
}
