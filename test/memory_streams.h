/* memory_streams.h - sources and sinks in memory, which note how they are used.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_MEMORY_STREAMS_H
#define SZG_TEST_MEMORY_STREAMS_H

#include "support.h"

typedef struct memory_source {
  const uint8_t *bytes;
  uint64_t byte_count;
  uint64_t next_offset; /* where the last read ended */
  uint64_t most_offset;
  int reads, jumps;     /* reads that did not begin there */
  int reads_until_fail; /* -1: never; then read_memory returns 42 */
} memory_source;

typedef struct memory_sink {
  uint8_t *bytes;
  uint64_t capacity, end; /* end: of what was written */
  uint64_t next_offset;
  int writes, jumps;
  int writes_until_fail; /* -1: never; then write_memory returns 43 */
} memory_sink;

/* For szgpu_source and szgpu_sink. */
int read_memory(void *user, uint64_t offset, void *bytes, size_t byte_count, size_t *got);
int write_memory(void *user, uint64_t offset, const void *bytes, size_t byte_count);

/* Ends whose memory the library uses itself. */
szgpu_source lent_source(const void *bytes, uint64_t byte_count);
szgpu_sink lent_sink(void *bytes, uint64_t byte_count);

memory_source source_of(const void *bytes, uint64_t byte_count);
/* Its bytes are 0xA5; free() them. */
memory_sink sink_of(uint64_t capacity);

#endif
