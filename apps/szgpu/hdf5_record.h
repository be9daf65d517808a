/* hdf5_record.h - what a file that was packed anew says about it, by CF 8.4 and in its history.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * CF knows a loss as quantization: a variable that has no values names the algorithm and the
 * program, and each variable that has lost something names that one. CF's list of algorithms does
 * not have szgpu's, and its parameters are of digits or bits that are kept; so the attributes
 * quantization_maximum_absolute_error and quantization_maximum_relative_error give the bound. CF
 * wants none of this for integers: these, and variables that were quantized before, have
 * szgpu_maximum_absolute_error alone.
 */
#ifndef HDF5_RECORD_H
#define HDF5_RECORD_H

#include "hdf5_copy.h"
#include "hdf5_plan.h"

struct record {
  bool is_cf;          /* the file follows CF or netCDF, so that it gets a variable and a history */
  char variable[64];   /* its name */
  const char *command; /* the command line, for the history */
  bool is_needed;      /* some variable loses something, or has been restored */
  bool is_of_restored; /* what they have lost is in the file already */
};

/* Reads what the file that is copied says. command outlives the record. */
void record_begin(hid_t in, const char *command, const struct plan *plan, bool is_of_restored,
                  struct record *record);
/* Writes the new history in place of an attribute of that name. False: the attribute is another. */
bool record_replace(const struct copy *copy, const struct record *record, size_t object,
                    hid_t out_object, const char *attribute, int *code);
/* When everything else is there: writes what datasets that have lost something say, the variable,
 * and the history if there was none. Returns an exit code, and prints a sentence if it is not
 * CODE_OK. */
int record_end(const struct copy *copy, const struct record *record, const struct plan *plan);

#endif
