/* run_length.h - run-length coding of symbols: how often, and which, in two arrays.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Symbols are u8 or u16, lengths are 64-bit, counts are u32: a run ends at every multiple of
 * SZG_RUN_SPAN symbols and goes on as another one. So a run can begin at a symbol only for what
 * stands there and before it, which is all that a thread need see; a limit on the count itself
 * could be kept only by who knows where the run began.
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

#define SZG_RUN_SPAN (UINT64_C(1) << 31) /* a count is an int, too: CUB's */

enum {
  SZG_RUN_PART = 1 << 16,  /* symbols that a thread takes, coding and decoding: 64 or 128 KiB */
  SZG_RUN_GROUP = 1 << 11, /* runs summed in one entry of the decoder's scan */
};

/* Does a run begin at symbol i? before: symbol i - 1, anything if i is 0. */
SZG_HD bool szg_run_begins(uint64_t i, uint32_t before, uint32_t symbol) {
  return symbol != before || i % SZG_RUN_SPAN == 0;
}

/* The runs that begin in a stretch of symbols. */
typedef struct szg_run_tally {
  uint64_t count;
  uint64_t last; /* where the last of them begins; 0: there is none, or it begins at symbol 0 */
} szg_run_tally;

/* Those of a stretch and the one after it. Associative: made for scans. Before the scan a part's
 * tally says what it holds; after it, where its runs go and where the run began that it is in. */
SZG_HD szg_run_tally szg_run_tally_join(szg_run_tally first, szg_run_tally second) {
  szg_run_tally joint;
  joint.count = first.count + second.count;
  joint.last = second.last > first.last ? second.last : first.last;
  return joint;
}

typedef struct szg_run_output {
  uint32_t *counts;
  void *symbols;     /* as wide as those coded */
  uint64_t capacity; /* runs that fit either array */
  uint64_t count;    /* set by coding */
} szg_run_output;

typedef struct szg_run_input {
  const uint32_t *counts;
  const void *symbols;
  uint64_t count;
} szg_run_input;

/* symbol_bytes is 1 or 2 everywhere; arrays are aligned to their elements. */

/* The runs of symbols[symbol_count]. SZGPU_CAPACITY: there are more than fit; their count is set
 * nevertheless. */
szgpu_status szg_runs_encode_serial(uint32_t symbol_bytes, const void *symbols,
                                    uint64_t symbol_count, szg_run_output *runs) SZG_CHECKED;

/* What the runs say. SZGPU_BAD_DATA: a count is 0, or they do not add up to symbol_count. Equal
 * symbols may follow each other. */
szgpu_status szg_runs_decode_serial(uint32_t symbol_bytes, const szg_run_input *runs, void *symbols,
                                    uint64_t symbol_count) SZG_CHECKED;

/* The same by many threads, with the same results for any number of them. scratch: as many bytes
 * as the function says, aligned to 8. */
uint64_t szg_runs_encode_scratch_bytes(uint64_t symbol_count);
szgpu_status szg_runs_encode(szg_threads *threads, uint32_t symbol_bytes, const void *symbols,
                             uint64_t symbol_count, void *scratch,
                             szg_run_output *runs) SZG_CHECKED;

uint64_t szg_runs_decode_scratch_bytes(uint64_t run_count);
szgpu_status szg_runs_decode(szg_threads *threads, uint32_t symbol_bytes, const szg_run_input *runs,
                             void *scratch, void *symbols, uint64_t symbol_count) SZG_CHECKED;

/* ---- CUDA: pointers are to device memory, arrays begin at multiples of 16 bytes; carve functions
 * lay out what a stage needs ---- */

typedef struct szg_run_output_cuda {
  uint32_t *counts;
  void *symbols;     /* as wide as those coded */
  uint64_t capacity; /* runs that fit either array */
  uint64_t *count;   /* set by coding, also where there are more than fit: what is in the arrays is
                        then of no use, and nothing is written past them */
} szg_run_output_cuda;

/* Coding in one kernel. */
typedef struct szg_run_encoder_cuda {
  void *states; /* what tiles tell each other */
  uint64_t state_bytes;
} szg_run_encoder_cuda;
/* SZGPU_UNSUPPORTED, here and in coding: more symbols than any device's memory holds. */
szgpu_status szg_run_encoder_carve_cuda(szg_arena *arena, uint32_t symbol_bytes,
                                        uint64_t symbol_count,
                                        szg_run_encoder_cuda *encoder) SZG_CHECKED;

/* The same runs as on the CPU. encoder: carved for as many symbols, as wide, or for more. */
szgpu_status szg_runs_encode_cuda(const szg_run_encoder_cuda *encoder, uint32_t symbol_bytes,
                                  const void *symbols, uint64_t symbol_count,
                                  const szg_run_output_cuda *runs,
                                  struct CUstream_st *stream) SZG_CHECKED;

/* Coding as it was published for CUDA (A. Balevic, "Fine-Grain Parallelization of Entropy Coding on
 * GPGPUs"; the four steps of her parallel run-length encoding): what coding in one kernel is
 * measured against. 12 bytes a symbol. */
typedef struct szg_run_stages_cuda {
  uint32_t *mask;    /* [symbols] whether a run begins */
  uint32_t *scanned; /* [symbols] runs that have begun */
  uint32_t *begins;  /* [symbols + 1] where runs begin, then where the last one ends */
  void *scan_temp;
  uint64_t scan_temp_bytes;
} szg_run_stages_cuda;
/* SZGPU_UNSUPPORTED, here and in coding: 2^31 symbols or more. */
szgpu_status szg_run_stages_carve_cuda(szg_arena *arena, uint64_t symbol_count,
                                       szg_run_stages_cuda *stages) SZG_CHECKED;
szgpu_status szg_runs_encode_staged_cuda(const szg_run_stages_cuda *stages, uint32_t symbol_bytes,
                                         const void *symbols, uint64_t symbol_count,
                                         const szg_run_output_cuda *runs,
                                         struct CUstream_st *stream) SZG_CHECKED;

typedef struct szg_run_decoder_cuda {
  uint64_t *group_starts; /* [groups + 1] symbols before each group of runs, then all */
  void *scan_temp;
  uint64_t scan_temp_bytes;
} szg_run_decoder_cuda;
/* SZGPU_UNSUPPORTED, here and in decoding: more runs than any device's memory holds. */
szgpu_status szg_run_decoder_carve_cuda(szg_arena *arena, uint64_t run_count,
                                        szg_run_decoder_cuda *decoder) SZG_CHECKED;

/* What the runs say; the arrays in `runs` are on the device. verdict->bad_data: a count is 0, or
 * they do not add up to symbol_count; then, and if it says so before, no symbol is written. */
szgpu_status szg_runs_decode_cuda(const szg_run_decoder_cuda *decoder, uint32_t symbol_bytes,
                                  const szg_run_input *runs, void *symbols, uint64_t symbol_count,
                                  szg_verdict *verdict, struct CUstream_st *stream) SZG_CHECKED;

SZG_C_END

#endif
