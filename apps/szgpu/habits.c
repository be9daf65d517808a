/* habits.c - what users of other programs write, and how szgpu is asked for the same.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "habits.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "file_names.h"

#define COMPRESS "szgpu -z -e 1e-4 FILE"
#define RESTORE "szgpu -x FILE.szg"

struct habit {
  const char *written, *remedy;
};

static const char to_standard_output[] = "use -o - for standard output";
static const char keeps[] = "inputs are always kept, so leave it out";
static const char removes[] =
    "inputs are always kept; remove them when szgpu --test FILE.szg says OK";
static const char level[] = "give a level with --zstd=9";
static const char number[] = "give dims with -d 100x500x500, and a level with --zstd=9";
static const char absolute[] = "give an absolute bound with -m abs -e 0.01";
static const char relative[] = "give a relative bound with -m rel -e 1e-4";
static const char input[] = "inputs are named without one, as in " COMPRESS;
static const char folders[] = "name the files, as in szgpu -z -e 1e-4 FILE...";

/* Of gzip, zstd, xz, zfp, SZ and h5repack. Those that have a near name here are in nearest.c. */
static const struct habit options[] = {
    {"-c", to_standard_output},
    {"--stdout", to_standard_output},
    {"--to-stdout", to_standard_output},
    {"-k", keeps},
    {"--keep", keeps},
    {"-n", "names and times are not stored, so leave it out"},
    {"--no-name", "names and times are not stored, so leave it out"},
    {"--rm", removes},
    {"-1", number},
    {"-2", number},
    {"-3", number},
    {"-4", number},
    {"-5", level},
    {"-6", level},
    {"-7", level},
    {"-8", level},
    {"-9", level},
    {"--fast", "szgpu is fast with --predictor lorenzo"},
    {"--best", "szgpu is smallest with --predictor interpolation --zstd=19"},
    {"--ultra", "szgpu is smallest with --predictor interpolation --zstd=19"},
    {"-r", folders},
    {"--recursive", folders},
    {"-T", "give the number of threads with -j 8"},
    {"-p", "give the number of threads with -j 8, and a PSNR with -m psnr -e 80"},
    {"-s", "use -q for silence"},
    {"--silent", "use -q for silence"},
    {"-S", "name the output with -o FILE"},
    {"--suffix", "name the output with -o FILE"},
    {"-a", absolute},
    {"-A", absolute},
    {"--abs", absolute},
    {"--absolute", absolute},
    {"-R", relative},
    {"--rel", relative},
    {"--relative", relative},
    {"--pwrel", "give a bound of each value with -m pwrel -e 1e-3"},
    {"--psnr", "give a PSNR with -m psnr -e 80"},
    {"--lossless", "compress losslessly with -m lossless"},
    {"-i", input},
    {"--input", input},
    {"--filter", "szgpu --h5-args -e 1e-4 prints what h5repack and nccopy take"},
};

static const char compress_words[] = "is not a mode; use -z, as in " COMPRESS;
static const char restore_words[] = "is not a mode; use -x, as in " RESTORE;
static const char list_words[] = "is not a mode; use -l, as in szgpu -l FILE.szg";
static const char test_words[] = "is not a mode; use --test, as in szgpu --test FILE.szg";
static const char help_words[] = "is not a mode; use --help, as in szgpu --help";

static const struct habit words[] = {
    {"compress", compress_words},
    {"encode", compress_words},
    {"pack", compress_words},
    {"z", compress_words},
    {"c", compress_words},
    {"decompress", restore_words},
    {"uncompress", restore_words},
    {"extract", restore_words},
    {"restore", restore_words},
    {"decode", restore_words},
    {"unpack", restore_words},
    {"x", restore_words},
    {"d", restore_words},
    {"list", list_words},
    {"info", list_words},
    {"inspect", list_words},
    {"show", list_words},
    {"l", list_words},
    {"test", test_words},
    {"verify", test_words},
    {"check", test_words},
    {"t", test_words},
    {"sweep", "is not a mode; use --sweep, as in szgpu --sweep 1e-2,1e-3 FILE"},
    {"append", "is not a mode; use --append, as in szgpu -z --append RUN.szgs -e 1e-4 FILE"},
    {"help", help_words},
    {"version", "is not a mode; use --version, as in szgpu --version"},
};

static const char *remedy_of(const struct habit *habits, size_t count, const char *written) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(habits[i].written, written) == 0) return habits[i].remedy;
  return NULL;
}

const char *habit_of_option(const char *name) {
  return remedy_of(options, sizeof options / sizeof *options, name);
}

const char *habit_of_word(const char *word) {
  if (strncmp(word, "UD=", strlen("UD=")) == 0)
    return "is for h5repack; szgpu --h5-args -e 1e-4 prints what it takes";
  return remedy_of(words, sizeof words / sizeof *words, word);
}

const char *habit_of_value(char option, const char *value) {
  const char *const others = option == 'd' ? "cdfkqv" : option == 't' ? "kqv" : "";
  bool const are_letters = value[0] && strspn(value, others) == strlen(value);
  if (!has_extension(value, ".szg") && !has_extension(value, ".szgs") && !are_letters) return NULL;
  if (option == 't') return "is not a type; to test archives, use szgpu --test FILE.szg";
  return option == 'd' ? "is not a shape; to restore an archive, use " RESTORE
                       : "is not a bound; to restore an archive, use " RESTORE;
}
