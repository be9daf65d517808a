"""test_parallel.py - the filter under parallel HDF5: many ranks write, others read, serially too.

SPDX-License-Identifier: BSD-3-Clause

  python3 test_parallel.py PLUGIN_FOLDER [--app PATH] [--mpiexec PATH] [--filter ID]
                           [unittest's options]

PLUGIN_FOLDER holds libh5zszgpu.so; --app is szgpu_parallel, --mpiexec the program that starts its
ranks. If one of them or h5py is missing, tests skip with a reason; the exit code is 77 if every
test was skipped. numpy makes the field again from its description in apps/hdf5/parallel/field.h;
its operations round alike in every language.
"""
import argparse
import os
import re
import subprocess
import sys
import time
import unittest

try:
    import numpy as np

    import harness
    from harness import Hdf5Test, user_words
except ImportError as problem:
    print(f"test_parallel: skipped, {problem} (Debian: python3-numpy)")
    sys.exit(77)

app = mpiexec = None  # set by main

MOST_SECONDS = 600  # of a run; one that takes longer hangs
PERIODS = ((112, 96, 80), (45, 37, 29))
STRENGTHS = (1.0, 0.5)
HOLE = 1e20

# Open MPI 4 and 5 need these for root in a container, and for more ranks than cores.
MPI_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "ASAN_OPTIONS": "detect_leaks=0",  # MPI frees its memory only when the process ends
    "LD_PRELOAD": "",  # the sanitizers' library, which only Python needs
}


# ---- the field ----

def wave(place, period):
    """A wave of parabolas along an axis."""
    phase = (place % np.uint64(period)) / np.float64(period)
    half = np.where(phase < 0.5, phase, phase - 0.5)
    arch = 16.0 * half * (0.5 - half)
    return np.where(phase < 0.5, arch, -arch)


def noise(first, count):
    """SplitMix64 of the indices, as -0.5 .. 0.5."""
    bits = (np.arange(count, dtype=np.uint64) + np.uint64(first + 1)) * np.uint64(
        0x9E3779B97F4A7C15)
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ bits >> np.uint64(31)
    return (bits >> np.uint64(40)).astype(np.float64) * 2.0 ** -24 - 0.5


def make_field(dims, step=0, has_hole=False):
    """The field of a step, all of it."""
    z, y, x = (np.arange(n, dtype=np.uint64) for n in dims)
    flow = 0.0
    for strength, period in zip(STRENGTHS, PERIODS):
        slow = strength * wave(z + np.uint64(3 * step), period[0])
        rows = slow[:, None] * wave(y + np.uint64(5 * step), period[1])
        flow = rows[:, :, None] * wave(x, period[2]) + flow
    count = int(np.prod(dims))
    values = (flow + 1e-3 * noise(step * count, count).reshape(dims)).astype(np.float32)
    if has_hole:
        values[tuple(slice(n // 3, n // 2) for n in dims)] = HOLE
    return values


# ---- runs ----

def run_mpi(*command, **settings):
    """Runs mpiexec with these arguments and environment variables."""
    return subprocess.run([mpiexec, *map(str, command)], timeout=MOST_SECONDS,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env={**os.environ, **MPI_SETTINGS, **settings})


def run_ranks(count, *command, odd_one=None, **settings):
    """Runs szgpu_parallel on `count` ranks; odd_one: NAME=VALUE that only the last rank gets."""
    if odd_one is None:
        return run_mpi("-n", count, app, *command, **settings)
    return run_mpi("-n", count - 1, app, *command, ":", "-n", 1, "env", odd_one, app, *command,
                   **settings)


def why_no_runs():
    """Why the tests cannot run; "" if they can."""
    if not app:
        return "szgpu_parallel is not built: configure with -DSZGPU_MPI=ON"
    if not mpiexec:
        return "there is no mpirun (Debian: openmpi-bin)"
    probe = run_mpi("-n", 2, "true")
    said = " ".join((probe.stdout + probe.stderr).split())
    return f"{mpiexec} cannot run two ranks: {said}" if probe.returncode else ""


class ParallelTest(Hdf5Test):
    def run_well(self, count, *command, **settings):
        done = run_ranks(count, *command, **settings)
        said = f"{count} ranks, {command}: exit code {done.returncode}\n{done.stdout}"
        self.assertEqual(done.returncode, 0, said + done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 1, said)
        self.assertIn(f": {count} ranks, ", done.stdout)
        return done.stdout

    def run_badly(self, count, code, sentence, *command, **settings):
        """Ends in time with this code and one sentence on stderr, apart from what mpirun adds."""
        done = run_ranks(count, *command, **settings)
        said = f"{count} ranks, {command}: exit code {done.returncode}\n{done.stderr}"
        self.assertEqual(done.returncode, code, said)
        lines = re.findall("^szgpu_parallel: .*$", done.stderr, re.M)
        self.assertEqual(len(lines), 1, said)
        self.assertRegex(lines[0], sentence)
        self.assertEqual(done.stdout, "", said)

    def write(self, count, name, dims, chunk, *options):
        self.dims, self.chunk = dims, chunk
        self.run_well(count, "write", self.path(name), "--dims", "x".join(map(str, dims)),
                      "--chunk", "x".join(map(str, chunk)), *options)

    def assert_as_serial(self, name, steps=1, bound=None, has_hole=False):
        """Serial h5py reads it within the bound (None: bit-identical), and a serial write of the
        same field makes the same chunks."""
        import h5py
        with h5py.File(self.path(name), "r") as file:
            self.assertEqual(sorted(file), [f"step_{step:04}" for step in range(steps)])
            for step in range(steps):
                values = make_field(self.dims, step, has_hole)
                dataset = file[f"step_{step:04}"]
                self.assertEqual((dataset.dtype, dataset.chunks), ("<f4", self.chunk))
                if bound is None:
                    self.assert_same_bits(values, dataset[...], name)
                else:
                    self.assert_lossy(values, dataset[...], bound, name)
                    hole = values == np.float32(HOLE)
                    self.assertEqual(hole.any(), has_hole)
                    self.assert_same_bits(values[hole], dataset[...][hole], name)
                mode = harness.LOSSLESS if bound is None else harness.ABS
                self.assert_same_chunks(values, dataset, mode, bound or 0.0, has_hole)

    def assert_same_chunks(self, values, dataset, mode, bound, has_hole):
        import h5py
        options = 0 if mode == harness.LOSSLESS else harness.NAMED
        with h5py.File(self.path("serial.h5"), "w") as file:
            serial = file.create_dataset(
                "field", data=values, chunks=self.chunk, compression=harness.filter_id,
                compression_opts=user_words(mode, bound, options),
                fillvalue=HOLE if has_hole else None)
            self.assertEqual(serial._filters, dataset._filters)
            self.assertIn(str(harness.filter_id), serial._filters)
            places = list(np.ndindex(*(-(-n // c) for n, c in zip(self.dims, self.chunk))))
            self.assertEqual(dataset.id.get_num_chunks(), len(places))
            for place in places:
                at = tuple(i * c for i, c in zip(place, self.chunk))
                self.assertTrue(dataset.id.read_direct_chunk(at) ==
                                serial.id.read_direct_chunk(at), f"the chunk at {at} differs")


class Ways(ParallelTest):
    """Written by some ranks, read by others."""

    def test_four_ranks_write_three_and_one_read(self):
        self.write(4, "a.h5", (96, 80, 64), (24, 20, 16), "-m", "abs", "-e", "1e-3")
        for count in (3, 1):
            said = self.run_well(count, "read", self.path("a.h5"))
            self.assertIn("every value within 0.001,", said)
        self.assert_as_serial("a.h5", bound=1e-3)

    def test_the_example(self):
        """examples/mpi_write.c, built beside szgpu_parallel."""
        done = run_mpi("-n", 3, os.path.join(os.path.dirname(app), "h5_mpi_write"),
                       self.path("example.h5"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^3 ranks: 3840000 bytes became \d{5,6}; no value is off")

    def test_two_ranks_write_dims_that_chunks_do_not_divide(self):
        self.write(2, "b.h5", (61, 47, 53), (16, 20, 32), "--steps", 3, "--hole")
        for count in (5, 4):
            self.run_well(count, "read", self.path("b.h5"))
        self.assert_as_serial("b.h5", steps=3, bound=1e-3, has_hole=True)

    def test_chunks_that_several_ranks_have_part_of_are_compressed_once(self):
        self.write(3, "c.h5", (61, 47, 53), (32, 32, 32), "--unaligned", "-e", "0.01")
        self.run_well(4, "read", self.path("c.h5"), "--unaligned")
        self.run_well(2, "read", self.path("c.h5"))
        self.assert_as_serial("c.h5", bound=0.01)

    def test_one_chunk_of_many_ranks(self):
        self.write(6, "d.h5", (30, 31, 32), (30, 31, 32), "--unaligned")
        self.run_well(6, "read", self.path("d.h5"), "--unaligned")
        self.assert_as_serial("d.h5", bound=1e-3)

    def test_ranks_without_values(self):
        self.write(5, "e.h5", (20, 30, 40), (20, 30, 20))
        self.run_well(5, "read", self.path("e.h5"))
        self.assert_as_serial("e.h5", bound=1e-3)

    def test_lossless(self):
        self.write(3, "f.h5", (50, 40, 33), (25, 16, 33), "-m", "lossless", "--hole")
        self.assertIn("every bit the same", self.run_well(2, "read", self.path("f.h5")))
        self.assert_as_serial("f.h5", has_hole=True)

    def test_without_the_filter(self):
        self.write(3, "g.h5", (50, 40, 33), (25, 16, 33), "--raw")
        said = self.run_well(2, "read", self.path("g.h5"), HDF5_PLUGIN_PATH="/")
        self.assertIn(" raw, ", said)
        self.assertIn("every bit the same", said)


class Direct(ParallelTest):
    """Ranks compress their chunks themselves, and rank 0 writes the archives."""

    def test_ranks_write_what_the_filter_writes(self):
        for count in (1, 2, 4):
            name = f"{count}.h5"
            self.write(count, name, (96, 80, 64), (24, 20, 16), "--direct", "--steps", 2)
            for readers in (1, 3, count):  # a restart with another number of ranks
                said = self.run_well(readers, "read", self.path(name))
                self.assertIn("every value within 0.001,", said)
            self.assert_as_serial(name, steps=2, bound=1e-3)

    def test_dims_that_chunks_do_not_divide_and_fill_values(self):
        self.write(3, "a.h5", (61, 47, 53), (16, 20, 32), "--direct", "--steps", 2, "--hole",
                   "-e", "0.01")
        self.run_well(2, "read", self.path("a.h5"))
        self.assert_as_serial("a.h5", steps=2, bound=0.01, has_hole=True)
        self.write(2, "b.h5", (61, 47, 53), (16, 20, 32), "--direct")
        self.assert_as_serial("b.h5", bound=1e-3)

    def test_lossless_and_predictors(self):
        self.write(2, "a.h5", (50, 40, 33), (25, 16, 33), "--direct", "-m", "lossless", "--hole")
        self.assertIn("every bit the same", self.run_well(3, "read", self.path("a.h5")))
        self.assert_as_serial("a.h5", has_hole=True)
        for predictor in ("lorenzo", "interpolation"):
            sizes = [re.search(r"bytes as (\d+)", self.run_well(
                2, "write", self.path(f"{predictor}.h5"), "--dims", "64x64x64", "--chunk",
                "32x32x32", "--predictor", predictor, "-f", *way)).group(1)
                for way in ((), ("--direct",))]
            self.assertEqual(*sizes)

    def test_ranks_without_chunks(self):
        self.write(5, "e.h5", (20, 30, 40), (20, 30, 20), "--direct")
        self.run_well(5, "read", self.path("e.h5"))
        self.assert_as_serial("e.h5", bound=1e-3)

    def test_the_settings_of_the_filter(self):
        self.write(2, "a.h5", (40, 40, 40), (20, 20, 20), "--direct")
        for name, value in (("SZGPU_H5_THREADS", "3"), ("SZGPU_H5_BACKEND", "auto")):
            self.run_well(2, "write", self.path("b.h5"), "--dims", "40x40x40", "--chunk",
                          "20x20x20", "--direct", "-f", **{name: value})
            self.run_well(3, "read", self.path("b.h5"))
        write = ("write", self.path("c.h5"), "--direct")
        self.run_badly(3, 2, "rank 0: creating .*HDF5 says: szgpu: ", *write,
                       SZGPU_H5_BACKEND="cuda", CUDA_VISIBLE_DEVICES="")
        self.run_badly(2, 2, "szgpu_parallel: writing .*more memory", *write, "-f",
                       SZGPU_H5_MEMORY_LIMIT="64K")

    def test_a_rank_that_fails(self):
        """Its chunks are missing, and the others neither wait for it nor go on."""
        begin = time.monotonic()
        self.run_badly(3, 2, "rank 2: SZGPU_H5_THREADS", "write", self.path("a.h5"), "--direct",
                       odd_one="SZGPU_H5_THREADS=none")
        self.run_badly(3, 2, "rank 2: writing .*:step_0000 failed .szgpu: .*limit", "write",
                       self.path("b.h5"), "--direct", odd_one="SZGPU_H5_MEMORY_LIMIT=64K")
        self.assertLess(time.monotonic() - begin, 60)

    def test_only_rank_0_needs_the_filter(self):
        self.run_well(3, "write", self.path("a.h5"), "--direct",
                      odd_one="HDF5_PLUGIN_PATH=" + self.folder)
        self.run_badly(2, 2, "rank 0: HDF5 does not find the szgpu filter", "write",
                       self.path("b.h5"), "--direct", HDF5_PLUGIN_PATH=self.folder)

    def test_what_it_does_not_go_with(self):
        self.run_badly(2, 1, "--direct does not go with --raw", "write", "a.h5", "--direct",
                       "--raw")
        self.run_badly(2, 1, "--direct does not go with --unaligned", "write", "a.h5",
                       "--unaligned", "--direct")
        self.write(2, "a.h5", (16, 16, 16), (8, 8, 8), "--direct")
        self.run_badly(2, 2, "rank 0: without -f, creating", "write", self.path("a.h5"),
                       "--direct")
        self.run_badly(2, 2, "rank 0: .*creating", "write", self.path("nowhere/a.h5"),
                       "--direct")


class Verdicts(ParallelTest):
    """read finds errors."""

    def setUp(self):
        super().setUp()
        import h5py
        self.h5py = h5py

    def test_one_value_over_the_bound(self):
        values = make_field((32, 32, 32))
        values[7, 8, 9] += np.float32(0.0031)
        with self.h5py.File(self.path("a.h5"), "w") as file:
            file.create_dataset("step_0000", data=values, chunks=(16, 16, 16),
                                compression=harness.filter_id,
                                compression_opts=user_words(harness.ABS, 1e-3))
        self.run_badly(3, 4, r"over the bound of 0\.001: 1\.$", "read", self.path("a.h5"))

    def test_one_bit_of_a_raw_file(self):
        values = make_field((32, 32, 32))
        values.view(np.uint32)[31, 31, 31] ^= 1
        with self.h5py.File(self.path("a.h5"), "w") as file:
            file.create_dataset("step_0000", data=values, chunks=(16, 16, 16))
        self.run_badly(2, 4, r"over the bound of 0: 1\.$", "read", self.path("a.h5"))

    def test_a_damaged_chunk(self):
        self.write(2, "a.h5", (64, 64, 64), (32, 32, 32))
        with self.h5py.File(self.path("a.h5"), "r") as file:
            chunk = file["step_0000"].id.get_chunk_info_by_coord((32, 32, 32))
        with open(self.path("a.h5"), "r+b") as file:
            file.seek(chunk.byte_offset + chunk.size // 2)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 1]))
        self.run_badly(3, 2, "rank 2: reading .*:step_0000 failed .HDF5 says: szgpu: .*damaged",
                       "read", self.path("a.h5"))

    def test_a_file_of_others(self):
        with self.h5py.File(self.path("a.h5"), "w") as file:
            file.create_dataset("step_0000", data=np.zeros((9, 9), np.float32), chunks=(3, 3))
        self.run_badly(2, 2, "not a field that szgpu_parallel wrote", "read", self.path("a.h5"))
        self.h5py.File(self.path("b.h5"), "w").close()
        self.run_badly(2, 2, "has no snapshots", "read", self.path("b.h5"))


class Faults(ParallelTest):
    """All ranks end, in time, with one sentence."""

    def test_usage(self):
        for sentence, command in (
                ("no FILE", ["write"]), ("neither write nor read", ["wrong"]),
                ("'--dims' does not take '3x3'", ["write", "a.h5", "--dims", "3x3"]),
                ("'-e' does not take '-1'", ["write", "a.h5", "-e", "-1"]),
                ("'-e' needs a value", ["write", "a.h5", "-e"]),
                ("larger than the field",
                 ["write", "a.h5", "--dims", "8x8x8", "--chunk", "9x8x8"])):
            self.run_badly(2, 1, sentence, *command)

    def test_files(self):
        self.write(2, "a.h5", (16, 16, 16), (8, 8, 8))
        self.run_badly(2, 2, "without -f", "write", self.path("a.h5"))
        self.run_badly(2, 2, "creating", "write", self.path("nowhere/a.h5"))
        self.run_badly(3, 2, "opening", "read", self.path("nothing.h5"))

    def test_no_plugin_anywhere(self):
        self.run_badly(3, 2, "szgpu_parallel: HDF5 does not find the szgpu filter", "write",
                       self.path("a.h5"), HDF5_PLUGIN_PATH=self.folder)
        self.assertFalse(os.path.exists(self.path("a.h5")))

    def test_no_plugin_on_one_rank(self):
        self.run_badly(3, 2, "rank 2: HDF5 does not find the szgpu filter", "write",
                       self.path("a.h5"), odd_one="HDF5_PLUGIN_PATH=" + self.folder)

    def test_a_filter_that_fails_on_one_rank_inside_a_collective_call(self):
        """The other ranks wait for it inside HDF5, and would wait for ever."""
        begin = time.monotonic()
        self.run_badly(3, 2, "rank 2: .*HDF5 says: szgpu: SZGPU_H5_THREADS", "write",
                       self.path("a.h5"), odd_one="SZGPU_H5_THREADS=none")
        self.assertLess(time.monotonic() - begin, 60)


def main():
    global app, mpiexec
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("plugin_folder")
    parser.add_argument("--app", default="")
    parser.add_argument("--mpiexec", default="")
    parser.add_argument("--filter", type=int, default=480)
    asked, selection = parser.parse_known_args()
    app, mpiexec = asked.app and os.path.abspath(asked.app), asked.mpiexec
    reason = why_no_runs()
    if reason:
        print(f"test_parallel: skipped, {reason}")
        return 77
    # HDF5 reads it when it is loaded, so this must come before any import of h5py.
    os.environ["HDF5_PLUGIN_PATH"] = os.path.abspath(asked.plugin_folder)
    harness.filter_id = asked.filter
    run = unittest.main(argv=["test_parallel.py", *selection], exit=False).result
    for test, why in run.skipped:
        print(f"skipped {test}: {why}")
    all_skipped = 0 < run.testsRun == len(run.skipped)
    return 77 if all_skipped else int(not run.wasSuccessful() or run.testsRun == 0)


if __name__ == "__main__":
    sys.exit(main())
