/* bench_hierarchical.cuh - bf16 weights by chained tables: streams, runs, times.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The exponents are coded as one linear stream with gaps for each 8 bytes and positions for each
 * block; signs and mantissas stand beside it, one byte each (docs/study.md). The host encodes the
 * stream and makes its side data, which is not timed. Every run is verified: values are poisoned
 * before it and compared with the weights after it.
 */
#ifndef SZG_BENCH_HIERARCHICAL_CUH
#define SZG_BENCH_HIERARCHICAL_CUH

#include <memory>

#include "bench_events.cuh"
#include "study/hierarchical_forms.h"

namespace {

constexpr int kHierarchicalWarmUps = 3;

/* One way of decoding, and its result. */
struct HierarchicalRow {
  std::string output; /* "bf16": whole weights; "exponents": bytes alone */
  uint32_t gap_bits;
  uint64_t value_bytes; /* of the output */
  uint64_t coded_bytes; /* tables, stream, gaps, positions, and signs and mantissas for bf16 */
  double bits_of_code;
  Times times; /* by events in the stream */
  bool is_verified;
};

/* The exponents' stream on the host. */
struct ExponentStream {
  std::vector<uint32_t> words;
  uint64_t bit_count;
  szg_hierarchical_tables tables;

  explicit ExponentStream(const std::vector<uint16_t> &exponents) {
    auto const book = std::make_unique<szg_codebook>();
    auto const work = std::make_unique<szg_codebook_work>();
    std::vector<uint64_t> counts(256);
    std::vector<uint32_t> encoder(256);
    for (uint16_t exponent : exponents) counts[exponent]++;
    szg_codebook_build(counts.data(), 256, SZG_MAX_CODE_BITS, book.get(), work.get());
    szg_encoder_table(book.get(), encoder.data());
    szg_hierarchical_build(book.get(), &tables);
    bit_count = szg_linear_bits(book.get(), exponents.data(), exponents.size());
    words.resize((bit_count + 31) / 32);
    std::vector<uint8_t> gaps(szg_subsequence_count(bit_count)); /* of the linear layout: unused */
    std::vector<uint64_t> sequence_codes(szg_sequence_count(bit_count));
    szg_linear_stream stream = {(uint8_t *)words.data(), bit_count, gaps.data(),
                                sequence_codes.data()};
    szg_linear_run run = {};
    szg_linear_encode(encoder.data(), exponents.data(), exponents.size(), &run, &stream);
    szg_linear_merge(&run, 1, &stream);
  }
};

class HierarchicalBench {
 public:
  /* weights: bf16 values, at least one. */
  HierarchicalBench(const std::vector<uint16_t> &weights, int runs, cudaStream_t stream)
      : runs_(runs),
        count_(weights.size()),
        stream_(stream),
        exponents_(weights.size()),
        rest_bytes_(weights.size()),
        weights_(Where::kDevice, 2 * weights.size()),
        bytes_(Where::kDevice, weights.size()),
        rest_(Where::kDevice, weights.size()),
        values_(Where::kDevice, 2 * weights.size()),
        verdict_(Where::kDevice, sizeof(szg_verdict)) {
    std::vector<uint8_t> exponent_bytes(count_);
    for (size_t i = 0; i < count_; i++) {
      exponents_[i] = exponent_bytes[i] = szg_bf16_exponent(weights[i]);
      rest_bytes_[i] = szg_bf16_rest(weights[i]);
    }
    copy_to(weights_, weights);
    copy_to(bytes_, exponent_bytes);
    copy_to(rest_, rest_bytes_);
    coded_ = std::make_unique<ExponentStream>(exponents_);
  }

  std::vector<HierarchicalRow> measure() {
    std::vector<HierarchicalRow> rows;
    for (uint32_t gap_bits : {4u, 5u})
      for (bool is_merged : {true, false}) rows.push_back(measure_one(gap_bits, is_merged));
    return rows;
  }

 private:
  HierarchicalRow measure_one(uint32_t gap_bits, bool is_merged) {
    uint64_t const bit_count = coded_->bit_count;
    uint64_t const blocks = szg_hierarchical_block_count(bit_count);
    uint32_t const position_bytes = count_ <= UINT32_MAX ? 4 : 8;
    size_t const table_bytes = szg_hierarchical_tables_bytes(&coded_->tables);
    std::vector<uint8_t> gaps(szg_hierarchical_gap_bytes(bit_count, gap_bits));
    std::vector<uint64_t> positions(((blocks + 1) * position_bytes + 7) / 8);
    szg_hierarchical_stream on_host = {coded_->words.data(),
                                       coded_->words.size(),
                                       bit_count,
                                       count_,
                                       gap_bits,
                                       position_bytes,
                                       nullptr,
                                       nullptr};
    must_succeed(szg_hierarchical_mark(&coded_->tables, &on_host, gaps.data(), positions.data()));
    Memory const words(Where::kDevice, 4 * coded_->words.size());
    Memory const device_gaps(Where::kDevice, gaps.size());
    Memory const device_positions(Where::kDevice, 8 * positions.size());
    Memory const tables(Where::kDevice, table_bytes);
    copy_to(words, coded_->words);
    copy_to(device_gaps, gaps);
    copy_to(device_positions, positions);
    tables.fill(&coded_->tables, table_bytes);
    szg_hierarchical_stream on_device = on_host;
    on_device.words = words.bytes();
    on_device.gaps = device_gaps.bytes();
    on_device.positions = device_positions.bytes();
    HierarchicalRow row = {is_merged ? "bf16" : "exponents",
                           gap_bits,
                           count_ * (1 + is_merged),
                           table_bytes + words.byte_count() + gaps.size() +
                               (blocks + 1) * position_bytes + count_ * is_merged,
                           (double)bit_count / (double)count_,
                           {},
                           false};
    row.times = time_one((const szg_hierarchical_tables *)tables.bytes(), on_device, is_merged,
                         &row.is_verified);
    return row;
  }

  Times time_one(const szg_hierarchical_tables *tables, const szg_hierarchical_stream &stream,
                 bool is_merged, bool *is_verified) {
    Checker checker(stream_);
    szg_bf16_output const bf16 = {(uint16_t *)values_.bytes(), rest_.bytes()};
    szg_verdict *const verdict = (szg_verdict *)verdict_.bytes();
    auto const prepare = [&] {
      values_.poison(stream_);
      must_cuda(cudaMemsetAsync(verdict, 0, sizeof *verdict, stream_));
    };
    auto const call = [&] {
      must_succeed(is_merged ? szg_decode_bf16_cuda(tables, &stream, &bf16, verdict, stream_)
                             : szg_decode_hierarchical_cuda(tables, &stream, values_.bytes(),
                                                            verdict, stream_));
    };
    auto const check = [&] {
      szg_verdict found;
      must_cuda(cudaMemcpyAsync(&found, verdict, sizeof found, cudaMemcpyDefault, stream_));
      must_cuda(cudaStreamSynchronize(stream_));
      checker.claim(found.bad_data == 0, "the stream is refused");
      if (is_merged)
        checker.same<uint16_t>("weights", values_.bytes(), weights_.bytes(), count_);
      else
        checker.same<uint8_t>("exponents", values_.bytes(), bytes_.bytes(), count_);
    };
    Times const times = time_by_events(kHierarchicalWarmUps, runs_, stream_, prepare, call, check);
    *is_verified = checker.is_verified();
    return times;
  }

  int runs_;
  uint64_t count_;
  cudaStream_t stream_;
  std::vector<uint16_t> exponents_;
  std::vector<uint8_t> rest_bytes_;
  Memory weights_, bytes_, rest_, values_, verdict_;
  std::unique_ptr<ExponentStream> coded_;
};

} // namespace

#endif
