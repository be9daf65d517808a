/* h5_args.h - szgpu --h5-args: prints the filter's arguments for HDF5's tools and libraries.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_H5_ARGS_H
#define SZGPU_APP_H5_ARGS_H

#include "options.h"

/* Prints one line per tool, with a label. Returns an exit code: with --strict, not CODE_OK if there
 * is a warning about the bound, and nothing is then printed. */
int h5_args_print(const struct report *report, const struct options *options, FILE *out);

#endif
