/* nameless.h - temporary files that vanish with the command.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_NAMELESS_H
#define SZGPU_APP_NAMELESS_H

/* The descriptor of a new, empty file without a name, in TMPDIR or /tmp; -1 and errno if there can
 * be none. */
int nameless_file(void);

#endif
