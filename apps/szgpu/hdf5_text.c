/* hdf5_text.c - attributes of HDF5 that are text, of any length.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hdf5_text.h"

#include <stdlib.h>
#include <string.h>

static enum text_fault noted;

enum text_fault hdf5_text_fault(void) { return noted; }

void hdf5_note_fault(enum text_fault fault) { noted = fault; }

bool hdf5_has_attribute(hid_t object, const char *name) {
  htri_t const answer = H5Aexists(object, name);
  if (answer < 0) hdf5_note_fault(TEXT_UNREADABLE);
  return answer > 0;
}

/* The texts of a variable length, one after the other. */
static char *read_variable(hid_t attribute, hid_t type, hid_t space, size_t count) {
  char **const texts = calloc(count, sizeof *texts);
  char *whole = NULL;
  bool const is_read = texts && H5Aread(attribute, type, texts) >= 0;
  if (is_read) {
    size_t chars = 1;
    for (size_t i = 0; i < count; i++) chars += texts[i] ? strlen(texts[i]) + 1 : 1;
    whole = calloc(1, chars);
    for (size_t i = 0; i < count && whole; i++) {
      if (i > 0) strcat(whole, " ");
      if (texts[i]) strcat(whole, texts[i]);
    }
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts);
  }
  if (!whole) hdf5_note_fault(texts && !is_read ? TEXT_UNREADABLE : TEXT_NO_MEMORY);
  free(texts);
  return whole;
}

/* The texts of a fixed length, which end at a zero or at that length; some pad with blanks. */
static char *read_fixed(hid_t attribute, hid_t type, size_t count) {
  size_t const bytes = H5Tget_size(type);
  char *const texts = calloc(count, bytes + 1), *const whole = calloc(count, bytes + 2);
  bool const is_read = texts && whole && H5Aread(attribute, type, texts) >= 0;
  for (size_t i = 0; i < count && is_read; i++) {
    if (i > 0) strcat(whole, " ");
    strncat(whole, texts + i * bytes, bytes);
    for (size_t chars = strlen(whole); chars > 0 && whole[chars - 1] == ' ';) whole[--chars] = '\0';
  }
  if (!is_read) hdf5_note_fault(texts && whole ? TEXT_UNREADABLE : TEXT_NO_MEMORY);
  free(texts);
  if (is_read) return whole;
  free(whole);
  return NULL;
}

char *hdf5_text_of(hid_t object, const char *name) {
  char *text = NULL;
  if (!hdf5_has_attribute(object, name)) return NULL;
  hid_t const attribute = H5Aopen(object, name, H5P_DEFAULT);
  if (attribute < 0) {
    hdf5_note_fault(TEXT_UNREADABLE);
    return NULL;
  }
  hid_t const stored = H5Aget_type(attribute), type = H5Tcopy(stored);
  hid_t const space = H5Aget_space(attribute);
  hssize_t const count = H5Sget_simple_extent_npoints(space);
  if (count > 0 && H5Tget_class(type) == H5T_STRING)
    text = H5Tis_variable_str(type) > 0 ? read_variable(attribute, type, space, (size_t)count)
                                        : read_fixed(attribute, type, (size_t)count);
  H5Sclose(space);
  H5Tclose(type);
  H5Tclose(stored);
  H5Aclose(attribute);
  return text;
}

static bool write_attribute(hid_t object, const char *name, hid_t type, hid_t space,
                            const void *value) {
  hid_t const attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool const is_written = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
  if (attribute >= 0) H5Aclose(attribute);
  return is_written;
}

bool hdf5_write_text(hid_t object, const char *name, const char *text, bool is_variable) {
  hid_t const type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, is_variable ? H5T_VARIABLE : text[0] ? strlen(text) : 1);
  H5Tset_cset(type, is_variable ? H5T_CSET_UTF8 : H5T_CSET_ASCII);
  bool const is_written =
      write_attribute(object, name, type, space, is_variable ? (const void *)&text : text);
  H5Sclose(space);
  H5Tclose(type);
  return is_written;
}

bool hdf5_write_real(hid_t object, const char *name, double value) {
  hsize_t const one = 1;
  hid_t const space = H5Screate_simple(1, &one, NULL);
  bool const is_written = write_attribute(object, name, H5T_IEEE_F64LE, space, &value);
  H5Sclose(space);
  return is_written;
}
