/* run_length.h - run-length coding of symbols: an array of counts and an array of symbols.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Symbols are u8 or u16, lengths are 64-bit, counts are u32: a run ends at every multiple of
 * SZG_RUN_SPAN symbols and continues as another run. So whether a run begins at a symbol depends
 * only on that symbol, the one before it and its position, which every thread can see. A limit on
 * the count itself would need the position where the run began.
 */
#ifndef SZG_RUN_LENGTH_H
#define SZG_RUN_LENGTH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/device.h"
#include "core/hd.h"
#include "core/threads.h"

SZG_C_BEGIN

#define SZG_RUN_SPAN (UINT64_C(1) << 31) /* so that a count also fits the int that CUB uses */

enum {
  SZG_RUN_PART = 1 << 16,  /* symbols of a thread's unit of work: 64 or 128 KiB */
  SZG_RUN_GROUP = 1 << 11, /* runs summed in one entry of the decoder's scan */
};

/* Does a run begin at symbol i? before: symbol i - 1, or any value if i is 0. */
SZG_HD bool szg_run_begins(uint64_t i, uint32_t before, uint32_t symbol) {
  return symbol != before || i % SZG_RUN_SPAN == 0;
}

/* The runs that begin in a stretch of symbols. */
typedef struct szg_run_tally {
  uint64_t count;
  uint64_t last; /* where the last of them begins; 0: no run, or one that begins at symbol 0 */
} szg_run_tally;

/* The tally of two neighbouring stretches. It is associative, so tallies can be scanned. Before the
 * scan, a part's tally says what the part holds; after it, where the part's runs go and where the
 * run began that continues into the part. */
SZG_HD szg_run_tally szg_run_tally_join(szg_run_tally first, szg_run_tally second) {
  szg_run_tally joint;
  joint.count = first.count + second.count;
  joint.last = second.last > first.last ? second.last : first.last;
  return joint;
}

typedef struct szg_run_output {
  uint32_t *counts;
  void *symbols;     /* as wide as those coded */
  uint64_t capacity; /* runs that fit in each array */
  uint64_t count;    /* set by the encoder */
} szg_run_output;

typedef struct szg_run_input {
  const uint32_t *counts;
  const void *symbols;
  uint64_t count;
} szg_run_input;

/* symbol_bytes is always 1 or 2; arrays are aligned to their elements. */

/* Codes symbols[symbol_count], one symbol after the other. SZGPU_CAPACITY: the runs do not fit;
 * then runs->count still says how many there are. */
szgpu_status szg_runs_encode_serial(uint32_t symbol_bytes, const void *symbols,
                                    uint64_t symbol_count, szg_run_output *runs) SZG_CHECKED;

/* Decodes the runs. Neighbouring runs may have equal symbols. SZGPU_BAD_DATA: a count is 0, or the
 * counts do not add up to symbol_count. */
szgpu_status szg_runs_decode_serial(uint32_t symbol_bytes, const szg_run_input *runs, void *symbols,
                                    uint64_t symbol_count) SZG_CHECKED;

/* The same with many threads; the results do not depend on their number. scratch: as many bytes as
 * the *_scratch_bytes function says, aligned to 8. */
uint64_t szg_runs_encode_scratch_bytes(uint64_t symbol_count);
szgpu_status szg_runs_encode(szg_threads *threads, uint32_t symbol_bytes, const void *symbols,
                             uint64_t symbol_count, void *scratch,
                             szg_run_output *runs) SZG_CHECKED;

uint64_t szg_runs_decode_scratch_bytes(uint64_t run_count);
szgpu_status szg_runs_decode(szg_threads *threads, uint32_t symbol_bytes, const szg_run_input *runs,
                             void *scratch, void *symbols, uint64_t symbol_count) SZG_CHECKED;

/* ---- CUDA: pointers are to device memory, arrays begin at multiples of 16 bytes; a carve function
 * lays out the memory that the function after it needs ---- */

typedef struct szg_run_output_cuda {
  uint32_t *counts;
  void *symbols;     /* as wide as those coded */
  uint64_t capacity; /* runs that fit in each array */
  uint64_t *count;   /* set by the encoder; if it is above capacity, the arrays' contents are
                        undefined, and nothing is written past their ends */
} szg_run_output_cuda;

/* The encoder in one kernel. */
typedef struct szg_run_encoder_cuda {
  void *states; /* words that tiles publish to each other */
  uint64_t state_bytes;
} szg_run_encoder_cuda;
/* SZGPU_UNSUPPORTED, here and from the encoder: more symbols than any device's memory holds. */
szgpu_status szg_run_encoder_carve_cuda(szg_arena *arena, uint32_t symbol_bytes,
                                        uint64_t symbol_count,
                                        szg_run_encoder_cuda *encoder) SZG_CHECKED;

/* Gives the same runs as on the CPU. encoder: carved for at least as many symbols of this width. */
szgpu_status szg_runs_encode_cuda(const szg_run_encoder_cuda *encoder, uint32_t symbol_bytes,
                                  const void *symbols, uint64_t symbol_count,
                                  const szg_run_output_cuda *runs,
                                  struct CUstream_st *stream) SZG_CHECKED;

/* The encoder as published for CUDA: the four steps of the parallel run-length encoding of
 * A. Balevic, "Fine-Grain Parallelization of Entropy Coding on GPGPUs". The one kernel is measured
 * against it. It takes 12 bytes per symbol. */
typedef struct szg_run_stages_cuda {
  uint32_t *mask;    /* [symbols] whether a run begins */
  uint32_t *scanned; /* [symbols] runs begun up to and including the symbol */
  uint32_t *begins;  /* [symbols + 1] where runs begin, then where the last one ends */
  void *scan_temp;
  uint64_t scan_temp_bytes;
} szg_run_stages_cuda;
/* SZGPU_UNSUPPORTED, here and from the encoder: 2^31 symbols or more. */
szgpu_status szg_run_stages_carve_cuda(szg_arena *arena, uint64_t symbol_count,
                                       szg_run_stages_cuda *stages) SZG_CHECKED;
szgpu_status szg_runs_encode_staged_cuda(const szg_run_stages_cuda *stages, uint32_t symbol_bytes,
                                         const void *symbols, uint64_t symbol_count,
                                         const szg_run_output_cuda *runs,
                                         struct CUstream_st *stream) SZG_CHECKED;

typedef struct szg_run_decoder_cuda {
  uint64_t *group_starts; /* [groups + 1] symbols before each group of runs, then their total */
  void *scan_temp;
  uint64_t scan_temp_bytes;
} szg_run_decoder_cuda;
/* SZGPU_UNSUPPORTED, here and from the decoder: more runs than any device's memory holds. */
szgpu_status szg_run_decoder_carve_cuda(szg_arena *arena, uint64_t run_count,
                                        szg_run_decoder_cuda *decoder) SZG_CHECKED;

/* Decodes the runs; the arrays in `runs` are on the device. verdict->bad_data: a count is 0, or the
 * counts do not add up to symbol_count. In that case, or if it was set before, no symbol is
 * written. */
szgpu_status szg_runs_decode_cuda(const szg_run_decoder_cuda *decoder, uint32_t symbol_bytes,
                                  const szg_run_input *runs, void *symbols, uint64_t symbol_count,
                                  szg_verdict *verdict, struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
