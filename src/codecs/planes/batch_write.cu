/* batch_write.cu - compresses many fields to lossless archives of one frame each.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   send      items from the host to the lists of the stages
 *   width, count, choose, measure   as for one planes frame, for all items at once; again for those
 *             whose sample has misled, if any can have more tiles than are counted
 *   lay out   where sections go, or that the frame is raw, or that it has no room
 *   write     stored planes and words
 *   sides     books and tile sizes; the byte planes of raw frames
 *   complete  headers and checksums; the outcomes
 */
#include "codecs/batch.cuh"
#include "codecs/raw_planes.cuh"

namespace szg {
namespace {

/* ---- what becomes of a field ---- */

/* A field after its planes are measured. */
struct MeasuredField {
  szg_planes_layout layout;
  szg_planes_sizes sizes;
  uint64_t raw_bytes, capacity;
  bool is_misled; /* though all symbols were counted */

  __device__ MeasuredField() = default;
  __device__ MeasuredField(const szg_batch_item &item, const szg_planes_write_item &planes)
      : layout(planes.output.layout), raw_bytes(planes.byte_count), capacity(item.archive_bytes) {
    const szg_planes_output_cuda &output = planes.output;
    const uint64_t *const ends = output.first_words + szg_planes_tile_count(output.value_count);
    uint64_t const word_count = szg_planes_book_bytes(&layout) ? ends[0] : 0;
    sizes = szg_planes_sizes_of(&layout, output.value_count, word_count);
    is_misled = ends[1] != 0;
  }

  __device__ bool is_raw() const { return szg_planes_sizes_sum(&sizes) >= raw_bytes; }
  __device__ bool has_words() const { return !is_raw() && sizes.books > 0; }
  __device__ uint32_t section_count() const {
    return is_raw() ? 1 : szg_planes_section_count(&sizes);
  }
  __device__ uint64_t first_section_byte() const {
    return kFirstFrameByte + szg_frame_header_bytes(section_count());
  }
  __device__ uint64_t archive_bytes() const {
    return first_section_byte() +
           (is_raw() ? padded_bytes(raw_bytes)
                     : padded_bytes(sizes.books) + padded_bytes(sizes.tile_sizes) + sizes.stored +
                           padded_bytes(sizes.words));
  }
  __device__ szgpu_status status() const {
    if (is_misled) return SZGPU_FIELD_CHANGED;
    return archive_bytes() > capacity ? SZGPU_CAPACITY : SZGPU_OK;
  }
};

/* Section i: its kind and its size. */
struct FieldSection {
  uint32_t kind;
  uint64_t byte_count;
};
__device__ FieldSection section_at(const MeasuredField &field, uint32_t i) {
  const szg_planes_sizes &sizes = field.sizes;
  if (field.is_raw()) return {SZG_SECTION_RAW, field.raw_bytes};
  if (!sizes.books) return {SZG_SECTION_RAW, sizes.stored};
  if (i == 0) return {SZG_SECTION_CODEBOOK, sizes.books};
  if (i == 1) return {SZG_SECTION_TILE_SIZES, sizes.tile_sizes};
  if (i == 2 && sizes.stored) return {SZG_SECTION_RAW, sizes.stored};
  return {SZG_SECTION_PLANE_WORDS, sizes.words};
}

/* As archive_complete.cuh asks for. */
struct PlanesKindOfItem {
  static constexpr uint32_t kMostSections = SZG_PLANES_MOST_SECTIONS;
  MeasuredField field;
  szgpu_outcome *outcome;

  __device__ bool size_sections(uint64_t *sizes) const {
    for (uint32_t i = 0; i < field.section_count(); i++) sizes[i] = section_at(field, i).byte_count;
    return field.status() == SZGPU_OK;
  }
  __device__ uint64_t header_bits() const { return 0; }
  __device__ szg_summed_leaves summed() const { return {}; }
  __device__ void tell_host(uint64_t) const {
    if (threadIdx.x > 0) return;
    outcome->bytes = field.is_misled ? 0 : field.archive_bytes();
    outcome->status = field.status();
    outcome->reserved = 0;
  }
};

/* ---- kernels ---- */

/* is_bytes: each frame chooses how wide its values are. */
__global__ void send_writes_kernel(const __grid_constant__ szg_batch_sent sent, uint32_t first,
                                   szg_batch_lists lists) {
  const szg_batch_item &item = sent.items[threadIdx.x];
  const szg_batch_planes_write_work &work = item.planes_write;
  uint32_t const i = first + threadIdx.x;
  bool const is_bytes = item.dtype == SZGPU_U8;
  uint32_t const width = (uint32_t)szg_dtype_bytes((szgpu_dtype)item.dtype);
  uint64_t const value_count = szg_grid_of_dims(item.dims, (int)item.ndim).value_count;
  szg_planes_write_item planes = {};
  planes.output.layout.value_bytes = is_bytes ? 0 : width;
  planes.output.values = item.values;
  planes.output.value_count = is_bytes ? 0 : value_count;
  planes.output.encoder = work.encoder;
  planes.output.sizes = work.sizes;
  planes.output.first_words = work.first_words;
  planes.output.lane_bits = work.lane_bits;
  planes.byte_count = value_count * width;
  planes.counts = work.counts;
  planes.tally = work.tally;
  planes.encoder = work.encoder;
  lists.planes[i] = planes;
  lists.items[i] = item;
}

__global__ void items_lay_out_kernel(szg_batch_lists lists, uint32_t item_count) {
  uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= item_count) return;
  szg_planes_write_item *const planes = &lists.planes[i];
  szg_batch_item *const item = &lists.items[i];
  MeasuredField const field(*item, *planes);
  const szg_planes_sizes &sizes = field.sizes;
  uint8_t *const stored =
      item->archive + field.first_section_byte() + sizes.books + padded_bytes(sizes.tile_sizes);
  planes->output.stored = stored;
  planes->output.words = (uint32_t *)(void *)(stored + sizes.stored);
  planes->output.room_words = padded_bytes(sizes.words) / sizeof(uint32_t);
  planes->has_sections =
      field.status() == SZGPU_OK && !field.is_raw() && (sizes.books || sizes.stored);
}

/* Sets the padding of a section. */
__device__ __forceinline__ void pad(uint8_t *section, uint64_t byte_count) {
  uint64_t const place = byte_count + threadIdx.x;
  if (blockIdx.x == 0 && place < padded_bytes(byte_count)) section[place] = 0;
}

/* Writes the books that szg_planes_books_write does: two lengths to a byte. */
__device__ __forceinline__ void write_books(const szg_planes_layout &layout,
                                            const szg_planes_encoder &encoder, uint8_t *books) {
  auto const length_of = [](uint32_t entry) {
    return entry & SZG_PLANES_UNCOUNTED_FLAG ? 0 : entry >> 16;
  };
  for (uint32_t plane = 0; plane < layout.value_bytes; plane++) {
    if (szg_plane_mode(layout.modes, plane) != SZG_PLANE_CODED) continue;
    for (uint32_t i = threadIdx.x; i < SZG_PLANES_BOOK_BYTES; i += BatchPolicy::kThreads)
      books[i] = (uint8_t)(length_of(encoder.entries[plane][2 * i]) |
                           length_of(encoder.entries[plane][2 * i + 1]) << 4);
    books += SZG_PLANES_BOOK_BYTES;
  }
}

__device__ __forceinline__ void write_sides(const MeasuredField &field,
                                            const szg_planes_write_item &planes,
                                            uint8_t *sections) {
  const szg_planes_output_cuda &output = planes.output;
  uint16_t *const sizes = (uint16_t *)(void *)(sections + field.sizes.books);
  if (blockIdx.x == 0) write_books(field.layout, *planes.encoder, sections);
  uint64_t const stride = (uint64_t)gridDim.x * BatchPolicy::kThreads;
  for (uint64_t i = (uint64_t)blockIdx.x * BatchPolicy::kThreads + threadIdx.x;
       2 * i < padded_bytes(field.sizes.tile_sizes); i += stride)
    sizes[i] = output.sizes[i];
}

/* Grid: blocks for each item, and the items. Bits: of the field's values. */
template <class Bits>
__global__ void __launch_bounds__(BatchPolicy::kThreads) items_sides_kernel(szg_batch_lists lists) {
  const szg_batch_item &item = lists.items[blockIdx.y];
  const szg_planes_write_item &planes = lists.planes[blockIdx.y];
  MeasuredField const field(item, planes);
  if (field.status() != SZGPU_OK) return;
  uint8_t *const sections = item.archive + field.first_section_byte();
  if (field.is_raw()) {
    split_planes((const Bits *)item.values, field.raw_bytes / sizeof(Bits), sections);
    pad(sections, field.raw_bytes);
  } else if (field.sizes.books) {
    write_sides(field, planes, sections);
  }
}

/* Word i of the frame's header, without sizes and checksums. */
__device__ uint64_t frame_word(const MeasuredField &field, uint32_t i) {
  if (i == 0)
    return field.is_raw() ? (uint64_t)SZG_FRAME_RAW
                          : SZG_FRAME_PLANES | (uint64_t)field.layout.value_bytes << 16 |
                                (uint64_t)field.layout.modes << 32;
  if (i == kConstantBitsWord) return field.is_raw() ? 0 : field.layout.constant_bits;
  if (i == kSectionCountWord) return field.section_count();
  if (i < kTableWord || (i - kTableWord) % kEntryWords != 0) return 0;
  uint32_t const section = (i - kTableWord) / kEntryWords;
  return section < field.section_count() ? section_at(field, section).kind : 0;
}

__global__ void __launch_bounds__(TreePolicy::kThreads, TreePolicy::kBlocks)
    items_complete_kernel(const __grid_constant__ szg_batch_heads heads, szg_batch_lists lists) {
  typedef ArchiveJob<PlanesKindOfItem> Job;
  __shared__ Job job;
  const szg_batch_item &item = lists.items[blockIdx.y];
  szg_grid const grid = szg_grid_of_dims(item.dims, (int)item.ndim);
  MeasuredField const field(item, lists.planes[blockIdx.y]);
  constexpr uint32_t kWords =
      SZG_BATCH_HEADER_WORDS + frame_header_words(PlanesKindOfItem::kMostSections);
  for (uint32_t i = threadIdx.x; i < kWords; i += TreePolicy::kThreads) {
    uint64_t const word = i < SZG_BATCH_HEADER_WORDS
                              ? heads.archive[i]
                              : frame_word(field, i - SZG_BATCH_HEADER_WORDS);
    job.heads[i] = head_word(word, i, item, grid);
    if (i == kVersionWord && field.has_words())
      job.heads[i] = with_version(job.heads[i], SZG_FORMAT_VERSION_PLANE_WORDS);
  }
  if (threadIdx.x == 0) {
    job.header_words = SZG_BATCH_HEADER_WORDS;
    job.section_count = field.section_count();
    job.archive = item.archive;
    job.leaves = item.leaves;
    job.ticket = item.ticket;
    job.kind.field = field;
    job.kind.outcome = item.outcome;
  }
  __syncthreads(); /* the job is there */
  complete_by_blocks(job);
}

/* ---- launchers ---- */

szgpu_status choose(const szg_planes_write_list &list, bool is_again, cudaStream_t stream) {
  SZG_TRY(szg_planes_count_items_cuda(&list, is_again, stream));
  SZG_TRY(szg_planes_choose_items_cuda(&list, is_again, stream));
  return szg_planes_measure_items_cuda(&list, is_again, stream);
}

szgpu_status place_sections(const szg_batch_lists &lists, uint32_t item_count,
                            cudaStream_t stream) {
  unsigned const blocks = szg_grid_blocks(item_count, BatchPolicy::kThreads, UINT32_MAX);
  items_lay_out_kernel<<<blocks, BatchPolicy::kThreads, 0, stream>>>(lists, item_count);
  return szg_launched();
}

szgpu_status finish(const szg_batch_class *batch, uint64_t most_bytes, const szg_batch_lists *lists,
                    cudaStream_t stream) {
  dim3 blocks;
  uint32_t const width = (uint32_t)szg_dtype_bytes(batch->dtype);
  SZG_TRY(batch_blocks(batch, &blocks));
  SZG_TRY(szg_with_width(width, [&](auto bits) {
    items_sides_kernel<decltype(bits)><<<blocks, BatchPolicy::kThreads, 0, stream>>>(*lists);
    return szg_launched();
  }));
  uint64_t const most_leaves = leaf_count_of(most_bytes) + SZG_PLANES_MOST_SECTIONS;
  return complete_items(batch, most_leaves, items_complete_kernel, lists, stream);
}

} // namespace
} // namespace szg

szgpu_status szg_planes_batch_send_cuda(const szg_batch_sent *sent, uint32_t count, uint32_t first,
                                        const szg_batch_lists *lists, cudaStream_t stream) {
  szg::send_writes_kernel<<<1, count, 0, stream>>>(*sent, first, *lists);
  return szg_launched();
}

szgpu_status szg_planes_batch_write_cuda(const szg_batch_class *batch, const szg_batch_lists *lists,
                                         cudaStream_t stream) {
  bool const is_bytes = batch->dtype == SZGPU_U8;
  uint32_t const width = (uint32_t)szg_dtype_bytes(batch->dtype);
  szg_planes_write_list const list = {lists->planes, batch->item_count, is_bytes ? 0 : width,
                                      batch->most_values * width};
  if (is_bytes) SZG_TRY(szg_split_items_cuda(&list, stream));
  SZG_TRY(szg::choose(list, false, stream));
  if (szg_planes_list_is_sampled(&list)) {
    SZG_TRY(szg_planes_recount_items_cuda(&list, stream));
    SZG_TRY(szg::choose(list, true, stream));
  }
  SZG_TRY(szg::place_sections(*lists, batch->item_count, stream));
  SZG_TRY(szg_planes_write_items_cuda(&list, stream));
  return szg::finish(batch, list.most_bytes, lists, stream);
}
