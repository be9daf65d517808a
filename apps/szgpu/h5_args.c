/* h5_args.c - szgpu --h5-args: prints the filter's arguments for HDF5's tools and libraries.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "h5_args.h"

#include "szgpu_hdf5.h"
#include "warnings.h"

enum { H5REPACK_OPTIONAL = 1 }; /* the filter may decline a dataset */

static void print_words(FILE *out, const unsigned *words, size_t count, const char *separator) {
  for (size_t i = 0; i < count; i++) fprintf(out, "%s%u", i ? separator : "", words[i]);
}

/* H5Pset_szgpu_* set a mode and its bound, for a named dataset; the other options need the
 * cd_values themselves. */
static void print_call(FILE *out, const szgpu_params *params, const unsigned *words, size_t count) {
  if ((words[SZGPU_H5_WORD_OPTIONS] & ~(unsigned)SZGPU_H5_NAMED) != 0) {
    fputs("C:        H5Pset_filter(dcpl, SZGPU_H5_FILTER_ID, H5Z_FLAG_MANDATORY, ", out);
    fprintf(out, "%zu, (unsigned[]){", count);
    for (size_t i = 0; i < count; i++) fprintf(out, "%s%uu", i ? ", " : "", words[i]);
    fputs("})\n", out);
  } else if (params->mode == SZGPU_MODE_LOSSLESS) {
    fputs("C:        H5Pset_szgpu_lossless(dcpl)\n", out);
  } else { /* 17 digits give exactly the bound */
    fprintf(out, "C:        H5Pset_szgpu_%s(dcpl, %.17g)\n", words_for_mode(params->mode),
            params->bound);
  }
}

_Static_assert((int)SZGPU_H5_MOST_FILLS == (int)MOST_FILLS, "options_read refuses more");

int h5_args_print(const struct report *report, const struct options *options, FILE *out) {
  const szgpu_params *params = &options->params;
  struct warnings warnings = {.count = 0};
  int const code = warn_of_bound(report, NULL, params, &warnings);
  if (code != CODE_OK) return code;
  unsigned words[SZGPU_H5_MOST_USER_WORDS];
  size_t count = szgpu_h5_cd_values(params->mode, params->bound, words);
  words[SZGPU_H5_WORD_OPTIONS] = (unsigned)params->zstd_level |
                                 (params->layout == SZGPU_LAYOUT_LINEAR ? SZGPU_H5_LINEAR : 0u) |
                                 szgpu_h5_predictor_bits(params->predictor);
  if (options->is_named && params->mode != SZGPU_MODE_LOSSLESS)
    words[SZGPU_H5_WORD_OPTIONS] |= SZGPU_H5_NAMED;
  for (int i = 0; i < options->fills.count; i++)
    count = szgpu_h5_add_fill(words, options->fills.values[i]);
  /* h5repack -f applies the filter to every dataset of a file; one that it declines must be copied
   * as it is. */
  fprintf(out, "h5repack: -f UD=%d,%d,%zu,", SZGPU_H5_FILTER_ID, H5REPACK_OPTIONAL, count);
  print_words(out, words, count, ",");
  /* netCDF's filters are mandatory, so nccopy names the variable. */
  fprintf(out, "\nnccopy:   -F VARIABLE,%d,", SZGPU_H5_FILTER_ID);
  print_words(out, words, count, ",");
  fprintf(out, "\nh5py:     compression=%d, compression_opts=(", SZGPU_H5_FILTER_ID);
  print_words(out, words, count, ", ");
  fputs(")\n", out);
  print_call(out, params, words, count);
  return CODE_OK;
}
