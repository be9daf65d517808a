/* async_damage.cuh - archives that are damaged and sealed again: whether kernels find what the CPU
 * does.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_TEST_ASYNC_DAMAGE_CUH
#define SZG_TEST_ASYNC_DAMAGE_CUH

#include "container/checksum.h"
#include "container/header_core.h"
#include "cuda/async_batch.cuh"
#include "cuda/plain_archive.cuh"

namespace async_test {

using cuda_test::plain_of;
using cuda_test::stream;

enum { kHeaderBytes = 144, kKindByte = kHeaderBytes, kFlagsByte = kHeaderBytes + 3 };

inline szgpu_ctx *cpu, *gpu;

/* ---- archives that are changed and sealed again ---- */

/* Makes the checksum of a compact form right, as docs/format.md, section 21, has it. */
inline void seal_compact(Bytes *archive) {
  std::vector<uint64_t> words = {szg_load_u64(archive->data()), szg_load_u32(&(*archive)[8])};
  for (size_t at = 16; at < archive->size(); at += 16384)
    words.push_back(
        szg_checksum_plain(archive->data() + at, szg_min_u64(16384, archive->size() - at)));
  uint64_t const checksum = szg_checksum_plain((const uint8_t *)words.data(), 8 * words.size());
  memcpy(&(*archive)[12], &checksum, 4);
}

inline uint32_t section_count(const Bytes &archive) {
  return szg_load_u32(&archive[kHeaderBytes + 32]);
}

inline void seal_header(Bytes *archive, uint64_t begin, uint64_t header_bytes) {
  if (begin + header_bytes > archive->size()) return;
  uint64_t const checksum = szg_checksum_plain(archive->data() + begin, header_bytes - 8);
  memcpy(archive->data() + begin + header_bytes - 8, &checksum, 8);
}

/* Makes the checksums of both headers right. sections: of the frame before it was changed. */
inline void seal_headers(Bytes *archive, uint32_t sections) {
  seal_header(archive, kHeaderBytes, szg_frame_header_bytes(sections));
  seal_header(archive, 0, kHeaderBytes);
}

/* The archive with these bytes after its frame table, and flags that say so. They are a multiple of
 * 16, and sealed with the header. */
inline Bytes with_more(const Bytes &archive, uint32_t flags, const Bytes &more) {
  Bytes made(archive.begin(), archive.begin() + kHeaderBytes - 8);
  uint64_t const byte_count = archive.size() + more.size();
  uint32_t const version = SZG_FORMAT_VERSION_KEPT;
  memcpy(&made[8], &version, 4);
  memcpy(&made[12], &flags, 4);
  memcpy(&made[112], &byte_count, 8);
  made.insert(made.end(), more.begin(), more.end());
  made.resize(made.size() + 8);
  made.insert(made.end(), archive.begin() + kHeaderBytes, archive.end());
  seal_header(&made, 0, kHeaderBytes + more.size());
  return made;
}

/* Makes the checksums of the sections right as well. */
inline void seal_all(Bytes *archive) {
  szg_threads threads = {};
  threads.count = 1;
  std::vector<uint64_t> leaves(archive->size() / 16384 + 2);
  uint32_t const count = section_count(*archive);
  uint64_t place = kHeaderBytes + szg_frame_header_bytes(count);
  for (uint32_t i = 0; i < count; i++) {
    uint8_t *const entry = archive->data() + kHeaderBytes + 40 + 32 * i;
    uint64_t const bytes = szg_align_up(szg_load_u64(entry + 16), SZG_ALIGNMENT);
    uint64_t checksum = 0;
    MUST(szg_checksum_tree(&threads, archive->data() + place, bytes, leaves.data(), &checksum));
    memcpy(entry + 24, &checksum, 8);
    place += bytes;
  }
  seal_headers(archive, count);
}

/* ---- restoring ---- */

struct Damaged {
  Bytes archive;
  const char *what;
  uint64_t place;
};

/* What the CPU says. Params and shape that are not the call's are no error to it. */
inline szgpu_status status_of_cpu(const szgpu_params &params, const szgpu_shape &shape,
                                  const Damaged &damaged, Bytes *field) {
  szgpu_status const status = restored_by(cpu, damaged.archive, field);
  szgpu_info info = {};
  info.struct_bytes = sizeof info;
  if (status != SZGPU_OK && status != SZGPU_BAD_ARGUMENT) return status;
  if (szgpu_inspect(damaged.archive.data(), damaged.archive.size(), &info) != SZGPU_OK)
    return status;
  double const bound = params.mode == SZGPU_MODE_LOSSLESS ? 0 : params.bound;
  bool is_same = info.shape.dtype == shape.dtype && info.shape.ndim == shape.ndim &&
                 info.mode == params.mode && info.bound == bound && info.source == params.source &&
                 !info.has_fill && !info.has_limits && info.frame_count == 1;
  for (int i = 0; is_same && i < shape.ndim; i++) is_same = info.shape.dims[i] == shape.dims[i];
  return is_same ? status : SZGPU_OTHER_PARAMS;
}

/* Whether an archive may be taken for one of other params although the CPU finds fault with it: the
 * archive's header is sound by itself but not the class's, or the frame's says that it is of a kind
 * or lattice that the call does not read, or packed. */
inline bool is_foreign(const Damaged &changed) {
  szgpu_info info = {};
  info.struct_bytes = sizeof info;
  uint64_t const place = changed.place;
  if (place < kHeaderBytes)
    return szgpu_inspect(changed.archive.data(), changed.archive.size(), &info) == SZGPU_OK;
  bool const is_codec = place >= kHeaderBytes + 40 && (place - kHeaderBytes - 40) % 32 == 4;
  return is_codec || place == kFlagsByte || changed.archive[kKindByte] == SZG_FRAME_CONSTANT;
}

/* Restores all in one call. are_sealed: headers were changed whose checksums are right, so that an
 * archive may be of other params. */
inline void check_all(const szgpu_params &params, const szgpu_shape &shape,
                      const std::vector<Damaged> &all, bool are_sealed) {
  size_t const field_bytes = value_count(shape) * value_bytes(shape);
  std::vector<std::unique_ptr<DeviceArray<uint8_t>>> archives, fields;
  DeviceArray<szgpu_outcome> outcomes(all.size());
  std::vector<szgpu_async_item> items(all.size());
  for (size_t i = 0; i < all.size(); i++) {
    archives.emplace_back(new DeviceArray<uint8_t>(all[i].archive));
    fields.emplace_back(new DeviceArray<uint8_t>(field_bytes + kGuardBytes));
    items[i] = {shape,   fields[i]->data(),  archives[i]->data(), all[i].archive.size(),
                nullptr, outcomes.data() + i};
  }
  size_t bytes = 0;
  MUST(szgpu_async_bytes(gpu, &params, items.data(), items.size(), &bytes));
  DeviceArray<uint8_t> workspace(bytes);
  MUST(szgpu_decompress_async(gpu, &params, items.data(), items.size(), workspace.data(), bytes,
                              stream));
  std::vector<szgpu_outcome> const found = outcomes.host();
  size_t of_others = 0;
  for (size_t i = 0; i < all.size(); i++) {
    Bytes expected(field_bytes);
    szgpu_status const status = status_of_cpu(params, shape, all[i], &expected);
    bool const is_other = found[i].status == SZGPU_OTHER_PARAMS;
    of_others += is_other;
    bool const may_be_other = are_sealed && (status == SZGPU_OK || is_foreign(all[i]));
    CHECK(found[i].status == (uint32_t)status || (may_be_other && is_other),
          "%s at %llu: status %u, not %d", all[i].what, (unsigned long long)all[i].place,
          found[i].status, (int)status);
    check_bytes(fields[i]->host(), found[i].status == SZGPU_OK ? expected : Bytes(), field_bytes,
                all[i].what, shape);
  }
  printf("%zu archives, %zu of other params\n", all.size(), of_others);
}

/* ---- damage ---- */

inline void check_headers(const szgpu_params &params, const szgpu_shape &shape,
                          const Bytes &sound) {
  std::vector<Damaged> damaged, sealed;
  uint64_t const end = kHeaderBytes + szg_frame_header_bytes(section_count(sound));
  damaged.push_back({sound, "nothing", 0});
  for (uint64_t place = 0; place < end; place++)
    for (int turn = 0; turn < 2; turn++) {
      if (cuda_test::is_left_out(place + (uint64_t)turn, 11)) continue;
      Damaged changed = {sound, "a byte of the headers", place};
      uint8_t *const byte = &changed.archive[place];
      *byte = turn ? (uint8_t)(*byte ^ (1 + random_below(255))) : (uint8_t)(*byte + 1);
      damaged.push_back(changed);
      changed.what = "a byte of sealed headers";
      seal_headers(&changed.archive, section_count(sound));
      sealed.push_back(changed);
    }
  check_all(params, shape, damaged, false);
  check_all(params, shape, sealed, true);
}

inline void check_sizes(const szgpu_params &params, const szgpu_shape &shape, const Bytes &sound) {
  std::vector<Damaged> all;
  for (uint64_t size : {0, 1, 7, 8, 11, 12, 127, 128, 143, 144, 183, 184, 300, 448})
    if (size < sound.size())
      all.push_back({Bytes(sound.begin(), sound.begin() + (long)size), "a size", size});
  for (uint64_t less : {1, 16, 17})
    all.push_back({Bytes(sound.begin(), sound.end() - (long)less), "bytes less", less});
  for (uint64_t more : {1, 16, 500}) {
    all.push_back({sound, "bytes more", more});
    all.back().archive.resize(sound.size() + more);
  }
  check_all(params, shape, all, false);
}

/* Limits and further fill values after the frame table: sound ones are of other params. */
inline void check_more(const szgpu_params &params, const szgpu_shape &shape, const Bytes &sound) {
  static const double limits[][2] = {{-200, 200},   {0, 0},         {5, -5},        {NAN, 5},
                                     {-5, NAN},     {-INFINITY, 5}, {-5, INFINITY}, {-0.0, 5},
                                     {-5, -0.0},    {0.1, 5},       {-5, 1e300},    {-5, 0x1p-149},
                                     {-0x1p-150, 5}};
  std::vector<Damaged> all;
  for (auto const &pair : limits) {
    Bytes more(16);
    memcpy(more.data(), pair, 16);
    all.push_back({with_more(sound, 4, more), "limits", 0});
    Bytes const whole = all.back().archive;
    Damaged damaged = {whole, "limits, another version", 0};
    damaged.archive[8] = 7;
    seal_header(&damaged.archive, 0, kHeaderBytes + 16);
    all.push_back(damaged);
    damaged = {whole, "limits, not sealed", 0};
    damaged.archive[kHeaderBytes] ^= 1;
    all.push_back(damaged);
    for (long size : {143, 144, 159, 160})
      all.push_back({Bytes(whole.begin(), whole.begin() + size), "limits, a size", 0});
  }
  for (uint32_t flags : {8, 16, 24, 28, 9, 17, 25, 32, 36, 1 << 30})
    for (size_t size : {0, 16, 32, 48})
      all.push_back({with_more(sound, flags, Bytes(size)), "further fill values", 0});
  check_all(params, shape, all, false);
}

inline void check_sections(const szgpu_params &params, const szgpu_shape &shape,
                           const Bytes &sound) {
  std::vector<Damaged> damaged, sealed;
  uint64_t const begin = kHeaderBytes + szg_frame_header_bytes(section_count(sound));
  if (begin == sound.size()) return; /* a constant frame has none */
  uint64_t const count = cuda_test::is_quick() ? 20 : 400;
  for (uint64_t i = 0; i < count; i++) {
    /* Many changes in codebook and tile sizes, which come first. */
    uint64_t const reach = i % 2 ? sound.size() - begin : szg_min_u64(sound.size() - begin, 200);
    uint64_t const place = begin + random_below(reach);
    Damaged changed = {sound, "a byte of sections", place};
    changed.archive[place] ^= (uint8_t)(1 + random_below(255));
    damaged.push_back(changed);
    changed.what = "a byte of sealed sections";
    seal_all(&changed.archive);
    sealed.push_back(changed);
  }
  check_all(params, shape, damaged, false);
  check_all(params, shape, sealed, false);
}

/* Of an archive in its compact form: all of its first bytes, and some others. */
inline void check_compact(const szgpu_params &params, const szgpu_shape &shape,
                          const Bytes &sound) {
  std::vector<Damaged> damaged, sealed;
  CHECK(szg_is_compact(sound.data(), sound.size()), "%zu bytes", sound.size());
  damaged.push_back({sound, "nothing", 0});
  for (uint64_t i = 0; i < 400; i++) {
    if (cuda_test::is_left_out(i, 7)) continue;
    uint64_t const place = i < 250 ? i : random_below(sound.size());
    if (place >= sound.size()) continue;
    Damaged changed = {sound, "a byte of a compact form", 0};
    changed.archive[place] ^= (uint8_t)(1 + random_below(255));
    damaged.push_back(changed);
    changed.what = "a byte of a sealed compact form";
    seal_compact(&changed.archive);
    if (place < 8 || place >= 12) sealed.push_back(changed);
  }
  check_all(params, shape, damaged, false);
  check_all(params, shape, sealed, true);
  check_sizes(params, shape, sound);
}

} // namespace async_test

#endif
