/* help.c - what szgpu --help prints.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * scripts/make_man.sh makes the manual page of it: headings end with a colon, and two blanks part
 * an option from what it does.
 */
#include "help.h"

#include <stdio.h>

#include "szgpu.h"

static const char before_decoders[] =
    "szgpu - error-bounded lossy compression of scientific fields\n"
    "\n"
    "  szgpu -z -e BOUND [options] FILE...   compress FILE to FILE.szg\n"
    "  szgpu -z -m lossless FILE...          compress any file losslessly\n"
    "  szgpu -z --append RUN.szgs FILE...    append FILE to a series as a step\n"
    "  szgpu -x [options] FILE.szg...        restore FILE\n"
    "  szgpu -l [options] FILE.szg...        list the contents of an archive\n"
    "  szgpu --test [options] FILE.szg...    test archives, or all in a folder\n"
    "  szgpu --sweep 1e-2,1e-3 FILE...       print what each bound gives\n"
    "  szgpu --repack -m abs -e X IN OUT     copy a netCDF or HDF5 file, compressed\n"
    "  szgpu --unpack IN OUT                 and back, for readers without the plugin\n"
    "  szgpu --h5-args -e BOUND [options]    print arguments of the HDF5 filter\n"
    "\n"
    "FILE may be - for standard input; the result then goes to standard output. With\n"
    "-z it may be a dataset of HDF5 or netCDF-4: run.h5:/fields/rho, run.nc:temp.\n"
    "No value of a restored field differs from the original by more than the bound.\n"
    "\n"
    "With -z, and mostly with --sweep:\n"
    "  -e BOUND            the error bound, greater than zero\n"
    "  -m rel|abs|psnr     what BOUND is: a fraction of the field's range (rel, the\n"
    "                      default), the largest error (abs), or a PSNR in dB (psnr)\n"
    "  -m pwrel            the same fraction of each value; signs and zeros stay\n"
    "  -m lossless         no bound: keep every bit\n"
    "  --target-ratio R    in place of -e: the tightest bound with a ratio of R\n"
    "  -d 100x500x500      dims, slowest first, at most 4; default: those of the .npy\n"
    "                      header or the name (x_100x500x500.f32), else 1-D\n"
    "  -t TYPE             f32 f64 f16 bf16 u8 i8 u16 i16 i32; default: by extension;\n"
    "                      with -m lossless fp8, too, and u8 is any bytes: default\n"
    "  -V, --verify        restore in memory and check the bound before writing\n"
    "  --fill VALUE,...    fill values, kept exactly: -9999, or nan,1e20; 4 at most\n"
    "  --greatest X        with -m abs: no magnitude exceeds X; saves the range scan\n"
    "  --zstd[=LEVEL]      smaller but slower; LEVEL is 1 to 19, by default 3\n"
    "  --frame ROWS        split into frames of ROWS rows, each restored on its own\n"
    "  --layout NAME       tile (the default): each tile alone; linear: one stream\n"
    "  --predictor NAME    auto (the default), lorenzo (fast), interpolation (small)\n"
    "  --append RUN.szgs   add each FILE to a series as its next step; --time T\n"
    "  --strict            treat warnings as errors\n"
    "  --named             with --h5-args: for datasets that you name, also integers\n"
    "  --no-gap            linear: omit the gap array that some decoders need\n"
    "\n"
    "With -x:\n"
    "  --slab A:B          restore only rows A to B-1 of the slowest axis; A: and :B\n"
    "  --region 0:9,:,5:8  restore only a box: numpy slices, one for each axis\n"
    "  --level N           restore a preview: every 2^N-th value along each axis\n"
    "  --step K            of a series (also -l, --test): step K, A:B, -1 the last\n"
    "  --compare ORIGINAL  check the restored field against ORIGINAL\n"
    "  --decoder NAME      also with -V; the decoder (szgpu -l lists those that can):\n";

static const char after_decoders[] =
    "\n"
    "With --repack, for whole files; -V reads the new one back (docs/netcdf.md):\n"
    "  --var NAME:abs=X    a variable's bound: abs= rel= pwrel= psnr= lossless keep\n"
    "  --bounds FILE       such rules from a file; --like FILE: bounds in that one\n"
    "  --chunks auto|keep  join small chunks, or not; --dry-run: tell, write nothing\n"
    "\n"
    "Always:\n"
    "  -o FILE             name of the output; - is standard output\n"
    "  -f                  overwrite an existing output; write to a terminal\n"
    "  -b auto|cpu|cuda    where to compute; auto: large fields on a GPU, if any\n"
    "  --device N          which GPU; 0, the default, is the first\n"
    "  --device 0,1 | all  with -z and -x: several, each with frames of its own\n"
    "  -j THREADS          CPU threads; 0, the default, is all cores\n"
    "  --memory SIZE       with -z, -x, --repack: piece by piece, if files do not fit\n"
    "  --memory-limit 4G   fail rather than use more memory\n"
    "  --json              print one JSON object per file instead of a line\n"
    "  --progress HOW      auto: a bar on a terminal; none; json: lines, with --json\n"
    "  -q, -v              print errors only; print more\n"
    "  --help, --version   print this; print the version and what the build has\n"
    "\n"
    "Raw files are little-endian. A .npy file is restored in its own order (C or\n"
    "Fortran) and byte order. An output file appears complete or not at all.\n"
    "\n"
    "Exit codes: 0 success, 1 usage, 2 input or output, 3 bad archive, 4 bound not\n"
    "met, 5 no GPU or out of memory; with several files, the highest one.\n";

void print_help(void) {
  fputs(before_decoders, stdout);
  for (int d = 0; szgpu_decoder_name((szgpu_decoder)d); d++)
    printf("         %-13s %s\n", szgpu_decoder_name((szgpu_decoder)d),
           szgpu_decoder_summary((szgpu_decoder)d));
  fputs(after_decoders, stdout);
}
