/* all_offsets.cu - decoding from every bit at once: one warp for each window, batch by batch.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "huffman/decoders/all_offsets_kernels.cuh"

szgpu_status szg::offsets_carve_exits(szg_arena *arena, const szg_all_offsets_options *options,
                                      uint32_t shortest, uint32_t longest,
                                      szg_all_offsets_tables_cuda *tables) {
  uint64_t const slots = options->slot_count;
  memset(tables, 0, sizeof *tables);
  tables->options = *options;
  tables->shortest = shortest;
  tables->longest = longest;
  tables->widths_bytes =
      szg_all_offsets_lay_rows(options, shortest, longest, tables->rows, &tables->row_count);
  SZG_REQUIRE(slots <= INT32_MAX, SZGPU_UNSUPPORTED);
  uint64_t const groups = szg_div_up(slots, SZG_ALL_OFFSETS_GROUP_WINDOWS);
  size_t const exit_bytes = sizeof(szg_all_offsets_exit);
  tables->exits =
      (szg_all_offsets_exit *)szg_arena_take(arena, slots, SZG_ALL_OFFSETS_EXITS * exit_bytes);
  tables->entries = (szg_all_offsets_exit *)szg_arena_take(arena, slots, exit_bytes);
  tables->group_exits =
      (szg_all_offsets_exit *)szg_arena_take(arena, groups, SZG_ALL_OFFSETS_EXITS * exit_bytes);
  tables->group_entries = (szg_all_offsets_exit *)szg_arena_take(arena, groups, exit_bytes);
  tables->carry = (szg_all_offsets_exit *)szg_arena_take(arena, 1, exit_bytes);
  return SZGPU_OK;
}

szgpu_status szg_all_offsets_carve_cuda(szg_arena *arena, const szg_all_offsets_options *options,
                                        uint32_t shortest, uint32_t longest,
                                        szg_all_offsets_tables_cuda *tables) {
  return szg::carve_windows<szg::WarpTeam>(arena, options, 32, shortest, longest, tables);
}

szgpu_status szg_decode_all_offsets_cuda(const szg_all_offsets_tables_cuda *tables,
                                         const szg_decode_book_cuda *book,
                                         const szg_linear_input_cuda *input, uint16_t *codes,
                                         szg_verdict *verdict, struct CUstream_st *stream) {
  return szg::decode_batches(*tables, szg::TeamWindows<szg::WarpTeam>(), book, input, codes,
                             verdict, stream);
}
