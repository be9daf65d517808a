/* npy.c - reads and writes the header of numpy's .npy files, versions 1 to 3; trusts none.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "npy.h"

#include "values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* 6 bytes of magic, 2 of version, then the header's size: 2 bytes in version 1, 4 later. */
static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
enum { VERSION_AT = 6, SIZE_AT = 8, HEADER_ALIGNMENT = 64 };
enum { MOST_TEXT_BYTES = 1 << 16 }; /* version 1 can have no more; shapes and types need far less */

static const char malformed[] = "has a damaged .npy header; write it again with numpy.save";
static const char wrong_type[] =
    "holds values that are neither floats of 2, 4 or 8 bytes nor integers of 1, 2 or, signed, 4; "
    "convert them with numpy's astype";

static const struct {
  const char *name;
  szgpu_dtype dtype;
} types[] = {{"f4", SZGPU_F32}, {"f8", SZGPU_F64}, {"f2", SZGPU_F16}, {"u1", SZGPU_U8},
             {"i1", SZGPU_I8},  {"u2", SZGPU_U16}, {"i2", SZGPU_I16}, {"i4", SZGPU_I32}};

static const char *name_of_dtype(szgpu_dtype dtype) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].dtype == dtype) return types[i].name;
  return NULL;
}

bool npy_has_dtype(szgpu_dtype dtype) { return name_of_dtype(dtype) != NULL; }

/* The rest of the header's text, a Python dict such as
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } */
struct scan {
  const char *at, *end;
};

static bool take(struct scan *scan, const char *word) {
  while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) && *scan->at) scan->at++;
  size_t const word_chars = strlen(word);
  if ((size_t)(scan->end - scan->at) < word_chars || memcmp(scan->at, word, word_chars) != 0)
    return false;
  scan->at += word_chars;
  return true;
}

/* Takes 'text' or "text" without escapes. text and its final 0 must fit. */
static bool take_string(struct scan *scan, char *text, size_t text_capacity) {
  char const quote = take(scan, "'") ? '\'' : '"';
  if (quote == '"' && !take(scan, "\"")) return false;
  const char *close = memchr(scan->at, quote, (size_t)(scan->end - scan->at));
  if (!close || memchr(scan->at, '\\', (size_t)(close - scan->at))) return false;
  size_t const text_chars = (size_t)(close - scan->at);
  if (text_chars >= text_capacity) return false;
  memcpy(text, scan->at, text_chars);
  text[text_chars] = '\0';
  scan->at = close + 1;
  return true;
}

static const char *take_descr(struct scan *scan, struct npy *npy) {
  static uint16_t const one = 1;
  unsigned char first_byte;
  char descr[64];
  if (take(scan, "["))
    return "holds records, not numbers; save one field of them as an array of its own";
  if (!take_string(scan, descr, sizeof descr)) return malformed;
  memcpy(&first_byte, &one, 1);
  npy->is_big_endian = descr[0] == '>' || (descr[0] != '<' && first_byte == 0);
  const char *type = descr + (descr[0] != '\0' && strchr("<>=|", descr[0]) ? 1 : 0);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (strcmp(type, types[i].name) != 0) continue;
    npy->shape.dtype = types[i].dtype;
    npy->is_big_endian = npy->is_big_endian && dtype_bytes(types[i].dtype) > 1;
    return NULL;
  }
  return wrong_type;
}

static const char *take_shape(struct scan *scan, szgpu_shape *shape) {
  if (!take(scan, "(")) return malformed;
  int dim_count = 0;
  bool has_zero = false;
  while (!take(scan, ")")) {
    uint64_t dim = 0;
    take(scan, "");
    if (scan->at == scan->end || *scan->at < '0' || *scan->at > '9') return malformed;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++) {
      uint64_t const digit = (uint64_t)(*scan->at - '0');
      if (dim > (UINT64_MAX - digit) / 10)
        return "has a dim that does not fit in 64 bits; write it again with numpy.save";
      dim = dim * 10 + digit;
    }
    take(scan, "L"); /* numpy under Python 2 wrote 3L */
    has_zero |= dim == 0;
    if (dim_count < MAX_DIMS) shape->dims[dim_count] = dim;
    dim_count += dim_count < MAX_DIMS + 1;
    if (!take(scan, ",") && (dim_count < 2 || scan->at == scan->end || *scan->at != ')'))
      return malformed;
  }
  if (dim_count > MAX_DIMS) return "has more than 4 dims; join some with numpy's reshape";
  if (has_zero) return "has no values; there is nothing to compress";
  shape->ndim = dim_count;
  if (dim_count == 0) /* a single value, shape (): restored as shape (1,) */
    shape->dims[shape->ndim++] = 1;
  return NULL;
}

/* The dict must hold each key once, and no other key. */
static const char *read_dict(struct scan *scan, struct npy *npy) {
  bool has_descr = false, has_order = false, has_shape = false;
  if (!take(scan, "{")) return malformed;
  while (!take(scan, "}")) {
    const char *fault = NULL;
    char key[32];
    if (!take_string(scan, key, sizeof key) || !take(scan, ":")) return malformed;
    if (!has_descr && strcmp(key, "descr") == 0) {
      has_descr = true;
      fault = take_descr(scan, npy);
    } else if (!has_order && strcmp(key, "fortran_order") == 0) {
      has_order = true;
      npy->is_fortran = take(scan, "True");
      if (!npy->is_fortran && !take(scan, "False")) return malformed;
    } else if (!has_shape && strcmp(key, "shape") == 0) {
      has_shape = true;
      fault = take_shape(scan, &npy->shape);
    } else {
      return malformed;
    }
    if (fault) return fault;
    if (!take(scan, ",") && !(scan->at < scan->end && *scan->at == '}')) return malformed;
  }
  take(scan, ""); /* the padding */
  return has_descr && has_order && has_shape && scan->at == scan->end ? NULL : malformed;
}

bool npy_begins(const unsigned char *bytes, size_t byte_count) {
  return byte_count >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* Where the header's text begins and how long it is; there are at least SIZE_AT + 4 bytes. */
static size_t find_text(const unsigned char *bytes, size_t *text_bytes) {
  size_t const size_bytes = bytes[VERSION_AT] == 1 ? 2 : 4;
  *text_bytes = 0;
  for (size_t i = size_bytes; i > 0; i--) *text_bytes = *text_bytes << 8 | bytes[SIZE_AT + i - 1];
  return SIZE_AT + size_bytes;
}

bool npy_header_is_cut(const unsigned char *bytes, size_t byte_count) {
  size_t const magic_bytes = byte_count < sizeof magic ? byte_count : sizeof magic;
  if (memcmp(bytes, magic, magic_bytes) != 0) return false;
  if (byte_count < SIZE_AT + 4) return true;
  size_t text_bytes;
  size_t const text_at = find_text(bytes, &text_bytes);
  return text_bytes <= MOST_TEXT_BYTES && text_bytes > byte_count - text_at;
}

const char *npy_read_header(const unsigned char *bytes, size_t byte_count, struct npy *npy) {
  if (!npy_begins(bytes, byte_count))
    return "has no .npy header; rename it and use -t if its values are raw";
  if (byte_count < SIZE_AT + 4) return malformed;
  if (bytes[VERSION_AT] < 1 || bytes[VERSION_AT] > 3)
    return "has an unknown .npy version; write it again with numpy.save";
  size_t text_bytes;
  size_t const text_at = find_text(bytes, &text_bytes);
  if (text_bytes > MOST_TEXT_BYTES || text_bytes > byte_count - text_at) return malformed;
  const char *text = (const char *)bytes + text_at;
  struct scan scan = {text, text + text_bytes};
  npy->header_bytes = text_at + text_bytes;
  return read_dict(&scan, npy);
}

size_t npy_write_header(const struct npy *npy, unsigned char header[NPY_HEADER_CAPACITY]) {
  char text[NPY_HEADER_CAPACITY];
  size_t const text_at = SIZE_AT + 2;
  bool const has_order = dtype_bytes(npy->shape.dtype) > 1;
  size_t used =
      (size_t)snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (",
                       !has_order           ? '|'
                       : npy->is_big_endian ? '>'
                                            : '<',
                       name_of_dtype(npy->shape.dtype), npy->is_fortran ? "True" : "False");
  for (int axis = 0; axis < npy->shape.ndim; axis++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64, axis ? ", " : "",
                             npy->shape.dims[axis]);
  used +=
      (size_t)snprintf(text + used, sizeof text - used, "%s), }", npy->shape.ndim == 1 ? "," : "");
  size_t const header_bytes =
      (text_at + used + 1 + HEADER_ALIGNMENT - 1) / HEADER_ALIGNMENT * HEADER_ALIGNMENT;
  memset(header, ' ', header_bytes);
  memcpy(header, magic, sizeof magic);
  header[VERSION_AT] = 1;
  header[VERSION_AT + 1] = 0;
  header[SIZE_AT] = (unsigned char)((header_bytes - text_at) & 0xff);
  header[SIZE_AT + 1] = (unsigned char)((header_bytes - text_at) >> 8);
  memcpy(header + text_at, text, used);
  header[header_bytes - 1] = '\n';
  return header_bytes;
}
