/* bench_fields.cu - times every decoder of codes on fields and on files of bytes.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_decoders fields [--runs N] [--host-runs N] [--threads N] [--json FILE]
 *                         [-e BOUND[,BOUND...] FIELD...] [--bytes FILE]...
 *
 * FIELD is named as for bench_stages; bounds are relative. The decoders decode the first frame of
 * the field's archive in the linear layout. In a file of bytes each byte is a symbol.
 *
 *   on the GPU    medians of N runs (20 or more) after 3 that do not count, by events in the stream
 *                 before and after all launches of a decoder, and by the clock until the host has
 *                 synchronized with the stream; everything is in device memory, and the tables are
 *                 made before
 *   on the CPU    medians of --host-runs (3) runs after 1 that does not count, by the clock; the
 *                 tables are made before. `serial` decodes only about the first 2^24 codes and is
 *                 compared by its speed
 *
 * GB/s are 10^9 bytes of decoded codes: 2 per code, or 1 if a decoder writes bytes. "over" is codes
 * per second divided by those of `serial` and of `chunked`. Every run is verified, and outputs are
 * poisoned before it.
 */
#include "bench_decoders.h"
#include "bench_streams.cuh"
#include "huffman/decoders/all_offsets.h"
#include "huffman/decoders/chunked.h"
#include "huffman/decoders/hierarchical.h"
#include "huffman/decoders/self_sync.h"
#include "study/hierarchical_forms.h"

namespace {

constexpr uint64_t kSerialCodes = (uint64_t)1 << 24;
constexpr size_t kPartTiles = 64; /* taken by a CPU thread at once */

struct Row {
  std::string decoder, backend;
  int threads; /* of the CPU */
  uint64_t code_count;
  uint32_t code_bytes;
  Times times;  /* by events, on the GPU */
  double clock; /* median, milliseconds */
  bool is_verified;
};

double codes_per_millisecond(const Row &row) {
  return row.times.median > 0.0 ? (double)row.code_count / row.times.median : 0.0;
}

class Case {
 public:
  Case(const Stream &s, const Arguments &arguments, cudaStream_t stream)
      : s_(s), arguments_(arguments), stream_(stream), decoded_(s.code_count) {}

  std::vector<Row> measure() {
    if (arguments_.host_runs > 0) measure_on_cpu();
    measure_on_gpu();
    return rows_;
  }

 private:
  /* ---- on the CPU ---- */

  /* decode: writes the first code_count codes to decoded_. */
  template <class Decode>
  void time_host(const char *decoder, int threads, uint64_t code_count, Decode decode) {
    bool is_verified = true;
    Times const times = time_runs(
        1, arguments_.host_runs,
        [&] { memset(decoded_.data(), kPoison, code_count * sizeof(uint16_t)); },
        [&] { must_succeed(decode()); },
        [&] { is_verified &= memcmp(decoded_.data(), s_.codes.data(), code_count * 2) == 0; });
    rows_.push_back({decoder, "cpu", threads, code_count, 2, times, times.median, is_verified});
  }

  struct TableJob {
    const szg_decode_table *table;
    const szg_linear_input *input;
    const std::vector<szg_code_run> *runs;
  };
  static szgpu_status decode_tiles(void *job, uint64_t part, int) {
    const TableJob &own = *(const TableJob *)job;
    size_t const first = part * kPartTiles;
    return szg_decode_runs(own.table, own.input, own.runs->data() + first,
                           std::min(kPartTiles, own.runs->size() - first));
  }

  void measure_on_cpu() {
    szg_linear_input const input = s_.input();
    std::vector<szg_code_run> const runs = tile_runs(s_.grid, s_.places, decoded_.data());
    measure_serial(input, runs);
    std::unique_ptr<szg_decode_table> const table(new szg_decode_table);
    szg_decode_table_build(&s_.book, table.get());
    std::unique_ptr<szg_sync_table> const sync_table(new szg_sync_table);
    szg_sync_table_build(&s_.book, sync_table.get());
    szg_self_sync_options const options = SZG_SELF_SYNC_DEFAULTS;
    HostCarved<szg_self_sync_work> work([&](szg_arena *arena, szg_self_sync_work *carved) {
      return szg_self_sync_carve(arena, &options, s_.bit_count, carved);
    });
    for (int count : {1, arguments_.threads}) {
      szg_threads threads = {};
      threads.count = count;
      TableJob job = {table.get(), &input, &runs};
      time_host("table", count, s_.code_count, [&] {
        return szg_for_parts(&threads, (runs.size() + kPartTiles - 1) / kPartTiles, 0, decode_tiles,
                             &job);
      });
      time_host("self-sync", count, s_.code_count, [&] {
        return szg_decode_self_sync(sync_table.get(), table.get(), &work.work, &input,
                                    decoded_.data(), &threads, nullptr);
      });
    }
    measure_all_offsets_on_cpu(input);
  }

  /* Decodes tiles from the first on, until there are enough codes. */
  void measure_serial(const szg_linear_input &input, const std::vector<szg_code_run> &runs) {
    std::unique_ptr<szg_canonical_index> const index(new szg_canonical_index);
    szg_canonical_index_build(&s_.book, index.get());
    uint64_t code_count = 0;
    size_t run_count = 0;
    while (run_count < runs.size() && code_count < kSerialCodes)
      code_count += runs[run_count++].code_count;
    time_host("serial", 1, code_count,
              [&] { return szg_decode_serial(index.get(), &input, runs.data(), run_count); });
  }

  void measure_all_offsets_on_cpu(const szg_linear_input &input) {
    std::unique_ptr<szg_all_offsets_book> const book(new szg_all_offsets_book);
    szg_all_offsets_book_build(&s_.book, book.get());
    szg_all_offsets_options const options = SZG_ALL_OFFSETS_DEFAULTS;
    HostCarved<szg_all_offsets_tables> tables(
        [&](szg_arena *arena, szg_all_offsets_tables *carved) {
          szg_all_offsets_carve(arena, &options, book->shortest, book->longest, carved);
          return SZGPU_OK;
        });
    szg_threads threads = {};
    threads.count = arguments_.threads;
    if (s_.code_count > UINT32_MAX) return; /* too many for one run */
    szg_code_run const run = {0, s_.bit_count, (uint32_t)s_.code_count, decoded_.data()};
    time_host("all-offsets", arguments_.threads, s_.code_count, [&] {
      return szg_decode_all_offsets(book.get(), &tables.work, &input, &run, &threads);
    });
  }

  /* Like Carved, but in host memory. */
  template <class Work>
  struct HostCarved {
    std::vector<uint64_t> memory; /* with one cache line to spare for alignment */
    Work work = {};
    template <class Carve>
    explicit HostCarved(Carve carve) {
      szg_arena arena = {};
      must_succeed(carve(&arena, &work));
      memory.resize((arena.used_bytes + 2 * SZG_ARENA_ALIGNMENT) / sizeof(uint64_t));
      uintptr_t const first = szg_align_up((uintptr_t)memory.data(), SZG_ARENA_ALIGNMENT);
      arena = {(uint8_t *)first, 0, arena.used_bytes, false};
      must_succeed(carve(&arena, &work));
    }
  };

  /* ---- on the GPU ---- */

  template <class Decode>
  void time_device(const char *decoder, const DeviceStream &device, uint32_t code_bytes,
                   Decode decode) {
    Checker checker(stream_);
    cudaEvent_t begin, end;
    must_cuda(cudaEventCreate(&begin));
    must_cuda(cudaEventCreate(&end));
    std::vector<double> milliseconds;
    Times const clock = time_runs(
        kWarmUps, arguments_.runs, [&] { device.poison(stream_); },
        [&] {
          must_cuda(cudaEventRecord(begin, stream_));
          must_succeed(decode());
          must_cuda(cudaEventRecord(end, stream_));
          must_cuda(cudaStreamSynchronize(stream_));
        },
        [&] {
          float taken = 0.0f;
          must_cuda(cudaEventElapsedTime(&taken, begin, end));
          milliseconds.push_back(taken);
          device.check(&checker, s_, code_bytes);
        });
    milliseconds.erase(milliseconds.begin(), milliseconds.begin() + kWarmUps);
    must_cuda(cudaEventDestroy(begin));
    must_cuda(cudaEventDestroy(end));
    rows_.push_back({decoder, "cuda", 0, s_.code_count, code_bytes, times_of(milliseconds),
                     clock.median, checker.is_verified()});
  }

  void measure_on_gpu() {
    DeviceStream const device(s_, stream_);
    uint16_t *const codes = (uint16_t *)(void *)device.decoded.bytes();
    time_device("chunked", device, 2, [&] {
      return szg_decode_chunked_cuda(device.device_book(), s_.symbol_count, &s_.grid, &device.input,
                                     codes, device.device_verdict(), stream_);
    });
    Carved<szg_gap_decoder_cuda> const gaps([&](szg_arena *arena, szg_gap_decoder_cuda *work) {
      return szg_gap_decoder_carve_cuda(arena, device.input.sequence_count, work);
    });
    time_device("gap-array", device, 2, [&] {
      return szg_decode_gap_cuda(&gaps.work, device.device_book(), s_.symbol_count, &device.input,
                                 codes, device.device_verdict(), stream_);
    });
    measure_self_sync(device, 2);
    if (s_.are_bytes) measure_self_sync(device, 1);
    measure_all_offsets(device);
    if (s_.are_bytes) measure_hierarchical(device);
  }

  void measure_self_sync(const DeviceStream &device, uint32_t code_bytes) {
    szg_self_sync_options_cuda const options = SZG_SELF_SYNC_DEFAULTS_CUDA;
    Carved<szg_self_sync_decoder_cuda> const decoder(
        [&](szg_arena *arena, szg_self_sync_decoder_cuda *work) {
          return szg_self_sync_carve_cuda(arena, &options, device.input.word_count, work);
        });
    time_device("self-sync", device, code_bytes, [&] {
      return szg_decode_self_sync_cuda(&decoder.work, device.device_book(), s_.symbol_count,
                                       &device.input, code_bytes, device.decoded.bytes(),
                                       device.device_verdict(), stream_);
    });
  }

  void measure_all_offsets(const DeviceStream &device) {
    szg_all_offsets_options const options = SZG_ALL_OFFSETS_DEFAULTS_CUDA;
    uint32_t shortest = SZG_MAX_CODE_BITS, longest = 1;
    for (uint32_t i = 0; i < s_.symbol_count; i++) {
      if (s_.book.lengths[i] == 0) continue;
      shortest = std::min<uint32_t>(shortest, s_.book.lengths[i]);
      longest = std::max<uint32_t>(longest, s_.book.lengths[i]);
    }
    Carved<szg_all_offsets_tables_cuda> const tables(
        [&](szg_arena *arena, szg_all_offsets_tables_cuda *work) {
          return szg_all_offsets_carve_cuda(arena, &options, shortest, longest, work);
        });
    time_device("all-offsets", device, 2, [&] {
      return szg_decode_all_offsets_cuda(&tables.work, device.device_book(), &device.input,
                                         (uint16_t *)(void *)device.decoded.bytes(),
                                         device.device_verdict(), stream_);
    });
  }

  void measure_hierarchical(const DeviceStream &device) {
    std::unique_ptr<szg_hierarchical_tables> const tables(new szg_hierarchical_tables);
    szg_hierarchical_build(&s_.book, tables.get());
    szg_hierarchical_stream stream = {};
    stream.words = s_.words.data();
    stream.word_count = s_.words.size();
    stream.bit_count = s_.bit_count;
    stream.code_count = s_.code_count;
    stream.gap_bits = 4;
    stream.position_bytes = 4;
    std::vector<uint8_t> gaps(szg_hierarchical_gap_bytes(s_.bit_count, stream.gap_bits));
    std::vector<uint32_t> positions(szg_hierarchical_block_count(s_.bit_count) + 1);
    must_succeed(szg_hierarchical_mark(tables.get(), &stream, gaps.data(), positions.data()));
    Uploaded const device_gaps(gaps), device_positions(positions);
    const uint8_t *const table_bytes = (const uint8_t *)(const void *)tables.get();
    Uploaded const device_tables(std::vector<uint8_t>(
        table_bytes, table_bytes + szg_hierarchical_tables_bytes(tables.get())));
    stream.words = device.input.words;
    stream.gaps = device_gaps.as<uint8_t>();
    stream.positions = device_positions.as<uint32_t>();
    time_device("hierarchical", device, 1, [&] {
      return szg_decode_hierarchical_cuda(device_tables.as<szg_hierarchical_tables>(), &stream,
                                          device.decoded.bytes(), device.device_verdict(), stream_);
    });
  }

  const Stream &s_;
  const Arguments &arguments_;
  cudaStream_t stream_;
  std::vector<uint16_t> decoded_;
  std::vector<Row> rows_;
};

/* ---- results ---- */

/* Codes per millisecond of the decoder to compare with; 0 if it was not run. */
double speed_of(const std::vector<Row> &rows, const char *decoder) {
  for (const Row &row : rows)
    if (row.decoder == decoder) return codes_per_millisecond(row);
  return 0.0;
}

double over(const Row &row, double speed) {
  return speed > 0.0 ? codes_per_millisecond(row) / speed : 0.0;
}

std::string json_of(const Stream &s, const Row &row, double serial, double chunked) {
  double const bytes = (double)row.code_count * row.code_bytes;
  Members members = stream_members(s);
  Members const own = {{"decoder", quoted(row.decoder)},
                       {"backend", quoted(row.backend)},
                       {"threads", number(row.threads)},
                       {"decoded_codes", number(row.code_count)},
                       {"code_bytes", number((uint64_t)row.code_bytes)},
                       {"median_ms", number(row.times.median)},
                       {"min_ms", number(row.times.least)},
                       {"max_ms", number(row.times.greatest)},
                       {"clock_ms", number(row.clock)},
                       {"gb_per_s", number(gb_per_second(bytes, row.times.median))},
                       {"clock_gb_per_s", number(gb_per_second(bytes, row.clock))},
                       {"over_serial", number(over(row, serial))},
                       {"over_chunked", number(over(row, chunked))},
                       {"verified", truth(row.is_verified)}};
  members.insert(members.end(), own.begin(), own.end());
  return object(members);
}

void print_row(const Row &row, double serial, double chunked) {
  double const bytes = (double)row.code_count * row.code_bytes;
  printf("  %-12s %-4s", row.decoder.c_str(), row.backend.c_str());
  if (row.threads > 0)
    printf(" x %-3d", row.threads);
  else
    printf("      ");
  printf(
      " u%-2u %9.3f ms (%.3f to %.3f), by the clock %.3f: %8.2f GB/s, x %.1f serial, x %.2f "
      "chunked%s\n",
      8 * row.code_bytes, row.times.median, row.times.least, row.times.greatest, row.clock,
      gb_per_second(bytes, row.times.median), over(row, serial), over(row, chunked),
      row.is_verified ? "" : ", NOT VERIFIED");
  fflush(stdout);
}

} // namespace

int szg_bench_fields(int argc, char **argv) {
  Arguments const arguments = parse_arguments(argc, argv);
  cudaStream_t stream;
  must_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Machine const machine = look_at_machine(stream);
  printf("%s, copies %.0f GB/s, %d CPU threads\n", machine.gpu.c_str(), machine.copy_gb_per_second,
         arguments.threads);
  std::vector<std::string> rows;
  bool is_verified = true;
  for_streams(arguments, [&](const Stream &s) {
    printf("%s %g: %llu codes, %.3f bits each\n", s.name.c_str(), s.bound,
           (unsigned long long)s.code_count, s.bits_per_code());
    std::vector<Row> const measured = Case(s, arguments, stream).measure();
    double const serial = speed_of(measured, "serial"), chunked = speed_of(measured, "chunked");
    for (const Row &row : measured) {
      print_row(row, serial, chunked);
      rows.push_back(json_of(s, row, serial, chunked));
      is_verified &= row.is_verified;
    }
    write_rows("fields", arguments, machine, rows);
  });
  must_cuda(cudaStreamDestroy(stream));
  return is_verified ? 0 : 1;
}
