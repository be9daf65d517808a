/* nczarr.h - what netCDF-C asks a plugin for, to use its filter as a codec of zarr.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The structure and the numbers are those of netcdf_filter_build.h, netCDF-C 4.9. They are declared
 * here, so that every build of the plugin has them: that header needs another one, which netCDF-C
 * does not install.
 */
#ifndef NCZARR_H
#define NCZARR_H

#include <stdbool.h>
#include <stddef.h>

#include "caller_hdf5.h"
#include "szgpu.h"

typedef struct NCZ_codec_t {
  int version; /* of this structure: 1 */
  int sort;    /* 1: cd_values of an HDF5 filter */
  const char *codecid;
  unsigned hdf5id;
  void (*NCZ_codec_initialize)(void);
  void (*NCZ_codec_finalize)(void);
  int (*NCZ_codec_to_hdf5)(const char *json, size_t *word_count, unsigned **words);
  int (*NCZ_hdf5_to_codec)(size_t word_count, const unsigned *words, char **json);
  int (*NCZ_modify_parameters)(int ncid, int varid, size_t *user_count, unsigned **user_words,
                               size_t *word_count, unsigned **words);
} NCZ_codec_t;

/* The plugin exports it. */
__attribute__((visibility("default"))) const void *NCZ_get_codec_info(void);

/* netCDF's words for the filter end with one that cd_values do not have. It says which note follows
 * an archive whose type is not that of the values, as in szgpu.numcodecs. Returns it, or "". */
const char *nczarr_note(unsigned last_word);

#endif
