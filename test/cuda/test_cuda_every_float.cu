/* test_cuda_every_float.cu - test_every_float on a GPU: fields are made and checked there too.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * test_cuda_every_float [OPTION]...: takes the options of test_every_float; without any, it is a
 * sample. All of f32, on one GPU: --only f32 --sample 1 --block-bits 24 --every-way
 */
#include "cuda/cuda_test.cuh"
#include "floats.h"

namespace {

constexpr unsigned kThreads = 256, kMostBlocks = 2048;

/* What kernels find. */
struct Found {
  uint32_t fills_seen;               /* by number in the list of known fill values */
  uint32_t least_key, greatest_key;  /* of values that are finite and not fill */
  unsigned long long changed_values; /* restored with other bits */
  unsigned long long first_broken;   /* index; ULLONG_MAX: none */
};

/* ---- kernels: a thread for many values, as many apart as there are threads ---- */

__device__ inline uint64_t first_value() { return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline uint64_t thread_count() { return (uint64_t)gridDim.x * blockDim.x; }

__global__ void __launch_bounds__(kThreads)
    fill_kernel(floats_block block, uint64_t count, uint32_t *field) {
  for (uint64_t i = first_value(); i < count; i += thread_count())
    field[i] =
        floats_pattern(block.order, block.first_index + (uint32_t)(i & (block.index_count - 1)));
}

__global__ void __launch_bounds__(kThreads)
    fills_kernel(const uint32_t *field, uint64_t count, Found *found) {
  uint32_t seen = 0;
  for (uint64_t i = first_value(); i < count; i += thread_count())
    for (uint32_t k = 0; floats_known_fill_f32(k); k++)
      if (field[i] == floats_known_fill_f32(k)) seen |= 1u << k;
  if (seen) atomicOr(&found->fills_seen, seen);
}

/* Keys have the order of values. */
__host__ __device__ inline uint32_t key_of(uint32_t bits) {
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__host__ __device__ inline uint32_t bits_of_key(uint32_t key) {
  return key >> 31 ? key & 0x7FFFFFFFu : ~key;
}

__global__ void __launch_bounds__(kThreads)
    range_kernel(const uint32_t *field, uint64_t count, bool has_fill, uint32_t fill,
                 Found *found) {
  uint32_t least = UINT32_MAX, greatest = 0;
  for (uint64_t i = first_value(); i < count; i += thread_count()) {
    uint32_t const bits = field[i], key = key_of(bits);
    if ((bits & 0x7F800000u) == 0x7F800000u || (has_fill && bits == fill)) continue;
    if (key < least) least = key;
    if (key > greatest) greatest = key;
  }
  atomicMin(&found->least_key, least);
  atomicMax(&found->greatest_key, greatest);
}

__global__ void __launch_bounds__(kThreads)
    check_kernel(floats_claim claim, const uint32_t *field, const uint32_t *restored,
                 uint64_t count, Found *found) {
  unsigned long long changed = 0;
  for (uint64_t i = first_value(); i < count; i += thread_count()) {
    changed += field[i] != restored[i];
    if (!floats_is_kept_f32(&claim, field[i], restored[i]))
      atomicMin(&found->first_broken, (unsigned long long)i);
  }
  if (changed) atomicAdd(&found->changed_values, changed);
}

unsigned block_count(uint64_t count) {
  uint64_t const blocks = (count + kThreads - 1) / kThreads;
  return (unsigned)(blocks < kMostBlocks ? blocks : kMostBlocks);
}

/* ---- a worker's memory on the device ---- */

class Memory {
 public:
  Memory() {
    MUST(cudaMalloc(&found_, sizeof *found_));
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~Memory() {
    cudaStreamDestroy(stream);
    cudaFree(field);
    cudaFree(restored);
    cudaFree(archive);
    cudaFree(found_);
  }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  void make_room(uint64_t value_count, size_t archive_capacity) {
    if (value_count > value_room_) {
      MUST(cudaFree(field));
      MUST(cudaFree(restored));
      MUST(cudaMalloc(&field, value_count * sizeof *field));
      MUST(cudaMalloc(&restored, value_count * sizeof *restored));
      value_room_ = value_count;
    }
    if (archive_capacity > archive_room_) {
      MUST(cudaFree(archive));
      MUST(cudaMalloc(&archive, archive_capacity));
      archive_room_ = archive_capacity;
    }
  }

  floats_facts facts(const szgpu_params &params, uint64_t count) {
    floats_facts facts = {false, 0, INFINITY, -INFINITY};
    if (params.mode == SZGPU_MODE_LOSSLESS) return facts;
    reset();
    fills_kernel<<<block_count(count), kThreads, 0, stream>>>(field, count, found_);
    uint32_t const seen = params.has_fill ? 0 : take().fills_seen;
    facts.has_fill = params.has_fill || seen;
    if (params.has_fill) {
      float const fill = (float)params.fill;
      uint32_t bits;
      memcpy(&bits, &fill, sizeof bits);
      facts.fill_bits = bits;
    } else if (seen) {
      facts.fill_bits = floats_known_fill_f32((uint32_t)__builtin_ctz(seen));
    }
    range_kernel<<<block_count(count), kThreads, 0, stream>>>(field, count, facts.has_fill,
                                                              (uint32_t)facts.fill_bits, found_);
    Found const found = take();
    if (found.least_key > found.greatest_key) return facts;
    facts.least = floats_value_f32(bits_of_key(found.least_key));
    facts.greatest = floats_value_f32(bits_of_key(found.greatest_key));
    return facts;
  }

  Found check(const floats_claim &claim, uint64_t count) {
    reset();
    check_kernel<<<block_count(count), kThreads, 0, stream>>>(claim, field, restored, count,
                                                              found_);
    return take();
  }

  uint32_t *field = nullptr, *restored = nullptr;
  uint8_t *archive = nullptr;
  cudaStream_t stream = nullptr;

 private:
  void reset() {
    Found const nothing = {0, UINT32_MAX, 0, 0, ~0ull};
    MUST(cudaMemcpyAsync(found_, &nothing, sizeof nothing, cudaMemcpyHostToDevice, stream));
  }
  Found take() {
    Found found;
    MUST(cudaGetLastError());
    MUST(cudaMemcpyAsync(&found, found_, sizeof found, cudaMemcpyDeviceToHost, stream));
    MUST(cudaStreamSynchronize(stream));
    return found;
  }

  Found *found_ = nullptr;
  uint64_t value_room_ = 0;
  size_t archive_room_ = 0;
};

uint32_t bits_on_device(const uint32_t *values, uint64_t index) {
  uint32_t bits;
  MUST(cudaMemcpy(&bits, values + index, sizeof bits, cudaMemcpyDeviceToHost));
  return bits;
}

/* ---- a block ---- */

void run_block_cuda(floats_worker *worker, const floats_block *block) {
  if (!worker->device) worker->device = new Memory;
  Memory *const memory = (Memory *)worker->device;
  uint64_t const count = floats_value_count(&worker->shape);
  size_t const field_bytes = count * sizeof(uint32_t);
  size_t capacity, archive_bytes;
  floats_must(worker, szgpu_sizes(worker->ctx, &worker->params, &worker->shape, NULL, &capacity),
              "sizes");
  memory->make_room(count, capacity);
  fill_kernel<<<block_count(count), kThreads, 0, memory->stream>>>(*block, count, memory->field);
  MUST(cudaGetLastError());
  MUST(cudaMemsetAsync(memory->restored, 0xA5, field_bytes, memory->stream));
  MUST(cudaStreamSynchronize(memory->stream)); /* the ctx has another stream */
  floats_must(worker,
              szgpu_compress(worker->ctx, &worker->params, &worker->shape, memory->field,
                             memory->archive, capacity, &archive_bytes),
              "compress");
  uint8_t head[4096]; /* more than the headers of an archive and of its first frame */
  size_t const head_bytes = archive_bytes < sizeof head ? archive_bytes : sizeof head;
  MUST(cudaMemcpy(head, memory->archive, head_bytes, cudaMemcpyDeviceToHost));
  floats_facts const facts = memory->facts(worker->params, count);
  floats_claim const claim = floats_examine(worker, &facts, head, head_bytes, archive_bytes);
  floats_must(
      worker,
      szgpu_decompress(worker->ctx, memory->archive, archive_bytes, memory->restored, field_bytes),
      "decompress");
  Found const found = memory->check(claim, count);
  worker->tally.changed_values += found.changed_values;
  uint64_t const broken = found.first_broken;
  if (broken != UINT64_MAX)
    floats_fail_value(worker, &claim, broken, bits_on_device(memory->field, broken),
                      bits_on_device(memory->restored, broken));
}

void close_worker(floats_worker *worker) { delete (Memory *)worker->device; }

/* ---- the check on the device ---- */

/* Finds the one value of 2^20 that was changed by more than the bound, and the range. */
void the_check_finds_one_value() {
  constexpr uint32_t kCount = 1 << 20, kBroken = 777777;
  floats_block const block = {FLOATS_MIXED, 0x7F800000u, kCount};
  floats_claim const claim = {0x1p-130, false, 0};
  Memory memory;
  memory.make_room(kCount, 1);
  fill_kernel<<<block_count(kCount), kThreads, 0, memory.stream>>>(block, kCount, memory.field);
  MUST(cudaMemcpyAsync(memory.restored, memory.field, kCount * sizeof(uint32_t),
                       cudaMemcpyDeviceToDevice, memory.stream));
  Found const same = memory.check(claim, kCount);
  CHECK(same.first_broken == ~0ull && same.changed_values == 0, "%llu", same.first_broken);
  uint32_t const bits = floats_pattern(block.order, block.first_index + kBroken) ^ 0x80000000u;
  MUST(cudaMemcpyAsync(memory.restored + kBroken, &bits, sizeof bits, cudaMemcpyHostToDevice,
                       memory.stream));
  Found const found = memory.check(claim, kCount);
  CHECK(found.first_broken == kBroken && found.changed_values == 1, "%llu", found.first_broken);
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  floats_facts const facts = memory.facts(params, kCount);
  double least = INFINITY, greatest = -INFINITY;
  for (uint32_t i = 0; i < kCount; i++) {
    double const value = floats_value_f32(floats_pattern(block.order, block.first_index + i));
    if (fabs(value) < INFINITY && value < least) least = value;
    if (fabs(value) < INFINITY && value > greatest) greatest = value;
  }
  CHECK(facts.least == least && facts.greatest == greatest, "%a to %a", facts.least,
        facts.greatest);
}

} // namespace

int main(int argument_count, char **arguments) {
  cuda_test::begin();
  the_check_finds_one_value();
  if (cuda_test::failure_count) return 1;
  floats_program program = {};
  program.name = "test_cuda_every_float";
  program.backend = SZGPU_BACKEND_CUDA;
  program.run_block = run_block_cuda;
  program.close_worker = close_worker;
  program.defaults.block_bits = 20;
  program.defaults.sample = cuda_test::is_quick() ? 9973 : 499;
  program.defaults.part_count = 1;
  program.defaults.only_case = UINT64_MAX;
  program.defaults.jobs = 1;
  int const exit_code = floats_main(&program, argument_count, arguments);
  return exit_code ? exit_code : cuda_test::end();
}
