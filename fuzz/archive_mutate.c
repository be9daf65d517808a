/* archive_mutate.c - changes archives part by part, with right checksums.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "archive_mutate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_parts.h"

/* What a change works on. */
typedef struct change {
  fuzz_random random;
  archive_parts *archive;
  frame_parts *frame;     /* one of its frames */
  section_parts *section; /* one of that frame's sections, or NULL */
} change;

typedef struct number_place {
  uint8_t offset, width;
} number_place;

/* The numbers of the archive's header, from the version to the arithmetic. */
static const number_place header_numbers[] = {
    {8, 4},  {12, 4}, {16, 1}, {17, 1},  {18, 1},  {19, 1},  {20, 4},
    {24, 8}, {32, 8}, {40, 8}, {48, 8},  {56, 8},  {64, 8},  {72, 8},
    {80, 8}, {88, 8}, {96, 8}, {104, 8}, {112, 8}, {120, 4}, {124, 4}};
/* Those of a frame's header, from the kind to the reserved bytes, without the section count. */
static const number_place frame_numbers[] = {{0, 1}, {1, 1},  {2, 1},  {3, 1}, {4, 4},
                                             {8, 8}, {16, 8}, {24, 8}, {36, 4}};
enum {
  HEADER_VERSION = 8,
  HEADER_FLAGS = 12,
  HEADER_NDIM = 17,
  HEADER_DIMS = 24,
  HEADER_DOUBLES = 56,
  HEADER_STEP = 72,
  HEADER_FILL = 88,
  HEADER_FRAME_ROWS = 96,
  HEADER_ARITHMETIC = 120,
  FRAME_AXES = 1,
  FRAME_FLAGS = 3,
  FRAME_RADIUS = 4,
  FRAME_INDEX = 8,
  FRAME_VALUE_COUNT = 16,
  FRAME_CONSTANT = 24,
  SECTION_KINDS = 29
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---- numbers ---- */

/* Numbers that sizes, counts and lengths turn on. */
static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 4,
                                 8,
                                 16,
                                 32,
                                 64,
                                 128,
                                 256,
                                 1280,
                                 4096,
                                 8192,
                                 16384,
                                 32768,
                                 65536,
                                 UINT64_C(1) << 20,
                                 UINT64_C(1) << 31,
                                 UINT64_C(1) << 32,
                                 UINT64_C(1) << 40,
                                 UINT64_C(1) << 60,
                                 UINT64_C(1) << 61,
                                 UINT64_C(1) << 62,
                                 UINT64_C(1) << 63};

static void lie(fuzz_random *random, uint8_t *bytes, unsigned width) {
  uint64_t value = fuzz_load(bytes, width);
  switch (fuzz_below(random, 5)) {
    case 0:
      value = edges[fuzz_below(random, COUNT_OF(edges))] + fuzz_below(random, 3) - 1;
      break;
    case 1:
      value += 1 + fuzz_below(random, 3);
      break;
    case 2:
      value -= 1 + fuzz_below(random, 3);
      break;
    case 3:
      value ^= UINT64_C(1) << fuzz_below(random, 8 * width);
      break;
    default:
      value = fuzz_below(random, UINT64_C(1) << (1 + fuzz_below(random, 24)));
  }
  fuzz_store(bytes, width, value);
}

static void lie_in_header(change *c) {
  number_place const place = header_numbers[fuzz_below(&c->random, COUNT_OF(header_numbers))];
  lie(&c->random, c->archive->header + place.offset, place.width);
}

static void lie_in_frame(change *c) {
  number_place const place = frame_numbers[fuzz_below(&c->random, COUNT_OF(frame_numbers))];
  lie(&c->random, c->frame->header + place.offset, place.width);
}

static void lie_in_entry(change *c) {
  static const number_place numbers[] = {{ENTRY_KIND, 4}, {ENTRY_CODEC, 4}, {ENTRY_RAW_BYTES, 8}};
  if (!c->section) return;
  number_place const place = numbers[fuzz_below(&c->random, COUNT_OF(numbers))];
  lie(&c->random, c->section->entry + place.offset, place.width);
}

/* Bounds, step and range: any bits. */
static void change_doubles(change *c) {
  LLVMFuzzerMutate(c->archive->header + HEADER_DOUBLES, 32, 32);
}

static void change_arithmetic(change *c) {
  static const double steps[] = {
      1.0, 0.5, 0x1p-126, 0x1p126, 0x1p-127, 1e300, 5e-324, 0x1.fffffep127, 0x1.fffffffffffffp1023};
  uint8_t *const header = c->archive->header;
  if (fuzz_one_in(&c->random, 2))
    memcpy(header + HEADER_STEP, &steps[fuzz_below(&c->random, COUNT_OF(steps))], 8);
  else
    fuzz_store(header + HEADER_ARITHMETIC, 4, fuzz_below(&c->random, 4));
}

static void change_fill(change *c) {
  uint8_t *const header = c->archive->header;
  header[HEADER_FLAGS] ^= 1;
  fuzz_store(header + HEADER_FILL, 8, 0);
  if (header[HEADER_FLAGS] & 1) LLVMFuzzerMutate(header + HEADER_FILL, 4, 4);
}

/* Limits that values are brought between, most of them sound ones. */
static void change_limits(change *c) {
  static const double numbers[] = {0.0,     1.0,      -1.0,   0.5,      -3.0,
                                   1e20,    -1e20,    5e-324, 0x1p-149, 0x1p-126,
                                   0x1p127, INFINITY, -0.0,   NAN,      -0x1p127};
  double least = numbers[fuzz_below(&c->random, COUNT_OF(numbers))];
  double greatest = numbers[fuzz_below(&c->random, COUNT_OF(numbers))];
  if (least > greatest && !fuzz_one_in(&c->random, 8)) {
    double const lower = greatest;
    greatest = least;
    least = lower;
  }
  c->archive->header[HEADER_FLAGS] |= 4;
  fuzz_store(c->archive->header + HEADER_VERSION, 4, 8);
  memcpy(c->archive->more, &least, sizeof least);
  memcpy(c->archive->more + 8, &greatest, sizeof greatest);
}

/* What is there moves to where the limits were, or away from there. */
static void change_more_flags(change *c) {
  c->archive->header[HEADER_FLAGS] ^= (uint8_t)(1u << (2 + fuzz_below(&c->random, 3)));
  if (!fuzz_one_in(&c->random, 4)) fuzz_store(c->archive->header + HEADER_VERSION, 4, 8);
}

static void change_more_fills(change *c) {
  bool const has_limits = c->archive->header[HEADER_FLAGS] & 4;
  uint8_t *const fill = c->archive->more + (has_limits ? 16 : 0) + 8 * fuzz_below(&c->random, 3);
  fuzz_store(fill, 8, fuzz_bits(&c->random) >> fuzz_below(&c->random, 64));
}

static void change_axes(change *c) {
  c->frame->header[FRAME_AXES] = (uint8_t)(1 + fuzz_below(&c->random, 7));
}
static void change_frame_flags(change *c) {
  c->frame->header[FRAME_FLAGS] = (uint8_t)fuzz_below(&c->random, 8);
}
/* In frames of planes and levels the constant holds what describes them. */
static void change_constant(change *c) { lie(&c->random, c->frame->header + FRAME_CONSTANT, 8); }
static void change_radius(change *c) { lie(&c->random, c->frame->header + FRAME_RADIUS, 2); }

/* ---- shapes ---- */

/* Gives all frames the value counts that the header's shape and frame rows ask for. */
static void agree_on_shape(archive_parts *archive) {
  uint64_t rows = 1, value_count = 1;
  for (int i = 0; i < 4; i++) {
    uint64_t const extent = fuzz_load(archive->header + HEADER_DIMS + 8 * i, 8);
    if (rows == 1) rows = extent;
    value_count *= extent;
  }
  uint64_t frame_rows = fuzz_load(archive->header + HEADER_FRAME_ROWS, 8);
  if (frame_rows == 0 || frame_rows > rows || archive->frame_count == 1) frame_rows = rows;
  fuzz_store(archive->header + HEADER_FRAME_ROWS, 8, frame_rows);
  for (uint32_t i = 0; i < archive->frame_count && rows > 0; i++) {
    uint64_t const left = rows > i * frame_rows ? rows - i * frame_rows : 0;
    fuzz_store(archive->frames[i].header + FRAME_VALUE_COUNT, 8,
               (left < frame_rows ? left : frame_rows) * (value_count / rows));
  }
}

static void change_shape(change *c) {
  uint64_t const ndim = 1 + fuzz_below(&c->random, 4);
  c->archive->header[HEADER_NDIM] = (uint8_t)ndim;
  for (uint64_t i = 0; i < 4; i++) {
    uint64_t const most = UINT64_C(1) << fuzz_below(&c->random, 8);
    fuzz_store(c->archive->header + HEADER_DIMS + 8 * i, 8,
               i < ndim ? 1 + fuzz_below(&c->random, most) : 1);
  }
  agree_on_shape(c->archive);
}

static void swap_dims(change *c) {
  uint8_t *const dims = c->archive->header + HEADER_DIMS;
  uint64_t const ndim = c->archive->header[HEADER_NDIM] % 5;
  uint64_t const a = 8 * fuzz_below(&c->random, ndim), b = 8 * fuzz_below(&c->random, ndim);
  uint64_t const extent = fuzz_load(dims + a, 8);
  fuzz_store(dims + a, 8, fuzz_load(dims + b, 8));
  fuzz_store(dims + b, 8, extent);
  agree_on_shape(c->archive);
}

/* ---- contents of sections ---- */

enum { ROOM = 4096 };

/* The contents, to be changed and handed to keep_contents; NULL if there are none. */
static uint8_t *contents(const section_parts *section, size_t *byte_count) {
  if (!section) return NULL;
  uint8_t *const raw = section_unpack(section, ROOM, byte_count);
  if (raw && *byte_count > 0) return raw;
  free(raw);
  return NULL;
}
static void keep_contents(section_parts *section, uint8_t *raw, size_t byte_count) {
  section_pack(section, raw, byte_count, section_has_zstd(section));
}

static void change_bytes(change *c) {
  size_t byte_count;
  uint8_t *const raw = contents(c->section, &byte_count);
  if (!raw) return;
  size_t const changed = LLVMFuzzerMutate(raw, byte_count, byte_count);
  if (changed < byte_count) memset(raw + changed, 0, byte_count - changed);
  keep_contents(c->section, raw, byte_count);
}

static void change_bit(change *c) {
  size_t byte_count;
  uint8_t *const raw = contents(c->section, &byte_count);
  if (!raw) return;
  raw[fuzz_below(&c->random, byte_count)] ^= (uint8_t)(1u << fuzz_below(&c->random, 8));
  keep_contents(c->section, raw, byte_count);
}

static void swap_words(change *c) {
  size_t byte_count;
  uint8_t *const raw = contents(c->section, &byte_count);
  if (!raw) return;
  if (byte_count >= 4) {
    size_t const a = 4 * fuzz_below(&c->random, byte_count / 4);
    size_t const b = 4 * fuzz_below(&c->random, byte_count / 4);
    uint64_t const word = fuzz_load(raw + a, 4);
    fuzz_store(raw + a, 4, fuzz_load(raw + b, 4));
    fuzz_store(raw + b, 4, word);
  }
  keep_contents(c->section, raw, byte_count);
}

/* Moves some of a u16 to another, so that sums stay: counts and sizes of tiles. */
static void move_count(change *c) {
  size_t byte_count;
  uint8_t *const raw = contents(c->section, &byte_count);
  if (!raw) return;
  if (byte_count >= 2) {
    uint8_t *const a = raw + 2 * fuzz_below(&c->random, byte_count / 2);
    uint8_t *const b = raw + 2 * fuzz_below(&c->random, byte_count / 2);
    uint64_t const from = fuzz_load(a, 2);
    uint64_t const part = fuzz_one_in(&c->random, 4) ? from : fuzz_below(&c->random, from + 1) % 17;
    fuzz_store(a, 2, from - part);
    fuzz_store(b, 2, fuzz_load(b, 2) + part);
  }
  keep_contents(c->section, raw, byte_count);
}

static void resize_section(change *c) {
  if (!c->section) return;
  size_t byte_count;
  uint8_t *const raw = section_unpack(c->section, ROOM, &byte_count);
  if (!raw) return;
  memset(raw + byte_count, 0, ROOM);
  keep_contents(c->section, raw, LLVMFuzzerMutate(raw, byte_count, byte_count + ROOM));
}

static void change_codec(change *c) {
  if (!c->section) return;
  size_t byte_count;
  uint8_t *const raw = section_unpack(c->section, 0, &byte_count);
  if (raw) section_pack(c->section, raw, byte_count, fuzz_one_in(&c->random, 2));
}

/* Few bytes under zstd that claim to be many. */
static void claim_much(change *c) {
  size_t const byte_count = (size_t)1 << (16 + fuzz_below(&c->random, 9));
  if (!c->section) return;
  uint8_t *const raw = calloc(byte_count, 1);
  FUZZ_CHECK(raw, "no memory");
  section_pack(c->section, raw, byte_count, true);
}

/* As it is stored: what zstd has to refuse. */
static void change_stored_bytes(change *c) {
  if (c->section && c->section->byte_count > 0)
    LLVMFuzzerMutate(c->section->bytes, c->section->byte_count, c->section->byte_count);
}

/* ---- sections and frames ---- */

static void add_section(change *c) {
  frame_parts *const frame = c->frame;
  if (!c->section || frame->section_count == PARTS_MOST_SECTIONS) return;
  uint64_t const at = fuzz_below(&c->random, frame->section_count + 1);
  section_parts added;
  section_copy(c->section, &added);
  uint64_t const kind = at > 0 && fuzz_one_in(&c->random, 2)
                            ? fuzz_load(frame->sections[at - 1].entry + ENTRY_KIND, 4) + 1
                            : fuzz_below(&c->random, SECTION_KINDS);
  fuzz_store(added.entry + ENTRY_KIND, 4, kind);
  memmove(&frame->sections[at + 1], &frame->sections[at],
          (frame->section_count - at) * sizeof added);
  frame->sections[at] = added;
  frame->section_count++;
}

static void drop_section(change *c) {
  if (!c->section) return;
  free(c->section->bytes);
  const section_parts *const end = c->frame->sections + c->frame->section_count;
  memmove(c->section, c->section + 1, (size_t)(end - c->section - 1) * sizeof *c->section);
  c->frame->section_count--;
}

static void number_frames(archive_parts *archive) {
  fuzz_store(archive->header + 104, 8, archive->frame_count);
  for (uint32_t i = 0; i < archive->frame_count; i++)
    fuzz_store(archive->frames[i].header + FRAME_INDEX, 8, i);
}

static void add_frame(change *c) {
  if (c->archive->frame_count == PARTS_MOST_FRAMES) return;
  frame_copy(c->frame, &c->archive->frames[c->archive->frame_count++]);
  number_frames(c->archive);
}

static void drop_frame(change *c) {
  if (c->archive->frame_count == 1) return;
  const frame_parts *const end = c->archive->frames + c->archive->frame_count;
  frame_free(c->frame);
  memmove(c->frame, c->frame + 1, (size_t)(end - c->frame - 1) * sizeof *c->frame);
  c->archive->frame_count--;
  number_frames(c->archive);
}

/* ---- good archives ---- */

/* Most changed archives are refused, and so is what is made of them. So half of the changes begin
 * with an archive that was restored. */
enum { POOL_COUNT = 256 };
static struct {
  uint8_t *bytes;
  size_t byte_count;
} pool[POOL_COUNT];
static uint64_t pool_count;

void archive_is_good(const uint8_t *archive, size_t archive_bytes) {
  fuzz_random random = fuzz_random_of(archive, archive_bytes);
  uint64_t const place =
      pool_count < POOL_COUNT ? pool_count++ : fuzz_below(&random, 2 * POOL_COUNT);
  if (place >= POOL_COUNT) return;
  free(pool[place].bytes);
  pool[place].bytes = fuzz_copy(archive, archive_bytes);
  pool[place].byte_count = archive_bytes;
}

/* Replaces data by one of them, if there are any and it fits; returns the size. */
static size_t pool_take(fuzz_random *random, uint8_t *data, size_t size, size_t capacity) {
  uint64_t const place = fuzz_below(random, pool_count);
  if (place >= pool_count || pool[place].byte_count > capacity) return size;
  memcpy(data, pool[place].bytes, pool[place].byte_count);
  return pool[place].byte_count;
}

/* ---- the mutator ---- */

/* Contents stand several times, because most of the code works on them. */
static void (*const changes[])(change *c) = {
    lie_in_header,       lie_in_frame,  lie_in_entry,      change_doubles,    change_arithmetic,
    change_fill,         change_axes,   change_radius,     change_constant,   change_frame_flags,
    change_limits,       change_limits, change_more_flags, change_more_fills, change_shape,
    swap_dims,           change_bytes,  change_bytes,      change_bytes,      change_bytes,
    change_bit,          change_bit,    change_bit,        swap_words,        swap_words,
    move_count,          move_count,    resize_section,    resize_section,    change_codec,
    change_stored_bytes, claim_much,    add_section,       drop_section,      add_frame,
    drop_frame};

static void make_change(fuzz_random *random, archive_parts *archive) {
  change c = {.random = {fuzz_bits(random)}, .archive = archive};
  c.frame = &archive->frames[fuzz_below(random, archive->frame_count)];
  if (c.frame->section_count > 0)
    c.section = &c.frame->sections[fuzz_below(random, c.frame->section_count)];
  changes[fuzz_below(random, COUNT_OF(changes))](&c);
}

size_t archive_change(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  fuzz_random random = {seed};
  bool const is_mended = !fuzz_one_in(&random, 32);
  if (fuzz_one_in(&random, 2)) size = pool_take(&random, data, size, capacity);
  archive_parts *const archive = fuzz_one_in(&random, 16) ? NULL : parts_take(data, size);
  if (archive) {
    uint64_t const more = fuzz_below(&random, 4);
    for (uint64_t left = 1 + more / 2; left > 0; left--) make_change(&random, archive);
    uint8_t *const made = fuzz_allocate(capacity);
    size_t const made_bytes = parts_write(archive, made, capacity);
    if (made_bytes > 0) memcpy(data, made, size = made_bytes);
    free(made);
    parts_free(archive);
    if (is_mended) return size;
  }
  size = LLVMFuzzerMutate(data, size, capacity);
  if (is_mended) archive_mend(data, size);
  return size;
}
