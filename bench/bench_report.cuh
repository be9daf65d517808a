/* bench_report.cuh - the results of bench_stages, printed as a table and as JSON.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BENCH_REPORT_CUH
#define SZG_BENCH_REPORT_CUH

#include "bench_json.cuh"
#include "bench_support.cuh"

namespace {

/* A stage by name: the sum of all stages of a call that have this name. */
struct Stage {
  std::string name;
  bool is_kernels;
  std::vector<double> milliseconds; /* one per run */
};

/* One direction, field to archive or back. */
struct Direction {
  Times whole, pageable, pinned;
  std::vector<Stage> stages;
  bool has_all_stages; /* a call of many frames may have too many marks */
  uint32_t round_trips;
  uint64_t workspace_bytes;
};

/* Decoding of the first frame alone, if it is linear. */
struct DecodeAlone {
  bool is_there;
  Times times;
  uint64_t code_count;
  uint32_t axes, radius;
};

/* One field under one bound, by one predictor. */
struct Result {
  Machine machine;
  std::string field, predictor, kind; /* kind: of the first frame */
  szgpu_shape shape;
  const char *mode;
  bool is_chunked, is_verified;
  double bound, absolute_bound;
  int runs, host_runs;
  uint64_t value_count, field_bytes, archive_bytes, capacity, frame_count;
  uint64_t field_hash, archive_hash; /* XXH3-64 */
  Direction compression, decompression;
  DecodeAlone decode_alone;
};

double median_of(const Direction &direction, const char *stage_name) {
  for (const Stage &stage : direction.stages)
    if (stage.name == stage_name) return times_of(stage.milliseconds).median;
  return 0.0;
}

double kernels_milliseconds(const Direction &direction) {
  double sum = 0.0;
  for (const Stage &stage : direction.stages)
    if (stage.is_kernels) sum += times_of(stage.milliseconds).median;
  return sum;
}

double device_bytes_per_value(const Result &r, const Direction &direction) {
  uint64_t const bytes = r.field_bytes + r.capacity + direction.workspace_bytes;
  return (double)bytes / (double)r.value_count;
}

double bits_per_value(const Result &r) {
  return 8.0 * (double)r.archive_bytes / (double)r.value_count;
}

double ratio(const Result &r) { return (double)r.field_bytes / (double)r.archive_bytes; }

/* Bytes of u16 codes. */
double code_bytes(const Result &r) { return 2.0 * (double)r.value_count; }

/* The decoder's time by the clock over its kernels' time by events; 0: unknown, many frames. */
double decode_wall_over_kernels(const Result &r) {
  double const kernels =
      median_of(r.decompression, "codebook") + median_of(r.decompression, "decode");
  return kernels > 0.0 && r.frame_count == 1 ? r.decode_alone.times.median / kernels : 0.0;
}

/* ---- the table ---- */

void print_times(const char *what, const Times &times, double bytes, const char *end) {
  printf("  %-18s %9.3f ms (%.3f to %.3f) %8.1f GB/s%s", what, times.median, times.least,
         times.greatest, gb_per_second(bytes, times.median), end);
}

void print_direction(const Result &r, const char *name, const Direction &direction) {
  double const bytes = (double)r.field_bytes, kernels = kernels_milliseconds(direction);
  print_times(name, direction.whole, bytes, "");
  printf(", kernels %.3f ms %.1f GB/s, %u round trips, %.2f bytes a value\n", kernels,
         gb_per_second(bytes, kernels), direction.round_trips,
         device_bytes_per_value(r, direction));
  for (const Stage &stage : direction.stages) {
    double const median = times_of(stage.milliseconds).median;
    printf("    %-16s %9.3f ms %8.1f GB/s", stage.name.c_str(), median,
           gb_per_second(bytes, median));
    if (stage.name == "decode")
      printf(", of codes %.1f GB/s", gb_per_second(code_bytes(r), median));
    printf("%s\n", stage.is_kernels ? "" : " (not kernels)");
  }
}

void print_result(const Result &r) {
  printf("%s %s %g %s (%s): ratio %.3f, %.3f bits a value, ", r.field.c_str(), r.mode, r.bound,
         r.predictor.c_str(), r.kind.c_str(), ratio(r), bits_per_value(r));
  printf("xxh3 of field %016llx, of archive %016llx\n", (unsigned long long)r.field_hash,
         (unsigned long long)r.archive_hash);
  print_direction(r, "compression", r.compression);
  print_direction(r, "decompression", r.decompression);
  if (r.decode_alone.is_there) {
    print_times("decode alone", r.decode_alone.times, 2.0 * (double)r.decode_alone.code_count, "");
    printf(" of codes, %.3f of its kernels\n", decode_wall_over_kernels(r));
  }
  if (r.host_runs > 0) {
    double const bytes = (double)r.field_bytes;
    print_times("compress pageable", r.compression.pageable, bytes, "\n");
    print_times("compress pinned", r.compression.pinned, bytes, "\n");
    print_times("restore pageable", r.decompression.pageable, bytes, "\n");
    print_times("restore pinned", r.decompression.pinned, bytes, "\n");
  }
  printf("  %s\n", r.is_verified ? "verified" : "NOT VERIFIED");
  fflush(stdout);
}

/* A line for each result: GB/s of the field, of whole calls and of kernels. */
void print_table(const std::vector<Result> &results) {
  printf("\n%-26s %8s %-14s %-7s %9s %19s %19s\n%-67s %9s %9s %9s %9s\n", "field", "bound",
         "predictor", "kind", "ratio", "compression GB/s", "restoring GB/s", "", "call", "kernels",
         "call", "kernels");
  for (const Result &r : results) {
    double const bytes = (double)r.field_bytes;
    auto const speed = [&](double milliseconds) { return gb_per_second(bytes, milliseconds); };
    printf("%-26s %8g %-14s %-7s %9.3f %9.1f %9.1f %9.1f %9.1f%s\n", r.field.c_str(), r.bound,
           r.predictor.c_str(), r.kind.c_str(), ratio(r), speed(r.compression.whole.median),
           speed(kernels_milliseconds(r.compression)), speed(r.decompression.whole.median),
           speed(kernels_milliseconds(r.decompression)), r.is_verified ? "" : " NOT VERIFIED");
  }
}

/* ---- JSON ---- */

Members members_of(const Times &times, double bytes) {
  return {{"median_ms", number(times.median)},
          {"min_ms", number(times.least)},
          {"max_ms", number(times.greatest)},
          {"gb_per_s", number(gb_per_second(bytes, times.median))}};
}

std::string json_of(const Result &r, const Stage &stage) {
  Times const times = times_of(stage.milliseconds);
  Members members = {{"name", quoted(stage.name)}, {"is_kernels", truth(stage.is_kernels)}};
  for (const auto &member : members_of(times, (double)r.field_bytes)) members.push_back(member);
  if (stage.name == "decode")
    members.push_back({"code_gb_per_s", number(gb_per_second(code_bytes(r), times.median))});
  return object(members);
}

std::string json_of(const Result &r, const Direction &direction) {
  double const bytes = (double)r.field_bytes, kernels = kernels_milliseconds(direction);
  std::vector<std::string> stages;
  for (const Stage &stage : direction.stages) stages.push_back(json_of(r, stage));
  Members members = {{"whole", object(members_of(direction.whole, bytes))},
                     {"kernels_ms", number(kernels)},
                     {"kernels_gb_per_s", number(gb_per_second(bytes, kernels))},
                     {"stages", array(stages)},
                     {"has_all_stages", truth(direction.has_all_stages)},
                     {"round_trips", number((uint64_t)direction.round_trips)},
                     {"workspace_bytes", number(direction.workspace_bytes)},
                     {"device_bytes_per_value", number(device_bytes_per_value(r, direction))}};
  if (r.host_runs > 0) {
    members.push_back({"pageable", object(members_of(direction.pageable, bytes))});
    members.push_back({"pinned", object(members_of(direction.pinned, bytes))});
  }
  return object(members);
}

std::string json_of(const Result &r) {
  std::vector<std::string> dims;
  for (int i = 0; i < r.shape.ndim; i++) dims.push_back(number(r.shape.dims[i]));
  Members members = {{"gpu", quoted(r.machine.gpu)},
                     {"cuda_runtime", quoted(r.machine.runtime)},
                     {"cuda_driver", quoted(r.machine.driver)},
                     {"copy_gb_per_s", number(r.machine.copy_gb_per_second)},
                     {"szgpu", quoted(szgpu_version())},
                     {"field", quoted(r.field)},
                     {"dtype", quoted(kDtypeNames[r.shape.dtype])},
                     {"dims", array(dims)},
                     {"values", number(r.value_count)},
                     {"field_bytes", number(r.field_bytes)},
                     {"field_xxh3", hexadecimal(r.field_hash)},
                     {"mode", quoted(r.mode)},
                     {"bound", number(r.bound, 17)},
                     {"absolute_bound", number(r.absolute_bound, 17)},
                     {"predictor", quoted(r.predictor)},
                     {"kind", quoted(r.kind)},
                     {"frames", number(r.frame_count)},
                     {"archive_bytes", number(r.archive_bytes)},
                     {"archive_xxh3", hexadecimal(r.archive_hash)},
                     {"archive_capacity_bytes", number(r.capacity)},
                     {"ratio", number(ratio(r))},
                     {"bits_per_value", number(bits_per_value(r))},
                     {"decoder", quoted(r.is_chunked ? "chunked" : "gap-array")},
                     {"runs", number(r.runs)},
                     {"host_runs", number(r.host_runs)},
                     {"verified", truth(r.is_verified)},
                     {"compress", json_of(r, r.compression)},
                     {"decompress", json_of(r, r.decompression)}};
  if (r.decode_alone.is_there) {
    Members alone = members_of(r.decode_alone.times, 2.0 * (double)r.decode_alone.code_count);
    alone.push_back({"wall_over_kernels", number(decode_wall_over_kernels(r))});
    members.push_back({"axes", number((uint64_t)r.decode_alone.axes)});
    members.push_back({"radius", number((uint64_t)r.decode_alone.radius)});
    members.push_back({"decode_alone", object(alone)});
  }
  return object(members);
}

} // namespace

#endif
