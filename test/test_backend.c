/* test_backend.c - which backend SZGPU_BACKEND_AUTO takes, beside what both were measured to need.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "pipeline/backend.h"
#include "support.h"

enum { FIELD_BYTES = 536870912, SMALL_BYTES = 25012800 };

static const szg_job compressing = {.restores = false, .interpolates = true};
static const szg_job compressing_lorenzo = {.restores = false, .interpolates = false};
static const szg_job restoring = {.restores = true, .interpolates = true};
static const szg_job restoring_lorenzo = {.restores = true, .interpolates = false};

/* Milliseconds that the command took on a machine with 16 cores and an H200, as a process
 * (docs/benchmarks.md, "From host memory"). */
static const struct {
  const szg_job *job;
  uint64_t field_bytes;
  int thread_count;
  uint32_t cpu_ms, cuda_ms;
} measured[] = {
    {&compressing, SMALL_BYTES, 1, 88, 400},
    {&compressing, SMALL_BYTES, 16, 23, 376},
    {&compressing, FIELD_BYTES, 1, 752, 442},
    {&compressing, FIELD_BYTES, 2, 407, 400},
    {&compressing, FIELD_BYTES, 4, 294, 406},
    {&compressing, FIELD_BYTES, 8, 176, 403},
    {&compressing, FIELD_BYTES, 16, 136, 415},
    {&compressing, 4ull * FIELD_BYTES, 1, 4629, 1035},
    {&compressing, 4ull * FIELD_BYTES, 2, 2496, 846},
    {&compressing, 4ull * FIELD_BYTES, 4, 1140, 721},
    {&compressing, 4ull * FIELD_BYTES, 8, 802, 608},
    {&compressing, 4ull * FIELD_BYTES, 16, 530, 576},
    {&restoring, SMALL_BYTES, 1, 61, 375},
    {&restoring, FIELD_BYTES, 1, 783, 478},
    {&restoring, FIELD_BYTES, 2, 388, 434},
    {&restoring, FIELD_BYTES, 4, 240, 387},
    {&restoring, FIELD_BYTES, 8, 131, 388},
    {&restoring, FIELD_BYTES, 16, 111, 369},
    {&restoring, 4ull * FIELD_BYTES, 1, 4358, 1127},
    {&restoring, 4ull * FIELD_BYTES, 2, 1924, 707},
    {&restoring, 4ull * FIELD_BYTES, 4, 1125, 585},
    {&restoring, 4ull * FIELD_BYTES, 8, 686, 540},
    {&restoring, 4ull * FIELD_BYTES, 16, 448, 518},
    {&compressing_lorenzo, FIELD_BYTES, 1, 365, 472},
    {&compressing_lorenzo, FIELD_BYTES, 2, 217, 495},
    {&compressing_lorenzo, FIELD_BYTES, 4, 162, 418},
    {&compressing_lorenzo, FIELD_BYTES, 8, 86, 443},
    {&compressing_lorenzo, FIELD_BYTES, 16, 69, 423},
    {&compressing_lorenzo, 4ull * FIELD_BYTES, 1, 1624, 1170},
    {&compressing_lorenzo, 4ull * FIELD_BYTES, 2, 1068, 771},
    {&compressing_lorenzo, 4ull * FIELD_BYTES, 4, 625, 791},
    {&compressing_lorenzo, 4ull * FIELD_BYTES, 8, 412, 629},
    {&compressing_lorenzo, 4ull * FIELD_BYTES, 16, 307, 626},
    {&restoring_lorenzo, FIELD_BYTES, 1, 293, 518},
    {&restoring_lorenzo, FIELD_BYTES, 2, 196, 472},
    {&restoring_lorenzo, FIELD_BYTES, 4, 122, 416},
    {&restoring_lorenzo, FIELD_BYTES, 8, 79, 392},
    {&restoring_lorenzo, FIELD_BYTES, 16, 61, 431},
    {&restoring_lorenzo, 4ull * FIELD_BYTES, 1, 1635, 1137},
    {&restoring_lorenzo, 4ull * FIELD_BYTES, 2, 950, 816},
    {&restoring_lorenzo, 4ull * FIELD_BYTES, 4, 531, 617},
    {&restoring_lorenzo, 4ull * FIELD_BYTES, 8, 345, 595},
    {&restoring_lorenzo, 4ull * FIELD_BYTES, 16, 241, 546},
};

static bool takes_cuda(szg_job job, int threads, uint64_t field_bytes, bool has_device) {
  return szg_cuda_us(job, threads, field_bytes, has_device) < szg_cpu_us(job, threads, field_bytes);
}

static void takes_what_was_measured_to_be_faster(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(measured); i++) {
    uint32_t const cpu = measured[i].cpu_ms, cuda = measured[i].cuda_ms;
    uint32_t const best = cpu < cuda ? cpu : cuda;
    uint32_t const taken =
        takes_cuda(*measured[i].job, measured[i].thread_count, measured[i].field_bytes, false)
            ? cuda
            : cpu;
    if (taken * 5 > best * 6) fail_msg("case %zu takes %u ms, not %u", i, taken, best);
  }
}

static void takes_a_started_gpu_for_less(void **state) {
  (void)state;
  assert_false(takes_cuda(compressing, 1, SMALL_BYTES, false));
  assert_true(takes_cuda(compressing, 1, SMALL_BYTES, true));
  assert_true(takes_cuda(restoring, 1, SMALL_BYTES, true));
  assert_false(takes_cuda(compressing, 1, 1 << 17, true)); /* a call's fixed cost */
}

static void knows_what_interpolates(void **state) {
  (void)state;
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  assert_true(szg_compressing_job(&params).interpolates);
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  assert_false(szg_compressing_job(&params).interpolates);
  params.predictor = SZGPU_PREDICTOR_INTERPOLATION;
  params.mode = SZGPU_MODE_LOSSLESS;
  assert_false(szg_compressing_job(&params).interpolates);
}

/* By the first frame of an archive; what cannot be read might be interpolated. */
static void knows_what_was_interpolated(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F32, 3, 80, 80, 80, 0);
  void *const field = test_make_waves(&shape);
  for (int i = 0; i < 2; i++) {
    szgpu_params params = test_params(SZGPU_MODE_REL, 1e-3);
    params.layout = SZGPU_LAYOUT_TILE;
    params.predictor = i ? SZGPU_PREDICTOR_INTERPOLATION : SZGPU_PREDICTOR_LORENZO;
    szgpu_ctx *const ctx = test_make_ctx(1);
    test_archive const archive = test_compress(ctx, &params, &shape, field);
    szg_buffer head = {0};
    szg_opened opened;
    assert_int_equal(szg_open(archive.bytes, archive.byte_count, &head, &opened), SZGPU_OK);
    assert_true(szg_restoring_job(&opened).restores);
    assert_int_equal(szg_restoring_job(&opened).interpolates, i);
    opened.available_bytes = szg_frame_offset(&opened, 0);
    assert_true(szg_restoring_job(&opened).interpolates);
    szg_buffer_release(&head);
    free(archive.bytes);
    szgpu_destroy(ctx);
  }
  free(field);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_what_was_measured_to_be_faster),
      cmocka_unit_test(takes_a_started_gpu_for_less),
      cmocka_unit_test(knows_what_interpolates),
      cmocka_unit_test(knows_what_was_interpolated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
