/* ctxs.h - the ctxs that all tests of a program share, for cmocka_run_group_tests.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_CTXS_H
#define SZG_TEST_CTXS_H

#include "support.h"

static szgpu_ctx *ctx, *three_threads, *serial_ctx;

static inline int make_ctxs_with(int threads) {
  ctx = test_make_ctx(threads);
  three_threads = test_make_ctx(3);
  serial_ctx = test_make_serial_ctx();
  return 0;
}

/* ctx has one thread, or two. */
static inline int make_ctxs(void **state) {
  (void)state;
  return make_ctxs_with(1);
}

static inline int make_ctxs_of_two(void **state) {
  (void)state;
  return make_ctxs_with(2);
}

static inline int destroy_ctxs(void **state) {
  (void)state;
  szgpu_destroy(ctx);
  szgpu_destroy(three_threads);
  szgpu_destroy(serial_ctx);
  return 0;
}

#endif
