/* format.h - every constant that reaches the bytes of an archive; docs/format.md explains them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_FORMAT_H
#define SZG_FORMAT_H

#include <assert.h>
#include <stdint.h>

/* 0x89 catches 7-bit transfer, CR LF catches text mode, 0x1A stops `type` (as PNG does). */
#define SZG_MAGIC "\x89SZG\r\n\x1a\n"

enum {
  SZG_MAGIC_BYTES = 8,
  SZG_FORMAT_VERSION = 12, /* the latest; an archive states the lowest that has its features */
  SZG_FORMAT_VERSION_LINEAR = 1,
  SZG_FORMAT_VERSION_TILE = 2,
  SZG_FORMAT_VERSION_LOSSLESS = 3,    /* and linear archives without gap arrays */
  SZG_FORMAT_VERSION_TOP_PLANE = 4,   /* lossless archives of the linear layout */
  SZG_FORMAT_VERSION_LEVELS = 5,      /* levels frames */
  SZG_FORMAT_VERSION_TYPES = 6,       /* integers; a bound for halves and bytes */
  SZG_FORMAT_VERSION_PLANE_WORDS = 7, /* words of planes frames after their stored planes */
  SZG_FORMAT_VERSION_KEPT = 8,        /* limits of the values; several fill values */
  SZG_FORMAT_VERSION_COMPACT = 9,     /* the compact form of small archives, in one byte */
  SZG_FORMAT_VERSION_HALVED = 10,     /* lines whose base is predicted by halves */
  SZG_FORMAT_VERSION_JOINED = 11,     /* neighbouring axes that are taken for one */
  SZG_FORMAT_VERSION_BLENDED = 12,    /* points of several odd axes from blended stencils */
  SZG_HEADER_BYTES = 128,             /* fixed part; frame table, limits and checksum follow */
  SZG_FRAME_HEADER_BYTES = 40,        /* the section table and a checksum follow */
  SZG_SECTION_ENTRY_BYTES = 32,
  SZG_ALIGNMENT = 16, /* headers and sections start at multiples of this */
  SZG_MAX_DIMS = 4,
  SZG_CHECKSUM_BLOCK_BYTES = 16384, /* a leaf of the checksum tree */
  SZG_ZSTD_PIECE_BYTES = 1 << 20,   /* a section under zstd is one zstd frame per piece */
  SZG_ZSTD_MIN_GAIN = 64            /* zstd must save over 1/64 of the section */
};

/* The default frame: as many rows as have at most this many values. */
#define SZG_DEFAULT_FRAME_VALUES ((uint64_t)1 << 30)
/* For fields of bytes; the encoder chooses the width of values for each frame. */
#define SZG_DEFAULT_FRAME_BYTES ((uint64_t)1 << 26)
/* For fields that are coded in a wider type: both backends hold a frame of such values. */
#define SZG_DEFAULT_FRAME_MAPPED ((uint64_t)1 << 26)

/* Archives of one frame of up to so many values have a compact form. */
enum { SZG_COMPACT_MOST_VALUES = 1 << 18 };

/* Tiles hold at most 4096 values for every number of axes, so that a tile is also the unit of every
 * side table. docs/notebook.md has the measurements behind the shapes. */
enum {
  SZG_TILE_VALUES = 4096,
  SZG_TILE_3D_X = 32,
  SZG_TILE_3D_Y = 8,
  SZG_TILE_3D_Z = 16,
  SZG_TILE_2D_X = 64,
  SZG_TILE_2D_Y = 64,
  SZG_TILE_1D_X = 4096
};

/* Codes. */
enum {
  SZG_ESCAPE_SYMBOL = 0, /* delta d of (-radius, radius) is symbol d + radius */
  SZG_MIN_RADIUS = 2,
  SZG_MAX_RADIUS = 32768, /* 65,536 symbols: u16 codes */
  SZG_MAX_SYMBOLS = 2 * SZG_MAX_RADIUS,
  SZG_MAX_CODE_BITS = 16 /* so that a gap is below 16 and fits 4 bits */
};

/* The linear layout: 32-bit words filled from the most significant bit. */
enum {
  SZG_SUBSEQUENCE_BITS = 256, /* 4-bit gaps: 1.6 % of the bitstream */
  SZG_SUBSEQUENCE_WORDS = SZG_SUBSEQUENCE_BITS / 32,
  SZG_SEQUENCE_SUBSEQUENCES = 128,
  SZG_SEQUENCE_BITS = SZG_SUBSEQUENCE_BITS * SZG_SEQUENCE_SUBSEQUENCES
};
static_assert(SZG_MAX_CODE_BITS <= 16, "a gap must fit 4 bits");
static_assert(SZG_SEQUENCE_BITS <= 65535, "codes starting in a sequence must fit 16 bits");
static_assert(SZG_TILE_VALUES * (SZG_MAX_CODE_BITS - 1) <= 65535, "tile bits must fit 16 bits");

/* The tile layout: a tile is 128 rows of 32 places, and lane l has the codes of place l. */
enum {
  SZG_LANES = 32,
  SZG_LANE_CODES = SZG_TILE_VALUES / SZG_LANES, /* rows of a full tile */
  SZG_GROUP_ROWS = 8,                           /* rows 0 4 1 5 2 6 3 7 follow one another */
  SZG_TILE_CODE_BITS = 12,                      /* longest code: decoders look it up at once */
  /* Symbols: the escape, negative classes, deltas of (-512, 512), positive classes. */
  SZG_TILE_DIRECT = 512, /* delta d, |d| < this: symbol SZG_TILE_ZERO + d */
  SZG_TILE_CLASSES = 128,
  SZG_TILE_ZERO = 1 + SZG_TILE_CLASSES + SZG_TILE_DIRECT - 1, /* delta 0 */
  SZG_TILE_POSITIVE_CLASS = SZG_TILE_ZERO + SZG_TILE_DIRECT,  /* class k: this + k */
  SZG_TILE_NEGATIVE_CLASS = SZG_TILE_ZERO - SZG_TILE_DIRECT,  /* class k: this - k */
  SZG_TILE_SYMBOLS = 2 * SZG_TILE_ZERO,
  /* Head of a tile: least lane bits, width of the excess, whether a mask of lanes follows. */
  SZG_TILE_LEAST_BITS = 14,
  SZG_TILE_WIDTH_BITS = 4,
  SZG_TILE_HEAD_BITS = SZG_TILE_LEAST_BITS + SZG_TILE_WIDTH_BITS + 1,
  /* A delta needs 2^-13 of the sample to get a code of its own, a class 2^-15: each code takes room
   * from the others, but escapes are long, and fields are not the same everywhere. */
  SZG_TILE_KEEP_SHIFT = 13,
  SZG_TILE_KEEP_CLASS_SHIFT = 15
};
static_assert(SZG_TILE_NEGATIVE_CLASS - SZG_TILE_CLASSES + 1 == SZG_ESCAPE_SYMBOL + 1, "symbols");
static_assert(SZG_TILE_POSITIVE_CLASS + SZG_TILE_CLASSES == SZG_TILE_SYMBOLS, "symbols");
static_assert(SZG_LANE_CODES * (1 + SZG_TILE_CODE_BITS + 64) < 1 << SZG_TILE_LEAST_BITS,
              "the longest lane must fit");

/* Tiles that are counted for the codebook of a tile frame: an eighth of them, at least 256 (or all)
 * and at most 1024. */
enum { SZG_COUNT_SHARE = 8, SZG_LEAST_COUNTED = 256, SZG_MOST_COUNTED = 1024 };

/* Zero groups of a tile frame: a bit precedes the codes of 8 or 4 rows of a lane; it is 0 if they
 * are all delta 0 and left out. */
enum {
  SZG_ZERO_GROUPS_NONE = 0,
  SZG_ZERO_GROUPS_8 = 1,
  SZG_ZERO_GROUPS_4 = 2,
  SZG_ZERO_GROUPS_COUNT
};

/* Lossless frames: values in byte planes, a tile of 4096 in rows of 128, four values to a lane. */
enum {
  SZG_PLANES_MOST = 8, /* bytes of a value */
  SZG_PLANES_RUN = 4,  /* values that a lane has in a row */
  SZG_PLANES_ROW = SZG_LANES * SZG_PLANES_RUN,
  SZG_PLANES_SYMBOLS = 256,
  SZG_PLANES_CODE_BITS = 12,
  SZG_PLANES_BOOK_BYTES = SZG_PLANES_SYMBOLS / 2, /* per coded plane: 4-bit code lengths */
  SZG_PLANES_TILE_SIDE_BYTES = 32 /* per coded plane of a tile, in addition to codes */
};
enum { SZG_PLANE_STORED = 0, SZG_PLANE_CODED = 1, SZG_PLANE_CONSTANT = 2, SZG_PLANE_MODES };
/* Lossless frames of the linear layout: the highest plane is coded. */
enum { SZG_TOP_PLANE_RADIUS = SZG_PLANES_SYMBOLS / 2 }; /* in frame headers; bounds no delta */

/* Levels frames: the codes of a level in groups of 64 places, 2^g groups to a lane. */
enum {
  SZG_LEVELS_GROUP = 64,
  SZG_LEVELS_LANE_GROUPS_LOG2 = 4, /* the greatest g */
  SZG_LEVELS_CODE_BITS = 12,       /* longest code: decoders look it up at once */
  /* Value symbols: 0, magnitudes below 32 by turns positive and negative, classes, the escape. */
  SZG_LEVELS_VALUES = 256,
  SZG_LEVELS_DIRECT = 32,
  SZG_LEVELS_FIRST_CLASS = 2 * SZG_LEVELS_DIRECT - 1, /* class c: this + 2 c, negative: 1 more */
  SZG_LEVELS_CLASSES = 96,
  SZG_LEVELS_VALUE_ESCAPE = SZG_LEVELS_FIRST_CLASS + 2 * SZG_LEVELS_CLASSES,
  /* Pair symbols: two codes of -7 .. 7, and the escape. */
  SZG_LEVELS_PAIR_REACH = 7,
  SZG_LEVELS_PAIR_SIDE = 2 * SZG_LEVELS_PAIR_REACH + 1,
  SZG_LEVELS_PAIR_ESCAPE = SZG_LEVELS_PAIR_SIDE * SZG_LEVELS_PAIR_SIDE,
  SZG_LEVELS_PAIRS = SZG_LEVELS_PAIR_ESCAPE + 1,
  /* Octet symbols say which eighths of a group have nonzero codes, mask symbols which places. */
  SZG_LEVELS_OCTET_ESCAPE = 256,
  SZG_LEVELS_OCTETS = SZG_LEVELS_OCTET_ESCAPE + 1,
  SZG_LEVELS_MASK_ESCAPE = 0,
  SZG_LEVELS_MASKS = 256,
  /* Head of a tile: least lane bits, width of the excess, whether a mask of lanes follows. */
  SZG_LEVELS_LEAST_BITS = 17,
  SZG_LEVELS_WIDTH_BITS = 5,
  SZG_LEVELS_HEAD_BITS = SZG_LEVELS_LEAST_BITS + SZG_LEVELS_WIDTH_BITS + 1
};
static_assert(SZG_LEVELS_VALUE_ESCAPE == SZG_LEVELS_VALUES - 1, "symbols");

/* Tiles of each stage that are counted for its books, if it has so many. */
enum { SZG_LEVELS_MOST_COUNTED = 128 };

/* How the codes of a level are written. */
enum {
  SZG_LEVELS_MODE_ZERO = 0,  /* all codes are 0 */
  SZG_LEVELS_MODE_PLAIN = 1, /* value symbols */
  SZG_LEVELS_MODE_PAIRS = 2, /* pair symbols */
  SZG_LEVELS_MODE_MASKS = 3, /* octet and mask symbols, and the value symbols of nonzero codes */
  SZG_LEVELS_MODES
};

/* A set of axes to difference along, one bit per axis. */
enum { SZG_AXIS_X = 1, SZG_AXIS_Y = 2, SZG_AXIS_Z = 4, SZG_AXES_ALL = 7 };

/* The sample for the choice of axes and radius: an eighth as many quarters of tiles (of a line,
 * whole tiles) as there are tiles, made odd, but at least 33 (or all) and at most 127. An odd
 * number does not keep to some columns of tiles in fields that have 2^n of them. */
enum {
  SZG_SAMPLE_QUARTERS = 4,
  SZG_SAMPLE_SHARE = 8,
  SZG_LEAST_SAMPLE = 33,
  SZG_MOST_SAMPLE = 127
};

/* Kinds of frame. */
enum {
  SZG_FRAME_LINEAR = 0,   /* codes in the linear layout */
  SZG_FRAME_CONSTANT = 1, /* one value, except for exact and fill values */
  SZG_FRAME_RAW = 2,      /* the values themselves, byte plane after byte plane */
  SZG_FRAME_TILE = 3,     /* codes in the tile layout */
  SZG_FRAME_PLANES = 4,   /* lossless: byte planes, coded, stored or constant */
  SZG_FRAME_LEVELS = 5,   /* interpolation from coarse to fine */
  SZG_FRAME_KIND_COUNT
};

/* Sections, in the order in which a frame has them: enumerator, name in listings */
#define SZG_SECTION_LIST(X)                       \
  X(SZG_SECTION_CODEBOOK, "codebook")             \
  X(SZG_SECTION_TILE_SIZES, "tile sizes")         \
  X(SZG_SECTION_BITSTREAM, "bitstream")           \
  X(SZG_SECTION_GAPS, "gap array")                \
  X(SZG_SECTION_SEQUENCE_CODES, "sequence codes") \
  X(SZG_SECTION_ESCAPE_COUNTS, "escape counts")   \
  X(SZG_SECTION_ESCAPES, "escapes")               \
  X(SZG_SECTION_EXACT_COUNTS, "exact counts")     \
  X(SZG_SECTION_EXACT_MASK, "exact mask")         \
  X(SZG_SECTION_EXACT_VALUES, "exact values")     \
  X(SZG_SECTION_FILL_COUNTS, "fill counts")       \
  X(SZG_SECTION_FILL_MASK, "fill mask")           \
  X(SZG_SECTION_RAW, "raw values")                \
  X(SZG_SECTION_BASE, "base")                     \
  X(SZG_SECTION_LEVEL_1, "first level")           \
  X(SZG_SECTION_LEVEL_2, "second level")          \
  X(SZG_SECTION_LEVEL_3, "third level")           \
  X(SZG_SECTION_LEVEL_4, "fourth level")          \
  X(SZG_SECTION_LEVEL_5, "fifth level")           \
  X(SZG_SECTION_LEVEL_6, "sixth level")           \
  X(SZG_SECTION_SIGN_SIZES, "sign sizes")         \
  X(SZG_SECTION_SIGNS, "signs")                   \
  X(SZG_SECTION_PLANE_WORDS, "plane words")       \
  X(SZG_SECTION_FILL_2_SIZES, "fill 2 sizes")     \
  X(SZG_SECTION_FILL_2, "fill 2")                 \
  X(SZG_SECTION_FILL_3_SIZES, "fill 3 sizes")     \
  X(SZG_SECTION_FILL_3, "fill 3")                 \
  X(SZG_SECTION_FILL_4_SIZES, "fill 4 sizes")     \
  X(SZG_SECTION_FILL_4, "fill 4")

#define SZG_SECTION_ENUMERATOR(name, text) name,
enum { SZG_SECTION_LIST(SZG_SECTION_ENUMERATOR) SZG_SECTION_KIND_COUNT };
#undef SZG_SECTION_ENUMERATOR

enum { SZG_CODEC_STORED = 0, SZG_CODEC_ZSTD = 1 };

/* How values are quantized; the header states it. */
enum {
  SZG_ARITHMETIC_F32 = 0,       /* f32 values, f32 arithmetic, 32-bit lattice */
  SZG_ARITHMETIC_F32_CLOSE = 1, /* f32 values, f64 arithmetic, 32-bit lattice */
  SZG_ARITHMETIC_F64 = 2,       /* f64 values and arithmetic, 32-bit lattice */
  SZG_ARITHMETIC_F64_WIDE = 3,  /* f64 values and arithmetic, 64-bit lattice */
  SZG_ARITHMETIC_COUNT
};

/* A value can be quantized when |x / step| is below 2^30 (2^62 on the 64-bit lattice). */
#define SZG_LATTICE_LIMIT_32 0x1p30
#define SZG_LATTICE_LIMIT_64 0x1p62
/* Tile frames on the 16-bit lattice: below 2^15 - 1, so that the nearest point fits. */
#define SZG_LATTICE_LIMIT_16 32767.0

/* Under a bound relative to each value, frames code logarithms, to which these bits of -infinity
 * are the fill value: it stands for 0, or for the field's own fill value. */
#define SZG_LOG_FILL_F32 0xFF800000u
#define SZG_LOG_FILL_F64 0xFFF0000000000000u
/* Values whose signs, or places of a further fill value, share a run. */
enum { SZG_SIGN_RUN = SZG_TILE_VALUES };

/* Header flags. The number of fill values after the first takes two bits. */
enum {
  SZG_FLAG_FILL = 1,
  SZG_FLAG_NO_GAPS = 2,
  SZG_FLAG_LIMITS = 4,
  SZG_FLAG_MORE_FILLS_SHIFT = 3,
  SZG_MOST_MORE_FILLS = 3,
  SZG_FLAG_JOINED_SHIFT = 5, /* three bits */
  SZG_MOST_JOINED = 7
};

/* Values that climate, ocean and weather codes use for "nothing here", as bit patterns, because
 * fill values are recognized by their bits. If the caller names none, the first of the list that
 * the field holds is its fill value. All are NaN or at least SZG_FILL_LEAST in magnitude, so that
 * they do not slow a pass over ordinary values; the caller must name -9999 and the like. */
#define SZG_KNOWN_FILLS_F32                                                                    \
  {                                                                                            \
    0x60AD78ECu /* 1e20, CMIP */, 0x7CF00000u /* 9.96921e36, netCDF default */,                \
        0xF7F684DFu /* -1e34, Ferret */, 0x7B4097CEu /* 1e36, CESM */, 0x7149F2CAu /* 1e30 */, \
        0x799A130Cu /* 1e35 */, 0x58635FA9u /* 1e15, GEOS */, 0xFF7FFFFFu /* -FLT_MAX, GIS */, \
        0x7FC00000u /* NaN */, 0xFFC00000u /* -NaN */                                          \
  }
#define SZG_KNOWN_FILLS_F64                                                                \
  {                                                                                        \
    0x4415AF1D78B58C40u /* 1e20 */, 0x479E000000000000u /* 9.96921e36 */,                  \
        0xC6FED09BEAD87C03u /* -1e34 */, 0x476812F9CF7920E3u /* 1e36 */,                   \
        0x46293E5939A08CEAu /* 1e30 */, 0x4733426172C74D82u /* 1e35 */,                    \
        0x430C6BF526340000u /* 1e15 */, 0xC7EFFFFFE0000000u /* -FLT_MAX */,                \
        0x4415AF1D80000000u /* 1e20 from f32 */, 0xC6FED09BE0000000u /* -1e34 from f32 */, \
        0x476812F9C0000000u /* 1e36 from f32 */, 0x46293E5940000000u /* 1e30 from f32 */,  \
        0x4733426180000000u /* 1e35 from f32 */, 0x430C6BF520000000u /* 1e15 from f32 */,  \
        0x7FF8000000000000u /* NaN */, 0xFFF8000000000000u /* -NaN */                      \
  }
#define SZG_MAX_KNOWN_FILLS 16
/* The least magnitude among them, as bits: 0x1.c6bf52p+49 and its double form. */
#define SZG_FILL_LEAST_F32 0x58635FA9u
#define SZG_FILL_LEAST_F64 0x430C6BF520000000u

/* A series: a record before each archive. */
#define SZG_SERIES_MAGIC "\x89SZS\r\n\x1a\n"
enum {
  SZG_SERIES_VERSION = 1,
  SZG_RECORD_COMMIT_OFFSET = 16, /* archive bytes and checksum: written last, as one */
  SZG_RECORD_COMMIT_BYTES = 16,
  SZG_RECORD_HEAD_BYTES = 48, /* fixed part; the name and its padding follow */
  SZG_RECORD_MOST_NAME_BYTES = 255,
  SZG_RECORD_MOST_BYTES = SZG_RECORD_HEAD_BYTES + SZG_RECORD_MOST_NAME_BYTES + 1,
  SZG_RECORD_HAS_TIME = 1 /* a flag */
};
static_assert(SZG_RECORD_MOST_BYTES % SZG_ALIGNMENT == 0, "records end where archives begin");
static_assert(SZG_RECORD_COMMIT_OFFSET % SZG_RECORD_COMMIT_BYTES == 0,
              "a disk writes what lies in one sector wholly or not at all");

#endif
