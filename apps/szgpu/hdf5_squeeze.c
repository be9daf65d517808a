/* hdf5_squeeze.c - makes archives of a dataset's chunks: HDF5 in one thread, the library in all.
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
#include "launcher.h"
#include "memory.h"
#include "values.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { SPARE_SLOTS = 2, CACHE_BYTES = 4 << 20 }; /* HDF5's */

struct slot {
  struct box box;
  struct memory values, room; /* room: for stored bytes, then for the archive */
  size_t archive_bytes;
  bool is_plain; /* the values, in the order of the file, are what is written */
  bool is_done;
  szgpu_status status;
  const szgpu_ctx *ctx; /* that had the status */
  const char *damage;   /* NULL: none */
};

struct squeezer {
  struct squeeze *of;
  pthread_t thread;
  szgpu_ctx *ctx;
  struct memory scratch;
  struct fills fills; /* found by this one */
  struct squeeze_range range;
};

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
  if (!(work->may_grow && slot->box.is_cut)) params.keep &= ~(uint64_t)SZGPU_KEEP_RESTORED;
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
  slot->status = SZGPU_OK;
  slot->damage = pieces_make_values(&work->source, &slot->box, squeezer->scratch.bytes);
  if (slot->damage) return;
  slot->status = work->is_look ? range_look(squeezer->ctx, work, &slot->box, &squeezer->fills,
                                            &squeezer->range)
                               : compress(work, squeezer->ctx, slot);
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

static struct plan_name name_of(const struct squeeze *squeeze, const struct squeeze_work *work) {
  return plan_name_of(squeeze->name, work->variable->path);
}

static uint64_t count_chunks(const struct squeeze_work *work) {
  uint64_t count = 1;
  for (int axis = 0; axis < work->variable->rank; axis++)
    count *= (work->variable->dims[axis] - 1) / work->chunk[axis] + 1;
  return count;
}

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

static void drop_slots(struct squeeze *squeeze) {
  for (int i = 0; i < squeeze->slot_count; i++) {
    memory_give_back(&squeeze->slots[i].values);
    memory_give_back(&squeeze->slots[i].room);
    free(squeeze->slots[i].box.pieces);
  }
  free(squeeze->slots);
  squeeze->slots = NULL;
  squeeze->slot_count = 0;
  for (int i = 0; i <= squeeze->thread_count; i++) memory_give_back(&squeeze->squeezers[i].scratch);
}

/* What a run takes: for each slot, for each squeezer, and in any case. */
struct needs {
  uint64_t slot_bytes, squeezer_bytes, other_bytes;
  uint64_t value_bytes, room_bytes; /* of a slot */
  uint64_t piece_count;
};

static szgpu_status find_needs(const struct squeeze *squeeze, const struct squeeze_work *work,
                               bool is_wide, struct needs *needs) {
  size_t workspace_bytes, archive_bytes, other_workspace_bytes, other_archive_bytes;
  const struct pieces_source *const source = &work->source;
  const struct squeezer *const squeezer = &squeeze->squeezers[is_wide ? squeeze->thread_count : 0];
  szgpu_params const lossless =
      chunk_lossless_params(&work->params); /* where values would be lost */
  szgpu_status status =
      szgpu_sizes(squeezer->ctx, &work->params, &work->shape, &workspace_bytes, &archive_bytes);
  if (status == SZGPU_OK)
    status = szgpu_sizes(squeezer->ctx, &lossless, &work->shape, &other_workspace_bytes,
                         &other_archive_bytes);
  if (status != SZGPU_OK) return status;
  if (other_workspace_bytes > workspace_bytes) workspace_bytes = other_workspace_bytes;
  if (other_archive_bytes > archive_bytes) archive_bytes = other_archive_bytes;
  needs->piece_count = pieces_in(source, work->chunk);
  needs->value_bytes = source->value_bytes;
  for (int axis = 0; axis < work->variable->rank; axis++) needs->value_bytes *= work->chunk[axis];
  uint64_t const raw_bytes = needs->piece_count * source->most_raw_bytes;
  needs->room_bytes = work->is_look ? raw_bytes : archive_bytes;
  if (needs->room_bytes < raw_bytes) needs->room_bytes = raw_bytes;
  needs->slot_bytes = needs->value_bytes + needs->room_bytes;
  needs->squeezer_bytes = workspace_bytes + 2 * source->piece_bytes;
  if (work->fills.count > 0) needs->squeezer_bytes += needs->value_bytes; /* chunk_find_lost */
  needs->other_bytes = CACHE_BYTES + (source->are_raw ? 0 : 3 * source->piece_bytes);
  return SZGPU_OK;
}

static bool take_slot(const struct needs *needs, struct slot *slot) {
  slot->values = memory_take(needs->value_bytes);
  slot->room = memory_take(needs->room_bytes);
  slot->box.pieces = calloc((size_t)needs->piece_count + 1, sizeof *slot->box.pieces);
  slot->box.values = slot->values.bytes;
  slot->box.raw = slot->room.bytes;
  slot->is_done = true; /* there is nothing in it */
  return slot->values.bytes && slot->room.bytes && slot->box.pieces;
}

/* As many slots as memory allows, up to two more than threads. Each thread needs one of its own. */
static int take_slots(struct squeeze *squeeze, const struct squeeze_work *work, bool is_wide) {
  struct needs needs = {0};
  const struct report *const report = &squeeze->job->report;
  szgpu_status const status = find_needs(squeeze, work, is_wide, &needs);
  if (status != SZGPU_OK) return report_status(report, name_of(squeeze, work).text, status, NULL);
  uint64_t const chunk_count = count_chunks(work);
  int slots = is_wide ? 1 : squeeze->thread_count + SPARE_SLOTS;
  if ((uint64_t)slots > chunk_count) slots = (int)chunk_count;
  uint64_t wanted;
  for (;; slots--) {
    int const busy = slots < squeeze->thread_count ? slots : squeeze->thread_count;
    wanted = needs.other_bytes + (uint64_t)slots * needs.slot_bytes +
             (uint64_t)busy * needs.squeezer_bytes;
    if (memory_allows(wanted)) break;
    if (slots == 1)
      return report_failure(report, CODE_RESOURCE, name_of(squeeze, work).text,
                            "needs %s %" PRIu64 "M at least; give more", memory_limit_option(),
                            (wanted >> 20) + 1);
  }
  assert(slots > 0); /* a dataset that has values has chunks */
  squeeze->slots = calloc((size_t)slots, sizeof *squeeze->slots);
  squeeze->slot_count = squeeze->slots ? slots : 0;
  bool has_room = squeeze->slots != NULL;
  for (int i = 0; i < slots && has_room; i++) {
    has_room = take_slot(&needs, &squeeze->slots[i]);
    squeeze->slots[i].box.value_count = needs.value_bytes / work->source.value_bytes;
  }
  for (int i = 0; i <= squeeze->thread_count && has_room; i++) {
    squeeze->squeezers[i].scratch = memory_take(2 * work->source.piece_bytes);
    has_room = squeeze->squeezers[i].scratch.bytes != NULL;
  }
  return has_room ? CODE_OK
                  : report_out_of_memory(report, name_of(squeeze, work).text, "its chunks", wanted);
}

/* What has become of a box, to the new dataset. */
static int finish_slot(struct squeeze *squeeze, struct squeeze_work *work, struct slot *slot) {
  const struct report *const report = &squeeze->job->report;
  if (slot->damage)
    return report_failure(report, CODE_IO, name_of(squeeze, work).text, "%s", slot->damage);
  if (slot->status != SZGPU_OK)
    return report_status(report, name_of(squeeze, work).text, slot->status, slot->ctx);
  if (work->is_look) return CODE_OK;
  size_t const plain_bytes = (size_t)slot->box.value_count * work->source.value_bytes;
  size_t const bytes = slot->is_plain ? plain_bytes : slot->archive_bytes;
  const void *const from = slot->is_plain ? slot->box.values : slot->room.bytes;
  work->archive_bytes += bytes;
  if (work->out < 0) return CODE_OK;
  return H5Dwrite_chunk(work->out, H5P_DEFAULT, slot->is_plain, slot->box.start, bytes, from) >= 0
             ? CODE_OK
             : hdf5_fail_to_write(report, squeeze->job->options->output, "a chunk");
}

static void tell_progress(struct squeeze *squeeze, const struct squeeze_work *work,
                          const struct box *box) {
  uint64_t bytes = work->source.value_bytes;
  for (int axis = 0; axis < work->variable->rank; axis++) bytes *= box->count[axis];
  if (!work->is_look) squeeze->done_bytes += bytes;
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

/* Every chunk, or some of them; *run_count: how many there were. */
static int run_chunks(struct squeeze *squeeze, struct squeeze_work *work, bool is_wide,
                      uint64_t *run_count) {
  uint64_t const chunk_count = count_chunks(work), first = squeeze->given;
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
    place_box(work, i, &slot->box);
    if (!pieces_read(&work->source, &slot->box, &is_there, &why))
      code = report_failure(&squeeze->job->report, CODE_IO, name_of(squeeze, work).text, "%s",
                            why.text);
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
  return report_failure(&squeeze->job->report, CODE_IO, name_of(squeeze, work).text,
                        "has a damaged index: HDF5 finds %" PRIu64
                        " of its chunks; replace the file with an intact copy",
                        work->source.seen_chunks);
}

int squeeze_run(struct squeeze *squeeze, struct squeeze_work *work) {
  bool const is_wide =
      count_chunks(work) < (uint64_t)squeeze->thread_count || squeeze->thread_count == 0;
  uint64_t const chunk_count = count_chunks(work);
  uint64_t run_count = 0;
  work->archive_bytes = 0;
  work->source.seen_chunks = 0;
  work->range = (struct squeeze_range){.has_values = false};
  int code = take_slots(squeeze, work, is_wide);
  for (int i = 0; i <= squeeze->thread_count; i++) {
    squeeze->squeezers[i].fills = work->fills;
    squeeze->squeezers[i].range = work->range;
  }
  squeeze->work = work;
  if (code == CODE_OK) code = run_chunks(squeeze, work, is_wide, &run_count);
  for (int i = 0; i <= squeeze->thread_count && work->is_look; i++) {
    const struct squeezer *const squeezer = &squeeze->squeezers[i];
    for (int k = 0; k < work->fills.count; k++)
      work->fills.is_found[k] |= squeezer->fills.is_found[k];
    if (squeezer->range.has_values)
      range_include(&work->range, squeezer->range.least, squeezer->range.greatest);
  }
  drop_slots(squeeze);
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
