/* test_cores.c - how many cores a process may use, by its affinity and control groups.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* sched_setaffinity */

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/cores.h"
#include "core/workers.h"
#include "support.h"

static char root[64];

static int make_root(void **state) {
  (void)state;
  strcpy(root, "/tmp/szgpu_cores_XXXXXX");
  return mkdtemp(root) ? 0 : -1;
}

/* Writes a file, and makes the folders on the way. */
static void write_file(const char *path, const char *text) {
  char whole[512];
  snprintf(whole, sizeof whole, "%s/%s", root, path);
  for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)mkdir(whole, 0700);
    *slash = '/';
  }
  FILE *const file = fopen(whole, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static int remove_root(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", root);
  return system(command);
}

static void groups_of_version_2(void **state) {
  (void)state;
  write_file("cpu.max", "max 100000\n"); /* the root itself has none, but a container's may */
  write_file("a/cpu.max", "350000 100000\n");
  write_file("a/b/cpu.max", "max 100000\n");
  write_file("a/c/cpu.max", "200000 100000\n");
  write_file("a/d/cpu.max", "20000 100000\n");
  write_file("e/cpu.max", "900000 100000\n");
  write_file("f/cpu.max", "nonsense\n");
  static const struct {
    const char *membership;
    int cores;
  } cases[] = {{"0::/a/b\n", 4},
               {"0::/a/c\n", 2},
               {"0::/a/d\n", 1},
               {"0::/e\n", 9},
               {"0::/\n", INT_MAX},
               {"0::/f\n", INT_MAX},
               {"0::/not/there\n", INT_MAX},
               {"", INT_MAX},
               {"0::/a", 4},
               {"nonsense", INT_MAX}};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
    assert_int_equal(szg_cores_of_group(cases[i].membership, root), cases[i].cores);
}

static void groups_of_version_1(void **state) {
  (void)state;
  write_file("cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
  write_file("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  write_file("cpu,cpuacct/free/cpu.cfs_quota_us", "-1\n");
  write_file("cpu,cpuacct/free/cpu.cfs_period_us", "100000\n");
  write_file("cpuset/job/cpu.cfs_quota_us", "1\n"); /* of another controller: not looked at */
  write_file("cpuset/job/cpu.cfs_period_us", "100000\n");
  assert_int_equal(szg_cores_of_group("3:cpuset:/job\n1:cpu,cpuacct:/job/step\n", root), 2);
  assert_int_equal(szg_cores_of_group("3:cpuset:/job\n1:cpu,cpuacct:/free\n", root), INT_MAX);
  assert_int_equal(szg_cores_of_group("3:cpuset:/job\n", root), INT_MAX);
}

/* What a process sees that may use one core. */
static void affinity_counts(void **state) {
  (void)state;
  assert_true(szg_usable_cores() >= 1);
  pid_t const child = fork();
  if (child == 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    _exit(sched_setaffinity(0, sizeof one, &one) == 0 ? szg_usable_cores() : 99);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_of_version_2),
      cmocka_unit_test(groups_of_version_1),
      cmocka_unit_test(affinity_counts),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
