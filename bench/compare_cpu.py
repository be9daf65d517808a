"""compare_cpu.py - compares ratio and one-thread speed of szgpu, SZ3 and zfp in interleaved runs.

SPDX-License-Identifier: BSD-3-Clause

  python3 compare_cpu.py [--szgpu PATH] [--fields DIR] [--venv DIR] [--repeats 5]
                         [--statistic min|median] [--only TEXT] [--skip-large]
                         [--predictors auto,interpolation,lorenzo]

With --predictors the script measures these, and SZ3 as it is by default: one table for each, with
ratios and speeds of both. Their seconds are those of CPU time, so that other work on the machine
counts less. Without --szgpu the script measures only the peers. It installs them from PyPI into a virtual
environment (DIR of --venv, made by the first call): pysz is SZ3, zfpy is zfp. szgpu itself does not
need them. Every tool gets the same absolute bound: rel * (max - min) over the values that are not
fill. Every repetition runs all tools, in rotating order, before the next begins, so that a slow
spell of the machine affects them all; the best (or median) repetition counts. The script times SZ3
and zfp in memory, around the library call, in a warm process. bench_cpu, which lies beside the
szgpu command (build with -DSZGPU_BENCH=ON), times szgpu in the same way: the second of two calls in
one process. Ratio, bound and memory are those of the command. Speeds are MB/s, 10^6 bytes of the
field; they need an otherwise idle machine.
"""
import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"  # before any library starts its threads
HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ["numpy>=1.24", "pysz==1.1.0", "zfpy==1.0.1.post0"]
RELS = ["1e-2", "1e-3", "1e-4"]
FILL = -1e34  # fill value of the one field that has one
LARGE = (256, 256, 256)
MIB = 1 << 20

# A configuration file that limits SZ3 to the first-order Lorenzo predictor. ALGO_LORENZO_REG also
# tries linear regression by default, and SZ3 without any settings uses ALGO_INTERP_LORENZO.
SZ3_LORENZO = """[GlobalSettings]
CmprAlgo = ALGO_LORENZO_REG
[AlgoSettings]
Lorenzo = YES
Lorenzo2ndOrder = NO
Regression = NO
Regression2ndOrder = NO
"""

# Reports a command's own peak memory. It runs in a separate process because Linux counts the memory
# of the forking process as the child's until the child runs its program, and this one holds arrays.
PEAK_CODE = """import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def enter_venv(folder, packages, modules):
    """Restarts this script under the venv's python. Makes the venv and installs the packages
    first if modules are missing."""
    python = os.path.join(folder, "bin", "python")
    if os.path.realpath(sys.prefix) == os.path.realpath(folder):
        return
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    probe = [python, "-c", "import " + modules]
    if subprocess.run(probe, stderr=subprocess.DEVNULL).returncode != 0:
        subprocess.run([python, "-m", "pip", "install", "-q"] + packages, check=True)
    os.execv(python, [python] + sys.argv)


class Field:
    def __init__(self, name, values):
        import numpy as np
        self.name, self.values = name, values
        kept = values[np.isfinite(values) & (values != values.dtype.type(FILL))]
        self.span = float(kept.max()) - float(kept.min())
        self.kind = "f32" if values.dtype == np.float32 else "f64"

    def mb_per_s(self, seconds):
        return self.values.nbytes / 1e6 / seconds

    def file_name(self):
        return f"{self.name}_{'x'.join(map(str, self.values.shape))}.{self.kind}"

    def save(self, folder):
        """The path of the raw file, written under a name that tells szgpu shape and type."""
        path = os.path.join(folder, self.file_name())
        self.values.tofile(path)
        return path


# ---- tools: measure(field, rel) returns compress seconds, restore seconds, bytes, restored ----

class Szgpu:
    def __init__(self, binary, name, *options, threads=1, predictor="lorenzo",
                 seconds="seconds"):
        self.binary, self.name, self.options, self.threads = binary, name, list(options), threads
        self.predictor, self.seconds = predictor, seconds
        self.folder = tempfile.TemporaryDirectory(prefix="compare_cpu_")
        self.saved = (None, None)

    def command(self, *arguments):
        return [self.binary, "-f", "-j", str(self.threads)] + list(arguments)

    def zipping(self, field, rel):
        """The commands that compress and restore a field, and the files they make."""
        if self.saved[0] is not field:
            self.saved = (field, field.save(self.folder.name))
        raw = self.saved[1]
        archive, back = raw + ".szg", os.path.join(self.folder.name, "back")
        return (self.command("-z", "-e", rel, "--predictor", self.predictor, *self.options, raw,
                             "-o", archive),
                self.command("-x", archive, "-o", back), archive, back)

    def measure(self, field, rel):
        import numpy as np
        zip_command, unzip_command, archive, back = self.zipping(field, rel)
        for command in (zip_command, unzip_command):
            subprocess.run(command + ["-q"], check=True)
        seconds = self.bench_seconds(field, rel)
        restored = np.fromfile(back, field.values.dtype).reshape(field.values.shape)
        return seconds[0], seconds[1], os.path.getsize(archive), restored

    def bench_seconds(self, field, rel):
        """Seconds to compress and to restore, in memory, by bench_cpu, which also checks the bound.
        Like this script, it leaves the fill value out of the range that rel refers to."""
        level = "3" if "--zstd" in self.options else "0"
        command = [os.path.join(os.path.dirname(self.binary), "bench_cpu"), self.saved[1],
                   "f64" if field.values.itemsize == 8 else "f32",
                   "x".join(map(str, field.values.shape)), rel, str(self.threads), level, "2",
                   self.predictor]
        environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
        done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
        told = json.loads(done.stdout)
        return told[f"compress_{self.seconds}_min"], told[f"decompress_{self.seconds}_min"]


class Sz3:
    def __init__(self, name, settings, clock=time.perf_counter):
        from pysz import sz, szConfig, szErrorBoundMode
        self.name, self.sz, self.config, self.clock = name, sz, szConfig(), clock
        with tempfile.NamedTemporaryFile("w", suffix=".config") as file:
            file.write(settings)
            file.flush()
            self.config.loadcfg(file.name)
        self.config.errorBoundMode = szErrorBoundMode.ABS

    def measure(self, field, rel):
        self.config.absErrorBound = float(rel) * field.span
        start = self.clock()
        packed, _ = self.sz.compress(field.values, self.config)
        middle = self.clock()
        restored, _ = self.sz.decompress(packed, field.values.dtype, field.values.shape)
        return middle - start, self.clock() - middle, packed.size, restored


class Zfp:
    name = "zfp -a"

    def measure(self, field, rel):
        import zfpy
        bound = float(rel) * field.span
        start = time.perf_counter()
        packed = zfpy.compress_numpy(field.values, tolerance=bound, write_header=True)
        middle = time.perf_counter()
        restored = zfpy.decompress_numpy(packed)
        return middle - start, time.perf_counter() - middle, len(packed), restored


# ---- measuring ----

class Cell:
    """One tool on one field at one bound: ratio, MB/s both ways, whether the bound held."""

    def __init__(self, field, rel, samples, statistic):
        best = min if statistic == "min" else statistics.median
        self.ratio = field.values.nbytes / samples[0][2]
        self.compress = field.mb_per_s(best(s[0] for s in samples))
        self.decompress = field.mb_per_s(best(s[1] for s in samples))
        self.kept = bound_kept(field, rel, samples[0][3])


def bound_kept(field, rel, restored):
    import numpy as np
    x, y = field.values.astype(np.longdouble), restored.astype(np.longdouble)
    error = np.abs(x - y)
    return bool(((error <= np.longdouble(float(rel) * field.span)) | (x == y)).all())


def race(tools, field, rel, asked):
    """{tool name: Cell}; every repetition runs all tools."""
    samples = {tool.name: [] for tool in tools}
    for turn in range(asked.repeats):
        for place in range(len(tools)):
            tool = tools[(place + turn) % len(tools)]
            sample = tool.measure(field, rel)
            samples[tool.name].append(sample if turn == 0 else sample[:3])
    return {name: Cell(field, rel, taken, asked.statistic) for name, taken in samples.items()}


def real_fields(folder, only):
    import numpy as np
    for entry in sorted(os.listdir(folder)):
        found = re.fullmatch(r"(.+)_(\d+(?:x\d+)*)\.(f32|f64)\.zst", entry)
        if found and only in entry:
            command = ["zstd", "-dcq", os.path.join(folder, entry)]
            raw = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            values = np.frombuffer(raw, {"f32": np.float32, "f64": np.float64}[found[3]])
            yield Field(found[1], values.reshape([int(n) for n in found[2].split("x")]))


def large_field():
    """Waves of several lengths and a little noise, 64 MiB, from fixed random numbers."""
    import numpy as np
    rng = np.random.default_rng(256)
    values = (2e-3 * rng.standard_normal(LARGE, dtype=np.float32)).astype(np.float32)
    z, y, x = np.ogrid[tuple(slice(0, n) for n in LARGE)]
    for _ in range(8):
        kz, ky, kx = rng.uniform(0.01, 0.12, 3)
        phase, height = rng.uniform(0, 2 * np.pi), rng.uniform(0.2, 1)
        wave = height * np.sin(kz * z + phase) * np.sin(ky * y + 1) * np.sin(kx * x + 2)
        values += wave.astype(np.float32)
    return Field("large", values)


def noise_field():
    """Random bits: they do not compress, so compression needs the most memory."""
    import numpy as np
    words = np.random.default_rng(257).integers(0, 2 ** 32, LARGE, dtype=np.uint32)
    values = words.view(np.float32)
    values[~np.isfinite(values)] = 0
    return Field("noise", values)


def quoted():
    """peers_ratio.csv as {(field, rel): row}."""
    with open(os.path.join(HERE, "peers_ratio.csv"), encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {(row["field"], float(row["rel"])): row for row in rows}


# ---- the report ----

def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def label(field):
    return f"{field.name} {field.kind}"


def quote_of(quotes, field, rel):
    return quotes.get((field.file_name(), float(rel)), {})


def show_ratios(results, tools, quotes):
    print("## Ratio\n\nA star: the bound was broken on at least one value. "
          "*quoted*: from bench/peers_ratio.csv.\n")
    rows = []
    for field, rel, cells in results:
        quote = quote_of(quotes, field, rel)
        mine = [f"{cells[t.name].ratio:.2f}" + ("" if cells[t.name].kept else "*") for t in tools]
        theirs = [quote.get(tool, "") for tool in ("pfpl", "sz3_lorenzo")]
        rows.append([label(field), rel] + mine + theirs)
    names = [t.name for t in tools] + ["PFPL *quoted*", "SZ3 Lorenzo *quoted*"]
    table(["field", "rel"] + names, rows)


def show_speeds(results, tools, asked):
    print(f"## One thread, compress / decompress, MB/s ({asked.statistic} of {asked.repeats})\n")
    ours = [t.name for t in tools if t.name.startswith("szgpu")]
    rows = []
    for field, rel, cells in results:
        speeds = [f"{cells[t.name].compress:.0f} / {cells[t.name].decompress:.0f}" for t in tools]
        lorenzo = cells["SZ3 Lorenzo"]
        gains = ["{:.2f} / {:.2f}".format(*gain(cells[name], lorenzo)) for name in ours]
        rows.append([label(field), rel] + speeds + gains)
    names = [t.name for t in tools] + [f"{name} over SZ3 Lorenzo" for name in ours]
    table(["field", "rel"] + names, rows)


def gain(one, other):
    return one.compress / other.compress, one.decompress / other.decompress


def show_counts(results, ours, quotes):
    print("## Counts\n")
    for name in ours:
        pfpl = lorenzo = measured = 0
        for field, rel, cells in results:
            quote, ratio = quote_of(quotes, field, rel), cells[name].ratio
            pfpl += bool(quote) and ratio >= float(quote["pfpl"])
            lorenzo += bool(quote) and ratio >= 0.92 * float(quote["sz3_lorenzo"])
            measured += ratio >= 0.92 * cells["SZ3 Lorenzo"].ratio
        gains = [gain(cells[name], cells["SZ3 Lorenzo"]) for _, _, cells in results]
        print(f"- {name}: cells at least PFPL: {pfpl} of {len(results)}; within 8 % of SZ3 "
              f"Lorenzo: {lorenzo} of {len(results)} (as quoted), {measured} (as measured here)")
        for way, word in ((0, "compression"), (1, "decompression")):
            sizes = [pair[way] for pair in gains]
            threefold = sum(size >= 3 for size in sizes)
            print(f"- {name}: speed-up over SZ3 Lorenzo, {word}: min {min(sizes):.2f}, median "
                  f"{statistics.median(sizes):.2f}, 3 or more in {threefold} of {len(sizes)}")
        broken = sum(not cells[name].kept for _, _, cells in results)
        print(f"- {name}: cells in which the bound was broken: {broken}")
    print(flush=True)


def show_predictor(results, name, asked):
    """A table of one predictor beside SZ3 as it is by default, and how often it is twice as fast."""
    print(f"## {name}: ratio, and one thread's compress / decompress, MB/s "
          f"({asked.statistic} of {asked.repeats})\n")
    rows, gains = [], []
    for field, rel, cells in results:
        own, peer = cells[name], cells["SZ3 default"]
        gains.append(gain(own, peer))
        rows.append([label(field), rel, f"{own.ratio:.2f}" + ("" if own.kept else "*"),
                     f"{peer.ratio:.2f}" + ("" if peer.kept else "*"),
                     f"{own.compress:.0f} / {own.decompress:.0f}",
                     f"{peer.compress:.0f} / {peer.decompress:.0f}",
                     "{:.2f} / {:.2f}".format(*gains[-1])])
    table(["field", "rel", "ratio", "SZ3 default, ratio", name, "SZ3 default", "over SZ3 default"],
          rows)
    for way, word in ((0, "compression"), (1, "decompression")):
        sizes = [pair[way] for pair in gains]
        print(f"- {name}: speed-up over SZ3 default, {word}: min {min(sizes):.2f}, median "
              f"{statistics.median(sizes):.2f}, 2 or more in {sum(s >= 2 for s in sizes)} of "
              f"{len(sizes)}")
    ratios = [cells[name].ratio / cells["SZ3 default"].ratio for _, _, cells in results]
    print(f"- {name}: ratio over SZ3 default, geometric mean: {statistics.geometric_mean(ratios):.2f}\n",
          flush=True)


def show_large(binary, asked):
    field = large_field()
    print(f"## A larger field: {'x'.join(map(str, LARGE))} f32, waves and noise, "
          f"{field.values.nbytes // MIB} MiB ({asked.statistic} of {asked.repeats})\n")
    tools = [Szgpu(binary, f"-j {threads} {option}".strip(), *option.split(), threads=threads)
             for option in ("", "--zstd") for threads in (1, 2)]
    tools.append(Sz3("SZ3 Lorenzo", SZ3_LORENZO))
    rows = []
    for rel in RELS[1:]:
        cells = race(tools, field, rel, asked)
        speeds = [f"{cells[t.name].compress:.0f} / {cells[t.name].decompress:.0f}" for t in tools]
        pairs = (("-j 2", "-j 1"), ("-j 2 --zstd", "-j 1 --zstd"), ("-j 1", "SZ3 Lorenzo"))
        gains = ["{:.2f} / {:.2f}".format(*gain(cells[a], cells[b])) for a, b in pairs]
        rows.append([rel, f"{cells['-j 1'].ratio:.2f}"] + speeds + gains)
    names = [t.name for t in tools]
    names += ["-j 2 over -j 1", "-j 2 over -j 1, --zstd", "-j 1 over SZ3 Lorenzo"]
    table(["rel", "ratio"] + names, rows)
    show_memory(binary, field)


def show_memory(binary, field):
    print("## Peak memory of the process, MiB; its part over 64 MiB as a multiple of the field\n")
    rows = []
    cases = ((field, "1e-4", []), (field, "1e-4", ["--zstd"]), (noise_field(), "1e-7", []))
    for one, rel, options in cases:
        tool = Szgpu(binary, "szgpu", *options, threads=2)
        commands = tool.zipping(one, rel)
        peaks = [peak_bytes(commands[0]), peak_bytes(commands[1])]
        shown = [f"{p / MIB:.0f} ({max(0, p - 64 * MIB) / one.values.nbytes:.2f}x)" for p in peaks]
        ratio = one.values.nbytes / os.path.getsize(commands[2])
        rows.append([f"{one.name} {' '.join(options)}".strip(), rel, f"{ratio:.2f}"] + shown)
    table(["field", "rel", "ratio", "szgpu -z -j 2", "szgpu -x -j 2"], rows)


def peak_bytes(command):
    done = subprocess.run([sys.executable, "-S", "-E", "-c", PEAK_CODE] + command + ["-q"],
                          stdout=subprocess.PIPE, check=True)
    return int(done.stdout.splitlines()[-1])


def machine():
    """The processor's model name, if the system gives it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            found = re.search(r"model name\s*:\s*(.+)", file.read())
    except OSError:
        found = None
    return f"{found[1] if found else 'unnamed processor'}, {os.cpu_count()} cores"


def main():
    default_fields = os.environ.get("SZGPU_FIELDS") or os.path.join(HERE, "../../shared/datasets")
    parser = argparse.ArgumentParser(description="szgpu beside SZ3 and zfp, in markdown")
    parser.add_argument("--szgpu", help="path of szgpu; without it the peers alone")
    parser.add_argument("--fields", default=default_fields, help="folder of the real fields")
    parser.add_argument("--venv", default=os.path.join(HERE, "../build/compare-venv"),
                        help="virtual environment of the peers, made when absent")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--statistic", choices=("min", "median"), default="min")
    parser.add_argument("--only", default="", help="only fields whose file name has this in it")
    parser.add_argument("--predictors", default="",
                        help="compare these with SZ3's default, each in a table of its own")
    parser.add_argument("--skip-large", action="store_true", help="no threads and memory section")
    asked = parser.parse_args()
    if asked.predictors and not asked.szgpu:
        parser.error("--predictors needs --szgpu")
    enter_venv(os.path.abspath(asked.venv), PACKAGES, "numpy, pysz, zfpy")
    compare(asked)


def compare(asked):
    from importlib.metadata import version
    binary = os.path.abspath(asked.szgpu) if asked.szgpu else None
    ours = [Szgpu(binary, "szgpu"), Szgpu(binary, "szgpu --zstd", "--zstd")] if binary else []
    sz3 = [Sz3("SZ3 Lorenzo", SZ3_LORENZO), Sz3("SZ3 default", "[GlobalSettings]\n")]
    tools = ours + sz3 + [Zfp()]
    if asked.predictors:
        ours = [Szgpu(binary, name, predictor=name, seconds="cpu_seconds")
                for name in asked.predictors.split(",")]
        tools = ours + [Sz3("SZ3 default", "[GlobalSettings]\n", clock=time.process_time)]
    print(f"Measured by bench/compare_cpu.py on: {machine()}. "
          f"SZ3: pysz {version('pysz')}; zfp: zfpy {version('zfpy')}.\n", flush=True)
    results = [(field, rel, race(tools, field, rel, asked))
               for field in real_fields(asked.fields, asked.only) for rel in RELS]
    if asked.predictors:
        for tool in ours:
            show_predictor(results, tool.name, asked)
        return
    quotes = quoted()
    show_ratios(results, tools, quotes)
    show_speeds(results, tools, asked)
    if binary:
        show_counts(results, [t.name for t in ours], quotes)
        if not asked.skip_large:
            show_large(binary, asked)


if __name__ == "__main__":
    main()
