/* fuzz_field.c - any bytes as a file to compress, its name, and a command line.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls what the command reads fields and options with. Everything that it prints must be lines of
 * text that a terminal can show.
 */
#define _DEFAULT_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "fuzz.h"
#include "npy.h"
#include "options.h"
#include "values.h"

/* ---- what the command prints ---- */

static FILE *real_stderr;
static char *printed;
static size_t printed_bytes;

/* While a target is at work, both streams are this one. */
static FILE *open_stream(void) {
  real_stderr = stderr;
  FILE *const stream = open_memstream(&printed, &printed_bytes);
  FUZZ_CHECK(stream, "no memory");
  stdout = stderr = stream;
  return stream;
}

static FILE *real_stdout;

/* The length of the character at `text`, and the character. 0: it is not UTF-8. */
static size_t character_at(const char *text, uint32_t *code) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  uint32_t const first = (uint8_t)*text;
  size_t const length = first < 0x80   ? 1
                        : first < 0xC0 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                                       : 4;
  if (length < 2) {
    *code = first;
    return length;
  }
  *code = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    if (((uint8_t)text[i] & 0xC0) != 0x80) return 0;
    *code = *code << 6 | ((uint8_t)text[i] & 0x3F);
  }
  bool const is_surrogate = *code >= 0xD800 && *code <= 0xDFFF;
  return first < 0xF8 && *code >= least[length] && *code <= 0x10FFFF && !is_surrogate ? length : 0;
}

/* False for what acts on a terminal or on the text around it: controls, line separators, and
 * directions. */
static bool is_shown(uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code <= 0x9F)) return code == '\n';
  return code < 0x2028 || code > 0x2069 || (code > 0x202E && code < 0x2066);
}

static void close_stream(FILE *stream) {
  fclose(stream);
  stdout = real_stdout;
  stderr = real_stderr;
  for (size_t i = 0; i < printed_bytes;) {
    uint32_t code;
    size_t const length = character_at(printed + i, &code);
    FUZZ_CHECK(length > 0, "prints bytes that are not UTF-8: %s", printed);
    FUZZ_CHECK(is_shown(code), "prints the character %x: %s", (unsigned)code, printed);
    i += length;
  }
  FUZZ_CHECK(printed_bytes == 0 || printed[printed_bytes - 1] == '\n', "prints half a line: %s",
             printed);
  free(printed);
}

int LLVMFuzzerInitialize(int *argument_count, char ***arguments) {
  (void)argument_count, (void)arguments;
  real_stdout = stdout;
  return 0;
}

/* ---- the header of .npy ---- */

static bool is_same_array(const struct npy *a, const struct npy *b) {
  for (int i = 0; i < a->shape.ndim; i++)
    if (a->shape.dims[i] != b->shape.dims[i]) return false;
  return a->shape.ndim == b->shape.ndim && a->shape.dtype == b->shape.dtype &&
         a->is_fortran == b->is_fortran && a->is_big_endian == b->is_big_endian;
}

static void try_npy(const uint8_t *data, size_t size) {
  uint8_t *const bytes = fuzz_copy(data, size);
  struct npy npy, again;
  const char *const fault = npy_read_header(bytes, size, &npy);
  free(bytes);
  if (fault) {
    FUZZ_CHECK(strlen(fault) > 10, "refused for '%s'", fault);
    return;
  }
  fuzz_count("npy");
  FUZZ_CHECK(npy.shape.ndim >= 1 && npy.shape.ndim <= 4 && npy.header_bytes <= size, "ndim %d",
             npy.shape.ndim);
  unsigned char header[NPY_HEADER_CAPACITY];
  size_t const header_bytes = npy_write_header(&npy, header);
  FUZZ_CHECK(header_bytes <= sizeof header, "a header of %zu bytes", header_bytes);
  uint8_t *const written = fuzz_copy(header, header_bytes);
  const char *const own_fault = npy_read_header(written, header_bytes, &again);
  free(written);
  FUZZ_CHECK(!own_fault, "its own header: %s", own_fault);
  FUZZ_CHECK(is_same_array(&npy, &again) && again.header_bytes == header_bytes,
             "its own header says something else");
}

/* ---- files ---- */

/* Every value can be read. */
static void touch_values(const struct field *field) {
  volatile uint8_t sink = 0;
  const uint8_t *const bytes = field->values;
  uint64_t expected;
  FUZZ_CHECK(shape_bytes(&field->shape, &expected) && expected == field->byte_count,
             "a shape of %llu bytes, and %llu bytes", (unsigned long long)expected,
             (unsigned long long)field->byte_count);
  FUZZ_CHECK((uintptr_t)bytes % dtype_bytes(field->shape.dtype) == 0, "values are not aligned");
  for (uint64_t i = 0; i < field->byte_count; i++) sink = bytes[i];
  (void)sink;
}

static struct input input_of(const char *name, const uint8_t *data, size_t size) {
  struct input input = INPUT_NONE;
  input.name = name;
  input.bytes = fuzz_copy(data, size);
  input.byte_count = input.total_bytes = size;
  return input;
}

static void try_file(const struct report *report, const struct options *options, const char *name,
                     const uint8_t *data, size_t size) {
  struct input input = input_of(name, data, size);
  struct field field;
  if (field_read(report, options, &input, &field) == CODE_OK) {
    fuzz_count("fields");
    touch_values(&field);
  }
  field_release(&field);
  input_unload(&input);
}

/* As the original of an archive. */
static void try_original(const struct report *report, unsigned flags, const char *name,
                         const uint8_t *data, size_t size) {
  szgpu_info info = {.struct_bytes = sizeof info, .source = flags >> 4 & SZGPU_SOURCE_ALL};
  info.shape = (szgpu_shape){.dtype = (szgpu_dtype)(flags % 10), .ndim = 1};
  info.shape.dims[0] = size / dtype_bytes(info.shape.dtype);
  info.field_bytes = info.shape.dims[0] * dtype_bytes(info.shape.dtype);
  if (info.field_bytes == 0) return; /* no archive says so */
  struct input input = input_of(name, data, size);
  struct field field;
  if (field_read_original(report, &info, &input, &field) == CODE_OK) {
    fuzz_count("originals");
    FUZZ_CHECK(field.byte_count == info.field_bytes, "an original of another size");
    touch_values(&field);
  }
  field_release(&field);
  input_unload(&input);
}

/* Flags of -t, -d and the mode, then the name up to a line feed, then the file. */
static void try_files(const uint8_t *data, size_t size) {
  if (size < 2) return;
  unsigned const flags = data[0], dims = data[1];
  const uint8_t *const text = data + 2, *const end = data + size;
  const uint8_t *const line_end = memchr(text, '\n', size - 2);
  if (!line_end || line_end == text || memchr(text, '\0', (size_t)(line_end - text))) return;
  char *const name = (char *)fuzz_copy(text, (size_t)(line_end - text) + 1);
  name[line_end - text] = '\0';
  struct options options = {.params = SZGPU_PARAMS_DEFAULTS, .context = SZGPU_OPTIONS_DEFAULTS};
  options.has_dtype = flags & 1;
  options.shape.dtype = (szgpu_dtype)((flags >> 1) % 10);
  if (flags & 64) options.params.mode = SZGPU_MODE_LOSSLESS;
  options.has_dims = flags & 128;
  options.shape.ndim = 1 + (int)(dims % 4);
  for (int i = 0; i < options.shape.ndim; i++) options.shape.dims[i] = 1 + (dims >> (2 + i)) % 5;
  FILE *const stream = open_stream();
  struct report const report = {.out = stream, .file = name, .is_json = flags & 32};
  try_file(&report, &options, name, line_end + 1, (size_t)(end - line_end - 1));
  try_original(&report, flags, name, line_end + 1, (size_t)(end - line_end - 1));
  close_stream(stream);
  free(name);
}

/* ---- command lines ---- */

enum { MOST_ARGUMENTS = 40 };

/* An argument on each line. */
static void try_options(const uint8_t *data, size_t size) {
  char *const text = fuzz_allocate(size + 1);
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  char *arguments[MOST_ARGUMENTS + 1] = {(char[]){"szgpu"}};
  int count = 1;
  for (char *at = text; at && count < MOST_ARGUMENTS;) {
    arguments[count++] = at;
    at = strchr(at, '\n');
    if (at) *at++ = '\0';
  }
  struct options options;
  int code = -1;
  FILE *const stream = open_stream();
  optind = 0; /* getopt_long begins again */
  bool const has_work = options_read(count, arguments, &options, &code);
  close_stream(stream);
  if (has_work) {
    fuzz_count("options");
    FUZZ_CHECK(options.file_count > 0 && options.command != COMMAND_NONE, "work without files");
    if (options.has_dims)
      FUZZ_CHECK(options.shape.ndim >= 1 && options.shape.ndim <= 4, "ndim %d", options.shape.ndim);
    FUZZ_CHECK((options.sweep_count > 0) == (options.command == COMMAND_SWEEP),
               "bounds of a sweep");
    if (options.has_slab)
      FUZZ_CHECK(options.slab_first_row < options.slab_end_row, "a slab without rows");
  } else {
    FUZZ_CHECK(code >= CODE_OK && code <= CODE_RESOURCE, "exit code %d", code);
  }
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  switch (data[0] % 3) {
    case 0:
      try_npy(data + 1, size - 1);
      break;
    case 1:
      try_files(data + 1, size - 1);
      break;
    default:
      try_options(data + 1, size - 1);
  }
  return 0;
}
