/* h5_args.h - szgpu --h5-args: the command line as HDF5's tools and libraries take it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_H5_ARGS_H
#define SZGPU_APP_H5_ARGS_H

#include "options.h"

/* One line for each, with a label. */
void h5_args_print(const struct options *options, FILE *out);

#endif
