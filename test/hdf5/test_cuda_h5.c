/* test_cuda_h5.c - the HDF5 filter compresses on a GPU if told to, to the same bytes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L /* setenv, fork, waitpid */

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_support.h"
#include "h5_support.h"

/* Four chunks of 2 MiB, large enough for a GPU; or as many bytes in chunks that are too small. */
enum { ROWS = 16, COLUMNS = 1 << 17, VALUES = ROWS * COLUMNS, SMALL_COLUMNS = 1 << 15 };

static float *values;

static int begin(void **state) {
  szgpu_shape const shape = test_shape(SZGPU_F32, 2, ROWS, COLUMNS, 0, 0);
  values = test_make_waves(&shape);
  return h5_begin(state);
}
static int end(void **state) {
  (void)state;
  unsetenv("SZGPU_H5_BACKEND");
  unsetenv("SZGPU_H5_DEVICE");
  return 0;
}
static int finish(void **state) {
  free(values);
  return end(state);
}

static hid_t try_create(hid_t file, const char *name, hsize_t chunk_columns) {
  hsize_t const dims[] = {ROWS, COLUMNS}, chunk[] = {4, chunk_columns};
  return h5_try_create(file, name, H5T_NATIVE_FLOAT, 2, dims,
                       h5_make_abs_properties(2, chunk, 0.01));
}

/* 0 if it could not be written. It is created with the CPU's settings. */
static int write_dataset(hid_t file, const char *backend, const char *device, hsize_t chunk_columns,
                         hid_t *dataset) {
  setenv("SZGPU_H5_BACKEND", "cpu", 1);
  *dataset = try_create(file, backend, chunk_columns);
  assert_true(*dataset >= 0);
  setenv("SZGPU_H5_BACKEND", backend, 1);
  setenv("SZGPU_H5_DEVICE", device, 1);
  return H5Dwrite(*dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
}

static void assert_same_chunks(hid_t one, hid_t other) {
  for (hsize_t row = 0; row < ROWS; row += 4) {
    hsize_t const offset[] = {row, 0};
    h5_chunk a = h5_read_chunk(one, offset), b = h5_read_chunk(other, offset);
    assert_int_equal(a.byte_count, b.byte_count);
    assert_memory_equal(a.bytes, b.bytes, a.byte_count);
    free(a.bytes);
    free(b.bytes);
  }
}

/* ---- which backend ---- */

/* Whether the process has a context on the first GPU, which only the plugin makes here. Asks the
 * driver, because the plugin has its own copy of CUDA's runtime. */
static int is_cuda_started(void) {
  __typeof__(cuInit) *init;
  __typeof__(cuDeviceGet) *get_device;
  __typeof__(cuDevicePrimaryCtxGetState) *get_state;
  void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
  CUdevice device;
  unsigned flags;
  int is_active;
  assert_non_null(driver);
  *(void **)&init = dlsym(driver, "cuInit");
  *(void **)&get_device = dlsym(driver, "cuDeviceGet");
  *(void **)&get_state = dlsym(driver, "cuDevicePrimaryCtxGetState");
  assert_true(init && get_device && get_state);
  assert_int_equal(init(0), CUDA_SUCCESS); /* which creates no context */
  assert_int_equal(get_device(&device, 0), CUDA_SUCCESS);
  assert_int_equal(get_state(device, &flags, &is_active), CUDA_SUCCESS);
  return is_active;
}

/* "auto" starts CUDA once the CPU has lost enough time on chunks: after more than one round of them
 * and before the last. */
typedef struct backend_case {
  const char *name;
  int is_started_at_first, is_started_at_last;
} backend_case;
static backend_case backends[] = {{"cpu", 0, 0}, {"cuda", 1, 1}, {"auto", 0, 1}};

/* Compresses the same values on both backends, in a process that has not used CUDA. */
static void compare_with_cpu(void **state) {
  enum { ROUNDS = 80 };
  backend_case const *const backend = *state;
  for (int round = 1; round <= ROUNDS; round++) {
    hid_t const file = h5_make_file();
    hid_t by_cpu, by_backend;
    assert_true(write_dataset(file, "cpu", "0", COLUMNS, &by_cpu));
    assert_true(H5Lmove(file, "cpu", file, "by_cpu", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(write_dataset(file, backend->name, "0", COLUMNS, &by_backend));
    assert_same_chunks(by_cpu, by_backend);
    H5Dclose(by_cpu);
    H5Dclose(by_backend);
    H5Fclose(file);
    if (round == 1) assert_int_equal(is_cuda_started(), backend->is_started_at_first);
  }
  assert_int_equal(is_cuda_started(), backend->is_started_at_last);
}

static int compare_in_this_process(const char *name) {
  for (size_t i = 0; i < ARRAY_COUNT(backends); i++) {
    const struct CMUnitTest tests[] = {
        {backends[i].name, compare_with_cpu, NULL, end, &backends[i]}};
    if (strcmp(name, backends[i].name) == 0)
      return cmocka_run_group_tests_name("backend", tests, begin, finish);
  }
  return -1;
}

static void a_gpu_writes_the_same_bytes(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(backends); i++) {
    fflush(NULL);
    pid_t const child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      execl("/proc/self/exe", "test_cuda_h5", backends[i].name, (char *)NULL);
      _exit(127);
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
  }
}

/* ---- without a device ---- */

/* With a device that does not exist, "cuda" fails when a dataset is created and when one is
 * written; "auto" uses the CPU. Small chunks need no GPU. */
static void cuda_needs_a_device_for_large_chunks_only(void **state) {
  (void)state;
  hid_t const file = h5_make_file();
  hid_t dataset;
  setenv("SZGPU_H5_BACKEND", "cuda", 1);
  setenv("SZGPU_H5_DEVICE", "999", 1);
  assert_true(try_create(file, "refused", COLUMNS) < 0);
  h5_assert_error("szgpu: chunk: no usable GPU");
  assert_false(write_dataset(file, "cuda", "999", COLUMNS, &dataset));
  h5_assert_error("szgpu: chunk: no usable GPU");
  setenv("SZGPU_H5_BACKEND", "cpu", 1); /* for the chunks that HDF5 still holds */
  assert_true(H5Dclose(dataset) >= 0 && H5Ldelete(file, "cuda", H5P_DEFAULT) >= 0);
  assert_true(write_dataset(file, "cuda", "999", SMALL_COLUMNS, &dataset));
  H5Dclose(dataset);
  assert_true(write_dataset(file, "auto", "999", COLUMNS, &dataset));
  H5Dclose(dataset);
  H5Fclose(file);
}

/* A child of fork() has no CUDA, whatever its parent had: it gets a sentence and does not crash. */
static void a_child_does_without_its_parents_context(void **state) {
  (void)state;
  hid_t file = h5_make_file(), dataset;
  assert_true(write_dataset(file, "cuda", "", COLUMNS, &dataset));
  pid_t const child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(60);
    hid_t refused, done;
    file = h5_make_file();
    if (write_dataset(file, "cuda", "", COLUMNS, &refused)) _exit(1);
    h5_assert_error("szgpu: chunk: ");
    _exit(write_dataset(file, "auto", "", COLUMNS, &done) ? 0 : 2);
  }
  int ended;
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
  H5Dclose(dataset);
  H5Fclose(file);
}

int main(int argument_count, char **arguments) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(a_gpu_writes_the_same_bytes, end),
      cmocka_unit_test_teardown(a_child_does_without_its_parents_context, end),
      /* Last, because "auto" gives up GPUs here. */
      cmocka_unit_test_teardown(cuda_needs_a_device_for_large_chunks_only, end),
  };
  if (argument_count > 1) return compare_in_this_process(arguments[1]);
  int const no_gpu = cuda_exit_code();
  return no_gpu ? no_gpu : cmocka_run_group_tests(tests, begin, finish);
}
