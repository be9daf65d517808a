/* test_memory.c - buffers that grow, and the arena that measures what it later hands out.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "support.h"

/* A too large allocation must return NULL, not end the test. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

/* ---- buffers ---- */

static void reserve_keeps_the_contents(void **state) {
  (void)state;
  szg_buffer buffer = {0};
  for (size_t i = 0; i < 10000; i++) {
    assert_int_equal(szg_buffer_reserve(&buffer, 1), SZGPU_OK);
    assert_true(buffer.used_bytes < buffer.capacity_bytes);
    buffer.bytes[buffer.used_bytes++] = (uint8_t)(i * 7);
  }
  for (size_t i = 0; i < 10000; i++) assert_int_equal(buffer.bytes[i], (uint8_t)(i * 7));
  szg_buffer_release(&buffer);
}

static void reserve_grows_by_halves(void **state) {
  (void)state;
  szg_buffer buffer = {0};
  int growth_count = 0;
  for (size_t i = 0; i < 1000000; i++) {
    size_t const before = buffer.capacity_bytes;
    assert_int_equal(szg_buffer_reserve(&buffer, 1), SZGPU_OK);
    growth_count += buffer.capacity_bytes != before;
    buffer.used_bytes++;
  }
  assert_in_range(growth_count, 1, 40); /* log 1e6 to the base of 1.5 is 34 */
  assert_true(buffer.capacity_bytes <= 1500000);
  szg_buffer_release(&buffer);
}

static void reserve_makes_room_for_all_that_was_asked(void **state) {
  (void)state;
  szg_buffer buffer = {0};
  assert_int_equal(szg_buffer_reserve(&buffer, 0), SZGPU_OK);
  assert_int_equal(szg_buffer_reserve(&buffer, 100), SZGPU_OK);
  assert_true(buffer.capacity_bytes >= 100);
  buffer.used_bytes = 100;
  memset(buffer.bytes, 1, 100);
  assert_int_equal(szg_buffer_reserve(&buffer, 100000), SZGPU_OK);
  assert_true(buffer.capacity_bytes >= 100100);
  memset(buffer.bytes + 100, 2, 100000);
  assert_int_equal(buffer.bytes[99], 1);
  szg_buffer_release(&buffer);
}

static void a_size_beyond_memory_is_refused_and_nothing_lost(void **state) {
  (void)state;
  szg_buffer buffer = {0};
  assert_int_equal(szg_buffer_reserve(&buffer, 10), SZGPU_OK);
  memcpy(buffer.bytes, "contents", 9);
  buffer.used_bytes = 10;
  assert_int_equal(szg_buffer_reserve(&buffer, SIZE_MAX), SZGPU_OUT_OF_MEMORY);
  assert_int_equal(szg_buffer_reserve(&buffer, SIZE_MAX - 9), SZGPU_OUT_OF_MEMORY);
  assert_int_equal(szg_buffer_reserve(&buffer, SIZE_MAX - 10), SZGPU_OUT_OF_MEMORY);
  assert_int_equal(szg_buffer_reserve(&buffer, PTRDIFF_MAX), SZGPU_OUT_OF_MEMORY);
  assert_string_equal((char *)buffer.bytes, "contents");
  assert_int_equal(buffer.used_bytes, 10);
  szg_buffer_release(&buffer);
}

static void reset_forgets_but_keeps_the_room(void **state) {
  (void)state;
  szg_buffer buffer = {0};
  assert_int_equal(szg_buffer_reset(&buffer, 1000), SZGPU_OK);
  assert_int_equal(buffer.used_bytes, 0);
  assert_int_equal(buffer.capacity_bytes, 1000);
  memset(buffer.bytes, 3, 1000);
  buffer.used_bytes = 1000;
  uint8_t const *const bytes = buffer.bytes;
  assert_int_equal(szg_buffer_reset(&buffer, 999), SZGPU_OK);
  assert_ptr_equal(buffer.bytes, bytes);
  assert_int_equal(buffer.used_bytes, 0);
  assert_int_equal(buffer.capacity_bytes, 1000);
  assert_int_equal(szg_buffer_reset(&buffer, 1001), SZGPU_OK);
  memset(buffer.bytes, 4, 1001);
  szg_buffer_release(&buffer);
  assert_null(buffer.bytes);
  assert_int_equal(buffer.capacity_bytes, 0);
  szg_buffer_release(&buffer); /* releasing twice is fine */
}

static void a_reset_that_fails_leaves_an_empty_buffer(void **state) {
  (void)state;
  szg_buffer buffer = {0};
  assert_int_equal(szg_buffer_reset(&buffer, 100), SZGPU_OK);
  assert_int_equal(szg_buffer_reset(&buffer, PTRDIFF_MAX), SZGPU_OUT_OF_MEMORY);
  assert_int_equal(buffer.used_bytes, 0);
  assert_int_equal(buffer.capacity_bytes, 0);
  assert_int_equal(szg_buffer_reset(&buffer, 50), SZGPU_OK);
  szg_buffer_release(&buffer);
}

static void objects_come_zeroed(void **state) {
  (void)state;
  uint8_t *const object = szg_allocate_zeroed(5000);
  assert_non_null(object);
  for (int i = 0; i < 5000; i++) assert_int_equal(object[i], 0);
  szg_free(object);
  szg_free(NULL);
}

/* ---- arena ---- */

enum { PIECES = 9 };
static uint64_t const piece_counts[PIECES] = {1, 0, 63, 64, 65, 4097, 3, 7919, 1};
static size_t const piece_widths[PIECES] = {1, 8, 1, 1, 1, 2, 24, 8, 65536};

static void lay_out(szg_arena *arena, uint8_t **pieces) {
  for (int i = 0; i < PIECES; i++)
    pieces[i] = szg_arena_take(arena, piece_counts[i], piece_widths[i]);
}

static void measuring_says_what_carving_takes(void **state) {
  (void)state;
  szg_arena measured = {0};
  uint8_t *pieces[PIECES];
  lay_out(&measured, pieces);
  for (int i = 0; i < PIECES; i++) assert_null(pieces[i]);
  assert_false(measured.overflowed);
  uint8_t *const block = aligned_alloc(SZG_ARENA_ALIGNMENT, measured.used_bytes);
  assert_non_null(block);
  szg_arena carved = {.base = block, .capacity_bytes = measured.used_bytes};
  lay_out(&carved, pieces);
  assert_int_equal(carved.used_bytes, measured.used_bytes);
  for (int i = 0; i < PIECES; i++) {
    size_t const bytes = piece_counts[i] * piece_widths[i];
    assert_int_equal((uintptr_t)pieces[i] % SZG_ARENA_ALIGNMENT, 0);
    if (i > 0) assert_true(pieces[i] >= pieces[i - 1] + piece_counts[i - 1] * piece_widths[i - 1]);
    assert_true(pieces[i] + bytes <= block + measured.used_bytes);
    memset(pieces[i], i, bytes);
  }
  for (int i = 0; i < PIECES; i++)
    for (size_t k = 0; k < piece_counts[i] * piece_widths[i]; k++)
      assert_int_equal(pieces[i][k], i);
  free(block);
}

static void sizes_that_overflow_are_noted_and_stay_noted(void **state) {
  (void)state;
  uint64_t const counts[] = {UINT64_MAX, (uint64_t)1 << 61, (uint64_t)1 << 60, PTRDIFF_MAX / 8};
  for (size_t i = 0; i < ARRAY_COUNT(counts); i++) {
    szg_arena arena = {0};
    assert_null(szg_arena_take(&arena, 100, 1));
    assert_null(szg_arena_take(&arena, counts[i], 8));
    assert_true(arena.overflowed);
    assert_null(szg_arena_take(&arena, 1, 1));
    assert_true(arena.overflowed);
  }
  szg_arena sum = {0};
  assert_null(szg_arena_take(&sum, (uint64_t)1 << 62, 1));
  assert_false(sum.overflowed);
  assert_null(szg_arena_take(&sum, (uint64_t)1 << 62, 1));
  assert_true(sum.overflowed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reserve_keeps_the_contents),
      cmocka_unit_test(reserve_grows_by_halves),
      cmocka_unit_test(reserve_makes_room_for_all_that_was_asked),
      cmocka_unit_test(a_size_beyond_memory_is_refused_and_nothing_lost),
      cmocka_unit_test(reset_forgets_but_keeps_the_room),
      cmocka_unit_test(a_reset_that_fails_leaves_an_empty_buffer),
      cmocka_unit_test(objects_come_zeroed),
      cmocka_unit_test(measuring_says_what_carving_takes),
      cmocka_unit_test(sizes_that_overflow_are_noted_and_stay_noted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
