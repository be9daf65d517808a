/* steps.h - the steps by which a decoder reads a frame's codes, on either backend.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each decoder defines its steps in files of its own; table.h has the rows that they belong to.
 */
#ifndef SZG_DECODER_STEPS_H
#define SZG_DECODER_STEPS_H

#include <assert.h>
#include <string.h>

#include "core/arena.h"
#include "core/device.h"
#include "core/threads.h"
#include "huffman/huffman.h"

SZG_C_BEGIN

/* ---- what both backends share ---- */

enum { SZG_DECODER_MEMORY_BYTES = 1024 };
/* What a decoder keeps between its steps: mainly pointers into its workspace. Only its own files
 * know the contents. */
typedef struct szg_decoder_memory {
  uint8_t bytes[SZG_DECODER_MEMORY_BYTES];
} szg_decoder_memory;

static inline void szg_decoder_keep(szg_decoder_memory *memory, const void *own, size_t own_bytes) {
  assert(own_bytes <= sizeof memory->bytes);
  memcpy(memory->bytes, own, own_bytes);
}
static inline void szg_decoder_recall(const szg_decoder_memory *memory, void *own,
                                      size_t own_bytes) {
  assert(own_bytes <= sizeof memory->bytes);
  memcpy(own, memory->bytes, own_bytes);
}

/* Codes of 256 symbols may be bytes, if the decoder gives them and the frame takes them; all others
 * are u16. */
static inline uint32_t szg_decoder_code_bytes(bool gives_bytes, bool takes_bytes) {
  return gives_bytes && takes_bytes ? 1 : 2;
}

/* ---- on the CPU ---- */

/* The stream of one linear frame. */
typedef struct szg_code_stream {
  const szg_codebook *book;      /* at least one symbol has a code */
  const szg_linear_input *input; /* gaps and sequence codes are NULL if the archive has none */
  szg_threads *threads;
} szg_code_stream;

/* The steps, called in this order for each frame. SZGPU_BAD_DATA: the stream or its side data
 * contradict themselves. */
typedef struct szg_decoder_cpu {
  /* Takes the workspace for this stream from the arena and keeps its place in *memory. Runs twice,
   * first on an arena that only measures. */
  szgpu_status (*carve)(szg_arena *arena, const szg_code_stream *stream,
                        szg_decoder_memory *memory);
  /* Builds the tables, and checks the side data that the decoder looks at. */
  szgpu_status (*open)(const szg_code_stream *stream, const szg_decoder_memory *memory);
  /* A decoder has one of these two. Runs of codes whose places are known, on any thread: */
  szgpu_status (*decode_runs)(const szg_code_stream *stream, const szg_decoder_memory *memory,
                              const szg_code_run *runs, size_t run_count);
  /* or all codes of the stream, on its threads. The decoder does not know tiles, so the caller
   * checks where they end. */
  szgpu_status (*decode_stream)(const szg_code_stream *stream, const szg_decoder_memory *memory,
                                void *codes);
  uint64_t most_codes; /* per stream for decode_stream; 0: any number */
  bool gives_bytes;    /* decode_stream, to frames that take bytes */
  bool is_reference;   /* decodes one bit at a time, also tile frames */
} szg_decoder_cpu;

/* ---- on CUDA ---- */

/* The largest sizes among the streams of a call. */
typedef struct szg_code_stream_sizes_cuda {
  uint64_t word_count;
  uint64_t sequence_count; /* 0 if the archive has no gap arrays */
} szg_code_stream_sizes_cuda;

/* The stream of one linear frame, in device memory. */
typedef struct szg_code_stream_cuda {
  szg_device *device; /* work goes to its stream */
  const szg_decode_book_cuda *book;
  const uint8_t *book_section; /* that the book was built from */
  uint64_t book_section_bytes;
  uint32_t symbol_count;
  const szg_grid *grid; /* the tiles that the codes come in */
  szg_linear_input_cuda input;
  szg_verdict *verdict;
} szg_code_stream_cuda;

/* The steps: the first two once for a call, the last for each of its linear frames. */
typedef struct szg_decoder_cuda {
  /* Takes the workspace for streams of these sizes from device memory and keeps its place in
   * *memory. Runs twice, first on an arena that only measures. NULL: the decoder needs none. */
  szgpu_status (*carve)(szg_arena *arena, const szg_code_stream_sizes_cuda *sizes,
                        szg_decoder_memory *memory);
  /* The same for pinned memory, after carve. */
  void (*carve_pinned)(szg_arena *arena, szg_decoder_memory *memory);
  /* Launches the decoding of all codes of the frame, in code order, to `codes`, of
   * szg_decoder_code_bytes each. codes is 16-byte aligned with room for code_count rounded up to 8.
   * verdict->bad_data: the stream is not what the archive says. */
  szgpu_status (*decode)(const szg_code_stream_cuda *stream, const szg_decoder_memory *memory,
                         uint32_t code_bytes, void *codes);
  bool gives_bytes; /* to frames that take bytes */
} szg_decoder_cuda;

/* ---- each decoder's ---- */

extern const szg_decoder_cpu szg_serial_cpu, szg_table_cpu;
extern const szg_decoder_cuda szg_gap_array_cuda, szg_chunked_cuda;
extern const szg_decoder_cpu szg_self_sync_cpu, szg_all_offsets_cpu, szg_hierarchical_cpu;
extern const szg_decoder_cuda szg_self_sync_cuda, szg_all_offsets_cuda, szg_hierarchical_cuda;

SZG_C_END

#endif
