/* help.h - what szgpu --help prints.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_HELP_H
#define SZGPU_APP_HELP_H

extern const char help_text[];

#endif
