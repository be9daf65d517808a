/* hdf5_failure.c - what HDF5 says about a call that failed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_failure.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static herr_t keep_errno(unsigned depth, const H5E_error2_t *error, void *user) {
  static const char before[] = "errno = ";
  int *const error_number = user;
  (void)depth;
  const char *const found = error->desc ? strstr(error->desc, before) : NULL;
  if (found) *error_number = (int)strtol(found + strlen(before), NULL, 10);
  return *error_number != 0;
}

int hdf5_last_errno(void) {
  int error_number = 0;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_errno, &error_number);
  return error_number;
}

int hdf5_fail_to_write(const struct report *report, const char *name, const char *path) {
  int const error_number = hdf5_last_errno();
  if (error_number) return report_errno(report, name, "written", error_number);
  struct hdf5_sentence const reason = hdf5_last_failure();
  return report_failure(report, CODE_IO, name, "cannot get %s (HDF5 says: %s); please report this",
                        path, reason.text);
}

int hdf5_fail_to_read(const struct report *report, const char *name, const char *path) {
  int const error_number = hdf5_last_errno();
  if (error_number) return report_errno(report, name, "read", error_number);
  struct hdf5_sentence const reason = hdf5_last_failure();
  return report_failure(report, CODE_IO, name,
                        "has %s, which cannot be read (HDF5 says: %s); check it with h5dump", path,
                        reason.text);
}
