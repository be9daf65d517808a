/* classic.c - whether a file of classic netCDF is as long as its header says.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * "The NetCDF Classic Format Specification" of Unidata describes the header. All is big-endian.
 */
#define _DEFAULT_SOURCE
#include "classic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { DIMENSIONS = 10, VARIABLES = 11, ATTRIBUTES = 12 }; /* tags of lists */

struct header {
  int descriptor;
  uint64_t at, file_bytes;
  int count_bytes, offset_bytes; /* of the numbers of things, and of places in the file */
  bool is_sound;                 /* what was read so far */
  bool has_memory;
  uint64_t *dims; /* 0: the record dimension */
  uint64_t dim_count;
  uint64_t record_count;
  uint64_t end; /* of what has no record dimension */
  /* Of variables that have: the end of the first record, and the bytes of one. A single variable
   * has no padding between its records. */
  uint64_t record_end, record_bytes, single_bytes;
  uint64_t record_variables;
};

static uint64_t read_number(struct header *header, int byte_count) {
  unsigned char bytes[8];
  uint64_t number = 0;
  header->is_sound = header->is_sound && pread(header->descriptor, bytes, (size_t)byte_count,
                                               (off_t)header->at) == byte_count;
  for (int i = 0; i < byte_count && header->is_sound; i++) number = number << 8 | bytes[i];
  header->at += (uint64_t)byte_count;
  return number;
}

/* A number of things in the file, each of some bytes at least. */
static uint64_t read_count(struct header *header) {
  uint64_t const count = read_number(header, header->count_bytes);
  header->is_sound = header->is_sound && count <= header->file_bytes;
  return header->is_sound ? count : 0;
}

/* Things of the header fill multiples of 4 bytes. */
static uint64_t padded(uint64_t byte_count) { return (byte_count + 3) & ~(uint64_t)3; }

static void skip(struct header *header, uint64_t byte_count) {
  header->is_sound = header->is_sound && byte_count <= header->file_bytes - header->at;
  if (header->is_sound) header->at += padded(byte_count);
  header->is_sound = header->is_sound && header->at <= header->file_bytes;
}

static uint64_t type_bytes(struct header *header, uint64_t type) {
  static unsigned char const bytes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
  header->is_sound = header->is_sound && type > 0 && type < sizeof bytes;
  return header->is_sound ? bytes[type] : 0;
}

/* The length of a list; one that is absent has the tag 0. */
static uint64_t read_list(struct header *header, uint64_t tag) {
  uint64_t const found = read_number(header, 4), count = read_count(header);
  header->is_sound = header->is_sound && (found == tag || (found == 0 && count == 0));
  return header->is_sound ? count : 0;
}

static void skip_name(struct header *header) { skip(header, read_count(header)); }

static void skip_attributes(struct header *header) {
  uint64_t const count = read_list(header, ATTRIBUTES);
  for (uint64_t i = 0; i < count && header->is_sound; i++) {
    skip_name(header);
    uint64_t const value_bytes = type_bytes(header, read_number(header, 4));
    skip(header, value_bytes * read_count(header)); /* a count is below 2^60 */
  }
}

static void read_dims(struct header *header) {
  uint64_t const count = read_list(header, DIMENSIONS);
  header->dims = calloc((size_t)count + 1, sizeof *header->dims);
  header->has_memory = header->dims != NULL;
  header->dim_count = header->has_memory ? count : 0;
  for (uint64_t i = 0; i < header->dim_count && header->is_sound; i++) {
    skip_name(header);
    header->dims[i] = read_number(header, header->count_bytes);
  }
}

static void include(struct header *header, uint64_t begin, uint64_t byte_count, uint64_t *end) {
  uint64_t own = 0;
  header->is_sound = header->is_sound && !__builtin_add_overflow(begin, byte_count, &own);
  if (header->is_sound && own > *end) *end = own;
}

static void read_variable(struct header *header) {
  skip_name(header);
  uint64_t const rank = read_count(header);
  uint64_t byte_count = 1;
  bool has_records = false;
  for (uint64_t axis = 0; axis < rank && header->is_sound; axis++) {
    uint64_t const dim = read_number(header, header->count_bytes);
    header->is_sound = header->is_sound && dim < header->dim_count;
    if (!header->is_sound) return;
    has_records |= axis == 0 && header->dims[dim] == 0;
    if (axis > 0 || !has_records)
      header->is_sound = !__builtin_mul_overflow(byte_count, header->dims[dim], &byte_count);
  }
  skip_attributes(header);
  uint64_t const value_bytes = type_bytes(header, read_number(header, 4));
  read_number(header, header->count_bytes); /* its size, which need not be right if it is large */
  uint64_t const begin = read_number(header, header->offset_bytes);
  header->is_sound =
      header->is_sound && !__builtin_mul_overflow(byte_count, value_bytes, &byte_count);
  include(header, begin, byte_count, has_records ? &header->record_end : &header->end);
  if (!has_records) return;
  header->record_variables++;
  header->single_bytes = byte_count;
  include(header, header->record_bytes, padded(byte_count), &header->record_bytes);
}

/* Sets `end` to the least size of the file. */
static void read_header(struct header *header, int version) {
  uint64_t const streaming = version == 5 ? UINT64_MAX : UINT32_MAX; /* the number is not known */
  header->at = 4;
  header->record_count = read_number(header, header->count_bytes);
  read_dims(header);
  skip_attributes(header);
  uint64_t const count = read_list(header, VARIABLES);
  for (uint64_t i = 0; i < count && header->is_sound; i++) read_variable(header);
  bool const has_records =
      header->record_variables > 0 && header->record_count > 0 && header->record_count != streaming;
  if (!header->is_sound || !has_records) return;
  uint64_t const step = header->record_variables == 1 ? header->single_bytes : header->record_bytes;
  uint64_t others = 0;
  header->is_sound = !__builtin_mul_overflow(header->record_count - 1, step, &others);
  include(header, header->record_end, others, &header->end);
}

int classic_check(const struct report *report, const struct input *input) {
  int const version = input->bytes[3];
  struct header header = {.descriptor = input->descriptor,
                          .file_bytes = (uint64_t)input->status.st_size,
                          .count_bytes = version == 5 ? 8 : 4,
                          .offset_bytes = version == 1 ? 4 : 8,
                          .is_sound = true,
                          .has_memory = true};
  read_header(&header, version);
  free(header.dims);
  if (!header.has_memory) return report_out_of_memory(report, input->name, "its dimensions", 8);
  if (!header.is_sound)
    return report_failure(report, CODE_IO, input->name,
                          "has a damaged header of classic netCDF; replace the file with an intact "
                          "copy");
  if (header.end <= header.file_bytes) return CODE_OK;
  return report_failure(report, CODE_IO, input->name,
                        "ends too early: its header says that it has %" PRIu64
                        " bytes at least, and there are %" PRIu64
                        "; replace the file with an intact copy",
                        header.end, header.file_bytes);
}
