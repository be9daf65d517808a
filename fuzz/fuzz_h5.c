/* fuzz_h5.c - any bytes as cd_values and a chunk: the HDF5 filter, there and back.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls the filter as HDF5 does, with a stand-in for the libhdf5 that calls: chunks are blocks of
 * exactly their size, and the sentence of each failure is looked at.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_mutate.h"
#include "caller_hdf5.h"
#include "fuzz.h"
#include "szgpu_hdf5.h"

#include <H5PLextern.h>

/* An input: flags, the number of words, the words, the chunk. */
enum {
  IS_REVERSE = 1,
  IS_OPTIONAL = 2,
  MOST_WORDS = SZGPU_H5_MOST_WORDS + 1, /* than there can be */
  WORDS_AT = 2,
  CHUNK_AT = WORDS_AT + 4 * MOST_WORDS,
  MOST_FIELD_BYTES = 1 << 18,
  SENTENCE_BYTES = 512
};

/* ---- the caller ---- */

static char sentence[SENTENCE_BYTES]; /* the last one; "": none */

static void *allocate(size_t byte_count, hbool_t is_cleared) {
  (void)is_cleared;
  return malloc(byte_count);
}
static herr_t release(void *block) {
  free(block);
  return 0;
}

caller_hdf5 *caller_hdf5_of(const void *return_address) {
  static caller_hdf5 caller;
  (void)return_address;
  caller.H5allocate_memory = allocate;
  caller.H5free_memory = release;
  return &caller;
}

void caller_hdf5_push(caller_hdf5 *caller, const char *file, const char *function, int line,
                      const char *text) {
  (void)caller;
  FUZZ_CHECK(strlen(text) < SENTENCE_BYTES && strlen(file) > 0 && strlen(function) > 0 && line > 0,
             "a failure without its place");
  strcpy(sentence, text);
}

/* ---- the claims ---- */

/* A call of the filter. */
typedef struct chunk_call {
  unsigned flags;
  size_t word_count;
  unsigned *words; /* a block of exactly its size */
  szgpu_params params;
  szgpu_shape shape;
  bool is_big_endian; /* the dataset */
  size_t field_bytes; /* 0: cd_values are not sound, or the chunk is too large for a test */
} chunk_call;

static const H5Z_class2_t *filter(void) { return H5PLget_plugin_info(); }

/* As HDF5 does: the filter replaces the buffer and returns the new size, or leaves it and returns
 * 0. */
static size_t call_filter(const chunk_call *c, unsigned flags, size_t byte_count, void **buffer) {
  void *const before = *buffer;
  size_t buffer_bytes = byte_count;
  sentence[0] = '\0';
  size_t const made_bytes =
      filter()->filter(flags, c->word_count, c->words, byte_count, &buffer_bytes, buffer);
  bool const is_told = (flags & H5Z_FLAG_REVERSE) || !(flags & H5Z_FLAG_OPTIONAL);
  if (made_bytes > 0) {
    FUZZ_CHECK(buffer_bytes == made_bytes && !sentence[0], "it succeeds, but: %s", sentence);
  } else {
    FUZZ_CHECK(*buffer == before, "it fails, but replaces the chunk");
    FUZZ_CHECK((sentence[0] != '\0') == is_told, "it fails and says '%s'", sentence);
    if (is_told)
      FUZZ_CHECK(strncmp(sentence, "szgpu: ", 7) == 0 && strlen(sentence) > 12, "'%s'", sentence);
  }
  return made_bytes;
}

/* One that holds the values as they are. */
static bool is_plain(const uint8_t *chunk, size_t chunk_bytes) {
  return chunk_bytes >= 8 && memcmp(chunk, "\x89SZP\r\n\x1A\n", 8) == 0;
}

static void restore_chunk(const chunk_call *c, const uint8_t *chunk, size_t chunk_bytes) {
  void *buffer = fuzz_copy(chunk, chunk_bytes);
  size_t const restored = call_filter(c, c->flags | H5Z_FLAG_REVERSE, chunk_bytes, &buffer);
  if (restored > 0) {
    fuzz_count("restored");
    FUZZ_CHECK(restored == c->field_bytes, "%zu bytes instead of %zu", restored, c->field_bytes);
    if (is_plain(chunk, chunk_bytes))
      FUZZ_CHECK(chunk_bytes == restored + 16 && memcmp(chunk + 16, buffer, restored) == 0,
                 "a plain chunk of %zu bytes", chunk_bytes);
    else
      archive_is_good(chunk, chunk_bytes);
  } else {
    fuzz_count("refused");
  }
  free(buffer);
}

static size_t width_of(const szgpu_shape *shape) {
  static const size_t widths[] = {4, 8, 1, 2, 2, 1, 1, 2, 2, 4};
  return widths[shape->dtype];
}

/* Of types other than f16. */
static double value_at(const chunk_call *c, const void *field, size_t i) {
  size_t const width = width_of(&c->shape);
  uint64_t bits = fuzz_load((const uint8_t *)field + width * i, (unsigned)width);
  if (c->is_big_endian) bits = __builtin_bswap64(bits) >> (64 - 8 * width);
  uint32_t const single = (uint32_t)bits << (c->shape.dtype == SZGPU_BF16 ? 16 : 0);
  float value_f32;
  double value;
  memcpy(&value_f32, &single, sizeof value_f32);
  memcpy(&value, &bits, sizeof value);
  switch (c->shape.dtype) {
    case SZGPU_F32:
    case SZGPU_BF16:
      return (double)value_f32;
    case SZGPU_F64:
      return value;
    case SZGPU_I8:
      return (int8_t)bits;
    case SZGPU_I16:
      return (int16_t)bits;
    case SZGPU_I32:
      return (int32_t)bits;
    default:
      return (double)bits;
  }
}

/* fuzz_roundtrip checks bounds exactly; this finds what is grossly wrong. */
static void check_values(const chunk_call *c, const void *field, const void *restored) {
  size_t const width = width_of(&c->shape);
  if (c->params.mode == SZGPU_MODE_LOSSLESS)
    FUZZ_CHECK(memcmp(field, restored, c->field_bytes) == 0, "bits are lost");
  if (c->params.mode != SZGPU_MODE_ABS || c->shape.dtype == SZGPU_F16) return;
  for (size_t i = 0; i < c->field_bytes / width; i++) {
    double const x = value_at(c, field, i), r = value_at(c, restored, i);
    bool const is_same = memcmp((const uint8_t *)field + width * i,
                                (const uint8_t *)restored + width * i, width) == 0;
    FUZZ_CHECK(is_same || fabs(x - r) <= c->params.bound, "%a became %a", x, r);
  }
}

static void compress_chunk(const chunk_call *c, const uint8_t *bytes, size_t byte_count) {
  size_t const field_bytes = c->field_bytes > 0 ? c->field_bytes : byte_count;
  uint8_t *const field = fuzz_allocate(field_bytes);
  for (size_t i = 0; i < field_bytes; i++) field[i] = byte_count ? bytes[i % byte_count] : 0;
  void *buffer = fuzz_copy(field, field_bytes);
  size_t const archive_bytes = call_filter(c, c->flags, field_bytes, &buffer);
  bool const is_optional = c->flags & H5Z_FLAG_OPTIONAL;
  FUZZ_CHECK(archive_bytes > 0 || is_optional || sentence[0], "nothing is made, and not a word");
  FUZZ_CHECK(archive_bytes == 0 || (c->field_bytes > 0 && !sentence[0]), "%zu bytes, '%s'",
             archive_bytes, sentence);
  FUZZ_CHECK(archive_bytes < field_bytes + (is_optional ? 0 : 17), "%zu bytes became %zu",
             field_bytes, archive_bytes);
  if (archive_bytes == 0) {
    fuzz_count("left");
    FUZZ_CHECK(memcmp(field, buffer, field_bytes) == 0, "it leaves the chunk, but not its values");
  } else {
    fuzz_count(is_plain(buffer, archive_bytes) ? "plain" : "compressed");
    size_t const restored = call_filter(c, H5Z_FLAG_REVERSE, archive_bytes, &buffer);
    FUZZ_CHECK(restored == field_bytes, "its own archive: %s", sentence);
    check_values(c, field, buffer);
  }
  free(buffer);
  free(field);
}

static size_t field_bytes_of(const szgpu_shape *shape) {
  size_t byte_count = width_of(shape);
  for (int i = 0; i < shape->ndim; i++) {
    if (shape->dims[i] > MOST_FIELD_BYTES) return 0;
    byte_count *= shape->dims[i];
    if (byte_count > MOST_FIELD_BYTES) return 0;
  }
  return byte_count;
}

/* Half of the changes are to the words, the others to the chunk. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  if (size <= CHUNK_AT || capacity <= CHUNK_AT) return LLVMFuzzerMutate(data, size, capacity);
  if (seed & 1) {
    LLVMFuzzerMutate(data, CHUNK_AT, CHUNK_AT);
    return size;
  }
  return CHUNK_AT + archive_change(data + CHUNK_AT, size - CHUNK_AT, capacity - CHUNK_AT, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < CHUNK_AT) return 0;
  chunk_call c = {.flags = data[0] & IS_OPTIONAL ? H5Z_FLAG_OPTIONAL : 0,
                  .word_count = data[1] % (MOST_WORDS + 1)};
  c.words = fuzz_allocate(c.word_count * sizeof *c.words);
  for (size_t i = 0; i < c.word_count; i++)
    c.words[i] = (unsigned)fuzz_load(data + WORDS_AT + 4 * i, 4);
  const char *const fault = szgpu_h5_chunk(c.words, c.word_count, &c.params, &c.shape);
  c.field_bytes = fault ? 0 : field_bytes_of(&c.shape);
  c.is_big_endian =
      !fault && c.words[szgpu_h5_user_words(c.words) + SZGPU_H5_CHUNK_TYPE] & SZGPU_H5_BIG_ENDIAN;
  if (fault || c.field_bytes > 0) {
    if (data[0] & IS_REVERSE)
      restore_chunk(&c, data + CHUNK_AT, size - CHUNK_AT);
    else
      compress_chunk(&c, data + CHUNK_AT, size - CHUNK_AT);
  }
  free(c.words);
  return 0;
}
