/* szgpu.h - error-bounded lossy compression of scientific floating-point fields.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The guarantee: after szgpu_decompress, every value differs from the original by at most the
 * bound the archive states, in exact arithmetic, or has the original's very bits. It holds for
 * every input: NaN, infinities, -0, denormals, fill values and bounds near the spacing of values.
 *
 * Every function returns a status; results go through pointers. Nothing prints, exits or aborts.
 * After an error the outputs are undefined, the ctx stays usable and szgpu_last_error says more.
 * A ctx is used by one thread at a time; any number of ctxs may live side by side. Its own threads
 * are OpenMP's in a build that has it: a child made by fork() after a call with several threads
 * must then ask for one thread, and where the system refuses new threads OpenMP's runtime, not
 * szgpu, ends the process. Else they are started for each loop, and neither does harm.
 * C11, and C++17 as it stands.
 */
#ifndef SZGPU_H
#define SZGPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SZGPU_VERSION_MAJOR 0
#define SZGPU_VERSION_MINOR 1
#define SZGPU_VERSION_PATCH 0
#define SZGPU_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define SZGPU_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SZGPU_MUST_CHECK
#endif
#if defined(__GNUC__) && defined(SZGPU_BUILDING_SHARED)
#define SZGPU_API __attribute__((visibility("default")))
#else
#define SZGPU_API
#endif

/* name, text. The values are pinned: new ones go at the end. */
#define SZGPU_STATUS_LIST(X)                                                                   \
  X(SZGPU_OK, "no error")                                                                      \
  X(SZGPU_BAD_ARGUMENT, "an argument is missing or outside its range")                         \
  X(SZGPU_BAD_SHAPE, "the shape is not 1 to 4 positive dims of a known type that fit 64 bits") \
  X(SZGPU_BAD_BOUND, "the error bound is not a finite positive number")                        \
  X(SZGPU_UNSUPPORTED, "this build does not have what was asked for")                          \
  X(SZGPU_OUT_OF_MEMORY, "out of memory")                                                      \
  X(SZGPU_CAPACITY, "the output buffer is too small")                                          \
  X(SZGPU_NOT_AN_ARCHIVE, "the data do not begin as an szgpu archive does")                    \
  X(SZGPU_NEWER_VERSION, "the archive was written by a newer format version")                  \
  X(SZGPU_TRUNCATED, "the archive ends before its own size says")                              \
  X(SZGPU_TRAILING_BYTES, "there are bytes after the end of the archive")                      \
  X(SZGPU_BAD_CHECKSUM, "a checksum does not match: the archive is damaged")                   \
  X(SZGPU_BAD_DATA, "the archive contradicts itself")                                          \
  X(SZGPU_CANCELLED, "the progress callback asked to stop")                                    \
  X(SZGPU_NO_DEVICE, "no usable GPU")                                                          \
  X(SZGPU_DEVICE_ERROR, "the GPU reported an error")

#define SZGPU_STATUS_ENUMERATOR(name, text) name,
typedef enum szgpu_status { SZGPU_STATUS_LIST(SZGPU_STATUS_ENUMERATOR) } szgpu_status;
#undef SZGPU_STATUS_ENUMERATOR

/* All but F32 and F64 are for SZGPU_MODE_LOSSLESS only. FP8 is E4M3 or E5M2, U8 any bytes. */
typedef enum szgpu_dtype {
  SZGPU_F32 = 0,
  SZGPU_F64 = 1,
  SZGPU_U8 = 2,
  SZGPU_BF16 = 3,
  SZGPU_F16 = 4,
  SZGPU_FP8 = 5
} szgpu_dtype;

/* What params.bound means.
 * REL: the absolute bound is bound * (max - min) over the values that are finite and not fill.
 * ABS: the absolute bound itself.  PSNR: a target in dB.
 * LOSSLESS: there is none; every bit comes back. bound and fill are not looked at, radius is 0. */
typedef enum szgpu_mode {
  SZGPU_MODE_REL = 0,
  SZGPU_MODE_ABS = 1,
  SZGPU_MODE_PSNR = 2,
  SZGPU_MODE_LOSSLESS = 3
} szgpu_mode;

/* How codes are laid out in an archive.
 * TILE: each tile by itself, in 32 lanes; what the GPU reads and writes fastest.
 * LINEAR: one stream of codes with a gap array; a little smaller where codes are short. Without
 * loss the highest byte of each value is coded, and the others are stored. */
typedef enum szgpu_layout { SZGPU_LAYOUT_LINEAR = 0, SZGPU_LAYOUT_TILE = 1 } szgpu_layout;

/* AUTO: CUDA for fields that are worth the way to the GPU and back, if there is one; where that
 * fails, the CPU, with a note (szgpu_last_note). Field and archive are in host memory.
 * CPU: they are in host memory.
 * CUDA: each is in host memory or on the ctx's device (the driver is asked which); an archive
 * there is aligned to 16 bytes. Work is ordered as in one stream, and calls return when it is done.
 * With a stream of the ctx's own, what makes a field's values must be done before. Copies between
 * the GPU and pinned host memory run beside the work. Progress is reported frame by frame, zstd
 * counts besides. A GPU has compute capability 7.0 or more. A build without CUDA refuses it:
 * SZGPU_UNSUPPORTED. */
typedef enum szgpu_backend {
  SZGPU_BACKEND_AUTO = 0,
  SZGPU_BACKEND_CPU = 1,
  SZGPU_BACKEND_CUDA = 2
} szgpu_backend;

/* How Huffman codes are read back; every decoder gives the same field. Enumerator, value, name,
 * summary. The values are pinned: new decoders go at the end, with the next value. */
#define SZGPU_DECODER_LIST(X)                                                  \
  X(SZGPU_DECODER_AUTO, 0, "auto", "what is fast on the backend, the default") \
  X(SZGPU_DECODER_SERIAL, 1, "serial", "CPU: bit by bit, the reference")       \
  X(SZGPU_DECODER_TABLE, 2, "table", "CPU: by tables, with threads")           \
  X(SZGPU_DECODER_GAP_ARRAY, 3, "gap-array",                                   \
    "CUDA, linear layout: one thread per stretch of codes")                    \
  X(SZGPU_DECODER_CHUNKED, 4, "chunked",                                       \
    "CUDA, linear layout: one thread per tile, for comparison")                \
  X(SZGPU_DECODER_SELF_SYNC, 5, "self-sync",                                   \
    "linear layout: guesses that fall into step, no side data")                \
  X(SZGPU_DECODER_ALL_OFFSETS, 6, "all-offsets",                               \
    "linear layout: from every bit at once, no side data")                     \
  X(SZGPU_DECODER_HIERARCHICAL, 7, "hierarchical",                             \
    "linear layout, lossless: a table for each byte of code")
#define SZGPU_DECODER_ENUMERATOR(decoder, value, name, summary) decoder = value,
typedef enum szgpu_decoder { SZGPU_DECODER_LIST(SZGPU_DECODER_ENUMERATOR) } szgpu_decoder;
#undef SZGPU_DECODER_ENUMERATOR

/* dims: slowest axis first, as numpy prints a shape; entries from ndim on are ignored.
 * A 4-D field is a batch of 3-D ones. */
typedef struct szgpu_shape {
  szgpu_dtype dtype;
  int ndim;
  uint64_t dims[4];
} szgpu_shape;

/* params.source: how the caller's file held the field. The library stores these bits and gives
 * them back; it does not act on them. */
enum {
  SZGPU_SOURCE_NPY = 1,        /* from a .npy file */
  SZGPU_SOURCE_FORTRAN = 2,    /* dims are the reverse of the .npy header's shape */
  SZGPU_SOURCE_BIG_ENDIAN = 4, /* values were big-endian in the file */
  SZGPU_SOURCE_ALL = 7
};

/* Start from SZGPU_PARAMS_DEFAULTS. struct_bytes lets structs grow: a longer one than the library
 * knows is taken if the rest of it is zero, a shorter one of an earlier version always. */
typedef struct szgpu_params {
  size_t struct_bytes;
  szgpu_mode mode;
  szgpu_layout layout;
  double bound;        /* see szgpu_mode; finite and > 0 */
  uint64_t frame_rows; /* rows of the slowest axis longer than 1 in a frame, rounded up to whole
                          tiles; 0: the whole field up to 2^30 values */
  uint32_t radius;     /* linear layout: deltas in (-radius, radius) get a code; 2..32768, 0: chosen
                          by cost. Tile layout: 0 */
  uint32_t source;     /* SZGPU_SOURCE_* */
  int zstd_level;      /* 0: no zstd; 1..19: sections go through zstd where it pays */
  int has_fill;        /* 1: fill is the fill value; 0: one of the known ones, if present */
  double fill;         /* rounded to the field's type */
  int without_gaps;    /* linear layout: 1: no gap array, which the decoders gap-array and
                          hierarchical need */
} szgpu_params;

#define SZGPU_PARAMS_DEFAULTS \
  { sizeof(szgpu_params), SZGPU_MODE_REL, SZGPU_LAYOUT_TILE, 1e-4, 0, 0, 0, 0, 0, 0.0, 0 }

/* Called from time to time, in the calling thread, with work done and in all. The unit is a value
 * once through a stage, so the total can be a few times the field's values. Nonzero stops the work:
 * the call returns SZGPU_CANCELLED. */
typedef int (*szgpu_progress)(void *user, uint64_t done_values, uint64_t total_values);

struct CUstream_st; /* cudaStream_t is a pointer to it */

enum { SZGPU_MAX_THREADS = 1024 };

typedef struct szgpu_options {
  size_t struct_bytes;
  szgpu_backend backend;
  int device;  /* CUDA device index */
  int threads; /* CPU threads, up to SZGPU_MAX_THREADS; 0: all cores */
  szgpu_decoder decoder;
  struct CUstream_st *stream; /* CUDA stream that all work is in order with; NULL: the ctx's own */
  szgpu_progress progress;    /* may be NULL */
  void *progress_user;
} szgpu_options;

#define SZGPU_OPTIONS_DEFAULTS \
  { sizeof(szgpu_options), SZGPU_BACKEND_AUTO, 0, 0, SZGPU_DECODER_AUTO, NULL, NULL, NULL }

typedef struct szgpu_ctx szgpu_ctx;

/* options may be NULL: the defaults. On error *ctx is NULL. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_create(szgpu_ctx **ctx, const szgpu_options *options);
SZGPU_API void szgpu_destroy(szgpu_ctx *ctx); /* NULL is fine */

SZGPU_API const char *szgpu_status_text(szgpu_status status);
/* One sentence on the last failure of this ctx, "" if none. Lives until the next call. */
SZGPU_API const char *szgpu_last_error(const szgpu_ctx *ctx);
/* What a call that succeeded has to say: why SZGPU_BACKEND_AUTO took the CPU. "" if nothing. */
SZGPU_API const char *szgpu_last_note(const szgpu_ctx *ctx);
SZGPU_API const char *szgpu_version(void);
/* 1: this build has the CUDA backend. Says nothing of a device. */
SZGPU_API int szgpu_has_cuda(void);

/* How large the buffers of a compression with these must be: *workspace_bytes gets the most memory
 * that the call may take besides field and archive, *max_archive_bytes the largest archive there
 * can be. Either pointer may be NULL. With CUDA the workspace is device memory, and a field or an
 * archive in host memory, or an archive with zstd, has a copy there besides. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_sizes(szgpu_ctx *ctx, const szgpu_params *params,
                                                    const szgpu_shape *shape,
                                                    size_t *workspace_bytes,
                                                    size_t *max_archive_bytes);
/* Deprecated: the former name of szgpu_sizes. It stays for programs that were built with it. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_bounds(szgpu_ctx *ctx, const szgpu_params *params,
                                                     const szgpu_shape *shape,
                                                     size_t *workspace_bytes,
                                                     size_t *max_archive_bytes);
/* Takes the fixed part of that memory now, so that later calls of this size need not; outliers and
 * zstd still take theirs as they come. Optional. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_reserve(szgpu_ctx *ctx, const szgpu_params *params,
                                                      const szgpu_shape *shape);

/* field: shape's values, native byte order, x (the last dim) fastest, aligned as their type; field
 * and archive must not overlap. *archive_bytes gets the size
 * used. Archives are a function of field, params and format version: the same bytes for any
 * number of threads and any backend (zstd sections also depend on libzstd's version).
 * SZGPU_CAPACITY: capacity was too small; szgpu_sizes says what always suffices. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_compress(szgpu_ctx *ctx, const szgpu_params *params,
                                                       const szgpu_shape *shape, const void *field,
                                                       void *archive, size_t capacity,
                                                       size_t *archive_bytes);

/* field_bytes must be the exact size of the field (see szgpu_inspect). */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_decompress(szgpu_ctx *ctx, const void *archive,
                                                         size_t archive_bytes, void *field,
                                                         size_t field_bytes);
/* Rows first_row .. first_row + row_count - 1 of dims[0] only. field_bytes: exactly theirs. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_decompress_slab(szgpu_ctx *ctx, const void *archive,
                                                              size_t archive_bytes,
                                                              uint64_t first_row,
                                                              uint64_t row_count, void *field,
                                                              size_t field_bytes);

/* What an archive says of itself. */
typedef struct szgpu_info {
  size_t struct_bytes; /* set by the caller to sizeof(szgpu_info) */
  szgpu_shape shape;
  szgpu_mode mode;
  szgpu_layout layout;
  uint32_t format_version;
  uint32_t source;       /* SZGPU_SOURCE_* */
  double bound;          /* as asked for, in the mode's unit */
  double absolute_bound; /* what holds for every value */
  double step;           /* distance of quantization levels; 0: constant or raw field */
  double value_range;    /* max - min of the finite values that are not fill */
  int has_fill;
  double fill;
  uint64_t fill_bits; /* the fill value's bit pattern, right-aligned */
  uint64_t frame_rows;
  uint64_t frame_count;
  uint64_t field_bytes;
  uint64_t archive_bytes;
  int has_gaps; /* linear layout: 1: there are gap arrays */
} szgpu_info;
#define SZGPU_INFO_DEFAULTS \
  { sizeof(szgpu_info) }

/* One section of a frame, and one frame, for listings. */
typedef struct szgpu_section_info {
  const char *name;
  const char *codec; /* "stored" or "zstd" */
  uint64_t offset;   /* in the archive */
  uint64_t stored_bytes, raw_bytes;
} szgpu_section_info;

enum { SZGPU_MAX_SECTIONS = 24 };

typedef struct szgpu_frame_info {
  size_t struct_bytes;
  const char *kind; /* "linear", "tile", "top plane", "planes", "constant" or "raw" */
  const char *axes; /* differenced axes, e.g. "zyx"; "" where there are none */
  uint32_t radius;
  uint32_t section_count;
  uint64_t first_row, row_count; /* of the slowest axis longer than 1 */
  uint64_t frame_bytes;
  szgpu_section_info sections[SZGPU_MAX_SECTIONS];
  uint32_t zero_groups;  /* tile: rows of a lane that a bit can leave out, 8 or 4; 0: none */
  uint32_t lattice_bits; /* tile: of a lattice point, 16, 32 or 64; else 0 */
  char planes[9];        /* without loss, but raw: of each byte of a value, the highest first: c
                            coded, s stored, k constant; else "" */
} szgpu_frame_info;
#define SZGPU_FRAME_INFO_DEFAULTS \
  { sizeof(szgpu_frame_info), NULL, NULL, 0, 0, 0, 0, 0, {{NULL, NULL, 0, 0, 0}}, 0, 0, "" }

/* Reads the header only: archive_bytes may be less than the archive as long as the header is
 * there. info->archive_bytes is the size the archive should have. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_inspect(const void *archive, size_t archive_bytes,
                                                      szgpu_info *info);
/* The decoder's name, "gap-array", as the command takes it, and what it is, in one line without a
 * full stop. NULL for a number that is no decoder's. Decoders are numbered from 0 without a gap, so
 * a caller can list them all: also those that this build lacks, which szgpu_create refuses. The
 * strings are constants. Any thread may call these functions. */
SZGPU_API const char *szgpu_decoder_name(szgpu_decoder decoder);
SZGPU_API const char *szgpu_decoder_summary(szgpu_decoder decoder);
/* 1: the backend has the decoder; AUTO: CPU or CUDA has it. 0: it does not, or there is no such
 * decoder. Says nothing of this build (szgpu_has_cuda). */
SZGPU_API int szgpu_decoder_runs_on(szgpu_decoder decoder, szgpu_backend backend);
/* 1: the decoder reads such an archive, where its backend is to be had. */
SZGPU_API int szgpu_decoder_reads(szgpu_decoder decoder, const szgpu_info *info);
/* Why it does not, said of the archive: "has no gap array"; NULL: it does. */
SZGPU_API const char *szgpu_decoder_refusal(szgpu_decoder decoder, const szgpu_info *info);
/* Frames first_frame .. first_frame + frame_count - 1 into infos, whose every struct_bytes is set.
 * Each call checks the archive's header, so ask for many frames at once. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_inspect_frames(const void *archive,
                                                             size_t archive_bytes,
                                                             uint64_t first_frame,
                                                             uint64_t frame_count,
                                                             szgpu_frame_info *infos);

#ifdef __cplusplus
}
#endif

#endif
