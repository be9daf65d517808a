/* option_values.h - reads the values of options.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_OPTION_VALUES_H
#define SZGPU_APP_OPTION_VALUES_H

#include "options.h"

/* Keeps "OPTION VALUE SENTENCE", to report it once the files are known, unless there is a fault
 * already; value may be NULL. Returns false. */
bool options_refuse(struct options *options, const char *option, const char *value,
                    const char *sentence);
/* Takes an option, as getopt_long gives it, and its value into *options; false: it was refused. */
bool option_read(int option, char *text, struct options *options);

#endif
