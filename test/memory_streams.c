/* memory_streams.c - see memory_streams.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "memory_streams.h"

#include <stdlib.h>
#include <string.h>

int read_memory(void *user, uint64_t offset, void *bytes, size_t byte_count, size_t *got) {
  memory_source *const source = user;
  *got = 0;
  if (source->reads_until_fail == source->reads++) return 42;
  source->jumps += offset != source->next_offset;
  if (offset >= source->byte_count) return 0;
  uint64_t const left = source->byte_count - offset;
  *got = byte_count < left ? byte_count : (size_t)left;
  memcpy(bytes, source->bytes + offset, *got);
  source->next_offset = offset + *got;
  if (source->next_offset > source->most_offset) source->most_offset = source->next_offset;
  return 0;
}

int write_memory(void *user, uint64_t offset, const void *bytes, size_t byte_count) {
  memory_sink *const sink = user;
  if (sink->writes_until_fail == sink->writes++) return 43;
  sink->jumps += offset != sink->next_offset;
  if (offset > sink->capacity || byte_count > sink->capacity - offset) return 44;
  memcpy(sink->bytes + offset, bytes, byte_count);
  sink->next_offset = offset + byte_count;
  if (sink->next_offset > sink->end) sink->end = sink->next_offset;
  return 0;
}

szgpu_source lent_source(const void *bytes, uint64_t byte_count) {
  return (szgpu_source){.memory = bytes, .memory_bytes = byte_count};
}

szgpu_sink lent_sink(void *bytes, uint64_t byte_count) {
  return (szgpu_sink){.memory = bytes, .memory_bytes = byte_count};
}

memory_source source_of(const void *bytes, uint64_t byte_count) {
  return (memory_source){.bytes = bytes, .byte_count = byte_count, .reads_until_fail = -1};
}

memory_sink sink_of(uint64_t capacity) {
  uint8_t *const bytes = test_allocate(capacity);
  memset(bytes, 0xA5, capacity);
  return (memory_sink){.bytes = bytes, .capacity = capacity, .writes_until_fail = -1};
}
