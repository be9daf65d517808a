/* bench_decoders.cu - times every decoder: one sub-command per table in docs.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   bench_decoders COMMAND ...
 *
 * The file of each command says which arguments it takes and what it measures.
 */
#include "bench_decoders.h"

#include <cstdio>
#include <cstring>

namespace {

struct Command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *what;
};

constexpr Command kCommands[] = {
    {"fields", szg_bench_fields, "every decoder, on fields and on files of bytes"},
    {"sweep", szg_bench_sweep, "self-synchronization by subsequence and block, phase by phase"},
    {"offsets", szg_bench_offsets, "decoding from every bit, by decoded size"},
    {"bf16", szg_bench_bf16, "lossless frames of weights"},
    {"hierarchical", szg_bench_hierarchical, "bf16 weights by chained tables"},
    {"rle", szg_bench_rle, "run-length coding"},
};

} // namespace

int main(int argc, char **argv) {
  for (const Command &command : kCommands)
    if (argc > 1 && strcmp(argv[1], command.name) == 0) return command.run(argc - 1, argv + 1);
  fprintf(stderr, "usage: bench_decoders COMMAND ...\n");
  for (const Command &command : kCommands)
    fprintf(stderr, "  %-12s %s\n", command.name, command.what);
  return 2;
}
