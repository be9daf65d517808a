/* bench_decoders.h - the sub-commands of bench_decoders, each in a file of its own.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * argv[0] is the sub-command's name. All take --json FILE, which they write as one object:
 * "bench" (the sub-command), "gpu", and "rows", objects without objects inside, for
 * plot_decoders.py. They return 0; 1: something was not verified; 2: something failed.
 */
#ifndef SZG_BENCH_DECODERS_H
#define SZG_BENCH_DECODERS_H

int szg_bench_fields(int argc, char **argv);
int szg_bench_sweep(int argc, char **argv);
int szg_bench_offsets(int argc, char **argv);
int szg_bench_bf16(int argc, char **argv);
int szg_bench_hierarchical(int argc, char **argv);
int szg_bench_rle(int argc, char **argv);

#endif
