/* bench_decoders.h - the sub-commands of bench_decoders, one file each.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * argv[0] is the sub-command's name. All take --json FILE, to which they write one object for
 * plot_decoders.py: "bench" (the sub-command), "gpu", and "rows", an array of flat objects. They
 * return 0, 1 if verification failed, or 2 on an error.
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
