/* snapshot.c - all ranks together write and read datasets, one per step.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L /* fsync */

#include "snapshot.h"

#include "field.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "szgpu_hdf5.h"

/* ---- what HDF5 says about a failure ---- */

enum { CAUSE_BYTES = 200 };

/* HDF5 calls this first for the entry nearest to the cause; it takes the first line of its text. */
static herr_t take_first(unsigned depth, const H5E_error2_t *entry, void *cause) {
  if (depth != 0 || !entry->desc) return 0;
  size_t const line_bytes = strcspn(entry->desc, "\n");
  size_t const stop_bytes = line_bytes > 0 && entry->desc[line_bytes - 1] == '.';
  snprintf(cause, CAUSE_BYTES, "%.*s", (int)(line_bytes - stop_bytes), entry->desc);
  return 0;
}

/* Must come before any other call of HDF5, which would forget why the last one failed. */
static void fault_of_hdf5(const struct snapshots *snapshots, const char *what,
                          struct fault *fault) {
  char cause[CAUSE_BYTES] = "no reason given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, cause);
  fault_set(fault, EXIT_FILES, "%s %s%s%s failed (HDF5 says: %s)", what, snapshots->path,
            snapshots->name[0] ? ":" : "", snapshots->name, cause);
}

void snapshot_need_filter(struct fault *fault) {
  if (H5Zfilter_avail(SZGPU_H5_FILTER_ID) <= 0)
    fault_set(fault, EXIT_FILES,
              "HDF5 does not find the szgpu filter (%d); set HDF5_PLUGIN_PATH to the folder of "
              "libh5zszgpu.so",
              SZGPU_H5_FILTER_ID);
}

/* ---- files ---- */

/* An access list with which all ranks of the communicator open a file together. */
static hid_t access_of_ranks(const struct ranks *ranks) {
  hid_t const access = H5Pcreate(H5P_FILE_ACCESS);
  if (access >= 0 && H5Pset_fapl_mpio(access, ranks->comm, MPI_INFO_NULL) >= 0) return access;
  if (access >= 0) H5Pclose(access);
  return H5I_INVALID_HID;
}

static void begin(const char *path, struct snapshots *snapshots) {
  *snapshots = (struct snapshots){.file = H5I_INVALID_HID,
                                  .dataset = H5I_INVALID_HID,
                                  .transfer = H5Pcreate(H5P_DATASET_XFER),
                                  .path = path};
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* one rank reports a failure, in one sentence */
  /* HDF5 writes filtered chunks in collective transfers only. */
  if (snapshots->transfer >= 0) H5Pset_dxpl_mpio(snapshots->transfer, H5FD_MPIO_COLLECTIVE);
}

void snapshots_create(const struct ranks *ranks, const struct options *options,
                      struct snapshots *snapshots, struct fault *fault) {
  begin(options->path, snapshots);
  snapshots->is_shared = !options->is_direct;
  if (options->is_direct && ranks->rank != 0) return;
  hid_t const access = options->is_direct ? H5Pcreate(H5P_FILE_ACCESS) : access_of_ranks(ranks);
  unsigned const flags = options->is_forced ? H5F_ACC_TRUNC : H5F_ACC_EXCL;
  snapshots->file = H5Fcreate(options->path, flags, H5P_DEFAULT, access);
  if (snapshots->file < 0)
    fault_of_hdf5(snapshots, options->is_forced ? "creating" : "without -f, creating", fault);
  if (access >= 0) H5Pclose(access);
}

void snapshots_open(const struct ranks *ranks, const char *path, struct snapshots *snapshots,
                    uint64_t *step_count, struct fault *fault) {
  H5G_info_t root;
  begin(path, snapshots);
  snapshots->is_shared = true;
  *step_count = 0;
  hid_t const access = access_of_ranks(ranks);
  snapshots->file = H5Fopen(path, H5F_ACC_RDONLY, access);
  if (snapshots->file < 0 || H5Gget_info(snapshots->file, &root) < 0)
    fault_of_hdf5(snapshots, "opening", fault);
  else
    *step_count = root.nlinks;
  if (access >= 0) H5Pclose(access);
}

void snapshots_close(struct snapshots *snapshots, struct fault *fault) {
  snapshot_close(snapshots, fault);
  if (snapshots->transfer >= 0) H5Pclose(snapshots->transfer);
  if (snapshots->file >= 0 && H5Fclose(snapshots->file) < 0)
    fault_of_hdf5(snapshots, "closing", fault);
  snapshots->file = snapshots->transfer = H5I_INVALID_HID;
}

/* ---- datasets ---- */

static void name_step(uint64_t step, struct snapshots *snapshots) {
  snprintf(snapshots->name, sizeof snapshots->name, "step_%04" PRIu64, step);
}

/* With the filter, HDF5 keeps its default time to write fill values: the values of edge chunks
 * beyond the field are then the fill value, and a chunk's bytes depend on the field only.
 * Without the filter, never filling saves writing each chunk twice. */
static herr_t set_creation(const struct options *options, hid_t list) {
  hsize_t chunk[FIELD_DIMS];
  float const fill = FIELD_FILL;
  for (int axis = 0; axis < FIELD_DIMS; axis++) chunk[axis] = options->chunk[axis];
  if (H5Pset_chunk(list, FIELD_DIMS, chunk) < 0) return -1;
  if (options->has_hole && H5Pset_fill_value(list, H5T_NATIVE_FLOAT, &fill) < 0) return -1;
  if (options->coding == CODING_ABS && H5Pset_szgpu_abs(list, options->bound) < 0) return -1;
  if (options->coding == CODING_ABS) return H5Pset_szgpu_predictor(list, options->predictor);
  if (options->coding == CODING_LOSSLESS) return H5Pset_szgpu_lossless(list);
  return H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
}

void snapshot_create(const struct options *options, uint64_t step, struct snapshots *snapshots,
                     struct fault *fault) {
  hsize_t dims[FIELD_DIMS];
  for (int axis = 0; axis < FIELD_DIMS; axis++) dims[axis] = options->dims[axis];
  name_step(step, snapshots);
  if (snapshots->file < 0) return;
  hid_t const space = H5Screate_simple(FIELD_DIMS, dims, NULL);
  hid_t const list = H5Pcreate(H5P_DATASET_CREATE);
  if (set_creation(options, list) >= 0)
    snapshots->dataset = H5Dcreate2(snapshots->file, snapshots->name, H5T_NATIVE_FLOAT, space,
                                    H5P_DEFAULT, list, H5P_DEFAULT);
  if (snapshots->dataset < 0) fault_of_hdf5(snapshots, "creating", fault);
  if (list >= 0) H5Pclose(list);
  if (space >= 0) H5Sclose(space);
}

/* Takes mode and bound from the dataset's filter. False: szgpu_parallel did not write it. */
static bool read_coding(hid_t list, struct snapshots *snapshots) {
  unsigned flags, words[SZGPU_H5_MOST_WORDS];
  size_t word_count = SZGPU_H5_MOST_WORDS;
  szgpu_params params;
  snapshots->coding = CODING_RAW;
  snapshots->bound = 0;
  if (H5Pget_nfilters(list) == 0) return true;
  if (H5Pget_filter_by_id2(list, SZGPU_H5_FILTER_ID, &flags, &word_count, words, 0, NULL, NULL) <
          0 ||
      szgpu_h5_params(words, word_count, &params))
    return false;
  snapshots->coding = params.mode == SZGPU_MODE_ABS ? CODING_ABS : CODING_LOSSLESS;
  if (params.mode == SZGPU_MODE_ABS) snapshots->bound = params.bound;
  return params.mode == SZGPU_MODE_ABS || params.mode == SZGPU_MODE_LOSSLESS;
}

/* Takes dims, chunks, fill value and coding of the open dataset. False as above. */
static bool read_layout(struct snapshots *snapshots) {
  hsize_t dims[FIELD_DIMS], chunk[FIELD_DIMS];
  H5D_fill_value_t fill;
  hid_t const space = H5Dget_space(snapshots->dataset);
  hid_t const list = H5Dget_create_plist(snapshots->dataset);
  bool is_ours = H5Sget_simple_extent_ndims(space) == FIELD_DIMS &&
                 H5Sget_simple_extent_dims(space, dims, NULL) == FIELD_DIMS &&
                 H5Pget_layout(list) == H5D_CHUNKED &&
                 H5Pget_chunk(list, FIELD_DIMS, chunk) == FIELD_DIMS &&
                 H5Pfill_value_defined(list, &fill) >= 0 && read_coding(list, snapshots);
  for (int axis = 0; is_ours && axis < FIELD_DIMS; axis++)
    is_ours = dims[axis] >= 1 && dims[axis] <= MOST_DIM;
  if (is_ours) {
    snapshots->has_fill = fill == H5D_FILL_VALUE_USER_DEFINED;
    for (int axis = 0; axis < FIELD_DIMS; axis++) {
      snapshots->dims[axis] = dims[axis];
      snapshots->chunk[axis] = chunk[axis];
    }
  }
  if (list >= 0) H5Pclose(list);
  if (space >= 0) H5Sclose(space);
  return is_ours;
}

void snapshot_open(uint64_t step, struct snapshots *snapshots, struct fault *fault) {
  name_step(step, snapshots);
  snapshots->dataset = H5Dopen2(snapshots->file, snapshots->name, H5P_DEFAULT);
  if (snapshots->dataset < 0) {
    fault_of_hdf5(snapshots, "opening", fault);
    return;
  }
  snapshots->stored_bytes = H5Dget_storage_size(snapshots->dataset);
  if (!read_layout(snapshots))
    fault_set(fault, EXIT_FILES, "%s:%s is not a field that szgpu_parallel wrote", snapshots->path,
              snapshots->name);
  else if (snapshots->coding != CODING_RAW)
    snapshot_need_filter(fault);
}

/* Makes a space of the file with the block selected, and one of the block alone for memory. Both
 * have three dims: if they differ in shape, HDF5 copies value by value, which is many times
 * slower. A rank without values takes part with nothing selected. */
static bool select_block(const struct snapshots *snapshots, const struct block *block,
                         hid_t *file_space, hid_t *memory_space) {
  hsize_t start[FIELD_DIMS], count[FIELD_DIMS];
  for (int axis = 0; axis < FIELD_DIMS; axis++) {
    start[axis] = block->start[axis];
    count[axis] = block->count[axis];
  }
  *file_space = H5Dget_space(snapshots->dataset);
  *memory_space = H5Screate_simple(FIELD_DIMS, count, NULL);
  if (*file_space < 0 || *memory_space < 0) return false;
  if (block_values(block) == 0)
    return H5Sselect_none(*file_space) >= 0 && H5Sselect_none(*memory_space) >= 0;
  return H5Sselect_hyperslab(*file_space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0;
}

void snapshot_write(const struct block *block, const float *values, struct snapshots *snapshots,
                    struct fault *fault) {
  hid_t file_space, memory_space;
  if (!select_block(snapshots, block, &file_space, &memory_space) ||
      H5Dwrite(snapshots->dataset, H5T_NATIVE_FLOAT, memory_space, file_space, snapshots->transfer,
               values) < 0)
    fault_of_hdf5(snapshots, "writing", fault);
  if (memory_space >= 0) H5Sclose(memory_space);
  if (file_space >= 0) H5Sclose(file_space);
}

void snapshot_write_chunk(const struct snapshots *snapshots, const hsize_t *offset,
                          size_t archive_bytes, const void *archive, struct fault *fault) {
  if (H5Dwrite_chunk(snapshots->dataset, H5P_DEFAULT, 0, offset, archive_bytes, archive) < 0)
    fault_of_hdf5(snapshots, "writing", fault);
}

void snapshot_read(const struct block *block, float *values, struct snapshots *snapshots,
                   struct fault *fault) {
  hid_t file_space, memory_space;
  if (!select_block(snapshots, block, &file_space, &memory_space) ||
      H5Dread(snapshots->dataset, H5T_NATIVE_FLOAT, memory_space, file_space, snapshots->transfer,
              values) < 0)
    fault_of_hdf5(snapshots, "reading", fault);
  if (memory_space >= 0) H5Sclose(memory_space);
  if (file_space >= 0) H5Sclose(file_space);
}

/* H5Fflush does this for a file of many ranks only. */
static bool sync_file(hid_t file) {
  void *descriptor;
  return H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor) >= 0 && fsync(*(int *)descriptor) == 0;
}

void snapshot_finish(struct snapshots *snapshots, struct fault *fault) {
  if (snapshots->file < 0) return;
  snapshots->stored_bytes = H5Dget_storage_size(snapshots->dataset);
  snapshot_close(snapshots, fault);
  if (H5Fflush(snapshots->file, H5F_SCOPE_GLOBAL) < 0) fault_of_hdf5(snapshots, "flushing", fault);
  if (!snapshots->is_shared && !sync_file(snapshots->file))
    fault_set(fault, EXIT_FILES, "syncing %s failed (%s)", snapshots->path, strerror(errno));
}

void snapshot_close(struct snapshots *snapshots, struct fault *fault) {
  if (snapshots->dataset >= 0 && H5Dclose(snapshots->dataset) < 0)
    fault_of_hdf5(snapshots, "closing", fault);
  snapshots->dataset = H5I_INVALID_HID;
}
