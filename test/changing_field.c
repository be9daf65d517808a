/* changing_field.c - a field that changes by calls, or by visits to its pages.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "changing_field.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- two versions of a field ---- */

static bool is_changing(changing_share share, uint64_t i) {
  return share == ALL || (share == MOST ? i % 16 != 5 : i % 1009 == 7);
}

bool changing_field_changes(const changing_field *field, uint64_t i) {
  return is_changing(field->share, i);
}

static double number_of(field_look look, uint64_t i) {
  double const noise = (double)(test_hash(i) >> 11) * 0x1p-53;
  switch (look) {
    case CALM:
      return 50.0 * sin((double)i * 0.01) + 1e-3 * noise;
    case ROUGH:
      return 200.0 * noise - 100.0;
    case CONSTANT:
      return 3.0;
    case NANS:
      return NAN;
    case HUGE_VALUES:
      return i % 3 ? -1e30 * noise : INFINITY;
    default:
      return 0.0;
  }
}

/* For types without arithmetic here, and for looks that are patterns of bits. */
static uint64_t bits_of(field_look look, uint64_t i) {
  uint64_t const repeated = UINT64_C(0x0101010101010101);
  switch (look) {
    case CALM:
      return (test_hash(i) & 7 * repeated) + 0x30 * repeated;
    case ROUGH:
      return test_hash(i) & 0x7F * repeated;
    case BITS:
      return test_hash(i);
    case COMMON:
      return i % 613 ? test_hash(i) & 0x7F * repeated : bits_of(RARE, i);
    case RARE:
      return (test_hash(i) & 0x3F * repeated) | 0x80 * repeated;
    case ZEROS:
      return 0;
    case CONSTANT:
      return 0x3C * repeated;
    case NANS:
      return 0xFF * repeated;
    default:
      return (test_hash(i) & repeated) + 0x7A * repeated;
  }
}

static void set_value(szgpu_dtype dtype, uint8_t *version, field_look look, uint64_t i) {
  bool const is_pattern = look == BITS || look == COMMON || look == RARE;
  bool const is_number = (dtype == SZGPU_F32 || dtype == SZGPU_F64) && !is_pattern;
  uint64_t const bits = bits_of(look, i);
  if (is_number)
    test_set_value(dtype, version, i, number_of(look, i));
  else
    memcpy(version + i * test_dtype_bytes(dtype), &bits, test_dtype_bytes(dtype));
}

changing_field changing_field_make(const szgpu_shape *shape, field_change change) {
  changing_field field = {.shape = *shape,
                          .share = change.share,
                          .byte_count = test_field_bytes(shape),
                          .page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
  size_t const page_count = field.byte_count / field.page_bytes + 1;
  field.mapped_bytes = page_count * field.page_bytes;
  field.values =
      mmap(NULL, field.mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(field.values != MAP_FAILED);
  field.visit_counts = test_allocate(page_count * sizeof *field.visit_counts);
  for (int v = 0; v < 2; v++) {
    field.versions[v] = test_allocate(field.byte_count);
    for (uint64_t i = 0; i < test_value_count(shape); i++) {
      bool const is_other = v == 1 && is_changing(change.share, i);
      set_value(shape->dtype, field.versions[v], is_other ? change.after : change.before, i);
    }
  }
  return field;
}

void changing_field_begin(changing_field *field) {
  size_t const page_count = field->mapped_bytes / field->page_bytes;
  memcpy(field->values, field->versions[0], field->byte_count);
  memset(field->visit_counts, 0, page_count * sizeof *field->visit_counts);
  field->call_count = 0;
  field->open_pages[0] = field->open_pages[1] = NULL;
}

void changing_field_release(changing_field *field) {
  munmap(field->values, field->mapped_bytes);
  free(field->visit_counts);
  free(field->versions[0]);
  free(field->versions[1]);
}

/* ---- changes by calls ---- */

int changing_field_by_call(void *user, uint64_t done_values, uint64_t total_values) {
  (void)done_values;
  (void)total_values;
  changing_field *const field = user;
  uint64_t const call = ++field->call_count;
  if (field->changing_call == 0)
    memcpy(field->values, field->versions[call % 2], field->byte_count);
  else if (call == field->changing_call)
    memcpy(field->values, field->versions[1], field->byte_count);
  return 0;
}

/* ---- changes by visits ---- */

static changing_field *watched;

/* Two pages are open, so that a load that crosses their border ends. */
static void visit(int signal_number, siginfo_t *info, void *context) {
  (void)context;
  changing_field *const field = watched;
  uint8_t *const at = info->si_addr;
  if (!field || at < field->values || at >= field->values + field->mapped_bytes) {
    signal(signal_number, SIG_DFL); /* a crash: it comes again, and ends the test */
    return;
  }
  size_t const page = (size_t)(at - field->values) / field->page_bytes;
  size_t const offset = page * field->page_bytes;
  size_t const left = field->byte_count - offset;
  uint32_t const number = ++field->visit_counts[page];
  int const version = field->turning_visit ? number >= field->turning_visit : number % 2 == 0;
  mprotect(field->values + offset, field->page_bytes, PROT_READ | PROT_WRITE);
  memcpy(field->values + offset, field->versions[version] + offset,
         left < field->page_bytes ? left : field->page_bytes);
  if (field->open_pages[0]) mprotect(field->open_pages[0], field->page_bytes, PROT_NONE);
  field->open_pages[0] = field->open_pages[1];
  field->open_pages[1] = field->values + offset;
}

void changing_field_watch(changing_field *field) {
  struct sigaction action = {.sa_sigaction = visit, .sa_flags = SA_SIGINFO | SA_NODEFER};
  assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
  assert_int_equal(sigaction(SIGBUS, &action, NULL), 0);
  watched = field;
  assert_int_equal(mprotect(field->values, field->mapped_bytes, PROT_NONE), 0);
}

void changing_field_stop_watching(changing_field *field) {
  assert_int_equal(mprotect(field->values, field->mapped_bytes, PROT_READ | PROT_WRITE), 0);
  watched = NULL;
  signal(SIGSEGV, SIG_DFL);
  signal(SIGBUS, SIG_DFL);
}

/* ---- changes by another thread ---- */

static void *write_versions(void *user) {
  changing_field *const field = user;
  for (int version = 0; !__atomic_load_n(&field->has_ended, __ATOMIC_RELAXED); version = !version)
    memcpy(field->values, field->versions[version], field->byte_count);
  return NULL;
}

void changing_field_start_writer(changing_field *field) {
  field->has_ended = false;
  assert_int_equal(pthread_create(&field->writer, NULL, write_versions, field), 0);
}

void changing_field_stop_writer(changing_field *field) {
  __atomic_store_n(&field->has_ended, true, __ATOMIC_RELAXED);
  assert_int_equal(pthread_join(field->writer, NULL), 0);
}
