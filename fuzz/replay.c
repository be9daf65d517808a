/* replay.c - a main for fuzz targets without libFuzzer: takes each input once, or changed as well.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * usage: replay_<name> [--changes=N] [--seed=N] [--without-avx2] FILE|FOLDER...
 *   --changes=N     also takes N changed forms of each input, the same in every run
 *   --seed=N        others
 *   --without-avx2  never calls functions with AVX2
 * Aborts if a claim fails, and names the input. Exits with 1 if there are no inputs.
 */
#define _POSIX_C_SOURCE 200809L /* strdup, readdir */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

enum { MOST_INPUT_BYTES = 1 << 17 };

static uint64_t input_count, change_count, seed;

/* ---- stand-ins for libFuzzer ---- */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity) {
  static fuzz_random random = {0x5A6};
  if (random.state == 0x5A6) random.state ^= seed << 16;
  for (uint64_t left = 1 + fuzz_below(&random, 4); left > 0; left--) {
    uint64_t const at = fuzz_below(&random, size);
    switch (fuzz_below(&random, 5)) {
      case 0:
        if (size < capacity) {
          memmove(data + at + 1, data + at, size - at);
          data[at] = (uint8_t)fuzz_bits(&random);
          size++;
        }
        break;
      case 1:
        if (size > 1) {
          memmove(data + at, data + at + 1, size - at - 1);
          size--;
        }
        break;
      case 2:
        if (size > 0) data[at] = (uint8_t)fuzz_bits(&random);
        break;
      case 3:
        if (size > 0) data[at] ^= (uint8_t)(1u << fuzz_below(&random, 8));
        break;
      default:
        if (size > 0) memcpy(data + at, data, size - at < at ? size - at : at);
    }
  }
  return size;
}

/* Targets of plain bytes have none of their own. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity,
                                                     unsigned change) {
  (void)change;
  return LLVMFuzzerMutate(data, size, capacity);
}
__attribute__((weak)) int LLVMFuzzerInitialize(int *argument_count, char ***arguments) {
  (void)argument_count, (void)arguments;
  return 0;
}

/* ---- the input at work, for the message if it fails ---- */

static const char *path_at_work = "none";
static uint64_t change_at_work;
static uint8_t input[MOST_INPUT_BYTES];
static size_t input_bytes;

/* Keeps the input, which no file has if it is a changed one. */
static void on_abort(int signal_number) {
  char name[64];
  (void)signal_number;
  snprintf(name, sizeof name, "failed-%016" PRIx64, fuzz_random_of(input, input_bytes).state);
  FILE *const file = fopen(name, "wb");
  if (file) {
    fwrite(input, 1, input_bytes, file);
    fclose(file);
  }
  fprintf(stderr, "with %s, change %" PRIu64 ", kept as %s\n", path_at_work, change_at_work, name);
}

static void take(const uint8_t *bytes, size_t byte_count) {
  uint8_t *const copy = fuzz_copy(bytes, byte_count);
  LLVMFuzzerTestOneInput(copy, byte_count);
  free(copy);
}

static void replay_file(const char *path) {
  static uint8_t original[MOST_INPUT_BYTES];
  path_at_work = path;
  change_at_work = 0;
  input_bytes = 0;
  FILE *const file = fopen(path, "rb");
  if (!file) fuzz_fail(__FILE__, __LINE__, "cannot open %s", path);
  size_t const byte_count = fread(original, 1, sizeof original, file);
  fclose(file);
  if (byte_count == sizeof original) fuzz_fail(__FILE__, __LINE__, "%s is too large", path);
  for (; change_at_work <= change_count; change_at_work++) {
    memcpy(input, original, byte_count);
    input_bytes = byte_count;
    if (change_at_work > 0)
      input_bytes = LLVMFuzzerCustomMutator(input, byte_count, sizeof input,
                                            (unsigned)(seed + change_at_work));
    take(input, input_bytes);
    input_count++;
  }
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files only, in the order of their names, without hidden ones. */
static void replay_folder(const char *path) {
  DIR *const folder = opendir(path);
  if (!folder) fuzz_fail(__FILE__, __LINE__, "cannot open %s", path);
  char **names = NULL;
  size_t count = 0;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    names = realloc(names, (count + 1) * sizeof *names);
    FUZZ_CHECK(names, "no memory");
    names[count++] = strdup(entry->d_name);
  }
  closedir(folder);
  if (count > 0) qsort(names, count, sizeof *names, by_name);
  for (size_t i = 0; i < count; i++) {
    char whole[4096];
    snprintf(whole, sizeof whole, "%s/%s", path, names[i]);
    struct stat status;
    if (stat(whole, &status) == 0 && S_ISREG(status.st_mode)) replay_file(whole);
    free(names[i]);
  }
  free(names);
}

int main(int argument_count, char **arguments) {
  int first = 1;
  for (; first < argument_count && strncmp(arguments[first], "--", 2) == 0; first++) {
    const char *const option = arguments[first];
    if (sscanf(option, "--changes=%" SCNu64, &change_count) == 1) continue;
    if (sscanf(option, "--seed=%" SCNu64, &seed) == 1) continue;
    if (strcmp(option, "--without-avx2") != 0) {
      fprintf(stderr, "%s: unknown option %s\n", arguments[0], option);
      return 2;
    }
    fuzz_leave_out_avx2();
  }
  signal(SIGABRT, on_abort);
  LLVMFuzzerInitialize(&argument_count, &arguments);
  for (int i = first; i < argument_count; i++) {
    struct stat status;
    if (stat(arguments[i], &status) == 0 && S_ISDIR(status.st_mode))
      replay_folder(arguments[i]);
    else
      replay_file(arguments[i]);
  }
  fprintf(stderr, "%" PRIu64 " inputs\n", input_count);
  return input_count == 0;
}
