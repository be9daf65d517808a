/* archive_make.c - archives from headers and sections made by hand.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "archive_make.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "archive_edit.h"

enum { HEADER_BYTES = 128, FRAME_HEADER_BYTES = 40, ENTRY_BYTES = 32, CHECKSUM_BYTES = 8 };

static void store(uint8_t *to, unsigned width, uint64_t value) {
  for (unsigned i = 0; i < width; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static void store_f64(uint8_t *to, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  store(to, 8, bits);
}

static uint64_t round_up(uint64_t bytes) { return (bytes + 15) / 16 * 16; }

/* A section as it is stored. */
typedef struct stored_section {
  uint8_t *bytes;
  uint64_t byte_count;
} stored_section;

/* Zeros as zstd packs them, piece by piece: all full pieces are the same bytes. */
static stored_section pack_zeros(uint64_t raw_bytes) {
  uint64_t const full_pieces = raw_bytes / SZG_ZSTD_PIECE_BYTES;
  size_t const rest = raw_bytes % SZG_ZSTD_PIECE_BYTES, room = ZSTD_compressBound(1 << 20);
  uint8_t *const zeros = test_allocate(SZG_ZSTD_PIECE_BYTES), *const piece = test_allocate(room);
  memset(zeros, 0, SZG_ZSTD_PIECE_BYTES);
  size_t const full = ZSTD_compress(piece, room, zeros, SZG_ZSTD_PIECE_BYTES, 19);
  stored_section packed = {test_allocate(full_pieces * full + room), full_pieces * full};
  for (uint64_t i = 0; i < full_pieces; i++) memcpy(packed.bytes + i * full, piece, full);
  if (rest) {
    size_t const last = ZSTD_compress(packed.bytes + packed.byte_count, room, zeros, rest, 19);
    packed.byte_count += last;
  }
  free(zeros);
  free(piece);
  return packed;
}

static stored_section store_section(const made_section *section) {
  if (!section->bytes) return pack_zeros(section->raw_bytes);
  stored_section stored = {test_allocate(section->raw_bytes), section->raw_bytes};
  memcpy(stored.bytes, section->bytes, section->raw_bytes);
  return stored;
}

static void put_header(const made_archive *made, uint64_t frame_count, uint64_t archive_bytes,
                       uint8_t *bytes) {
  bool const is_f64 = made->shape.dtype == SZGPU_F64;
  memcpy(bytes, SZG_MAGIC, SZG_MAGIC_BYTES);
  store(bytes + 8, 4, made->version);
  store(bytes + 12, 4, made->flags);
  bytes[16] = (uint8_t)made->shape.dtype;
  bytes[17] = (uint8_t)made->shape.ndim;
  bytes[18] = (uint8_t)made->mode;
  bytes[19] = (uint8_t)made->layout;
  for (int i = 0; i < 4; i++)
    store(bytes + 24 + 8 * i, 8, i < made->shape.ndim ? made->shape.dims[i] : 1);
  if (made->mode != SZGPU_MODE_LOSSLESS) {
    store_f64(bytes + 56, 0.5);
    store_f64(bytes + 64, 0.5);
    store_f64(bytes + 72, made->frame_kind == SZG_FRAME_CONSTANT ? 0 : 1);
    store_f64(bytes + 80, 10);
    store(bytes + 88, 8, made->flags & 1 ? 0xCCCC : 0);
    store(bytes + 120, 4, made->arithmetic ? made->arithmetic : is_f64 ? 2 : 0);
  }
  store(bytes + 96, 8, made->frame_rows);
  store(bytes + 104, 8, frame_count);
  store(bytes + 112, 8, archive_bytes);
}

static void put_frame(const made_archive *made, const stored_section *stored, uint64_t index,
                      uint8_t *bytes) {
  bytes[0] = made->frame_kind;
  bytes[1] = made->axes;
  bytes[2] = made->byte_2;
  bytes[3] = made->byte_3;
  store(bytes + 4, 4, made->radius);
  store(bytes + 8, 8, index);
  store(bytes + 16, 8, made->frame_values);
  store(bytes + 24, 8, made->constant);
  store(bytes + 32, 4, made->section_count);
  uint8_t *entry = bytes + FRAME_HEADER_BYTES;
  uint8_t *at = entry + (size_t)made->section_count * ENTRY_BYTES + CHECKSUM_BYTES;
  for (uint32_t i = 0; i < made->section_count; i++, entry += ENTRY_BYTES) {
    store(entry, 4, made->sections[i].kind);
    store(entry + 4, 4, made->sections[i].bytes ? SZG_CODEC_STORED : SZG_CODEC_ZSTD);
    store(entry + 8, 8, made->sections[i].raw_bytes);
    store(entry + 16, 8, stored[i].byte_count);
    memcpy(at, stored[i].bytes, stored[i].byte_count);
    at += round_up(stored[i].byte_count);
  }
}

/* Frames that are alike. */
typedef struct frame_run {
  stored_section stored[SZGPU_MAX_SECTIONS];
  uint64_t frame_bytes;
} frame_run;

static frame_run make_run(const made_archive *made) {
  frame_run run = {.frame_bytes = FRAME_HEADER_BYTES + CHECKSUM_BYTES};
  for (uint32_t i = 0; i < made->section_count; i++) {
    run.stored[i] = store_section(&made->sections[i]);
    run.frame_bytes += ENTRY_BYTES + round_up(run.stored[i].byte_count);
  }
  return run;
}

enum { MOST_RUNS = 8 };

test_archive archive_make(const made_archive *made) {
  frame_run runs[MOST_RUNS];
  uint64_t frame_count = 0, frames_bytes = 0, index = 0;
  size_t run_count = 0;
  for (const made_archive *run = made; run; run = run->then, run_count++) {
    assert_true(run_count < MOST_RUNS);
    runs[run_count] = make_run(run);
    frame_count += run->frame_count;
    frames_bytes += run->frame_count * runs[run_count].frame_bytes;
  }
  uint64_t const header_bytes = round_up(HEADER_BYTES + 8 * frame_count + CHECKSUM_BYTES);
  test_archive archive = {.byte_count = header_bytes + frames_bytes};
  archive.bytes = test_allocate(archive.byte_count);
  memset(archive.bytes, 0, archive.byte_count);
  put_header(made, frame_count, archive.byte_count, archive.bytes);
  uint8_t *at = archive.bytes + header_bytes;
  for (size_t r = 0; r < run_count; r++, made = made->then) {
    for (uint64_t i = 0; i < made->frame_count; i++, index++, at += runs[r].frame_bytes) {
      store(archive.bytes + HEADER_BYTES + 8 * index, 8, runs[r].frame_bytes);
      put_frame(made, runs[r].stored, index, at);
    }
    for (uint32_t i = 0; i < made->section_count; i++) free(runs[r].stored[i].bytes);
  }
  archive_rehash(&archive);
  return archive;
}
