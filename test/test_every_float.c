/* test_every_float.c - every f32, all small floats, and f64 where it matters keep their promise.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * test_every_float [OPTION]...: on the CPU; --help says more. Prints how many values it compressed
 * and restored, and how many of them came back with other bits.
 */
#include "floats.h"

int main(int argument_count, char **arguments) {
  floats_program const program = {
      .name = "test_every_float",
      .backend = SZGPU_BACKEND_CPU,
      .run_block = floats_run_block_cpu,
      .defaults = {
          .block_bits = 20, .sample = 1, .part_count = 1, .only_case = UINT64_MAX, .jobs = 1}};
  return floats_main(&program, argument_count, arguments);
}
