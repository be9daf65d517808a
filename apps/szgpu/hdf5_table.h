/* hdf5_table.h - prints what happens, or has happened, to each dataset of a file.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_TABLE_H
#define HDF5_TABLE_H

#include "hdf5_plan.h"
#include "json.h"

/* A line for each dataset. verb: of those that are not compressed, "copied". */
void table_print(const struct plan *plan, const char *verb, hid_t file, FILE *out);
/* The member "datasets", an array. */
void table_print_json(const struct plan *plan, hid_t file, struct json *json);

#endif
