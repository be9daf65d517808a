#!/usr/bin/env python3
"""gate.py - compares the sizes of archives and the speed of two commits; fails beyond 3 %.

SPDX-License-Identifier: BSD-3-Clause

Builds both commits in a temporary folder, without CUDA, and runs bench_cpu of both by turns, with
one thread, on fields that it makes and on real ones: a cell for each field, bound and predictor.
Times are CPU seconds, the least of all runs. A cell that takes more than 3 % longer is measured
again with twice the turns, up to three times in all. Prints new divided by old. Takes 6 minutes on
a quiet core.

Fails if in any cell the archive grew by more than 3 %, or the time did so in each of the three
measurements, or if the geometric mean of a column of times did. Differences of 1 or 2 % are noise.

Exit code: 0 passed, 1 something is beyond 3 %, 2 nothing could be compared.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 0.03
MEASUREMENTS = 3  # of a cell that is beyond the limit
TIMES = ("compress", "decompress")
BOUNDS = ("1e-2", "1e-3", "1e-4")
PREDICTORS = ("auto", "lorenzo", "interpolation")
VALUES_A_RUN = 16_000_000  # small fields are repeated until they have so many

# compress, decompress: seconds
Run = collections.namedtuple("Run", "bytes compress decompress")
# bytes: new / old; compress, decompress: a list of new / old, one for each measurement
Cell = collections.namedtuple("Cell", "name bytes compress decompress")


class GateError(Exception):
    """Why nothing can be compared, in one sentence."""


# --- Judging ------------------------------------------------------------------------------------

def is_beyond(ratio):
    return ratio > 1 + LIMIT + 1e-9


def measure(name, run_both):
    """A cell. run_both(effort) -> (Run of the old, Run of the new); called again, with twice the
    effort, while a time of all measurements so far is beyond the limit."""
    cell = None
    while cell is None or len(cell.compress) < MEASUREMENTS and slow_times(cell):
        old, new = run_both(2**len(cell.compress) if cell else 1)
        cell = add(cell or Cell(name, new.bytes / old.bytes, [], []), old, new)
    return cell


def add(cell, old, new):
    """The cell with one more measurement."""
    return cell._replace(bytes=max(cell.bytes, new.bytes / old.bytes),
                         compress=cell.compress + [new.compress / old.compress],
                         decompress=cell.decompress + [new.decompress / old.decompress])


def slow_times(cell):
    """The columns that are beyond the limit in every measurement."""
    return [column for column in TIMES if all(map(is_beyond, getattr(cell, column)))]


def mean_of(cells, column):
    """The geometric mean; of a cell that was measured several times, its median counts."""
    ratios = [cell.bytes if column == "bytes" else statistics.median(getattr(cell, column))
              for cell in cells]
    return math.exp(statistics.fmean(map(math.log, ratios)))


def faults_of(cells):
    """What is beyond the limit, a sentence each."""
    faults = [f"{cell.name}: the archive is {percent(cell.bytes)} larger"
              for cell in cells if is_beyond(cell.bytes)]
    for cell in cells:
        for column in slow_times(cell):
            all_ratios = ", ".join(map(percent, getattr(cell, column)))
            faults.append(f"{cell.name}: {column} takes {all_ratios} longer")
    for column in TIMES:
        mean = mean_of(cells, column)
        if is_beyond(mean):
            faults.append(f"all cells: {column} takes {percent(mean)} longer, "
                          "as the geometric mean")
    return faults


# --- Printing -----------------------------------------------------------------------------------

def percent(ratio):
    return f"{100 * (ratio - 1):.1f} %"


def print_row(name, times, size, count=1):
    print(f"{name:<44} {times[0]:>10.3f} {times[1]:>10.3f} {size:>10.4f}"
          f"{f'   of {count} measurements' if count > 1 else ''}", flush=True)


def print_cell(cell):
    print_row(cell.name, [statistics.median(getattr(cell, column)) for column in TIMES], cell.bytes,
              len(cell.compress))


def print_head():
    print(f"{'new / old':<44} {'compress':>10} {'decompress':>10} {'bytes':>10}")


def conclude(cells):
    """Prints the means and what is beyond the limit; the exit code."""
    if not cells:
        raise GateError("there are no cells to compare")
    for predictor in PREDICTORS:
        own = [cell for cell in cells if cell.name.endswith(" " + predictor)]
        if own:
            print_row(f"geometric mean, {predictor}", [mean_of(own, time) for time in TIMES],
                      mean_of(own, "bytes"))
    print_row("geometric mean, all", [mean_of(cells, time) for time in TIMES],
              mean_of(cells, "bytes"))
    faults = faults_of(cells)
    print(f"\n{len(cells)} cells, {len(faults)} faults" + (":" if faults else "."))
    for fault in faults:
        print(f"  {fault}")
    return 1 if faults else 0


# --- Fields -------------------------------------------------------------------------------------

Field = collections.namedtuple("Field", "name path type dims")


def made_fields(folder):
    """Writes fields of several shapes to the folder. The random numbers are always the same."""
    try:
        import numpy as np  # --gpu needs none
    except ImportError as error:
        raise GateError("this Python has no numpy; Debian's /usr/bin/python3 has, with the "
                        "package python3-numpy") from error
    random = np.random.default_rng(7)

    def waves(dims, noise):
        axes = np.meshgrid(*(np.linspace(0, 1, extent) for extent in dims), indexing="ij",
                           sparse=True)
        values = sum(np.sin((9 + 4 * i) * axis + i) for i, axis in enumerate(axes))
        values = values * np.cos(31 * axes[-1] + 5 * axes[0])
        return values + noise * random.standard_normal(dims)

    def turbulence(dims):
        spectrum = np.fft.rfftn(random.standard_normal(dims))
        squares = sum((np.fft.fftfreq(n) * n)[(...,) + (None,) * (len(dims) - 1 - i)]**2
                      for i, n in enumerate(dims[:-1]))
        squares = squares + (np.fft.rfftfreq(dims[-1]) * dims[-1])**2
        return np.fft.irfftn(spectrum / (1 + squares)**(11 / 12), s=dims, axes=range(len(dims)))

    makers = (("waves", "f32", (1_000_000,), lambda dims: waves(dims, 1e-3)),
              ("turbulence", "f32", (1000, 1200), turbulence),
              ("waves", "f64", (1000, 1000), lambda dims: waves(dims, 1e-5)),
              ("turbulence", "f32", (96, 112, 128), turbulence),
              ("turbulence", "f64", (64, 96, 128), turbulence),
              ("noise", "f32", (64, 128, 128), lambda dims: waves(dims, 0.5)),
              ("waves", "f32", (8, 32, 64, 64), lambda dims: waves(dims, 1e-4)),
              ("small", "f32", (24, 30, 40), turbulence))
    for name, kind, dims, make in makers:
        shape = "x".join(map(str, dims))
        path = folder / f"{name}_{shape}.{kind}"
        make(dims).astype("<f4" if kind == "f32" else "<f8").tofile(path)
        yield Field(path.name, path, kind, shape)


def real_fields(source, folder):
    """Those in `source`, unpacked to `folder` if they end in .zst."""
    if not source.is_dir():
        print(f"skipped: real fields: there is no folder {source}", file=sys.stderr)
    for path in sorted(source.glob("*")):
        match = re.fullmatch(r".*_(\d+(?:x\d+){0,3})\.(f32|f64)(\.zst)?", path.name)
        if not match:
            continue
        if match[3]:
            packed, path = path, folder / path.name.removesuffix(".zst")
            run_command(["zstd", "-d", "-q", "-f", packed, "-o", path])
        yield Field(path.name, path, match[2], match[1])


# --- Building and running -----------------------------------------------------------------------

def run_command(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise GateError(f"this failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def git(*arguments):
    return run_command(["git", "-C", ROOT, *arguments]).strip()


def build(source, folder):
    """The path of bench_cpu."""
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    shares = {**os.environ, "CCACHE_BASEDIR": "/", "CCACHE_NOHASHDIR": "1"}  # with other folders
    run_command(["cmake", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
                 "-DSZGPU_BENCH=ON", "-DSZGPU_CUDA=OFF", "-DSZGPU_HDF5=OFF", *launcher])
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
    run_command(["cmake", "--build", folder, "--parallel", jobs, "--target", "bench_cpu"],
                env=shares)
    return folder / "bench_cpu"


def bench(program, field, bound, predictor):
    values = math.prod(map(int, field.dims.split("x")))
    repeats = max(8, min(1000, VALUES_A_RUN // values))
    found = json.loads(run_command([program, field.path, field.type, field.dims, bound, "1", "0",
                                    str(repeats), predictor]))
    return Run(found["archive_bytes"], found["compress_cpu_seconds_min"],
               found["decompress_cpu_seconds_min"])


def least(runs):
    return Run(max(run.bytes for run in runs), *(min(getattr(run, column) for run in runs)
                                                 for column in TIMES))


def run_both_by_turns(programs, turns, *what):
    runs = ([], [])
    for turn in range(turns):
        for which in ((0, 1), (1, 0))[turn % 2]:
            runs[which].append(bench(programs[which], *what))
    return least(runs[0]), least(runs[1])


def compare_commits(arguments):
    # git diff fails if there are changes.
    is_changed = subprocess.run(["git", "-C", ROOT, "diff", "--quiet", "HEAD"],
                                check=False).returncode != 0
    base = git("rev-parse", "--verify", "--short",
               (arguments.base or ("HEAD" if is_changed else "HEAD^")) + "^{commit}")
    changes = " with changes" if is_changed else ""
    print(f"old: {base}, new: {git('rev-parse', '--short', 'HEAD')}{changes}", flush=True)
    with tempfile.TemporaryDirectory(prefix="szgpu-gate-") as name:
        folder = pathlib.Path(name)
        fields = list(made_fields(folder)) + list(real_fields(arguments.fields, folder))
        git("worktree", "add", "--detach", folder / "old", base)
        try:
            programs = (build(folder / "old", folder / "build-old"),
                        build(ROOT, folder / "build-new"))
        finally:
            git("worktree", "remove", "--force", folder / "old")
        cells = []
        print_head()
        for field in fields:
            for bound in BOUNDS:
                for predictor in PREDICTORS:
                    name = f"{field.name} {bound} {predictor}"
                    if arguments.only in name:
                        cells.append(measure(name, lambda effort: run_both_by_turns(
                            programs, effort * arguments.turns, field, bound, predictor)))
                        print_cell(cells[-1])
        return conclude(cells)


# --- What was measured on a GPU -----------------------------------------------------------------

def gpu_runs(path):
    """{cell: Run} of a file, or of all files of bench_stages in a folder."""
    runs = {}
    for file in sorted(path.glob("bench_stages.*.json")) if path.is_dir() else [path]:
        way = file.name.split(".")[1] + " " if path.is_dir() else ""
        for case in json.loads(file.read_text(encoding="utf-8")):
            name = f"{way}{case['field']} {case['mode']} {case['bound']:g} {case['predictor']}"
            runs[name] = Run(case["archive_bytes"], case["compress"]["whole"]["median_ms"],
                             case["decompress"]["whole"]["median_ms"])
    return runs


def compare_gpu_runs(paths):
    if len(paths) % 2:
        raise GateError("--gpu takes pairs: OLD NEW")
    cells = {}
    for old_path, new_path in zip(paths[::2], paths[1::2]):
        old_runs, new_runs = gpu_runs(old_path), gpu_runs(new_path)
        for name in sorted(old_runs.keys() ^ new_runs.keys()):
            if name in old_runs:
                raise GateError(f"{new_path} lacks {name}")
            print(f"skipped: {name}: {old_path} lacks it")
        for name, old in old_runs.items():
            new = new_runs[name]
            cells[name] = add(cells.get(name) or Cell(name, new.bytes / old.bytes, [], []), old,
                              new)
    print_head()
    for name in sorted(cells):
        print_cell(cells[name])
    return conclude(list(cells.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 2)[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", metavar="COMMIT", help="what the working tree is compared with; "
                        "else HEAD if tracked files have changed since, and HEAD's parent if not")
    parser.add_argument("--fields", metavar="FOLDER", type=pathlib.Path, default=pathlib.Path(
        os.environ.get("SZGPU_FIELDS", ROOT.parent / "shared" / "datasets")),
                        help="real fields, such as wind_10x20x30.f32.zst; else $SZGPU_FIELDS, else "
                        "../shared/datasets")
    parser.add_argument("--only", metavar="TEXT", default="",
                        help="only the cells with TEXT in their names, such as '1e-3 lorenzo'")
    parser.add_argument("--turns", metavar="COUNT", type=int, default=5,
                        help="how often either program runs for one measurement; else 5")
    parser.add_argument("--gpu", type=pathlib.Path, nargs="+", metavar=("OLD", "NEW"),
                        help="compare what was measured on a GPU before: files that bench_stages "
                        "wrote with --json, or folders of logs of gpu_check.sh --bench; more pairs "
                        "are measurements of the same two commits, by turns")
    arguments = parser.parse_args()
    try:
        return compare_gpu_runs(arguments.gpu) if arguments.gpu else compare_commits(arguments)
    except (GateError, OSError, ValueError, KeyError) as error:
        print(f"gate.py: {error if isinstance(error, GateError) else repr(error)}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
