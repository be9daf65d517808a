/* help.h - what szgpu --help prints.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HELP_H
#define SZGPU_APP_HELP_H

/* To standard output. */
void print_help(void);

#endif
