/* batch_write.cu - compresses many fields to archives of one frame each.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   send      items from the host to the lists of the stages
 *   axes, tally, book, compress   as for one tile frame, for all items at once
 *   raw       the byte planes of fields that did not shrink, over their tile sections
 *   complete  headers and checksums; the outcomes
 */
#include "codecs/batch.cuh"
#include "codecs/raw_planes.cuh"

namespace szg {
namespace {

/* ---- what became of a field ---- */

/* A field after its tiles are compressed. */
struct WrittenField {
  uint64_t tile_count, raw_bytes, capacity;
  const szg_tile_found *found;
  szgpu_outcome *outcome;

  __device__ WrittenField() = default;
  __device__ WrittenField(const szg_batch_item &item, const szg_grid &grid, uint32_t value_bytes)
      : tile_count(grid.tile_count),
        raw_bytes(grid.value_count * value_bytes),
        capacity(item.archive_bytes),
        found(item.write.found),
        outcome(item.outcome) {}

  __device__ uint64_t book_bytes() const { return found->book.section_bytes; }
  __device__ uint64_t size_bytes() const { return 2 * tile_count; }
  __device__ uint64_t stream_bytes() const { return 4 * found->result.word_count; }
  __device__ bool is_raw() const {
    return book_bytes() + size_bytes() + stream_bytes() >= raw_bytes;
  }
  __device__ uint64_t archive_bytes() const {
    return is_raw() ? kRawSectionByte + padded_bytes(raw_bytes)
                    : kTileSectionsByte + padded_bytes(book_bytes()) + padded_bytes(size_bytes()) +
                          padded_bytes(stream_bytes());
  }
};

/* As archive_complete.cuh asks for. */
struct BatchKind {
  static constexpr uint32_t kMostSections = SZG_TILE_SECTION_COUNT;
  WrittenField field;
  bool is_raw;

  __device__ bool size_sections(uint64_t *sizes) const {
    sizes[0] = is_raw ? field.raw_bytes : field.book_bytes();
    if (!is_raw) sizes[1] = field.size_bytes();
    if (!is_raw) sizes[2] = field.stream_bytes();
    return field.archive_bytes() <= field.capacity;
  }
  __device__ uint64_t header_bits() const {
    if (is_raw) return 0;
    return (uint64_t)field.found->choice.axes << 8 | (uint64_t)field.found->book.zero_groups << 24;
  }
  __device__ szg_summed_leaves summed() const { return {}; }
  __device__ void tell_host(uint64_t frame_bytes) const {
    if (threadIdx.x > 0) return;
    field.outcome->bytes = field.archive_bytes();
    field.outcome->status = frame_bytes > 0 ? SZGPU_OK : SZGPU_CAPACITY;
    field.outcome->reserved = 0;
  }
};

/* ---- kernels ---- */

__global__ void send_writes_kernel(const __grid_constant__ szg_batch_sent sent, uint32_t first,
                                   szg_batch_lists lists) {
  const szg_batch_item &item = sent.items[threadIdx.x];
  uint32_t const i = first + threadIdx.x;
  szg_grid const grid = szg_grid_of_dims(item.dims, (int)item.ndim);
  szg_tile_found *const found = item.write.found;
  lists.items[i] = item;
  szg_choice_item *const choice = &lists.choices[i];
  choice->grid = grid;
  choice->values = item.values;
  choice->work = item.write.choice;
  choice->choice = &found->choice;
  szg_tile_item *const tile = &lists.tiles[i];
  tile->grid = grid;
  tile->values = item.values;
  tile->axes = &found->choice.axes;
  tile->book_work = item.write.book;
  tile->book = &found->book;
  tile->sections = item.archive + kTileSectionsByte;
  tile->room_bytes =
      item.archive_bytes > kTileSectionsByte ? item.archive_bytes - kTileSectionsByte : 0;
  tile->work = item.write.tiles;
  tile->result = &found->result;
}

/* Writes the planes of a field that did not shrink, and the section's padding. */
template <class Bits>
__global__ void __launch_bounds__(BatchPolicy::kThreads) items_raw_kernel(szg_batch_lists lists) {
  const szg_batch_item &item = lists.items[blockIdx.y];
  const szg_grid &grid = lists.tiles[blockIdx.y].grid;
  WrittenField const field(item, grid, sizeof(Bits));
  if (!field.is_raw() || field.archive_bytes() > field.capacity) return;
  uint8_t *const planes = item.archive + kRawSectionByte;
  split_planes((const Bits *)item.values, grid.value_count, planes);
  uint64_t const place = field.raw_bytes + threadIdx.x;
  if (blockIdx.x == 0 && place < padded_bytes(field.raw_bytes)) planes[place] = 0;
}

template <class Bits>
__global__ void __launch_bounds__(TreePolicy::kThreads, TreePolicy::kBlocks)
    items_complete_kernel(const __grid_constant__ szg_batch_heads heads, szg_batch_lists lists) {
  typedef ArchiveJob<BatchKind> Job;
  __shared__ Job job;
  const szg_batch_item &item = lists.items[blockIdx.y];
  const szg_grid &grid = lists.tiles[blockIdx.y].grid;
  WrittenField const field(item, grid, sizeof(Bits));
  bool const is_raw = field.is_raw();
  static_assert(frame_header_words(BatchKind::kMostSections) == SZG_BATCH_TILE_WORDS, "");
  for (uint32_t i = threadIdx.x; i < SZG_BATCH_HEADER_WORDS + SZG_BATCH_TILE_WORDS;
       i += TreePolicy::kThreads) {
    uint32_t const in_frame = i - SZG_BATCH_HEADER_WORDS;
    uint64_t word = 0;
    if (i < SZG_BATCH_HEADER_WORDS)
      word = heads.archive[i];
    else if (!is_raw)
      word = heads.tile[in_frame];
    else if (in_frame < SZG_BATCH_RAW_WORDS)
      word = heads.raw[in_frame];
    job.heads[i] = head_word(word, i, item, grid);
  }
  if (threadIdx.x == 0) {
    job.header_words = SZG_BATCH_HEADER_WORDS;
    job.section_count = is_raw ? 1 : SZG_TILE_SECTION_COUNT;
    job.archive = item.archive;
    job.leaves = item.leaves;
    job.ticket = item.ticket;
    job.kind.field = field;
    job.kind.is_raw = is_raw;
  }
  __syncthreads(); /* the job is there */
  complete_by_blocks(job);
}

/* ---- launchers ---- */

template <class Bits>
szgpu_status finish(const szg_batch_class *batch, const szg_batch_lists *lists,
                    cudaStream_t stream) {
  dim3 blocks;
  SZG_TRY(batch_blocks(batch, &blocks));
  items_raw_kernel<Bits><<<blocks, BatchPolicy::kThreads, 0, stream>>>(*lists);
  SZG_TRY_LAUNCH();
  uint64_t const most_leaves =
      leaf_count_of(batch->most_values * sizeof(Bits)) + SZG_TILE_SECTION_COUNT;
  return complete_items(batch, most_leaves, items_complete_kernel<Bits>, lists, stream);
}

} // namespace
} // namespace szg

szgpu_status szg_tile_batch_send_cuda(const szg_batch_sent *sent, uint32_t count, uint32_t first,
                                      const szg_batch_lists *lists, cudaStream_t stream) {
  szg::send_writes_kernel<<<1, count, 0, stream>>>(*sent, first, *lists);
  return szg_launched();
}

szgpu_status szg_tile_batch_write_cuda(const szg_batch_class *batch, const szg_batch_lists *lists,
                                       cudaStream_t stream) {
  SZG_TRY(szg_choose_items_cuda(&batch->quantizer, &batch->widest, batch->most_tiles,
                                lists->choices, batch->item_count, stream));
  SZG_TRY(szg_tile_make_books_cuda(&batch->quantizer, batch->lattice_bits, &batch->widest,
                                   batch->most_tiles, lists->tiles, batch->item_count, stream));
  SZG_TRY(szg_tile_compress_items_cuda(&batch->quantizer, batch->lattice_bits,
                                       batch->greatest_point, &batch->widest, batch->most_tiles,
                                       lists->tiles, batch->item_count, stream));
  return batch->dtype == SZGPU_F32 ? szg::finish<uint32_t>(batch, lists, stream)
                                   : szg::finish<uint64_t>(batch, lists, stream);
}
