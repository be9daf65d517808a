/* szgpu.h - error-bounded lossy compression of scientific floating-point fields.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The guarantee: after szgpu_decompress, every value differs from the original by at most the
 * bound that the archive states, in exact arithmetic, or is bit-identical to it. This holds for
 * every input: NaN, infinities, -0, denormals, fill values and bounds near the spacing of values.
 *
 * Typical use: szgpu_create, szgpu_sizes, szgpu_compress; szgpu_inspect, szgpu_decompress;
 * szgpu_destroy. README.md has a whole example.
 *
 * Errors. Functions that can fail return a szgpu_status, SZGPU_OK (0) on success, and give their
 * results through pointers. After an error the contents of all outputs are undefined, but nothing
 * was written outside them; the ctx stays usable, and szgpu_last_error may say more. The library
 * prints nothing and never exits or aborts. Each function's comment lists the statuses it returns.
 * All of them return SZGPU_BAD_ARGUMENT if a pointer that they need is NULL.
 *
 * Threads. One thread at a time may use a ctx; it need not always be the same thread. A call with a
 * ctx that another call is using, also one from a progress callback, returns SZGPU_BAD_ARGUMENT and
 * does not disturb the other; szgpu_last_error then is about that other call. Different ctxs may be
 * used at the same time. Functions without a ctx may be called from any thread.
 *
 * Memory. The caller owns fields and archives and may free or reuse them when the call returns. A
 * ctx keeps its workspace for the next call and frees it in szgpu_destroy. A call that fails frees
 * it. A call also frees it if it made it larger than both 128 MiB plus 4 MiB for each thread and 16
 * times the call's field and archive. szgpu_options.memory_limit limits it; docs/security.md says
 * how large it can be. Structs are read during the call only and may be changed or dropped after
 * it.
 *
 * Worker threads. The loops of a call run in the calling thread and in the threads of a pool. A
 * process has one pool, whose threads sleep between loops. The calling thread does whatever no
 * other thread has begun, so it never waits for a thread that has no core, and it works alone if
 * the system refuses threads. A forked process has its own pool. If a progress callback forks, the
 * call continues in the parent; in the child it returns SZGPU_OTHER_PROCESS if other threads had a
 * part of the work.
 *
 * C99 to C23 and C++11 to C++20, without warnings.
 */
#ifndef SZGPU_H
#define SZGPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SZGPU_VERSION_MAJOR 0
#define SZGPU_VERSION_MINOR 2
#define SZGPU_VERSION_PATCH 0
#define SZGPU_VERSION_STRING "0.2.0"

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

/* X(name, text) for each status, from 0 on. The values never change; new ones go at the end. */
#define SZGPU_STATUS_LIST(X)                                                                   \
  X(SZGPU_OK, "no error")                                                                      \
  X(SZGPU_BAD_ARGUMENT, "an argument is missing or outside its range")                         \
  X(SZGPU_BAD_SHAPE, "the shape is not 1 to 4 positive dims of a known type that fit 64 bits") \
  X(SZGPU_BAD_BOUND, "the error bound is not a finite positive number")                        \
  X(SZGPU_UNSUPPORTED, "this build does not have what was asked for")                          \
  X(SZGPU_OUT_OF_MEMORY, "out of memory")                                                      \
  X(SZGPU_CAPACITY, "the output buffer is too small")                                          \
  X(SZGPU_NOT_AN_ARCHIVE, "the data are not an szgpu archive")                                 \
  X(SZGPU_NEWER_VERSION, "the archive was written by a newer format version")                  \
  X(SZGPU_TRUNCATED, "the archive is shorter than its header says")                            \
  X(SZGPU_TRAILING_BYTES, "there are bytes after the end of the archive")                      \
  X(SZGPU_BAD_CHECKSUM, "a checksum does not match: the archive is damaged")                   \
  X(SZGPU_BAD_DATA, "the archive contradicts itself")                                          \
  X(SZGPU_CANCELLED, "the progress callback asked to stop")                                    \
  X(SZGPU_NO_DEVICE, "no usable GPU")                                                          \
  X(SZGPU_DEVICE_ERROR, "the GPU reported an error")                                           \
  X(SZGPU_FIELD_CHANGED, "the field changed while it was compressed")                          \
  X(SZGPU_MEMORY_LIMIT, "the call would take more memory than its limit")                      \
  X(SZGPU_SOURCE_FAILED, "the source could not be read")                                       \
  X(SZGPU_SINK_FAILED, "the sink could not be written")                                        \
  X(SZGPU_NOT_A_SERIES, "the data are not a series of steps")                                  \
  X(SZGPU_UNFINISHED, "the last step of the series was not finished")                          \
  X(SZGPU_LOCKED, "another program is appending to the series")                                \
  X(SZGPU_OTHER_PARAMS, "the archive was not made with these params")                          \
  X(SZGPU_OTHER_PROCESS, "a forked process cannot continue what its parent began")             \
  X(SZGPU_SERIES_CHANGED, "another program has changed or replaced the series")

#define SZGPU_STATUS_ENUMERATOR(name, text) name,
typedef enum szgpu_status { SZGPU_STATUS_LIST(SZGPU_STATUS_ENUMERATOR) } szgpu_status;
#undef SZGPU_STATUS_ENUMERATOR

/* The type of a field's values. Every type works with every mode, except FP8, which stands for E4M3
 * and E5M2 and works with SZGPU_MODE_LOSSLESS only. In that mode U8 stands for any bytes. */
typedef enum szgpu_dtype {
  SZGPU_F32 = 0,
  SZGPU_F64 = 1,
  SZGPU_U8 = 2,
  SZGPU_BF16 = 3,
  SZGPU_F16 = 4,
  SZGPU_FP8 = 5,
  SZGPU_I8 = 6,
  SZGPU_U16 = 7,
  SZGPU_I16 = 8,
  SZGPU_I32 = 9
} szgpu_dtype;

/* What szgpu_params.bound means.
 * REL: a fraction of the range; the absolute bound is bound * (max - min), over the values that are
 * finite and not fill.
 * ABS: the absolute bound itself.
 * PSNR: a target in dB. The absolute bound is the one at which uniform errors have this PSNR. The
 * bound holds for every value; the PSNR reached can be up to 4.8 dB lower.
 * PWREL: relative to each value, below 1: |x - restored| <= bound * |x|. Signs and zeros are kept
 * exactly. F32 and F64 only.
 * LOSSLESS: every bit is restored. bound is ignored; radius and has_fill must be 0. */
typedef enum szgpu_mode {
  SZGPU_MODE_REL = 0,
  SZGPU_MODE_ABS = 1,
  SZGPU_MODE_PSNR = 2,
  SZGPU_MODE_LOSSLESS = 3,
  SZGPU_MODE_PWREL = 4
} szgpu_mode;

/* How an archive lays out its codes.
 * TILE: each tile of 4,096 values is coded by itself, in 32 lanes. GPUs read and write it fastest.
 * LINEAR: each frame has one stream of codes, with a gap array for parallel decoders. It is a
 * little smaller for some fields. In SZGPU_MODE_LOSSLESS it codes the highest byte of each value
 * and stores the other bytes. */
typedef enum szgpu_layout { SZGPU_LAYOUT_LINEAR = 0, SZGPU_LAYOUT_TILE = 1 } szgpu_layout;

/* How the tile layout predicts a value.
 * LORENZO: from its neighbours in the same tile. This is the fastest.
 * INTERPOLATION: interpolates most values between values that are restored already, from a coarse
 * grid to finer ones, with codes that can take less than one bit. Archives are smaller for most
 * fields, and much smaller for smooth ones. A frame that cannot be interpolated, for instance
 * because the bound is extremely tight, uses LORENZO.
 * AUTO: picks the smaller predictor for each frame from a sample; small frames are measured. If the
 * two differ by little, or the frame has at most 512 values, it picks LORENZO; also in most 3-D
 * frames of 1000 to 4096 values. */
typedef enum szgpu_predictor {
  SZGPU_PREDICTOR_AUTO = 0,
  SZGPU_PREDICTOR_LORENZO = 1,
  SZGPU_PREDICTOR_INTERPOLATION = 2
} szgpu_predictor;

/* Where a ctx computes. The bytes of an archive and the values restored are the same everywhere.
 *
 * AUTO: on a GPU if the build has CUDA, there is a GPU, and the field is large enough to be worth
 * the transfer; otherwise on the CPU. If the GPU fails, the CPU does the work, and szgpu_last_note
 * says why. With a decoder that only GPUs have, a call runs on a GPU or fails. Field and archive
 * must be in host memory.
 *
 * CPU: on the CPU. Field and archive must be in host memory.
 *
 * CUDA: on the GPU szgpu_options.device, of compute capability 7.0 or higher; without it, calls
 * fail. Field and archive may each be in host memory or in memory of that GPU; the library asks the
 * driver which. An archive in GPU memory must be aligned to 16 bytes. All work is ordered as if it
 * were in szgpu_options.stream, and every call returns when its work is done. If stream is NULL,
 * the ctx has a stream of its own, so work that produces the field must be finished before the
 * call. Transfers from and to pinned host memory overlap with the work. */
typedef enum szgpu_backend {
  SZGPU_BACKEND_AUTO = 0,
  SZGPU_BACKEND_CPU = 1,
  SZGPU_BACKEND_CUDA = 2
} szgpu_backend;

/* How Huffman codes are read back. Every decoder restores the same field. AUTO takes a fast one;
 * the others are for tests and comparisons.
 *
 * X(enumerator, value, name, summary) for each decoder. The values never change; new decoders go at
 * the end, with the next value. */
#define SZGPU_DECODER_LIST(X)                                                 \
  X(SZGPU_DECODER_AUTO, 0, "auto", "the default: a fast one for the backend") \
  X(SZGPU_DECODER_SERIAL, 1, "serial", "CPU: bit by bit, the reference")      \
  X(SZGPU_DECODER_TABLE, 2, "table", "CPU: by tables, with threads")          \
  X(SZGPU_DECODER_GAP_ARRAY, 3, "gap-array",                                  \
    "CUDA, linear layout: one thread per stretch of codes")                   \
  X(SZGPU_DECODER_CHUNKED, 4, "chunked",                                      \
    "CUDA, linear layout: one thread per tile, for comparison")               \
  X(SZGPU_DECODER_SELF_SYNC, 5, "self-sync",                                  \
    "linear layout: synchronizes by itself, no side data")                    \
  X(SZGPU_DECODER_ALL_OFFSETS, 6, "all-offsets",                              \
    "linear layout: from every bit at once, no side data")                    \
  X(SZGPU_DECODER_HIERARCHICAL, 7, "hierarchical",                            \
    "linear layout, lossless: a table for each byte of code")
#define SZGPU_DECODER_ENUMERATOR(decoder, value, name, summary) decoder = value,
typedef enum szgpu_decoder { SZGPU_DECODER_LIST(SZGPU_DECODER_ENUMERATOR) } szgpu_decoder;
#undef SZGPU_DECODER_ENUMERATOR

/* Type and dims of a field. dims has ndim entries, 1 to 4, each at least 1, slowest axis first, as
 * numpy prints a shape; the library ignores the entries after them. A field is predicted along up
 * to three axes: one of four dims is a batch of 3-D fields, unless neighbouring axes are taken for
 * one because that is smaller (szgpu_info.joined_axes). */
typedef struct szgpu_shape {
  szgpu_dtype dtype;
  int ndim;
  uint64_t dims[4];
} szgpu_shape;

/* Bits of szgpu_params.source: how the caller's file held the field. The library stores these bits
 * in the archive and returns them in szgpu_info; it does not act on them. */
enum {
  SZGPU_SOURCE_NPY = 1,        /* from a .npy file */
  SZGPU_SOURCE_FORTRAN = 2,    /* dims are the reverse of the .npy header's shape */
  SZGPU_SOURCE_BIG_ENDIAN = 4, /* values were big-endian in the file */
  SZGPU_SOURCE_EMPTY = 8,      /* the file was empty: the field is one U8 in its place, and the
                                * archive is lossless. Alone */
  SZGPU_SOURCE_ALL = 15
};

/* Bits of szgpu_params.keep: what is kept in addition to the bound. A mode that has no use for a
 * bit ignores it. These bits are for chunks of arrays that other programs read and write without
 * knowing of the compression. Each costs one or two passes over the values.
 *
 * MISSING: keeps exactly all well-known fill values that the field has, not just the first of the
 * list, and a value that repeats and is far from all others, such as -9999 among temperatures; up
 * to four in all. docs/format.md, section 12, has the rule. LOSSLESS ignores it.
 *
 * RANGE: no restored value is below the least or above the greatest value of the field, among those
 * that are finite and not fill. REL and PSNR always keep the range, and LOSSLESS ignores the bit.
 * PWREL keeps the range if all values have one sign; otherwise no magnitude is above the greatest.
 *
 * RESTORED: a value that was restored from an archive of the same absolute bound, made with this
 * bit, is restored unchanged, whatever was written beside it since. So errors do not add up when
 * parts of a chunk are written one after the other. Only with SZGPU_MODE_ABS; other modes ignore
 * it. Not with szgpu_compress_async. docs/guarantees.md says what it costs, and which values may
 * still move with AUTO and INTERPOLATION. */
enum { SZGPU_KEEP_MISSING = 1, SZGPU_KEEP_RANGE = 2, SZGPU_KEEP_RESTORED = 4, SZGPU_KEEP_ALL = 7 };

enum { SZGPU_MOST_MORE_FILLS = 3 };

/* The settings of a compression. Start from SZGPU_PARAMS_DEFAULTS and change what you need.
 * struct_bytes lets later versions add members at the end: a longer struct than the library knows
 * is accepted if the rest of it is zero. In a shorter one, from an older header, the missing
 * members count as zero. A struct shorter than that of version 0.1.0 is refused with
 * SZGPU_BAD_ARGUMENT. */
typedef struct szgpu_params {
  size_t struct_bytes; /* sizeof(szgpu_params) */
  szgpu_mode mode;
  szgpu_layout layout;
  double bound; /* as mode defines it; finite and above 0 */
  /* Rows of a frame, along the slowest axis longer than 1, rounded up to whole tiles. Frames are
   * coded independently. 0: as many rows as 2^30 values fill (U8, and types other than F32 and F64
   * with a bound: 2^26). */
  uint64_t frame_rows;
  /* Linear layout: deltas between -radius and radius get a code; the others are escapes. 2 to
   * 32768, or 0: the library chooses the cheapest. Tile layout and SZGPU_MODE_LOSSLESS: 0. */
  uint32_t radius;
  uint32_t source; /* SZGPU_SOURCE_* */
  int zstd_level;  /* 0: no zstd; 1 to 19: sections are packed with zstd if that saves space */
  /* 1: fill is the field's fill value. 0: the library looks for the well-known ones, such as 1e20
   * and NaN. A fill value is kept exactly and does not count for the range. */
  int has_fill;
  double fill; /* rounded to the field's type, which must have it */
  /* Linear layout: 1: no gap array, so that the decoders gap-array and hierarchical cannot read the
   * archive. */
  int without_gaps;
  /* Tile layout. The linear layout and SZGPU_MODE_LOSSLESS: not INTERPOLATION. */
  szgpu_predictor predictor;
  /* SZGPU_MODE_ABS: the caller promises that no magnitude exceeds this; the scan of the values for
   * their range and for fill values is skipped, and the step is derived from the promise. The bound
   * holds even if the promise is broken: a value beyond it is kept exactly if necessary. 0: no
   * promise. */
  double greatest;
  /* 1: a tile with a fill value, or with another value to be kept exactly, is stored raw, and so is
   * a frame that does not shrink. szgpu_compress_async requires this. Only with `greatest`, the
   * tile layout and LORENZO. */
  int raw_outliers;
  /* SZGPU_KEEP_*; not with `greatest`. It has 64 bits because the struct of version 0.2.0 ended in
   * 4 bytes of padding, which may hold anything. */
  uint64_t keep;
  /* Further fill values, after `fill`. Not with `greatest`. */
  uint32_t more_fill_count; /* 0 to SZGPU_MOST_MORE_FILLS; with has_fill */
  double more_fills[SZGPU_MOST_MORE_FILLS];
  /* 1: the field's valid values are valid_least to valid_greatest. Numbers outside these are kept
   * exactly and do not count for the range. The other restored values stay in the range of the
   * valid ones. Not with PWREL or `greatest`. */
  int has_valid;
  double valid_least, valid_greatest;
} szgpu_params;

/* Relative bound of 1e-4, tile layout, AUTO predictor, no zstd. */
#define SZGPU_PARAMS_DEFAULTS                                                             \
  {                                                                                       \
    sizeof(szgpu_params), SZGPU_MODE_REL, SZGPU_LAYOUT_TILE, 1e-4, 0, 0, 0, 0, 0, 0.0, 0, \
        SZGPU_PREDICTOR_AUTO, 0.0, 0, 0, 0, {0.0, 0.0, 0.0}, 0, 0.0, 0.0                  \
  }

/* A callback that reports progress. The library calls it now and then, in the thread that made the
 * call. One unit is one value passing through one stage, so total_values can be a few times the
 * number of values. When a GPU does the work, reports come once per frame, and zstd counts on top,
 * so that done_values can exceed total_values. If the callback returns nonzero, the work stops and
 * the call returns SZGPU_CANCELLED. The callback must not use the ctx (such calls return
 * SZGPU_BAD_ARGUMENT) and must not destroy it. */
typedef int (*szgpu_progress)(void *user, uint64_t done_values, uint64_t total_values);

struct CUstream_st; /* cudaStream_t is a pointer to it */

enum { SZGPU_MAX_THREADS = 1024 };

/* The settings of a ctx. Start from SZGPU_OPTIONS_DEFAULTS. struct_bytes works as in
 * szgpu_params. */
typedef struct szgpu_options {
  size_t struct_bytes; /* sizeof(szgpu_options) */
  szgpu_backend backend;
  int device; /* index of the CUDA device */
  /* The most CPU threads of a call, up to SZGPU_MAX_THREADS; 0: one for each core that this process
   * may use. Small fields take fewer. */
  int threads;
  szgpu_decoder decoder;
  struct CUstream_st *stream; /* a stream of that device, which must outlive the ctx; NULL: the ctx
                                 makes its own */
  szgpu_progress progress;    /* NULL: no reports */
  void *progress_user;        /* passed to progress */
  /* The most bytes of workspace, on the host and on the GPU together; 0: no limit. A call that
   * needs more fails with SZGPU_MEMORY_LIMIT before it allocates them. libzstd's own memory, under
   * 1 MiB for each thread in decompression, does not count. */
  uint64_t memory_limit;
} szgpu_options;

/* AUTO backend, device 0, all cores, AUTO decoder, no progress reports, no memory limit. */
#define SZGPU_OPTIONS_DEFAULTS \
  { sizeof(szgpu_options), SZGPU_BACKEND_AUTO, 0, 0, SZGPU_DECODER_AUTO, NULL, NULL, NULL, 0 }

/* The state of a thread of work: options, workspace, the GPU, the last error. */
typedef struct szgpu_ctx szgpu_ctx;

/* Makes a ctx. If options is NULL, the defaults apply. The first call that uses a GPU opens it, and
 * calls allocate memory when they need it. On failure *ctx is NULL.
 *
 * SZGPU_BAD_ARGUMENT: ctx is NULL, or an option is outside its range.
 * SZGPU_UNSUPPORTED: this build lacks the backend, or the backend lacks the decoder.
 * SZGPU_OUT_OF_MEMORY. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_create(szgpu_ctx **ctx, const szgpu_options *options);

/* Changes szgpu_options.memory_limit for later calls. Workspace that the ctx keeps and that is over
 * the limit is freed.
 *
 * SZGPU_BAD_ARGUMENT: ctx is NULL, or a call with it is running. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_set_memory_limit(szgpu_ctx *ctx, uint64_t bytes);

/* Frees a ctx and everything that it holds. ctx may be NULL. */
SZGPU_API void szgpu_destroy(szgpu_ctx *ctx);

/* The status in words, for instance "the output buffer is too small"; "unknown status" for any
 * other number. The string is static. */
SZGPU_API const char *szgpu_status_text(szgpu_status status);

/* One sentence on why the last call with this ctx failed, with its figures. "" if the call did not
 * fail, if there is nothing to add to its status, or if ctx is NULL. The string belongs to the ctx;
 * the next call with the ctx changes it. */
SZGPU_API const char *szgpu_last_error(const szgpu_ctx *ctx);

/* A note from the last call with this ctx, which may have succeeded: why SZGPU_BACKEND_AUTO left
 * the GPU for the CPU. "" if there is none, or ctx is NULL. The string lives as long as that of
 * szgpu_last_error. */
SZGPU_API const char *szgpu_last_note(const szgpu_ctx *ctx);

/* The library's version, such as "0.2.0". It can differ from SZGPU_VERSION_STRING, which is the
 * version of the header that the caller was compiled with. The string is static. */
SZGPU_API const char *szgpu_version(void);

/* 1 if this build has the CUDA backend, else 0. It does not say whether there is a GPU. */
SZGPU_API int szgpu_has_cuda(void);

/* The number of GPUs that CUDA finds; their indices begin at 0. 0 also without CUDA or its driver.
 * Only a call that works on a GPU finds out whether the library can use it. */
SZGPU_API int szgpu_device_count(void);

/* Finds how large the buffers of a compression must be. *max_archive_bytes gets the size of the
 * largest archive that szgpu_compress can make of any field of this shape with these params: a
 * buffer of that size is always large enough. *workspace_bytes gets the most memory that the call
 * may take in addition to field and archive. Either pointer may be NULL.
 *
 * If the call would use a GPU, the workspace is GPU memory. In addition, the GPU holds a copy of a
 * field or an archive that is in host memory, and a copy of an archive that goes through zstd.
 *
 * SZGPU_BAD_ARGUMENT: params is not a valid szgpu_params, or the values' type needs
 * SZGPU_MODE_LOSSLESS.
 * SZGPU_BAD_BOUND: the bound is not finite and above 0, or, with PWREL, not below 1.
 * SZGPU_BAD_SHAPE: the shape is not valid, or a size does not fit 64 bits.
 * SZGPU_UNSUPPORTED: the layout is unknown, or the GPU cannot take a frame of 2^31 tiles or more.
 * SZGPU_NO_DEVICE, SZGPU_DEVICE_ERROR, SZGPU_OUT_OF_MEMORY: the GPU cannot be used. With
 * SZGPU_BACKEND_AUTO the CPU then does the work, unless only GPUs have the decoder. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_sizes(szgpu_ctx *ctx, const szgpu_params *params,
                                                    const szgpu_shape *shape,
                                                    size_t *workspace_bytes,
                                                    size_t *max_archive_bytes);

/* Deprecated: the former name of szgpu_sizes, kept for programs that were built with it. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_bounds(szgpu_ctx *ctx, const szgpu_params *params,
                                                     const szgpu_shape *shape,
                                                     size_t *workspace_bytes,
                                                     size_t *max_archive_bytes);

/* Allocates the fixed part of the workspace now, so that later compressions of this size do not
 * have to. Memory for outliers and zstd is still allocated when needed. Calling it is optional.
 *
 * Returns what szgpu_sizes returns; SZGPU_OUT_OF_MEMORY and SZGPU_MEMORY_LIMIT with any backend. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_reserve(szgpu_ctx *ctx, const szgpu_params *params,
                                                      const szgpu_shape *shape);

/* Compresses a field into archive[capacity]. *archive_bytes gets the number of bytes used.
 *
 * field holds the values of the shape, in native byte order, the last dim fastest, and must be
 * aligned to the size of a value. archive may have any alignment in host memory (see szgpu_backend
 * for GPU memory). The two must not overlap, and the call checks that.
 *
 * The archive is a function of the field, params and the format version: it is the same for any
 * number of threads and any backend. Sections packed with zstd also depend on libzstd's version.
 *
 * The call reads values more than once, and nothing should change them before it returns. If a
 * field in host memory changes all the same, for instance because another program writes to a
 * mapped file, the call writes nothing outside its outputs. It then returns SZGPU_FIELD_CHANGED, or
 * SZGPU_OK and an archive that can be restored: every value that did not change is within the
 * bound, and a value that changed may be restored as any number. A field in GPU memory must not
 * change during the call.
 *
 * SZGPU_BAD_ARGUMENT, SZGPU_BAD_BOUND, SZGPU_BAD_SHAPE, SZGPU_UNSUPPORTED: as in szgpu_sizes;
 * SZGPU_BAD_ARGUMENT also if a pointer is not aligned, or points to another GPU's memory.
 * SZGPU_CAPACITY: capacity is too small.
 * SZGPU_OUT_OF_MEMORY: no memory for the workspace, on the host or on the GPU.
 * SZGPU_MEMORY_LIMIT: the workspace would be over szgpu_options.memory_limit.
 * SZGPU_CANCELLED: the progress callback asked to stop.
 * SZGPU_FIELD_CHANGED: see above.
 * SZGPU_NO_DEVICE, SZGPU_DEVICE_ERROR: as in szgpu_sizes. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_compress(szgpu_ctx *ctx, const szgpu_params *params,
                                                       const szgpu_shape *shape, const void *field,
                                                       void *archive, size_t capacity,
                                                       size_t *archive_bytes);

/* Restores the whole field. archive_bytes must be the exact size of the archive, and field_bytes
 * that of the field: szgpu_inspect gives both. field must be aligned to the size of a value.
 *
 * Archives are not trusted: for a damaged or hostile one the call returns one of the statuses below
 * and writes nothing outside the field. An archive in host memory may even change during the call,
 * such as a mapped file that another program rewrites. The call then returns one of these statuses
 * or any values, but it stays within the memory of archive and field. An archive in GPU memory must
 * not change.
 *
 * SZGPU_BAD_ARGUMENT: field_bytes is not the size of the field, a pointer is not aligned, or a
 * pointer is to another GPU's memory. SZGPU_NOT_AN_ARCHIVE, SZGPU_NEWER_VERSION, SZGPU_TRUNCATED,
 * SZGPU_TRAILING_BYTES,
 * SZGPU_BAD_CHECKSUM, SZGPU_BAD_DATA: what is wrong with the archive.
 * SZGPU_UNSUPPORTED: the ctx's decoder does not read this archive (see szgpu_decoder_refusal), or a
 * frame is too large for the decoder or the GPU. The former comes before SZGPU_TRUNCATED if the
 * archive is also cut short after its header.
 * SZGPU_OUT_OF_MEMORY, SZGPU_MEMORY_LIMIT, SZGPU_CANCELLED, SZGPU_NO_DEVICE, SZGPU_DEVICE_ERROR: as
 * in szgpu_compress. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_decompress(szgpu_ctx *ctx, const void *archive,
                                                         size_t archive_bytes, void *field,
                                                         size_t field_bytes);

/* Restores rows first_row to first_row + row_count - 1 of dims[0], the slowest axis. It reads only
 * the frames that hold them and, in the tile layout, decodes only their tiles. field_bytes must be
 * the exact size of these rows.
 *
 * Returns what szgpu_decompress returns; SZGPU_BAD_ARGUMENT also if row_count is 0 or the field
 * does not have all these rows. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_decompress_slab(szgpu_ctx *ctx, const void *archive,
                                                              size_t archive_bytes,
                                                              uint64_t first_row,
                                                              uint64_t row_count, void *field,
                                                              size_t field_bytes);

/* The header of an archive. Start from SZGPU_INFO_DEFAULTS. */
typedef struct szgpu_info {
  size_t struct_bytes; /* the caller sets it to sizeof(szgpu_info) */
  szgpu_shape shape;
  szgpu_mode mode;
  szgpu_layout layout;
  uint32_t format_version;
  uint32_t source;       /* SZGPU_SOURCE_* */
  double bound;          /* as requested, in the mode's unit; 0: lossless */
  double absolute_bound; /* holds for every value; PWREL: for log2 of its magnitude */
  double step;           /* distance of quantization levels; 0: constant, raw or lossless */
  double value_range;    /* max - min of the values that are finite and not fill; if the mode is
                          * absolute, perhaps of a sample of them, or twice the declared
                          * szgpu_params.greatest */
  int has_fill;          /* 1: the archive states a fill value */
  double fill;
  uint64_t fill_bits;  /* the fill value's bits, in the low bytes */
  uint64_t frame_rows; /* rows of every frame except the last, which may have fewer */
  uint64_t frame_count;
  uint64_t field_bytes;
  uint64_t archive_bytes; /* the size that the archive should have */
  int has_gaps;           /* linear layout: 1: there are gap arrays */
  double least, greatest; /* of the field's values, if has_limits is 1 */
  int has_limits;         /* 1: no restored value is below `least` or above `greatest`, except fill
                           * values, infinities and NaNs. 0 with PWREL, which has limits of
                           * logarithms */
  uint32_t more_fill_count; /* fill values after the first */
  double more_fills[SZGPU_MOST_MORE_FILLS];
  uint64_t more_fill_bits[SZGPU_MOST_MORE_FILLS];
  uint32_t joined_axes; /* bit i: the archive takes dims[i] and dims[i + 1] for one axis, because
                           that was smaller */
} szgpu_info;
#define SZGPU_INFO_DEFAULTS                                                                       \
  {                                                                                               \
    sizeof(szgpu_info), {SZGPU_F32, 0, {0, 0, 0, 0}}, SZGPU_MODE_REL, SZGPU_LAYOUT_LINEAR, 0, 0,  \
        0.0, 0.0, 0.0, 0.0, 0, 0.0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0, 0, {0.0, 0.0, 0.0}, {0, 0, 0}, \
        0                                                                                         \
  }

/* One section of a frame, for listings. */
typedef struct szgpu_section_info {
  const char *name;                 /* static string */
  const char *codec;                /* "stored" or "zstd" */
  uint64_t offset;                  /* from the start of the archive; of format version 9, of the
                                       larger one that it stands for */
  uint64_t stored_bytes, raw_bytes; /* in the archive; without zstd */
} szgpu_section_info;

enum { SZGPU_MAX_SECTIONS = 24 };

/* One frame, for listings. Start from SZGPU_FRAME_INFO_DEFAULTS. Strings are static. */
typedef struct szgpu_frame_info {
  size_t struct_bytes; /* the caller sets it to sizeof(szgpu_frame_info) */
  const char *kind;    /* "linear", "tile", "levels", "top plane", "planes", "constant" or
                          "raw" */
  const char *axes;    /* the axes along which values are differenced, such as "zyx"; "": none.
                          levels: those of the base, the coarsest grid */
  uint32_t radius;     /* linear: as in szgpu_params; else 0 */
  uint32_t section_count;
  uint64_t first_row, row_count;                   /* of the slowest axis longer than 1 */
  uint64_t frame_bytes;                            /* in the archive, with its header */
  szgpu_section_info sections[SZGPU_MAX_SECTIONS]; /* section_count of them */
  uint32_t zero_groups;  /* tile: rows of a lane that one bit can leave out, 8 or 4; 0: none */
  uint32_t lattice_bits; /* tile, levels: bits of a lattice point, 16, 32 or 64; else 0 */
  char planes[9];        /* frames of byte planes: what each byte of a value is, the highest first:
                            c coded, s stored, k constant; else "" */
  const char *predictor; /* "differences", "interpolation", or "" if values are not predicted */
  const char *stencil;   /* interpolation: "linear", "cubic", "blended linear", "blended cubic" or
                            "blended quintic"; else "" */
  uint32_t interpolated_axes; /* interpolation: how many, from the fastest on; else 0 */
  uint32_t level_count;       /* levels: how many are interpolated; the base is level level_count.
                                 Each has a section: "base", "level 2", "level 1", "level 0" */
  uint64_t fold; /* levels: a 1-D field is treated as rows of this many values; 0: it is not */
} szgpu_frame_info;
#define SZGPU_FRAME_INFO_DEFAULTS                                                                 \
  {                                                                                               \
    sizeof(szgpu_frame_info), NULL, NULL, 0, 0, 0, 0, 0, {{NULL, NULL, 0, 0, 0}}, 0, 0, "", NULL, \
        NULL, 0, 0, 0                                                                             \
  }

/* Reads an archive's header into *info. Only the header is needed: archive_bytes may be less
 * than the archive's size. The header has 136 bytes and 8 for each frame, rounded up to a multiple
 * of 16. Of an archive of one frame of up to 2^18 values, all bytes are needed. The archive must be
 * in host memory.
 *
 * SZGPU_BAD_ARGUMENT: a pointer is NULL, or struct_bytes is too small.
 * SZGPU_TRUNCATED: the header does not end within archive_bytes.
 * SZGPU_NOT_AN_ARCHIVE, SZGPU_NEWER_VERSION, SZGPU_BAD_CHECKSUM, SZGPU_BAD_DATA. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_inspect(const void *archive, size_t archive_bytes,
                                                      szgpu_info *info);

/* Finds the absolute bound, step, range and fill value that the archive of a field would state,
 * without compressing it. They are what szgpu_inspect would return for the archive that
 * szgpu_compress would make. In *info, format_version and archive_bytes are 0. field must be in
 * host memory. It is read once; with SZGPU_MODE_ABS usually only a sample of it is read. If values
 * are so far outside the sample's range that its step does not suit them, the archive states
 * another step and range.
 *
 * Returns what szgpu_sizes returns; SZGPU_BAD_ARGUMENT also if a pointer is NULL, field is not
 * aligned, or info->struct_bytes is too small. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_foresee(szgpu_ctx *ctx, const szgpu_params *params,
                                                      const szgpu_shape *shape, const void *field,
                                                      szgpu_info *info);

/* The name of a decoder as the command takes it, such as "gap-array", and a one-line summary
 * without a full stop. NULL if there is no such decoder. Decoders are numbered from 0 without gaps,
 * so a caller can list them all, including those that this build lacks. The strings are static. */
SZGPU_API const char *szgpu_decoder_name(szgpu_decoder decoder);
SZGPU_API const char *szgpu_decoder_summary(szgpu_decoder decoder);

/* 1 if the backend has the decoder (SZGPU_BACKEND_AUTO: if the CPU or CUDA has it), else 0, also if
 * there is no such decoder. It does not depend on this build: see szgpu_has_cuda. */
SZGPU_API int szgpu_decoder_runs_on(szgpu_decoder decoder, szgpu_backend backend);

/* 1 if the decoder reads such an archive, on a backend that has it, else 0. info comes from
 * szgpu_inspect. */
SZGPU_API int szgpu_decoder_reads(szgpu_decoder decoder, const szgpu_info *info);

/* The reason why the decoder does not read such an archive, as words that follow "the archive",
 * such as "has no gap array"; NULL if it does read it. If there is no such decoder or info is NULL:
 * "is not known". The string is static. */
SZGPU_API const char *szgpu_decoder_refusal(szgpu_decoder decoder, const szgpu_info *info);

/* Describes frames first_frame to first_frame + frame_count - 1 in infos[frame_count]. The caller
 * sets struct_bytes of each. The archive, in host memory, must be complete up to the header of the
 * last of these frames. Every call checks the archive's header, so ask for many frames at once.
 *
 * Returns what szgpu_inspect returns; SZGPU_BAD_ARGUMENT also if the archive does not have all
 * these frames, and SZGPU_OUT_OF_MEMORY. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_inspect_frames(const void *archive,
                                                             size_t archive_bytes,
                                                             uint64_t first_frame,
                                                             uint64_t frame_count,
                                                             szgpu_frame_info *infos);

enum { SZGPU_MAX_LEVEL = 6 };

/* Gives the shape of a preview, which has every 2^level-th value along each axis. A dim n becomes
 * ceil(n / 2^level), except that the first of four dims longer than 1, the batch's, stays. info
 * comes from szgpu_inspect. The function does not check whether the archive has the level.
 *
 * SZGPU_BAD_ARGUMENT: a pointer is NULL, or level is not 0 to SZGPU_MAX_LEVEL.
 * SZGPU_BAD_SHAPE: info's shape is not valid. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_level_shape(const szgpu_info *info, int level,
                                                          szgpu_shape *shape);

/* Restores a preview, whose shape is that of szgpu_level_shape. Its values are those that
 * szgpu_decompress restores at these places. The call reads only the coarse levels, so damage in a
 * finer one goes unnoticed. Level 0 is the whole field, of any archive. For a higher one, every
 * frame must be a constant frame, or a levels frame that is not folded and has level_count of at
 * least `level` (see szgpu_frame_info). field_bytes must be the exact size of the preview. An
 * archive with joined axes (szgpu_info) has every level, but no coarse grids of the field's axes:
 * the call restores the whole field first, in memory of the ctx.
 *
 * Levels above 0 are restored on the CPU, whatever the backend. With SZGPU_BACKEND_CUDA, an archive
 * or field in GPU memory goes through a copy in host memory.
 *
 * Returns what szgpu_decompress returns. SZGPU_BAD_ARGUMENT also if level is not 0 to
 * SZGPU_MAX_LEVEL, or a frame does not have it; szgpu_last_error then names the levels that it
 * has. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_decompress_level(szgpu_ctx *ctx, const void *archive,
                                                               size_t archive_bytes, int level,
                                                               void *field, size_t field_bytes);

/* A box of a field: indices first[i] to first[i] + count[i] - 1 along dims[i] of its szgpu_shape.
 * The library ignores the entries after ndim. */
typedef struct szgpu_region {
  uint64_t first[4], count[4];
} szgpu_region;

/* Restores a region: its values one after the other, the last dim fastest. Level 0: a region of the
 * field, of any archive. For a higher level, the region is one of the preview, whose dims
 * szgpu_level_shape gives, and only the frames that the region spans need the level. field must be
 * aligned to the size of a value, and field_bytes must be the exact size of the region.
 *
 * The call reads the archive's header. In the frames that have values of the region, it reads
 * headers, codebooks and sizes of tiles, and decodes the tiles that it needs. It checks the
 * checksums of all headers, of these tables, and of sections under zstd, which it unpacks whole. It
 * reads only a part of stored bitstreams, levels (with the tables that these begin with), planes,
 * masks and exact values; it cannot check their checksums, which are of the whole. If that part is
 * damaged, the call gives SZGPU_BAD_DATA or wrong values, and damage elsewhere goes unnoticed.
 * szgpu_decompress checks everything.
 *
 * If the archive has joined axes (szgpu_info), the call restores the least box of its own axes that
 * has the region, in memory of the ctx, on the CPU.
 *
 * With SZGPU_BACKEND_CUDA the GPU restores a region of the field. It checks all sections of linear
 * frames, which it decodes whole. The CPU restores it instead if the archive is in host memory and
 * the region is less than 1/16 of the values in the frames that it meets, if sections are under
 * zstd, if values are coded in another type (SZGPU_MODE_PWREL; a bound for others than F32 and
 * F64), and for previews; data in GPU memory then goes through a copy in host memory. With the
 * other backends the CPU restores regions, whatever the ctx's decoder.
 *
 * Returns what szgpu_decompress returns. SZGPU_BAD_ARGUMENT also if the region is empty or goes
 * beyond the dims (szgpu_last_error then names the axis), if level is not 0 to SZGPU_MAX_LEVEL, or
 * if a frame does not have it. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_decompress_region(szgpu_ctx *ctx, const void *archive,
                                                                size_t archive_bytes, int level,
                                                                const szgpu_region *region,
                                                                void *field, size_t field_bytes);

/* A range of an archive's bytes. */
typedef struct szgpu_range {
  uint64_t offset, byte_count;
} szgpu_range;

/* Finds which bytes of an archive szgpu_decompress_region reads for a region, so that only these
 * need to be fetched, from an object store for instance. One call cannot say it, because some of
 * the bytes say where others are. So the caller repeats: call this function, fetch the ranges that
 * it gives, put them in their places. When it gives none, szgpu_decompress_region with the same
 * archive, level and region reads nothing but bytes that are present. If the archive's beginning is
 * present from the start (32 KiB suffice for most), an archive of one frame needs two rounds, for
 * tables and for what they lead to, and one of several frames three. For a small archive, which has
 * a compact form, all bytes are asked for.
 *
 * archive points to memory for the whole archive, of archive_bytes bytes. Only the present_count
 * ranges `present` of it must hold the archive's bytes, and the others, which are not read, may
 * hold anything: memory that was never touched costs little. The ranges may overlap and have any
 * order; present may be NULL if there are none.
 *
 * missing[capacity] gets *missing_count ranges in rising order, none of which overlap or go beyond
 * the archive. Ranges that are at most gap_bytes apart are given as one, with what is between them.
 * If more than `capacity` are left, at least 1, ranges further apart become one, too. So capacity
 * is the most requests of a round. The ranges may include bytes that are present.
 *
 * The function checks what leads it on: headers and tables. It restores nothing, and takes no more
 * memory than szgpu_decompress_region.
 *
 * Returns what szgpu_decompress_region returns. SZGPU_BAD_ARGUMENT also if capacity is 0 or a range
 * of `present` goes beyond the archive. SZGPU_UNSUPPORTED also with SZGPU_BACKEND_CUDA: a GPU reads
 * other bytes. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_region_ranges(
    szgpu_ctx *ctx, const void *archive, size_t archive_bytes, int level,
    const szgpu_region *region, const szgpu_range *present, size_t present_count,
    uint64_t gap_bytes, szgpu_range *missing, size_t capacity, size_t *missing_count);

/* ---- fields and archives that need not be in memory ---- */

/* The source from which a call reads a field or an archive. */
typedef struct szgpu_source {
  /* Reads byte_count bytes at `offset` into `bytes`, and sets *got_bytes to the number of bytes
   * read: less than byte_count only if the data end there. Returns 0, or anything else if they
   * cannot be read. */
  int (*read)(void *user, uint64_t offset, void *bytes, size_t byte_count, size_t *got_bytes);
  void *user;
  /* NULL, or all the data, in host memory. Then `read` is not called and may be NULL, and frames
   * are not copied. A field must be aligned to its values. For GPUs it should be pinned. */
  const void *memory;
  uint64_t memory_bytes;
} szgpu_source;

/* The sink to which a call writes a field or an archive. */
typedef struct szgpu_sink {
  /* Writes byte_count bytes at `offset`. Returns 0, or anything else if they cannot be written. */
  int (*write)(void *user, uint64_t offset, const void *bytes, size_t byte_count);
  void *user;
  /* NULL, or memory for all the data, as in szgpu_source. Then `write` is not called. */
  void *memory;
  uint64_t memory_bytes;
} szgpu_sink;

enum { SZGPU_MAX_CTXS = 32 };

/* Compresses a field that need not fit in memory, frame by frame; params->frame_rows sets their
 * size. While one frame is compressed, the next one is read and the one before is written. The
 * archive is that of szgpu_compress.
 *
 * ctxs are 1 to SZGPU_MAX_CTXS different ctxs, each of which works on a frame of its own: one for
 * each of several GPUs, or two for one GPU, whose transfers then overlap with the other's kernels.
 * Errors and progress are reported by the first ctx alone. Progress is reported after each frame;
 * with several ctxs, after each frame of the first one and at the end. Passes for the range report
 * none.
 *
 * source gives the values as szgpu_compress takes them. The call reads it from its beginning to its
 * end: once in SZGPU_MODE_LOSSLESS, otherwise twice for most fields, and more often if values are
 * far outside a sample's range, very large, or not all on a grid that a sample has. In between, it
 * reads a few of the values, to look for a grid. A source that cannot be read again must be copied
 * to one that can. The archive's header is written last, at offset 0. Everything else is written in
 * order. If the step did not suit values that a sample did not have, the call starts the archive
 * again from its beginning; bytes beyond *archive_bytes are then left over from the first attempt.
 *
 * The two callbacks are called from other threads, possibly at the same time, but neither is called
 * again before it has returned.
 *
 * The first ctx's workspace includes the ring of frames. For each ctx, and two more, the ring has
 * the values of a frame and its largest archive, except those that are in the source's or the
 * sink's memory. If its memory_limit leaves less, the ring has fewer frames, down to one.
 *
 * Returns what szgpu_compress returns, and:
 * SZGPU_BAD_ARGUMENT: ctx_count is not in 1 .. SZGPU_MAX_CTXS, or a ctx is there twice or in use.
 * SZGPU_SOURCE_FAILED: the source failed, or ended before the field did.
 * SZGPU_SINK_FAILED: the sink failed.
 * SZGPU_CAPACITY: the sink's memory ends before the data do. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_compress_stream(
    szgpu_ctx *const *ctxs, int ctx_count, const szgpu_params *params, const szgpu_shape *shape,
    const szgpu_source *source, const szgpu_sink *sink, uint64_t *archive_bytes);

/* Finds the memory that szgpu_compress_stream takes with ctx_count ctxs like this one.
 * *memory_bytes gets the most memory: the first ctx's workspace with the whole ring, on the host;
 * *frame_rows gets the rows of a frame, in whole tiles. Either pointer may be NULL. To use less
 * memory, ask again with fewer params->frame_rows.
 *
 * Returns what szgpu_sizes returns. SZGPU_BAD_ARGUMENT also if ctx_count is not in
 * 1 .. SZGPU_MAX_CTXS. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_stream_sizes(szgpu_ctx *ctx, int ctx_count,
                                                           const szgpu_params *params,
                                                           const szgpu_shape *shape,
                                                           size_t *memory_bytes,
                                                           uint64_t *frame_rows);

/* Restores a field frame by frame: the reverse of szgpu_compress_stream, with the same rules for
 * ctxs and callbacks. The archive is read once and the field is written once, both in order and
 * without gaps, so either may be a pipe. The call reads nothing after the archive's last byte;
 * *archive_bytes gets the archive's size.
 *
 * If the call finds damage, it has already written the frames before it.
 *
 * Returns what szgpu_decompress returns, except SZGPU_TRAILING_BYTES, and what
 * szgpu_compress_stream returns. SZGPU_TRUNCATED: the source ends before the archive does. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_decompress_stream(szgpu_ctx *const *ctxs,
                                                                int ctx_count,
                                                                const szgpu_source *source,
                                                                const szgpu_sink *sink,
                                                                uint64_t *archive_bytes);

/* ---- calls that only enqueue work in a stream ---- */

/* The result of an item; in GPU memory. */
typedef struct szgpu_outcome {
  uint64_t bytes;    /* compression: the archive's; with SZGPU_CAPACITY: room that suffices.
                        decompression: the field's, or 0 */
  uint32_t status;   /* szgpu_status */
  uint32_t reserved; /* 0 */
} szgpu_outcome;

/* A field and its archive. All pointers are to memory of the ctx's GPU. */
typedef struct szgpu_async_item {
  szgpu_shape shape;      /* with a bound: F32 or F64; lossless: any type */
  void *field;            /* aligned to its values. Compression only reads it */
  void *archive;          /* aligned to 16 bytes. Decompression only reads it */
  uint64_t archive_bytes; /* compression: the archive's capacity. decompression: its size */
  /* decompression: the address of the archive's size, for instance &outcome->bytes of its
   * compression; that size is at most archive_bytes. NULL: archive_bytes is the size. compression:
   * NULL */
  const uint64_t *archive_bytes_at;
  szgpu_outcome *outcome; /* aligned to 8 bytes */
} szgpu_async_item;

enum { SZGPU_MAX_ASYNC_ITEMS = 65535 };

/* Finds the workspace that szgpu_compress_async and szgpu_decompress_async need for these items, of
 * which only the shapes matter. It opens the GPU, which must have happened before a call is
 * captured in a graph. szgpu_sizes gives a capacity that is always large enough for an archive.
 *
 * Returns what szgpu_compress_async returns. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_async_bytes(szgpu_ctx *ctx,
                                                          const szgpu_params *params,
                                                          const szgpu_async_item *items,
                                                          size_t item_count,
                                                          size_t *workspace_bytes);

/* Enqueues the compression of fields in a stream and returns; it does not use the ctx's own stream.
 * The host checks arguments, launches kernels and never waits or allocates. So a call can be
 * captured in a CUDA graph and replayed on other contents of the same memory. Items are copied
 * during the call. Fields, archives, outcomes and the workspace must stay valid until the stream
 * has done the work; one workspace serves all calls in one stream. Archives, outcomes and the
 * workspace must not overlap.
 *
 * The ctx's backend must be CUDA. stream: a stream of its GPU; NULL: the default stream. workspace:
 * in GPU memory, aligned to 256 bytes. params: the tile layout, no zstd, frames as large as the
 * fields, and either SZGPU_MODE_LOSSLESS or SZGPU_MODE_ABS with `greatest`, raw_outliers and
 * LORENZO. An archive has the same bytes as that of szgpu_compress with these params, on either
 * backend.
 *
 * When the stream has done the work, the outcome of each item has its status: SZGPU_OK,
 * SZGPU_CAPACITY or SZGPU_FIELD_CHANGED. Other items are unaffected. No field may change before
 * that; if one does, its archive may be invalid without the call noticing.
 *
 * SZGPU_BAD_ARGUMENT: a pointer is NULL or not aligned, there are more than SZGPU_MAX_ASYNC_ITEMS
 * items, the workspace is too small, or params are not valid; szgpu_last_error says which.
 * SZGPU_BAD_BOUND, SZGPU_BAD_SHAPE: as szgpu_compress.
 * SZGPU_UNSUPPORTED: other params or backends; szgpu_last_error says what to change.
 * SZGPU_NO_DEVICE, SZGPU_DEVICE_ERROR, SZGPU_OUT_OF_MEMORY: CUDA failed. The stream may have done
 * some of the work. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_compress_async(
    szgpu_ctx *ctx, const szgpu_params *params, const szgpu_async_item *items, size_t item_count,
    void *workspace, size_t workspace_bytes, struct CUstream_st *stream);

/* The reverse, with the params of the compression; the same rules apply. It checks archives as
 * szgpu_decompress does. They may hold anything, but must not change meanwhile. An outcome has the
 * status that szgpu_decompress would return, or SZGPU_OTHER_PARAMS for an archive of other params,
 * shape or type. If it is not SZGPU_OK, the contents of the field are undefined. */
SZGPU_API SZGPU_MUST_CHECK szgpu_status szgpu_decompress_async(
    szgpu_ctx *ctx, const szgpu_params *params, const szgpu_async_item *items, size_t item_count,
    void *workspace, size_t workspace_bytes, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
