/* fuzz_stream.c - any bytes as an archive that is streamed: the same as from memory.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The input is the archive, to its end or cut short. It is streamed through one to three ctxs.
 */
#include <stdlib.h>
#include <string.h>

#include "archive_mutate.h"

enum { MOST_FIELD_BYTES = 1 << 20, CTXS = 3, BEHIND_BYTES = 32, MEMORY_LIMIT = 256 << 20 };

static const szgpu_decoder decoders[] = {SZGPU_DECODER_AUTO, SZGPU_DECODER_SERIAL,
                                         SZGPU_DECODER_SELF_SYNC, SZGPU_DECODER_HIERARCHICAL};
enum { DECODER_COUNT = sizeof decoders / sizeof *decoders };
static szgpu_ctx *ctxs[DECODER_COUNT][CTXS];

int LLVMFuzzerInitialize(int *argument_count, char ***arguments) {
  (void)argument_count, (void)arguments;
  for (int d = 0; d < DECODER_COUNT; d++)
    for (int i = 0; i < CTXS; i++) {
      ctxs[d][i] = fuzz_make_ctx(SZGPU_BACKEND_CPU, decoders[d], 1);
      FUZZ_CHECK(szgpu_set_memory_limit(ctxs[d][i], MEMORY_LIMIT) == SZGPU_OK, "a limit");
    }
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  return archive_change(data, size, capacity, seed);
}

/* ---- a source and a sink, which note how they are used ---- */

typedef struct stream {
  const uint8_t *archive;
  size_t there_bytes; /* of the archive, and what is behind it */
  uint64_t read_end;
  uint8_t *field; /* NULL: values are dropped */
  uint64_t field_bytes, written_end;
} stream;

static int read_stream(void *user, uint64_t offset, void *bytes, size_t byte_count, size_t *got) {
  stream *const s = user;
  FUZZ_CHECK(offset == s->read_end, "a read at %llu, not in order", (unsigned long long)offset);
  size_t const left = s->there_bytes - (size_t)offset;
  *got = byte_count < left ? byte_count : left;
  memcpy(bytes, s->archive + offset, *got);
  s->read_end += *got;
  return 0;
}

static int write_stream(void *user, uint64_t offset, const void *bytes, size_t byte_count) {
  stream *const s = user;
  FUZZ_CHECK(offset == s->written_end, "a write at %llu, not in order", (unsigned long long)offset);
  FUZZ_CHECK(byte_count <= s->field_bytes - offset, "a write beyond the field");
  if (s->field) memcpy(s->field + offset, bytes, byte_count);
  s->written_end += byte_count;
  return 0;
}

/* ---- the claims ---- */

static bool is_about_archive(szgpu_status status) {
  return status >= SZGPU_NOT_AN_ARCHIVE && status <= SZGPU_BAD_DATA;
}

static bool is_of_memory(szgpu_status status) {
  return status == SZGPU_OUT_OF_MEMORY || status == SZGPU_MEMORY_LIMIT;
}

static szgpu_status run(stream *s, szgpu_ctx *const *with, int ctx_count, uint64_t *archive_bytes) {
  szgpu_source const source = {.read = read_stream, .user = s};
  szgpu_sink const sink = {.write = write_stream, .user = s};
  szgpu_status const status =
      szgpu_decompress_stream(with, ctx_count, &source, &sink, archive_bytes);
  FUZZ_CHECK(status == SZGPU_OK || status == SZGPU_UNSUPPORTED || is_about_archive(status) ||
                 is_of_memory(status),
             "szgpu_decompress_stream gives %d", status);
  FUZZ_CHECK(status != SZGPU_TRAILING_BYTES, "a stream does not look behind the archive");
  return status;
}

/* Of a cut archive, memory knows at once what the stream finds at its end. */
static void check_cut(szgpu_status streamed, szgpu_status in_memory) {
  FUZZ_CHECK(in_memory == SZGPU_TRUNCATED || in_memory == SZGPU_UNSUPPORTED,
             "szgpu_decompress gives %d for a cut archive", in_memory);
  FUZZ_CHECK(streamed != SZGPU_OK, "a cut archive is streamed");
  FUZZ_CHECK((streamed == SZGPU_UNSUPPORTED) == (in_memory == SZGPU_UNSUPPORTED),
             "a cut archive gives %d as a stream, %d in memory", streamed, in_memory);
  fuzz_count("cut");
}

static void check_alike(stream *s, const szgpu_info *info, szgpu_status streamed,
                        szgpu_status in_memory, const uint8_t *field) {
  FUZZ_CHECK((streamed == SZGPU_OK) == (in_memory == SZGPU_OK) || is_of_memory(streamed) ||
                 is_of_memory(in_memory),
             "a stream gives %d, memory %d", streamed, in_memory);
  FUZZ_CHECK((streamed == SZGPU_UNSUPPORTED) == (in_memory == SZGPU_UNSUPPORTED),
             "a stream gives %d, memory %d", streamed, in_memory);
  FUZZ_CHECK(s->read_end <= info->archive_bytes, "bytes behind the archive are read");
  if (streamed != SZGPU_OK || in_memory != SZGPU_OK) return;
  FUZZ_CHECK(s->written_end == info->field_bytes, "%llu bytes are written, not the field",
             (unsigned long long)s->written_end);
  FUZZ_CHECK(memcmp(s->field, field, info->field_bytes) == 0, "a stream gives another field");
  fuzz_count("restored");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_random random = fuzz_random_of(data, size);
  szgpu_ctx *const *const with = ctxs[fuzz_below(&random, DECODER_COUNT)];
  int const ctx_count = 1 + (int)fuzz_below(&random, CTXS);
  szgpu_info info = {.struct_bytes = sizeof info};
  szgpu_status const header = szgpu_inspect(data, size, &info);
  size_t const cut = fuzz_one_in(&random, 4) ? fuzz_below(&random, size + 1) : size;
  bool const is_whole = header == SZGPU_OK && cut >= info.archive_bytes;
  uint8_t *const archive = fuzz_allocate(cut + BEHIND_BYTES);
  if (cut > 0) memcpy(archive, data, cut);
  memset(archive + cut, 0xA5, BEHIND_BYTES);
  fuzz_choose_avx2(&random);

  stream s = {.archive = archive, .there_bytes = is_whole ? cut + BEHIND_BYTES : cut};
  uint64_t const field_bytes = header == SZGPU_OK ? info.field_bytes : 0;
  bool const is_small = field_bytes <= MOST_FIELD_BYTES;
  s.field_bytes = field_bytes;
  s.field = is_small ? fuzz_allocate(field_bytes) : NULL;
  uint8_t *const field = is_small ? fuzz_allocate(field_bytes) : NULL;
  uint64_t archive_bytes = 0;
  szgpu_status const streamed = run(&s, with, ctx_count, &archive_bytes);
  if (header != SZGPU_OK) {
    FUZZ_CHECK(streamed != SZGPU_OK && s.written_end == 0, "a bad header is streamed");
    FUZZ_CHECK(cut < size || streamed == header, "szgpu_inspect gives %d, a stream %d", header,
               streamed);
  } else if (is_small) {
    size_t const held = is_whole ? (size_t)info.archive_bytes : cut;
    szgpu_status const in_memory = szgpu_decompress(with[0], archive, held, field, field_bytes);
    if (is_whole)
      check_alike(&s, &info, streamed, in_memory, field);
    else
      check_cut(streamed, in_memory);
  }
  if (streamed == SZGPU_OK) {
    FUZZ_CHECK(archive_bytes == info.archive_bytes, "another size of the archive");
    archive_is_good(data, (size_t)archive_bytes);
  }
  free(field);
  free(s.field);
  free(archive);
  return 0;
}
