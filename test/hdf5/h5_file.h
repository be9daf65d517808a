/* h5_file.h - the file in memory that all tests of a program share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_H5_FILE_H
#define SZG_TEST_H5_FILE_H

#include "h5_support.h"

static hid_t file;

static int make_file(void **state) {
  if (h5_begin(state)) return 1;
  file = h5_make_file();
  return 0;
}
static int close_file(void **state) {
  (void)state;
  return H5Fclose(file) < 0;
}

#endif
