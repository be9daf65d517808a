/* hdf5_failure.c - what HDF5 says about a call that failed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_failure.h"

#include <hdf5.h>
#include <stdio.h>

static herr_t keep_text(unsigned depth, const H5E_error2_t *error, void *user) {
  struct hdf5_sentence *const sentence = user;
  (void)depth;
  snprintf(sentence->text, sizeof sentence->text, "%s", error->desc ? error->desc : "");
  return 1; /* enough */
}

struct hdf5_sentence hdf5_last_failure(void) {
  struct hdf5_sentence sentence = {"HDF5 does not say why"};
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_text, &sentence);
  return sentence;
}
