/* read.h - one frame being decompressed on the CPU.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_READ_H
#define SZG_READ_H

#include "codecs/interpolation/frame.h"
#include "codecs/lorenzo/frame.h"
#include "codecs/outliers.h"
#include "codecs/planes/frame.h"
#include "codecs/planes/top_plane_frame.h"
#include "codecs/region.h"
#include "codecs/stream.h"
#include "container/reader.h"
#include "core/arena.h"
#include "core/bytes.h"
#include "core/context.h"
#include "predict/lorenzo.h"
#include "quant/bound.h"

SZG_C_BEGIN

/* Memory for reading frames, except the field and the archive. Each kind, and each piece that kinds
 * share, has its own part; a decompression carves those that the archive may need. */
struct szg_read_plan {
  szg_tile_work *tiles; /* [threads]: the worker's current tile */
  szg_stream_read_plan stream;
  szg_levels_read_plan levels;
  szg_tile_read_plan tile;
  szg_planes_read_plan planes;
  szg_top_plane_read_plan top_plane;
};

/* Which values of a frame are marked (run_masks.h). */
typedef struct szg_run_mask {
  uint64_t value_count; /* of the frame */
  szg_loaded sizes, shares;
  uint64_t *part_starts; /* in a buffer of the ctx */
  const szg_reader *reader;
} szg_run_mask;

/* One frame being read. */
struct szg_read_job {
  szg_reader reader; /* has the frame open */
  const szg_header *header;
  szg_quantizer quantizer;
  const szg_decoder_cpu *decoder;
  szg_read_plan *plan;
  szg_grid grid;            /* of the frame */
  uint64_t wanted_values;   /* of the frame, for the progress report */
  uint8_t *values;          /* where value first_value of the frame goes */
  const szg_region *region; /* what is restored instead of values, or NULL */
  /* set by szg_frame_restore and szg_frame_restore_region: the range to restore, and of a region
     the box of tiles that it meets */
  uint64_t first_value, value_count;
  uint64_t first_tile, end_tile;
  szg_box tiles;
  /* set by the kind's `open` */
  szg_loaded tile_sizes, escape_counts, escapes;
  szg_outlier_sections outliers;
  szg_stream_input stream;
  szg_loaded words;       /* tile frames: the bitstream */
  szg_loaded stored;      /* top plane frames: all planes except the highest */
  bool sizes_are_bits;    /* tile sizes are a tile's bits minus its values, not its words */
  szg_part_start *starts; /* [parts of the frame], in the ctx's buffer; NULL: all are 0 */
  uint64_t line_values;   /* frames that are read as a line: values of the field for each of the
                             line's; 0: grid is the frame's own */
};

/* Entry i of a section of u16; 0 if the frame has no such section. */
static inline uint32_t szg_count_at(const szg_loaded *loaded, uint64_t i) {
  return loaded->bytes ? szg_load_u16(loaded->bytes + 2 * i) : 0;
}

/* ---- frames that are restored tile by tile (read.c) ---- */

/* The tile's share of the stream: bits, or words. */
uint64_t szg_stream_share_at(const szg_read_job *job, uint64_t tile_index, uint32_t value_count);

/* Whether the tile has any of the values that the job wants. */
bool szg_tile_is_wanted(const szg_read_job *job, uint64_t tile_index);

/* Finds where each part's shares begin. They must use up the sections of escapes and outliers
 * exactly; *stream_share gets their share of the stream. */
szgpu_status szg_tiles_scan(szg_read_job *job, uint64_t *stream_share) SZG_CHECKED;

/* Where a tile's values go: `tile` is the tile as it lies in `values`. Of a region, these are the
 * tile's alone, from which the region then takes its own. Frames that are read as a line do not use
 * it. */
typedef struct szg_tile_target {
  szg_tile tile;
  uint8_t *values;
} szg_tile_target;

/* How a kind restores the values of its tiles; outliers are applied afterwards. */
typedef struct szg_tile_steps {
  /* Before the tiles of a part. */
  szgpu_status (*begin_part)(const szg_read_job *job, uint64_t part, int worker);
  /* at: where the tile's shares begin. NULL: all values are there, and outliers go over them. */
  szgpu_status (*restore_tile)(const szg_read_job *job, uint64_t tile_index, const szg_tile *tile,
                               const szg_part_start *at, const szg_tile_target *target, int worker);
} szg_tile_steps;

/* Restores the wanted tiles. */
szgpu_status szg_tiles_restore(szg_read_job *job, const szg_tile_steps *steps) SZG_CHECKED;

SZG_C_END

#endif
