/* links.h - where a name leads: to an open descriptor, as /dev/stdout does, or to another name.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_LINKS_H
#define SZGPU_APP_LINKS_H

enum { MOST_PATH_BYTES = 4096 }; /* that a system takes */

struct link_end {
  int descriptor; /* of this process: /dev/stdout, /dev/fd/1, /proc/self/fd/1 ...; -1: none */
  char path[MOST_PATH_BYTES]; /* what is no link itself; need not exist. Without links: the name */
};

/* Follows the links of the name's last part, of which there may be several. */
struct link_end follow_links(const char *name);
int descriptor_of_name(const char *name);

#endif
