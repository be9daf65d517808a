/* test_launcher.c - the threads of processes that share a machine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include "launcher.h"

#include <stdlib.h>

#include "support.h"

static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE",
                                    "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"};

static void forget_launchers(void) {
  for (size_t i = 0; i < ARRAY_COUNT(names); i++) unsetenv(names[i]);
}

static void a_process_alone_has_the_librarys_default(void **state) {
  (void)state;
  forget_launchers();
  assert_int_equal(launcher_threads(16), 0);
  for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
    setenv(names[i], "1", 1);
    assert_int_equal(launcher_threads(16), 0);
  }
}

static void processes_share_the_cores(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int cores, threads;
  } cases[] = {{"16", 16, 1}, {"4", 16, 4},       {"3", 16, 5},
               {"17", 16, 1}, {"4(x2),3", 16, 4}, {"2", 100000, 1024},
               {"2", -1, 1},  {"none", 16, 0},    {"", 16, 0},
               {"-4", 16, 0}, {"0", 16, 0},       {"9999999999999999999", 16, 1}};
  for (size_t n = 0; n < ARRAY_COUNT(names); n++) {
    forget_launchers();
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
      setenv(names[n], cases[i].text, 1);
      assert_int_equal(launcher_threads(cases[i].cores), cases[i].threads);
    }
  }
}

/* Of a launcher within a batch job, the launcher counts. */
static void the_launcher_comes_before_slurm(void **state) {
  (void)state;
  forget_launchers();
  setenv("SLURM_STEP_TASKS_PER_NODE", "1", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "8", 1);
  assert_int_equal(launcher_threads(16), 2);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "", 1);
  assert_int_equal(launcher_threads(16), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_process_alone_has_the_librarys_default),
      cmocka_unit_test(processes_share_the_cores),
      cmocka_unit_test(the_launcher_comes_before_slurm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
