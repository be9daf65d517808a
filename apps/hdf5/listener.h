/* listener.h - a function of the program that hears why a dataset is not compressed as asked.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * HDF5 leaves out an optional filter that declines a dataset and says nothing. In Python,
 * szgpu.hdf5 listens and warns.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include <stdbool.h>

/* Gets one sentence; nonzero: the dataset shall not be created. Called in the thread that creates
 * it, with HDF5's lock held. */
typedef int (*szgpu_h5_listener)(const char *sentence);

/* The plugin exports it. NULL: nobody listens. */
__attribute__((visibility("default"))) void szgpu_h5_listen(szgpu_h5_listener listener);

/* Returns whether the dataset may be created. */
bool listener_agrees(const char *sentence);

#endif
