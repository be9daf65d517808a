/* direct.c - chunks to archives on each rank, archives to rank 0, and from there to the file.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "direct.h"

#include "../environment.h"
#include "field.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "szgpu_hdf5.h"

enum {
  HEAD_BYTES = 32, /* of a message: the chunk's place, and the archive's bytes, u64 each */
  TAG_ARCHIVE = 1
};

struct writing {
  const struct ranks *ranks;
  const struct options *options;
  struct snapshots *snapshots;
  struct direct *direct;
  struct fault *fault;
  int ranks_at_work; /* rank 0: others that have more */
};

/* ---- opening ---- */

/* Rank 0 tells what the filter has stored with the dataset. */
static void share_words(const struct ranks *ranks, const struct snapshots *snapshots,
                        struct direct *direct, struct fault *fault) {
  unsigned words[SZGPU_H5_MOST_WORDS] = {0};
  uint64_t count = 0;
  if (ranks->rank == 0) count = szgpu_h5_dataset_words(snapshots->dataset, words);
  MPI_Bcast(&count, 1, MPI_UINT64_T, 0, ranks->comm);
  MPI_Bcast(words, SZGPU_H5_MOST_WORDS, MPI_UNSIGNED, 0, ranks->comm);
  const char *const why =
      count ? szgpu_h5_chunk(words, (size_t)count, &direct->params, &direct->shape)
            : "the szgpu filter is not the dataset's only filter";
  if (why) fault_set(fault, EXIT_FILES, "%s:%s: %s", snapshots->path, snapshots->name, why);
}

static void open_ctx(struct direct *direct, struct fault *fault) {
  environment settings;
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  const char *const why = environment_read(&settings);
  if (why) {
    fault_set(fault, EXIT_FILES, "%s", why);
    return;
  }
  options.backend = settings.backend;
  options.threads = settings.threads;
  if (settings.backend != SZGPU_BACKEND_CPU) {
    int const count = szgpu_device_count();
    int const device = szgpu_h5_device(settings.device, settings.local_rank, count);
    if (device < 0 && settings.backend == SZGPU_BACKEND_CUDA)
      fault_set(fault, EXIT_FILES, "SZGPU_H5_BACKEND is cuda, and of %d GPUs there is none for it",
                count);
    if (device >= 0) options.device = device;
  }
  if (has_fault(fault)) return;
  szgpu_status status = szgpu_create(&direct->ctx, &options);
  if (!status) status = szgpu_set_memory_limit(direct->ctx, settings.memory_limit);
  if (!status)
    status = szgpu_sizes(direct->ctx, &direct->params, &direct->shape, NULL, &direct->capacity);
  if (status)
    fault_set(fault, EXIT_FILES, "szgpu: %s (%s)", szgpu_status_text(status),
              szgpu_last_error(direct->ctx));
}

static void take_memory(struct direct *direct, struct fault *fault) {
  size_t const message_bytes = HEAD_BYTES + direct->capacity;
  size_t value_count = 1;
  for (int axis = 0; axis < direct->shape.ndim; axis++) value_count *= direct->shape.dims[axis];
  if (message_bytes > INT_MAX)
    fault_set(fault, EXIT_FILES, "an archive of a chunk may take %zu bytes, too many for a message",
              direct->capacity);
  if (has_fault(fault)) return;
  direct->values = malloc(value_count * sizeof(float));
  direct->message = malloc(message_bytes);
  if (!direct->values || !direct->message)
    fault_set(fault, EXIT_FILES, "out of memory for archives");
}

void direct_open(const struct ranks *ranks, const struct snapshots *snapshots,
                 struct direct *direct, struct fault *fault) {
  if (direct->ctx) return;
  share_words(ranks, snapshots, direct, fault);
  if (!has_fault(fault)) open_ctx(direct, fault);
  if (!has_fault(fault)) take_memory(direct, fault);
}

void direct_close(struct direct *direct) {
  szgpu_destroy(direct->ctx);
  free(direct->values);
  free(direct->message);
  free(direct->kept);
  *direct = (struct direct){0};
}

/* ---- rank 0 ---- */

/* After a fault only the messages are taken. */
static void write_archive(const struct writing *w, const unsigned char *message,
                          size_t message_bytes) {
  uint64_t at[FIELD_DIMS];
  hsize_t offset[FIELD_DIMS];
  memcpy(at, message, sizeof at);
  for (int axis = 0; axis < FIELD_DIMS; axis++) offset[axis] = at[axis];
  if (!has_fault(w->fault))
    snapshot_write_chunk(w->snapshots, offset, message_bytes - HEAD_BYTES, message + HEAD_BYTES,
                         w->fault);
}

/* Takes a message. */
static void receive(struct writing *w) {
  MPI_Status status;
  int byte_count = 0;
  MPI_Recv(w->direct->message, (int)(HEAD_BYTES + w->direct->capacity), MPI_BYTE, MPI_ANY_SOURCE,
           TAG_ARCHIVE, w->ranks->comm, &status);
  MPI_Get_count(&status, MPI_BYTE, &byte_count);
  if (byte_count > 0)
    write_archive(w, w->direct->message, (size_t)byte_count);
  else
    w->ranks_at_work--; /* an empty one: the rank has no more */
}

/* ---- all ranks ---- */

/* The values of a chunk, and the fill value where the field has none. */
static void take_chunk(const struct writing *w, const struct block *block, const float *values,
                       const uint64_t *at) {
  const uint64_t *const chunk = w->options->chunk;
  float const fill = w->options->has_hole ? FIELD_FILL : 0;
  uint64_t from[FIELD_DIMS], there[FIELD_DIMS];
  for (int axis = 0; axis < FIELD_DIMS; axis++) {
    from[axis] = at[axis] - block->start[axis];
    uint64_t const left = block->count[axis] - from[axis];
    there[axis] = left < chunk[axis] ? left : chunk[axis];
  }
  float *to = w->direct->values;
  for (uint64_t z = 0; z < chunk[0]; z++)
    for (uint64_t y = 0; y < chunk[1]; y++, to += chunk[2]) {
      uint64_t const row_values = z < there[0] && y < there[1] ? there[2] : 0;
      uint64_t const row = (from[0] + z) * block->count[1] + from[1] + y;
      if (row_values) memcpy(to, values + row * block->count[2] + from[2], row_values * sizeof *to);
      for (uint64_t x = row_values; x < chunk[2]; x++) to[x] = fill;
    }
}

static void keep_message(const struct writing *w, size_t byte_count) {
  struct direct *const direct = w->direct;
  if (direct->kept_room - direct->kept_bytes < byte_count) {
    size_t const room = 2 * direct->kept_room + byte_count;
    unsigned char *const larger = realloc(direct->kept, room);
    if (!larger) {
      fault_set(w->fault, EXIT_FILES, "out of memory for archives");
      return;
    }
    direct->kept = larger;
    direct->kept_room = room;
  }
  memcpy(direct->kept + direct->kept_bytes, direct->message, byte_count);
  direct->kept_bytes += byte_count;
}

static void send_kept(struct writing *w) {
  struct direct *const direct = w->direct;
  for (size_t at = 0; at < direct->kept_bytes;) {
    uint64_t head[FIELD_DIMS + 1];
    memcpy(head, direct->kept + at, sizeof head);
    size_t const byte_count = HEAD_BYTES + (size_t)head[FIELD_DIMS];
    MPI_Send(direct->kept + at, (int)byte_count, MPI_BYTE, 0, TAG_ARCHIVE, w->ranks->comm);
    at += byte_count;
  }
  direct->kept_bytes = 0;
  MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_ARCHIVE, w->ranks->comm);
}

/* Compresses a chunk and writes it, or keeps it to be sent. */
static void do_chunk(const struct writing *w, const struct block *block, const float *values,
                     const uint64_t *at) {
  struct direct *const direct = w->direct;
  size_t archive_bytes = 0;
  take_chunk(w, block, values, at);
  szgpu_status const status =
      szgpu_compress(direct->ctx, &direct->params, &direct->shape, direct->values,
                     direct->message + HEAD_BYTES, direct->capacity, &archive_bytes);
  if (status) {
    fault_set(w->fault, EXIT_FILES, "writing %s:%s failed (szgpu: %s, %s)", w->snapshots->path,
              w->snapshots->name, szgpu_status_text(status), szgpu_last_error(direct->ctx));
    return;
  }
  uint64_t const head[FIELD_DIMS + 1] = {at[0], at[1], at[2], archive_bytes};
  memcpy(direct->message, head, sizeof head);
  if (w->ranks->rank == 0)
    write_archive(w, direct->message, HEAD_BYTES + archive_bytes);
  else
    keep_message(w, HEAD_BYTES + archive_bytes);
}

static void do_chunks(struct writing *w, const struct block *block, const float *values) {
  const uint64_t *const chunk = w->options->chunk, *const count = block->count;
  uint64_t at[FIELD_DIMS];
  for (at[0] = block->start[0]; at[0] < block->start[0] + count[0]; at[0] += chunk[0])
    for (at[1] = block->start[1]; at[1] < block->start[1] + count[1]; at[1] += chunk[1])
      for (at[2] = block->start[2]; at[2] < block->start[2] + count[2]; at[2] += chunk[2]) {
        if (has_fault(w->fault)) return;
        do_chunk(w, block, values, at);
      }
}

void direct_write(const struct ranks *ranks, const struct options *options,
                  const struct block *block, const float *values, struct snapshots *snapshots,
                  struct direct *direct, struct fault *fault) {
  struct writing w = {ranks, options, snapshots, direct, fault, ranks->count - 1};
  do_chunks(&w, block, values);
  if (ranks->rank != 0) send_kept(&w);
  while (ranks->rank == 0 && w.ranks_at_work > 0) receive(&w);
}
