/* main.c - szgpu_parallel: many ranks write and read a 3-D field by parallel HDF5 and the filter.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "direct.h"
#include "field.h"
#include "options.h"
#include "ranks.h"
#include "snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The figures that a run reports. */
struct totals {
  uint64_t field_bytes, stored_bytes;
  double seconds;
  /* Parts of seconds: to create the datasets, and to flush them to disk. */
  double seconds_making, seconds_flushing;
};

static uint64_t bytes_of_field(const uint64_t *dims) {
  return dims[0] * dims[1] * dims[2] * sizeof(float);
}

static float *take_block(const struct block *block, struct fault *fault) {
  uint64_t const value_count = block_values(block);
  float *values = NULL;
  if (value_count <= PTRDIFF_MAX / sizeof(float))
    values = malloc(value_count ? (size_t)value_count * sizeof(float) : 1);
  if (!values) fault_set(fault, EXIT_FILES, "out of memory for %" PRIu64 " values", value_count);
  return values;
}

static const char *words_of_coding(enum coding coding) {
  switch (coding) {
    case CODING_ABS:
      return "szgpu abs";
    case CODING_LOSSLESS:
      return "szgpu lossless";
    case CODING_RAW:
      return "raw";
  }
  return "";
}

static void say_totals(const struct ranks *ranks, const char *command, enum coding coding,
                       bool is_direct, const struct totals *totals, const char *details) {
  ranks_say(ranks,
            "%s: %d ranks, %s%s, %" PRIu64 " bytes as %" PRIu64
            ", ratio %.3f, %.4f seconds, %.4f GB/s%s\n",
            command, ranks->count, words_of_coding(coding), is_direct ? " direct" : "",
            totals->field_bytes, totals->stored_bytes,
            (double)totals->field_bytes / (double)totals->stored_bytes, totals->seconds,
            (double)totals->field_bytes / totals->seconds / 1e9, details);
}

/* Writes one step: creates its dataset, writes it and waits until it is on disk. */
static bool write_step(const struct ranks *ranks, const struct options *options, uint64_t step,
                       const struct block *block, const float *values, struct snapshots *snapshots,
                       struct direct *direct, struct totals *totals, struct fault *fault) {
  double const begin = ranks_clock(ranks);
  snapshot_create(options, step, snapshots, fault);
  if (!ranks_agree(ranks, fault)) return false;
  if (options->is_direct) direct_open(ranks, snapshots, direct, fault);
  if (options->is_direct && !ranks_agree(ranks, fault)) return false;
  double const made = ranks_clock(ranks);
  if (options->is_direct)
    direct_write(ranks, options, block, values, snapshots, direct, fault);
  else
    snapshot_write(block, values, snapshots, fault);
  if (!ranks_agree(ranks, fault)) return false;
  double const written = ranks_clock(ranks);
  snapshot_finish(snapshots, fault);
  if (!ranks_agree(ranks, fault)) return false;
  double const end = ranks_clock(ranks);
  totals->seconds += end - begin;
  totals->seconds_making += made - begin;
  totals->seconds_flushing += end - written;
  totals->field_bytes += bytes_of_field(options->dims);
  totals->stored_bytes += snapshots->stored_bytes;
  return true;
}

static bool write_steps(const struct ranks *ranks, const struct options *options,
                        struct snapshots *snapshots, struct totals *totals, struct fault *fault) {
  struct block const block = block_of_rank(options->dims, options->chunk, ranks->count, ranks->rank,
                                           options->is_unaligned);
  float *const values = take_block(&block, fault);
  struct direct direct = {0};
  bool is_fine = ranks_agree(ranks, fault);
  for (uint64_t step = 0; is_fine && step < options->steps; step++) {
    struct field field = {.step = step, .has_hole = options->has_hole};
    for (int axis = 0; axis < FIELD_DIMS; axis++) field.dims[axis] = options->dims[axis];
    field_make(&field, &block, values);
    is_fine = write_step(ranks, options, step, &block, values, snapshots, &direct, totals, fault);
  }
  direct_close(&direct);
  free(values);
  return is_fine;
}

/* Ends the run if a rank has failed and this one still has a shared file open: the ranks can only
 * close it together, and no longer agree on what is in it. */
static void abort_if_open(const struct ranks *ranks, const struct snapshots *snapshots,
                          const struct fault *fault) {
  if (snapshots->file >= 0 && snapshots->is_shared) MPI_Abort(ranks->comm, (int)fault->code);
}

static void run_write(const struct ranks *ranks, const struct options *options,
                      struct fault *fault) {
  struct snapshots snapshots;
  struct totals totals = {0, 0, 0, 0, 0};
  char details[80];
  bool const has_file = !options->is_direct || ranks->rank == 0;
  if (options->coding != CODING_RAW && has_file) snapshot_need_filter(fault);
  if (!ranks_agree(ranks, fault)) return;
  snapshots_create(ranks, options, &snapshots, fault);
  bool const is_fine =
      ranks_agree(ranks, fault) && write_steps(ranks, options, &snapshots, &totals, fault);
  if (!is_fine) abort_if_open(ranks, &snapshots, fault);
  snapshots_close(&snapshots, fault);
  snprintf(details, sizeof details, ", making %.4f s, flushing %.4f s of it", totals.seconds_making,
           totals.seconds_flushing);
  if (is_fine && ranks_agree(ranks, fault))
    say_totals(ranks, "write", options->coding, options->is_direct, &totals, details);
}

/* Reads the step that is open and adds the figures of this rank's block. */
static bool read_step(const struct ranks *ranks, const struct options *options, uint64_t step,
                      struct snapshots *snapshots, struct totals *totals,
                      struct comparison *comparison, struct fault *fault) {
  struct block const block = block_of_rank(snapshots->dims, snapshots->chunk, ranks->count,
                                           ranks->rank, options->is_unaligned);
  float *const values = take_block(&block, fault);
  bool is_fine = ranks_agree(ranks, fault);
  if (is_fine) {
    double const begin = ranks_clock(ranks);
    snapshot_read(&block, values, snapshots, fault);
    is_fine = ranks_agree(ranks, fault);
    totals->seconds += ranks_clock(ranks) - begin;
    totals->field_bytes += bytes_of_field(snapshots->dims);
    totals->stored_bytes += snapshots->stored_bytes;
  }
  if (is_fine) {
    struct field field = {.step = step, .has_hole = snapshots->has_fill};
    for (int axis = 0; axis < FIELD_DIMS; axis++) field.dims[axis] = snapshots->dims[axis];
    field_compare(&field, &block, values, snapshots->bound, comparison);
  }
  free(values);
  return is_fine;
}

/* Puts what all ranks found into words; a fault if values are over the bound. */
static void judge(const struct ranks *ranks, const struct snapshots *snapshots,
                  const struct comparison *mine, char *verdict, size_t verdict_bytes,
                  struct fault *fault) {
  struct comparison all = {0, 0};
  MPI_Allreduce(&mine->values_over_bound, &all.values_over_bound, 1, MPI_UINT64_T, MPI_SUM,
                ranks->comm);
  MPI_Allreduce(&mine->largest_error, &all.largest_error, 1, MPI_DOUBLE, MPI_MAX, ranks->comm);
  if (all.values_over_bound > 0)
    fault_set(fault, EXIT_BOUND, "%s: values over the bound of %g: %" PRIu64, snapshots->path,
              snapshots->bound, all.values_over_bound);
  else if (snapshots->bound > 0)
    snprintf(verdict, verdict_bytes, ", every value within %g, the largest error %.9g",
             snapshots->bound, all.largest_error);
  else
    snprintf(verdict, verdict_bytes, ", every bit the same");
}

static void run_read(const struct ranks *ranks, const struct options *options,
                     struct fault *fault) {
  struct snapshots snapshots;
  struct totals totals = {0, 0, 0, 0, 0};
  struct comparison comparison = {0, 0};
  uint64_t step_count = 0;
  char verdict[120] = "";
  snapshots_open(ranks, options->path, &snapshots, &step_count, fault);
  bool is_fine = ranks_agree(ranks, fault);
  if (!is_fine) abort_if_open(ranks, &snapshots, fault);
  if (is_fine && step_count == 0) {
    fault_set(fault, EXIT_FILES, "%s has no snapshots", options->path);
    is_fine = ranks_agree(ranks, fault);
  }
  for (uint64_t step = 0; is_fine && step < step_count; step++) {
    snapshot_open(step, &snapshots, fault);
    is_fine = ranks_agree(ranks, fault) &&
              read_step(ranks, options, step, &snapshots, &totals, &comparison, fault);
    snapshot_close(&snapshots, fault);
  }
  if (is_fine) judge(ranks, &snapshots, &comparison, verdict, sizeof verdict, fault);
  snapshots_close(&snapshots, fault);
  if (is_fine && ranks_agree(ranks, fault))
    say_totals(ranks, "read", snapshots.coding, false, &totals, verdict);
}

int main(int argc, char **argv) {
  struct ranks ranks = ranks_begin(&argc, &argv);
  struct options options;
  struct fault fault = {EXIT_FINE, ""};
  options_read(argc, argv, &options, &fault);
  if (ranks_agree(&ranks, &fault)) {
    switch (options.command) {
      case COMMAND_HELP:
        ranks_say(&ranks, "%s", options_help);
        break;
      case COMMAND_WRITE:
        run_write(&ranks, &options, &fault);
        break;
      case COMMAND_READ:
        run_read(&ranks, &options, &fault);
        break;
    }
  }
  ranks_end(&ranks);
  return (int)fault.code;
}
