/* help.c - what szgpu --help prints.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "help.h"

#include <stdio.h>

#include "szgpu.h"

static const char before_decoders[] =
    "szgpu - error-bounded lossy compression of scientific floating-point fields\n"
    "\n"
    "  szgpu -z -e BOUND [options] FILE...   compress FILE to FILE.szg\n"
    "  szgpu -z -m lossless FILE...          keep every bit, of any file\n"
    "  szgpu -x [options] FILE.szg...        restore FILE\n"
    "  szgpu -l [options] FILE.szg...        list what an archive holds\n"
    "  szgpu --h5-args -e BOUND [options]    how h5repack, nccopy and h5py ask for it\n"
    "                                        (with -m, --zstd and --layout too)\n"
    "\n"
    "A FILE of - is standard input, and its data go to standard output. With -z it\n"
    "may be a dataset of HDF5 or netCDF-4: run.h5:/fields/rho, run.nc:temperature.\n"
    "No value of a restored field is further from the original than the bound.\n"
    "\n"
    "With -z\n"
    "  -e BOUND            the error bound, above zero\n"
    "  -m rel|abs|psnr     what BOUND is: a fraction of the field's range (rel, the\n"
    "                      default), the largest error itself, or a PSNR in dB\n"
    "  -m lossless         no bound: every bit is kept\n"
    "  -d 100x500x500      dims, slowest first, at most 4; when absent from a .npy\n"
    "                      header or the name (x_100x500x500.f32), else 1-D\n"
    "  -t f32|f64          type; when absent from the extension: .f32 .f64 .d64 .npy\n"
    "  -t bf16|f16|fp8|u8  with -m lossless also these, and .safetensors; else bytes\n"
    "  -V, --verify        restore in memory and check the bound before writing\n"
    "  --fill VALUE        the fill value, kept exactly: -9999, 1e20, nan ...\n"
    "  --zstd[=LEVEL]      smaller and slower; LEVEL 1 to 19, 3 when absent\n"
    "  --frame ROWS        split into frames of ROWS rows that restore alone\n"
    "  --layout NAME       tile: each tile by itself, the default; linear: one stream\n"
    "  --no-gap            linear: no gap array; gap-array and hierarchical need it\n"
    "\n"
    "With -x\n"
    "  --slab A:B          only rows A to B-1 of the slowest axis\n"
    "  --compare ORIGINAL  check the restored field against ORIGINAL\n"
    "  --decoder NAME      also with -V; how codes are read back, to the same field:\n";

static const char after_decoders[] =
    "                      (szgpu -l says which ones read an archive)\n"
    "\n"
    "Always\n"
    "  -o FILE             name of the output; - is standard output\n"
    "  -f                  overwrite an existing output; write to a terminal\n"
    "  -b auto|cpu|cuda    where to compute; auto: large fields on a GPU, if any\n"
    "  --device N          which GPU; 0, the default, is the first\n"
    "  -j THREADS          CPU threads; 0, the default, is all cores\n"
    "  --json              one JSON object a file instead of a line\n"
    "  -q, -v              print no line and no note; print more\n"
    "  --help, --version\n"
    "\n"
    "Raw files are little-endian. .npy files (C or Fortran order, either byte order)\n"
    "are restored as they were. Outputs appear whole or not at all.\n"
    "\n"
    "Exit codes: 0 ok, 1 usage, 2 input or output, 3 bad archive, 4 bound not met,\n"
    "5 no GPU or out of memory; of several files the highest.\n";

void print_help(void) {
  fputs(before_decoders, stdout);
  for (int d = 0; szgpu_decoder_name((szgpu_decoder)d); d++)
    printf("         %-12s %s\n", szgpu_decoder_name((szgpu_decoder)d),
           szgpu_decoder_summary((szgpu_decoder)d));
  fputs(after_decoders, stdout);
}
