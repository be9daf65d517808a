/* hdf5_slots.h - the ring of boxes between the thread of HDF5 and those of the library: its memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_SLOTS_H
#define HDF5_SLOTS_H

#include "hdf5_squeeze.h"
#include "memory.h"

struct slot {
  struct box box, other;      /* other: of the dataset to compare with */
  struct memory values, room; /* room: for stored bytes, then for the archive */
  struct memory other_values, other_room;
  size_t archive_bytes;
  bool is_plain; /* the values, in the order of the file, are what is written */
  bool is_done;
  szgpu_status status;
  const szgpu_ctx *ctx; /* that had the status */
  const char *damage;   /* NULL: none */
  bool is_other_damaged;
};

struct squeezer {
  struct squeeze *of;
  pthread_t thread;
  szgpu_ctx *ctx;
  struct memory scratch;
  struct fills fills; /* found by this one */
  struct squeeze_range range;
  struct difference difference;
};

/* As many slots as memory allows, up to two more than threads. is_wide: one, for all threads of the
 * library. Returns an exit code, and prints a sentence if it is not CODE_OK. */
int squeeze_take_slots(struct squeeze *squeeze, const struct squeeze_work *work, bool is_wide);
void squeeze_drop_slots(struct squeeze *squeeze);

struct plan_name squeeze_name_of(const struct squeeze *squeeze, const struct squeeze_work *work);
uint64_t squeeze_count_chunks(const struct squeeze_work *work);

#endif
