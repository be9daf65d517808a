/* hdf5_text.h - attributes of HDF5 that are text, of any length.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef HDF5_TEXT_H
#define HDF5_TEXT_H

#include <hdf5.h>
#include <stdbool.h>

/* The text of an attribute, which the caller frees; several texts with a blank between them. NULL:
 * there is no such attribute, it is no text, or it cannot be read, which is noted. */
char *hdf5_text_of(hid_t object, const char *name);
enum text_fault { TEXT_OK, TEXT_UNREADABLE, TEXT_NO_MEMORY };
/* The last fault that was noted, so that whoever has read many attributes can look once. */
enum text_fault hdf5_text_fault(void);
void hdf5_note_fault(enum text_fault fault);
bool hdf5_has_attribute(hid_t object, const char *name);

/* Writes an attribute that is not there yet, as netCDF does. is_variable: of HDF5's variable
 * length, which netCDF calls a string. Each returns false if HDF5 cannot. */
bool hdf5_write_text(hid_t object, const char *name, const char *text, bool is_variable);
bool hdf5_write_real(hid_t object, const char *name, double value);

#endif
