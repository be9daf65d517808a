/* write.c - writes the sections that several kinds of frame share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "codecs/write.h"

#include <string.h>

szgpu_status szg_write_copy(szg_writer *writer, uint32_t kind, const void *contents,
                            uint64_t byte_count) {
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, byte_count, &bytes));
  memmove(bytes, contents, byte_count);
  return szg_writer_end_section(writer, kind, byte_count);
}

szgpu_status szg_write_numbers(const szg_write_job *job, szg_writer *writer, uint32_t kind,
                               uint64_t count, szg_number_at at) {
  uint8_t *bytes;
  SZG_TRY(szg_writer_begin_section(writer, 2 * count, &bytes));
  for (uint64_t i = 0; i < count; i++) szg_store_u16(bytes + 2 * i, (uint16_t)at(job, i));
  return szg_writer_end_section(writer, kind, 2 * count);
}
