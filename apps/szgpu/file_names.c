/* file_names.c - what the name of a file says about its values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "file_names.h"

#include "values.h"

#include <string.h>
#include <strings.h>

bool has_extension(const char *name, const char *extension) {
  size_t const name_chars = strlen(name), extension_chars = strlen(extension);
  return name_chars > extension_chars &&
         strcasecmp(name + name_chars - extension_chars, extension) == 0;
}

bool dtype_of_name(const char *name, szgpu_dtype *dtype) {
  static const struct {
    const char *extension;
    szgpu_dtype dtype;
  } known[] = {{".f32", SZGPU_F32}, {".f64", SZGPU_F64}, {".d64", SZGPU_F64}, {".bf16", SZGPU_BF16},
               {".f16", SZGPU_F16}, {".fp8", SZGPU_FP8}, {".u8", SZGPU_U8},   {".i8", SZGPU_I8},
               {".u16", SZGPU_U16}, {".i16", SZGPU_I16}, {".i32", SZGPU_I32}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!has_extension(name, known[i].extension)) continue;
    *dtype = known[i].dtype;
    return true;
  }
  return false;
}

bool dims_of_name(const char *name, uint64_t byte_count, szgpu_shape *shape) {
  const char *slash = strrchr(name, '/');
  const char *first = slash ? slash + 1 : name;
  const char *end = first + strlen(first);
  while (end > first) {
    const char *token = end;
    while (token > first && token[-1] != '_' && token[-1] != '.') token--;
    szgpu_shape found = {.dtype = shape->dtype};
    uint64_t found_bytes;
    if (read_dims(token, (size_t)(end - token), &found) == DIMS_OK &&
        shape_bytes(&found, &found_bytes) && found_bytes == byte_count) {
      *shape = found;
      return true;
    }
    end = token > first ? token - 1 : first;
  }
  return false;
}
