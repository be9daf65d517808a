/* changing_field.h - a field with two versions that are exchanged while somebody reads it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_CHANGING_FIELD_H
#define SZG_TEST_CHANGING_FIELD_H

#include <pthread.h>
#include <stdbool.h>

#include "support.h"

/* What a version looks like, and which values the versions do not have in common. COMMON has a few
 * of the bytes that RARE is made of, so they have the longest codes. */
typedef enum field_look {
  CALM,
  ROUGH,
  BITS,
  COMMON,
  RARE,
  ZEROS,
  CONSTANT,
  NANS,
  HUGE_VALUES
} field_look;
typedef enum changing_share { ALL, MOST, FEW } changing_share;

typedef struct field_change {
  field_look before, after;
  changing_share share;
} field_change;

typedef struct changing_field {
  szgpu_shape shape;
  changing_share share;
  size_t byte_count, mapped_bytes, page_bytes;
  uint8_t *values; /* mapped */
  uint8_t *versions[2];
  /* by calls */
  uint64_t call_count, changing_call; /* 0: each */
  /* by visits */
  uint32_t *visit_counts; /* by page */
  uint32_t turning_visit; /* from this one on, a page has version 1; 0: versions alternate */
  uint8_t *open_pages[2]; /* the last is the latest */
  /* by another thread */
  pthread_t writer;
  bool has_ended; /* atomic */
} changing_field;

changing_field changing_field_make(const szgpu_shape *shape, field_change change);
void changing_field_release(changing_field *field);

/* Whether value i differs between the versions. */
bool changing_field_changes(const changing_field *field, uint64_t i);

/* Before each call: the field has version 0, and nothing was visited. */
void changing_field_begin(changing_field *field);

/* A progress callback that changes the field, `user`, at each call or at one of them. */
int changing_field_by_call(void *user, uint64_t done_values, uint64_t total_values);

/* From now on, reading a page of the field that was not among the last two raises a signal, whose
 * handler gives the page the values of one of the versions. One field at a time, in one thread. */
void changing_field_watch(changing_field *field);
void changing_field_stop_watching(changing_field *field);

/* Another thread writes the versions by turns: a race by design. */
void changing_field_start_writer(changing_field *field);
void changing_field_stop_writer(changing_field *field);

#endif
