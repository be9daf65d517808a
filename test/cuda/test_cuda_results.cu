/* test_cuda_results.cu - small results reach the host before the stream has done its work.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core/device.h"
#include "core/tell.cuh"
#include "cuda/cuda_test.cuh"

using cuda_test::DeviceArray;
using cuda_test::random_bits;
using cuda_test::stream;

namespace {

constexpr uint64_t kMostBytes = 100000;

/* In pinned memory. */
struct Host {
  uint8_t bytes[kMostBytes + 64];
  uint32_t told[3];
  uint32_t may_end;
};

szg_device device;
Host *host;

/* Busy until the host lets it end, or for about two seconds. */
__global__ void wait_kernel(const uint32_t *may_end) {
  long long const start = clock64();
  while (!*(volatile const uint32_t *)may_end && clock64() - start < 4000000000) {
  }
}

__global__ void tell_kernel(uint32_t *told) { szg::tell(told); }

void brings_every_byte_and_no_other() {
  for (uint64_t count :
       {0, 1, 3, 4, 5, 12, 31, 32, 33, 4095, 4096, 4097, 16384, 16387, (int)kMostBytes}) {
    std::vector<uint8_t> results(count + 1);
    for (uint8_t &byte : results) byte = (uint8_t)random_bits();
    DeviceArray<uint8_t> const there(results);
    memset(host->bytes, 0xA5, sizeof host->bytes);
    MUST(szg_device_bring(&device, host->bytes, there.data(), count, &host->told[0]));
    MUST(szg_device_await(&device, &host->told[0], 1));
    CHECK(memcmp(host->bytes, results.data(), count) == 0, "%llu bytes", (unsigned long long)count);
    for (uint64_t i = count; i < sizeof host->bytes; i++)
      CHECK(host->bytes[i] == 0xA5, "%llu bytes, byte %llu", (unsigned long long)count,
            (unsigned long long)i);
  }
}

void brings_two_at_once() {
  for (uint64_t count : {0, 1, 4, 4095, 4098}) {
    std::vector<uint8_t> results(4096 + 4100);
    for (uint8_t &byte : results) byte = (uint8_t)random_bits();
    DeviceArray<uint8_t> const there(results);
    memset(host->bytes, 0xA5, sizeof host->bytes);
    MUST(szg_device_bring_both(&device, {host->bytes, there.data(), count},
                               {host->bytes + 4100, there.data() + 4096, 4100 - count},
                               &host->told[0]));
    MUST(szg_device_await(&device, &host->told[0], 1));
    CHECK(memcmp(host->bytes, results.data(), count) == 0, "the first %llu bytes",
          (unsigned long long)count);
    CHECK(memcmp(host->bytes + 4100, results.data() + 4096, 4100 - count) == 0,
          "the other %llu bytes", (unsigned long long)(4100 - count));
    for (uint64_t i = count; i < 4100; i++)
      CHECK(host->bytes[i] == 0xA5, "%llu bytes, byte %llu", (unsigned long long)count,
            (unsigned long long)i);
  }
}

void needs_no_word() {
  DeviceArray<uint8_t> const there(std::vector<uint8_t>(16, 7));
  MUST(szg_device_bring(&device, host->bytes, there.data(), 16, nullptr));
  MUST(szg_device_wait(&device, false));
  for (int i = 0; i < 16; i++) CHECK(host->bytes[i] == 7, "byte %d", i);
}

void the_host_goes_on_while_the_stream_works() {
  uint32_t const trips = device.round_trips;
  host->may_end = 0;
  szg_device_expect(host->told, 3);
  for (int i = 2; i >= 0; i--) tell_kernel<<<1, 1, 0, stream>>>(&host->told[i]);
  wait_kernel<<<1, 1, 0, stream>>>(&host->may_end);
  MUST(szg_device_await(&device, host->told, 3));
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady, "the stream has ended");
  CHECK(device.round_trips == trips + 1, "%u round trips", device.round_trips - trips);
  __atomic_store_n(&host->may_end, 1, __ATOMIC_RELEASE);
  MUST(cudaStreamSynchronize(stream));
}

/* As when a kernel fails. */
void a_word_that_is_not_set_is_awaited_until_the_stream_ends() {
  szg_device_expect(host->told, 3);
  tell_kernel<<<1, 1, 0, stream>>>(&host->told[0]);
  tell_kernel<<<1, 1, 0, stream>>>(&host->told[2]);
  MUST(szg_device_await(&device, host->told, 3));
  CHECK(cudaStreamQuery(stream) == cudaSuccess, "the stream still works");
  CHECK(host->told[0] == 1 && host->told[1] == 0 && host->told[2] == 1, "other words are set");
}

} // namespace

int main() {
  cuda_test::begin();
  device.stream = stream;
  MUST(cudaMallocHost(&host, sizeof *host));
  brings_every_byte_and_no_other();
  brings_two_at_once();
  needs_no_word();
  the_host_goes_on_while_the_stream_works();
  a_word_that_is_not_set_is_awaited_until_the_stream_ends();
  MUST(cudaFreeHost(host));
  return cuda_test::end();
}
