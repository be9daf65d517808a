/* batch_read.cu - restores many fields from archives of one frame each.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   send       items from the host to a list
 *   headers    a warp each: both headers, checked in full; where sections lie, for the next stages
 *   verify, open, decompress   as for one tile frame, for all items at once
 *   raw        the values of raw frames
 *   judge      the outcomes
 */
#include "container/header_read.cuh"
#include "frames/batch.cuh"
#include "frames/raw_planes.cuh"
#include "frames/rules_core.h"

namespace szg {
namespace {

/* ---- headers ---- */

struct HeadersMemory {
  HeaderMemory headers;
  szg_section_rules rules;
};

/* Whether the archive's header is the class's, apart from sizes. */
__device__ bool is_of_class(const szg_batch_heads &heads, const szg_batch_item &item,
                            const szg_grid &grid, const HeaderMemory &memory) {
  const uint64_t *const words = (const uint64_t *)(const void *)memory.fixed;
  uint32_t const lane = threadIdx.x % 32;
  bool is_same = true;
  if (lane < SZG_HEADER_BYTES / 8 && lane != kStatedBytesWord)
    is_same = words[lane] == head_word(heads.archive[lane], lane, item, grid);
  return __all_sync(kAllLanes, is_same);
}

/* Checks the archive's header and compares it with the class. The whole warp calls. */
__device__ szgpu_status open_archive(const szg_batch_heads &heads, const szg_batch_item &item,
                                     const szg_grid &grid, uint64_t archive_bytes,
                                     HeaderMemory *memory) {
  SZG_TRY(read_header(item.archive, archive_bytes, memory));
  const szg_header &header = memory->header;
  bool const is_ours = is_of_class(heads, item, grid, *memory); /* then its shape is the item's */
  if (!is_ours) {
    SZG_REQUIRE(szg_shape_is_valid(&header.shape), SZGPU_BAD_DATA);
    szg_grid const stated = szg_grid_of_dims(header.shape.dims, header.shape.ndim);
    SZG_REQUIRE(szg_header_frames_are_sound(&header, &stated), SZGPU_BAD_DATA);
  }
  SZG_REQUIRE(archive_bytes >= header.archive_bytes, SZGPU_TRUNCATED);
  SZG_REQUIRE(archive_bytes == header.archive_bytes, SZGPU_TRAILING_BYTES);
  return is_ours ? SZGPU_OK : SZGPU_OTHER_PARAMS;
}

/* Checks a frame's header as szg_frame_open does, in an archive that has neither planes nor levels
 * frames. One thread calls. */
__device__ szgpu_status check_frame(const szg_grid &grid, uint32_t value_bytes,
                                    HeadersMemory *memory) {
  const szg_frame_header &frame = memory->headers.frame;
  szg_section_rules *const rules = &memory->rules;
  szg_frame_facts facts;
  facts.archive = &memory->headers.header;
  facts.frame = &frame;
  facts.grid = grid;
  facts.value_bytes = facts.field_value_bytes = value_bytes;
  SZG_REQUIRE(frame.index == 0 && frame.value_count == grid.value_count, SZGPU_BAD_DATA);
  if (frame.kind == SZG_FRAME_CONSTANT) return SZGPU_OTHER_PARAMS;
  bool const is_tile = frame.kind == SZG_FRAME_TILE;
  SZG_REQUIRE(is_tile || frame.kind == SZG_FRAME_RAW, SZGPU_BAD_DATA);
  SZG_REQUIRE(is_tile ? szg_tile_is_sound(&facts) : szg_raw_is_sound(&facts), SZGPU_BAD_DATA);
  rules->most_bytes = frame.value_count * value_bytes;
  rules->count = 0;
  if (is_tile)
    szg_tile_rules(&facts, rules);
  else
    szg_raw_rules(&facts, rules);
  uint32_t kind = 0;
  SZG_REQUIRE(szg_sections_check(&frame, rules, &kind) == SZG_SECTIONS_SOUND, SZGPU_BAD_DATA);
  return SZGPU_OK;
}

/* Whether kernels can read a sound frame: its lattice is the class's, nothing is packed, and it has
 * no outliers. One thread calls. */
__device__ bool suits_class(const szg_batch_heads &heads, const szg_frame_header &frame) {
  const uint8_t *const of_class = (const uint8_t *)(const void *)heads.tile;
  bool const has_16_bits = (of_class[3] & SZG_LATTICE_16_FLAG) != 0;
  if (frame.kind == SZG_FRAME_TILE && frame.has_16_bits != has_16_bits) return false;
  for (uint32_t i = 0; i < frame.section_count; i++) {
    const szg_section &section = frame.sections[i];
    bool const is_read = section.kind <= SZG_SECTION_BITSTREAM || section.kind == SZG_SECTION_RAW;
    if (section.codec != SZG_CODEC_STORED || (!is_read && section.raw_bytes > 0)) return false;
  }
  return true;
}

__device__ szgpu_status open_frame(const szg_batch_heads &heads, const szg_batch_item &item,
                                   const szg_grid &grid, uint32_t value_bytes,
                                   uint64_t archive_bytes, HeadersMemory *memory) {
  HeaderMemory *const headers = &memory->headers;
  SZG_TRY(open_archive(heads, item, grid, archive_bytes, headers));
  SZG_TRY(read_frame_header(item.archive + kFirstFrameByte, archive_bytes - kFirstFrameByte,
                            archive_bytes - kFirstFrameByte, headers));
  if (threadIdx.x % 32 == 0) {
    headers->status = check_frame(grid, value_bytes, memory);
    if (headers->status == SZGPU_OK && !suits_class(heads, headers->frame))
      headers->status = SZGPU_OTHER_PARAMS;
  }
  __syncwarp(); /* the frame is checked */
  return headers->status;
}

/* Tells the next stages where a checked frame's sections lie. One thread calls. */
__device__ void place_sections(const szg_frame_header &frame, szg_batch_item *item,
                               szg_tile_read_item *tiles, szg_checksum_item *checksums) {
  szg_checksum_ranges *const ranges = &checksums->ranges;
  const uint8_t *bytes =
      item->archive + kFirstFrameByte + szg_frame_header_bytes(frame.section_count);
  szg_tile_input_cuda *const input = &tiles->input;
  input->axes = frame.axes;
  input->zero_groups = frame.zero_groups;
  for (uint32_t i = 0; i < frame.section_count; i++) {
    const szg_section &section = frame.sections[i];
    ranges->kinds[i] = section.kind;
    ranges->bytes[i] = bytes;
    ranges->byte_counts[i] = padded_bytes(section.stored_bytes);
    ranges->expected[i] = section.checksum;
    if (section.kind == SZG_SECTION_CODEBOOK) {
      tiles->book = bytes;
      tiles->book_bytes = section.raw_bytes;
    }
    if (section.kind == SZG_SECTION_TILE_SIZES)
      input->sizes = (const uint16_t *)(const void *)bytes;
    if (section.kind == SZG_SECTION_BITSTREAM) {
      input->words = (const uint32_t *)(const void *)bytes;
      input->word_count = section.raw_bytes / 4;
    }
    if (section.kind == SZG_SECTION_RAW) item->raw = bytes;
    bytes += ranges->byte_counts[i];
  }
  ranges->count = frame.section_count;
  tiles->is_there = frame.kind == SZG_FRAME_TILE;
}

/* The archive's size; false: it would be larger than the caller says it can be. */
__device__ bool find_size(const szg_batch_item &item, uint64_t *archive_bytes) {
  *archive_bytes = item.archive_bytes_at ? *item.archive_bytes_at : item.archive_bytes;
  return *archive_bytes <= item.archive_bytes;
}

/* One warp for each item. */
__global__ void __launch_bounds__(32)
    items_headers_kernel(const __grid_constant__ szg_batch_heads heads, uint32_t value_bytes,
                         szg_batch_read_lists lists) {
  __shared__ HeadersMemory memory;
  szg_batch_item *const item = &lists.items[blockIdx.x];
  szg_tile_read_item *const tiles = &lists.tiles[blockIdx.x];
  szg_checksum_item *const checksums = &lists.checksums[blockIdx.x];
  szg_grid const grid = szg_grid_of_dims(item->dims, (int)item->ndim);
  const szg_batch_read_work &work = item->read;
  uint64_t archive_bytes;
  szgpu_status const status =
      find_size(*item, &archive_bytes)
          ? open_frame(heads, *item, grid, value_bytes, archive_bytes, &memory)
          : SZGPU_TRUNCATED;
  if (threadIdx.x > 0) return;
  item->status = status;
  item->raw = NULL;
  *work.verdict = {};
  checksums->ranges.count = 0;
  checksums->leaves = work.leaves;
  checksums->verdict = work.verdict;
  tiles->grid = grid;
  tiles->input.decoder = work.decoder;
  tiles->input.first_words = work.first_words;
  tiles->input.counters = work.counters;
  tiles->values = item->values;
  tiles->verdict = work.verdict;
  tiles->is_there = false;
  if (status == SZGPU_OK) place_sections(memory.headers.frame, item, tiles, checksums);
}

/* ---- the other kernels ---- */

__global__ void send_reads_kernel(const __grid_constant__ szg_batch_sent sent, uint32_t first,
                                  szg_batch_read_lists lists) {
  lists.items[first + threadIdx.x] = sent.items[threadIdx.x];
}

template <class Bits>
__global__ void __launch_bounds__(BatchPolicy::kThreads)
    items_merge_kernel(szg_batch_read_lists lists) {
  const szg_batch_item &item = lists.items[blockIdx.y];
  if (!item.raw) return;
  uint64_t const value_count = lists.tiles[blockIdx.y].grid.value_count;
  merge_planes(item.raw, value_count, 0, value_count, (Bits *)item.values);
}

__global__ void items_judge_kernel(szg_batch_read_lists lists, uint32_t value_bytes,
                                   uint32_t item_count) {
  uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= item_count) return;
  const szg_batch_item &item = lists.items[i];
  const szg_verdict &verdict = *item.read.verdict;
  uint32_t status = item.status;
  if (status == SZGPU_OK && verdict.bad_data) status = SZGPU_BAD_DATA;
  if (item.status == SZGPU_OK && verdict.bad_sections) status = SZGPU_BAD_CHECKSUM;
  item.outcome->bytes = status == SZGPU_OK ? lists.tiles[i].grid.value_count * value_bytes : 0;
  item.outcome->status = status;
  item.outcome->reserved = 0;
}

/* ---- launchers ---- */

szgpu_status open_archives(const szg_batch_class *batch, uint32_t value_bytes,
                           const szg_batch_read_lists *lists, cudaStream_t stream) {
  items_headers_kernel<<<batch->item_count, 32, 0, stream>>>(batch->heads, value_bytes, *lists);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

/* Verifies checksums in the stream beside, from now on. */
szgpu_status verify_beside(const szg_batch_class *batch, uint32_t value_bytes,
                           const szg_batch_read_lists *lists, const szg_side_stream *side,
                           cudaStream_t stream) {
  uint64_t const most_leaves =
      szg_checksum_leaf_count(batch->most_values * value_bytes) + SZG_TILE_SECTION_COUNT;
  SZG_TRY_CUDA(cudaEventRecord(side->fork, stream));
  SZG_TRY_CUDA(cudaStreamWaitEvent(side->stream, side->fork, 0));
  SZG_TRY(szg_checksum_verify_items_cuda(lists->checksums, most_leaves, batch->item_count,
                                         side->stream));
  SZG_TRY_CUDA(cudaEventRecord(side->join, side->stream));
  return SZGPU_OK;
}

template <class Bits>
szgpu_status merge(const szg_batch_class *batch, const szg_batch_read_lists *lists,
                   cudaStream_t stream) {
  dim3 blocks;
  SZG_TRY(batch_blocks(batch, &blocks));
  items_merge_kernel<Bits><<<blocks, BatchPolicy::kThreads, 0, stream>>>(*lists);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

szgpu_status judge(const szg_batch_class *batch, uint32_t value_bytes,
                   const szg_batch_read_lists *lists, cudaStream_t stream) {
  unsigned const blocks = szg_grid_blocks(batch->item_count, BatchPolicy::kThreads, UINT32_MAX);
  items_judge_kernel<<<blocks, BatchPolicy::kThreads, 0, stream>>>(*lists, value_bytes,
                                                                   batch->item_count);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

} // namespace
} // namespace szg

szgpu_status szg_batch_send_reads_cuda(const szg_batch_sent *sent, uint32_t count, uint32_t first,
                                       const szg_batch_read_lists *lists, cudaStream_t stream) {
  szg::send_reads_kernel<<<1, count, 0, stream>>>(*sent, first, *lists);
  SZG_TRY_LAUNCH();
  return SZGPU_OK;
}

szgpu_status szg_batch_read_cuda(const szg_batch_class *batch, const szg_batch_read_lists *lists,
                                 const szg_side_stream *side, cudaStream_t stream) {
  uint32_t const value_bytes = (uint32_t)szg_dtype_bytes(batch->dtype);
  SZG_TRY(szg::open_archives(batch, value_bytes, lists, stream));
  SZG_TRY(szg::verify_beside(batch, value_bytes, lists, side, stream));
  SZG_TRY(szg_tile_open_items_cuda(lists->tiles, batch->most_tiles, batch->item_count, stream));
  SZG_TRY(szg_tile_decompress_items_cuda(&batch->quantizer, batch->lattice_bits, &batch->widest,
                                         batch->most_tiles, batch->is_aligned, lists->tiles,
                                         batch->item_count, stream));
  SZG_TRY(batch->dtype == SZGPU_F32 ? szg::merge<uint32_t>(batch, lists, stream)
                                    : szg::merge<uint64_t>(batch, lists, stream));
  SZG_TRY_CUDA(cudaStreamWaitEvent(stream, side->join, 0));
  return szg::judge(batch, value_bytes, lists, stream);
}
