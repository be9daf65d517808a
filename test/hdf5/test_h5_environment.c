/* test_h5_environment.c - what SZGPU_H5_* change in the HDF5 filter, and fork().
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE /* setenv, fork, waitpid, RLIMIT_NPROC */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "environment.h"
#include "h5_file.h"

/* Enough for several threads. */
enum { ROWS = 600, COLUMNS = 500, VALUES = ROWS * COLUMNS };

static hid_t make_dataset(const char *name, hid_t type, const double *values) {
  hsize_t const dims[] = {ROWS, COLUMNS};
  hid_t const dataset = h5_create(file, name, type, 2, dims, h5_make_abs_properties(2, dims, 0.01));
  h5_write(dataset, H5T_NATIVE_DOUBLE, values);
  return h5_reopen(file, dataset, name);
}

static const char *const variables[] = {"SZGPU_H5_BACKEND",           "SZGPU_H5_THREADS",
                                        "SZGPU_H5_MEMORY_LIMIT",      "SZGPU_H5_DEVICE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"};

static int make_file_without_gpu(void **state) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1); /* in a build with CUDA, on a machine with GPUs */
  return make_file(state);
}

static int clear_environment(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(variables); i++) unsetenv(variables[i]);
  return 0;
}

static void a_wrong_environment_is_an_error(void **state) {
  (void)state;
  static const char *const cases[][3] = {
      {"SZGPU_H5_BACKEND", "gpu", "SZGPU_H5_BACKEND is not cpu, auto or cuda"},
      {"SZGPU_H5_THREADS", "0", "SZGPU_H5_THREADS is not a number from 1 to 1024"},
      {"SZGPU_H5_THREADS", "1025", "SZGPU_H5_THREADS"},
      {"SZGPU_H5_THREADS", "99999999999999999999", "SZGPU_H5_THREADS"},
      {"SZGPU_H5_THREADS", " 2", "SZGPU_H5_THREADS"},
      {"SZGPU_H5_THREADS", "2x", "SZGPU_H5_THREADS"},
      {"SZGPU_H5_MEMORY_LIMIT", "0", "SZGPU_H5_MEMORY_LIMIT is not a size, such as 500M or 4G"},
      {"SZGPU_H5_MEMORY_LIMIT", "10x", "SZGPU_H5_MEMORY_LIMIT"},
      {"SZGPU_H5_MEMORY_LIMIT", "-1", "SZGPU_H5_MEMORY_LIMIT"},
      {"SZGPU_H5_MEMORY_LIMIT", "M", "SZGPU_H5_MEMORY_LIMIT"},
      {"SZGPU_H5_MEMORY_LIMIT", "17000000T", "SZGPU_H5_MEMORY_LIMIT"},
      {"SZGPU_H5_DEVICE", "-1", "SZGPU_H5_DEVICE is not the number of a GPU"},
      {"SZGPU_H5_DEVICE", "one", "SZGPU_H5_DEVICE"}};
  hsize_t const dims[] = {100};
  static const float values[100] = {1, 2, 3};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    hid_t const properties = h5_make_abs_properties(1, dims, 0.1);
    setenv(cases[i][0], cases[i][1], 1);
    assert_true(h5_try_create(file, "field", H5T_NATIVE_FLOAT, 1, dims, properties) < 0);
    h5_assert_error(cases[i][2]);
    /* Also if it goes wrong only later. */
    unsetenv(cases[i][0]);
    hid_t const dataset = h5_create(file, "field", H5T_NATIVE_FLOAT, 1, dims, properties);
    h5_write(dataset, H5T_NATIVE_FLOAT, values);
    setenv(cases[i][0], cases[i][1], 1);
    assert_true(H5Dflush(dataset) < 0);
    h5_assert_error(cases[i][2]);
    unsetenv(cases[i][0]);
    assert_true(H5Dclose(dataset) >= 0);
    H5Ldelete(file, "field", H5P_DEFAULT);
  }
}

static h5_chunk write_with(const char *backend, const char *threads, const double *values) {
  hsize_t const offset[] = {0, 0};
  setenv("SZGPU_H5_BACKEND", backend, 1);
  setenv("SZGPU_H5_THREADS", threads, 1);
  hid_t const dataset = make_dataset("field", H5T_NATIVE_FLOAT, values);
  h5_chunk const chunk = h5_read_chunk(dataset, offset);
  setenv("SZGPU_H5_BACKEND", "cuda", 1); /* which does not matter for reading */
  static double restored[VALUES];
  h5_read(dataset, H5T_NATIVE_DOUBLE, restored);
  H5Dclose(dataset);
  H5Ldelete(file, "field", H5P_DEFAULT);
  return chunk;
}

static void threads_and_backend_leave_the_bytes_alone(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"cpu", "2"}, {"auto", "3"}, {"", ""}, {"auto", "1"}};
  szgpu_shape const shape = test_shape(SZGPU_F64, 2, ROWS, COLUMNS, 0, 0);
  double *const values = test_make_waves(&shape);
  h5_chunk first = write_with("cpu", "1", values);
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    h5_chunk again = write_with(cases[i][0], cases[i][1], values);
    assert_int_equal(first.byte_count, again.byte_count);
    assert_memory_equal(first.bytes, again.bytes, first.byte_count);
    free(again.bytes);
  }
  free(first.bytes);
  free(values);
}

/* An error even with an optional filter, which would silently leave chunks as they are. */
static void cuda_is_refused_where_there_is_none(void **state) {
  (void)state;
  hsize_t const dims[] = {1 << 18}; /* the smallest chunk that goes to a GPU */
  unsigned words[SZGPU_H5_USER_WORDS];
  size_t const word_count = szgpu_h5_cd_values(SZGPU_MODE_ABS, 0.1, words);
  unsigned const flags[] = {H5Z_FLAG_MANDATORY, H5Z_FLAG_OPTIONAL};
  setenv("SZGPU_H5_BACKEND", "cuda", 1);
  for (size_t i = 0; i < ARRAY_COUNT(flags); i++) {
    hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_chunk(properties, 1, dims) >= 0);
    assert_true(H5Pset_filter(properties, SZGPU_H5_FILTER_ID, flags[i], word_count, words) >= 0);
    assert_true(h5_try_create(file, "field", H5T_NATIVE_FLOAT, 1, dims, properties) < 0);
    h5_assert_error(szgpu_has_cuda() ? szgpu_status_text(SZGPU_NO_DEVICE)
                                     : "which this build does not have");
    H5Pclose(properties);
  }
}

/* The exit status of a child that calls prepare, then writes with threads. */
static int write_in_child(int (*prepare)(void), const double *values) {
  pid_t const child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(60);
    int const status = prepare ? prepare() : 0;
    if (status == 0) free(write_with("cpu", "3", values).bytes);
    _exit(status);
  }
  int ended;
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_true(WIFEXITED(ended));
  return WEXITSTATUS(ended);
}

/* Threads do not survive fork(): a child that waited for them would hang. Here the library, which
 * this program links as well, has started some. */
static void a_child_of_a_process_with_threads_works(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F64, 2, ROWS, COLUMNS, 0, 0);
  double *const values = test_make_waves(&shape);
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  options.threads = 3;
  szgpu_ctx *ctx;
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = SZGPU_MODE_ABS;
  params.bound = 1e-3;
  size_t capacity, archive_bytes;
  assert_int_equal(szgpu_create(&ctx, &options), SZGPU_OK);
  assert_int_equal(szgpu_sizes(ctx, &params, &shape, NULL, &capacity), SZGPU_OK);
  void *const archive = malloc(capacity);
  assert_non_null(archive);
  assert_int_equal(szgpu_compress(ctx, &params, &shape, values, archive, capacity, &archive_bytes),
                   SZGPU_OK);
  free(write_with("cpu", "2", values).bytes);
  assert_int_equal(write_in_child(NULL, values), 0);
  free(archive);
  szgpu_destroy(ctx);
  free(values);
}

enum { NOT_REFUSED = 77 };
static void *nothing(void *unused) { return unused; }

/* Becomes a user who may start no threads. */
static int refuse_threads(void) {
  struct rlimit const none = {0, 0};
  pthread_t thread;
  if (getuid() == 0 && setuid(65534) != 0) return NOT_REFUSED;
  if (setrlimit(RLIMIT_NPROC, &none) != 0) return NOT_REFUSED;
  return pthread_create(&thread, NULL, nothing, NULL) == 0 ? NOT_REFUSED : 0;
}

static void where_the_system_refuses_threads_one_does_it(void **state) {
  (void)state;
  szgpu_shape const shape = test_shape(SZGPU_F64, 2, ROWS, COLUMNS, 0, 0);
  double *const values = test_make_waves(&shape);
  free(write_with("cpu", "1", values).bytes); /* the plugin is loaded */
  int const status = write_in_child(refuse_threads, values);
  free(values);
  if (status == NOT_REFUSED) {
    print_message("skipped: this system refuses a process no threads\n");
    skip();
  }
  assert_int_equal(status, 0);
}

static void reading_has_a_memory_limit(void **state) {
  (void)state;
  static double restored[VALUES];
  szgpu_shape const shape = test_shape(SZGPU_F64, 2, ROWS, COLUMNS, 0, 0);
  double *const values = test_make_waves(&shape);
  hid_t const dataset = make_dataset("field", H5T_NATIVE_DOUBLE, values);
  setenv("SZGPU_H5_MEMORY_LIMIT", "10K", 1);
  assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) < 0);
  h5_assert_error("the call would take more memory than its limit");
  setenv("SZGPU_H5_MEMORY_LIMIT", "1G", 1);
  h5_read(dataset, H5T_NATIVE_DOUBLE, restored);
  H5Dclose(dataset);
  H5Ldelete(file, "field", H5P_DEFAULT);
  free(values);
}

/* MPI's own launchers come first in deciding which GPU a process takes. */
static void the_local_rank_is_the_launchers(void **state) {
  (void)state;
  environment settings;
  setenv("SLURM_LOCALID", "5", 1);
  assert_null(environment_read(&settings));
  assert_int_equal(settings.local_rank, 5);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
  setenv("SZGPU_H5_DEVICE", "2", 1);
  assert_null(environment_read(&settings));
  assert_int_equal(settings.local_rank, 3);
  assert_int_equal(settings.device, 2);
  unsetenv("SZGPU_H5_DEVICE");
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "none", 1);
  assert_null(environment_read(&settings));
  assert_int_equal(settings.local_rank, 5);
  assert_int_equal(settings.device, -1);
  assert_int_equal(settings.backend, SZGPU_BACKEND_CPU);
  assert_int_equal(settings.threads, 1);
}

/* Ranks of a machine share its GPUs by turns, unless one is asked for. */
static void ranks_take_the_gpus_by_turns(void **state) {
  (void)state;
  static const struct {
    int asked, local_rank, device_count, device;
  } cases[] = {{-1, 0, 1, 0}, {-1, 1, 1, 0}, {-1, 0, 4, 0},  {-1, 3, 4, 3},  {-1, 4, 4, 0},
               {-1, 7, 4, 3}, {-1, 5, 2, 1}, {-1, 0, 0, -1}, {-1, 9, 0, -1}, {0, 3, 4, 0},
               {3, 0, 4, 3},  {4, 0, 4, -1}, {0, 0, 0, -1}};
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
    assert_int_equal(szgpu_h5_device(cases[i].asked, cases[i].local_rank, cases[i].device_count),
                     cases[i].device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      /* First, because CUDA looks only once which GPUs it may use. */
      cmocka_unit_test_teardown(cuda_is_refused_where_there_is_none, clear_environment),
      cmocka_unit_test_teardown(a_wrong_environment_is_an_error, clear_environment),
      cmocka_unit_test_teardown(threads_and_backend_leave_the_bytes_alone, clear_environment),
      cmocka_unit_test_teardown(a_child_of_a_process_with_threads_works, clear_environment),
      cmocka_unit_test_teardown(where_the_system_refuses_threads_one_does_it, clear_environment),
      cmocka_unit_test_teardown(reading_has_a_memory_limit, clear_environment),
      cmocka_unit_test_teardown(the_local_rank_is_the_launchers, clear_environment),
      cmocka_unit_test(ranks_take_the_gpus_by_turns),
  };
  return cmocka_run_group_tests(tests, make_file_without_gpu, close_file);
}
