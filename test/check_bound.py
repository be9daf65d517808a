"""check_bound.py - checks the promise from outside: szgpu -z, szgpu -x, every value in its bound.

SPDX-License-Identifier: BSD-3-Clause

  python3 check_bound.py SZGPU [--quick] [--fields DIR] [--jobs N] [--only TEXT]
                         [--extra OPTIONS]...

Real fields (zstd-compressed raw arrays such as wind_132x73x144.f32.zst in DIR, else SZGPU_FIELDS,
else ../shared/datasets beside the checkout) and adversarial synthetic ones, each as f32 and as f64,
through rel 1e-1 .. 1e-7, absolute bounds down to far below the spacing of the values, and PSNR
targets. Nothing here comes from the library: bounds are computed from the field, as fractions. With
rel and psnr, no value may leave the field's range either.
Exit code: 0 all held, 1 something did not, 77 numpy is missing (for ctest's SKIP_RETURN_CODE).

How the comparison is exact. Values of both types convert to longdouble without error, but their
difference may not fit: 2^127 - 2^-149 has 277 bits, so neither float64 nor longdouble holds every
difference of two f32. It need not. Rounding is monotonic, so with s = fl(x - y) and a
bound L that longdouble holds exactly, |s| < L proves |x - y| < L, and |s| > L proves |x - y| > L.
Only |s| == L leaves a question; then Knuth's two-sum gives the rest of x - y exactly, and its sign
decides. L is the true bound, a fraction, rounded DOWN to longdouble: stricter than the truth
by under 2^-63 of it, and never under a double that keeps to it. If longdouble is float64 (some
ABIs), the same argument holds.
"""
import argparse
import concurrent.futures
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from decimal import Context, Decimal
from fractions import Fraction

try:
    import numpy as np
except ImportError:
    print("check_bound: skipped, this python3 has no numpy (Debian: python3-numpy)")
    sys.exit(77)

TYPES = {"f32": np.float32, "f64": np.float64}
BITS = {"f32": np.uint32, "f64": np.uint64}
REL = ["1e-1", "1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7"]
PSNR = ["40", "80", "120"]
DIGITS = Context(prec=60)
# The target assumes errors spread evenly over the step. If the values are integers and the step is
# a few of them, errors have only a few sizes: then the test asks no more than the bound implies.
PSNR_SLACK_DB, PSNR_SLACK_INTEGERS_DB = 0.1, 20 * math.log10(math.sqrt(3.0))
# So many archives of a field exist at a time: szgpu lists them in one call and restores them in
# three, because it takes longer to start than most fields here take, above all under sanitizers.
RUNS_AT_ONCE = 9
# What may be taken for fill unasked; in f64 also as it comes from an f32 file.
KNOWN_FILLS = (1e15, 1e20, 1e30, 1e35, 1e36, 9.969209968386869e36, -1e34, -3.4028234663852886e38)


class Case:
    """A field and its options; fill: a value that the range leaves out, or None."""

    def __init__(self, name, kind, values, fill=None, ask_fill=False, runs=(), judge_psnr=False):
        self.name, self.kind, self.values, self.fill = name, kind, values, fill
        self.ask_fill, self.runs, self.judge_psnr = ask_fill, list(runs), judge_psnr


# ---- bounds, in rational arithmetic ----

def floor_longdouble(exact):
    """The largest longdouble that is not over the fraction (which is not negative)."""
    kind = np.finfo(np.longdouble)
    digits, lowest = kind.nmant + 1, kind.minexp - kind.nmant
    scale = digits - exact.numerator.bit_length() + exact.denominator.bit_length() - 1
    scale = min(scale, -lowest)
    whole = int(exact * Fraction(2) ** scale)  # at most `digits` bits, towards zero
    value = np.longdouble(0)
    for shift in range(digits // 32 * 32, -1, -32):  # every partial sum is exact
        value = value * 2 ** 32 + np.longdouble(whole >> shift & 0xFFFFFFFF)
    return np.ldexp(value, -scale)


def counted(values, fill):
    """The values that the range covers: finite and not fill."""
    keep = np.isfinite(values)
    if fill is not None:
        keep &= values != values.dtype.type(fill)
    return values[keep]


def exact_range(values, fill):
    """max - min over the counted values; 0 if there are none."""
    some = counted(values, fill)
    if some.size == 0:
        return Fraction(0)
    return Fraction(float(some.max())) - Fraction(float(some.min()))


def asked_bound(mode, text, span):
    """The absolute bound that was asked for; szgpu reads the text of -e as a double."""
    if mode == "abs":
        return Fraction(float(text))
    if mode == "rel":
        return Fraction(float(text)) * span
    # docs/guarantees.md states how far the bound may be above the formula's
    power = DIGITS.power(10, Decimal(float(text)) / -20)
    room = 1 + Fraction(1, 2**50) + Fraction(float(text)) / 2**54
    return span * Fraction(DIGITS.multiply(power, DIGITS.sqrt(Decimal(3)))) * room


# ---- the check ----

def over(x, y, s, bound):
    """Which values are not within bound of each other (NaN fails every comparison)."""
    limit = floor_longdouble(bound)
    size = np.abs(s)
    bad = ~(size <= limit)
    tie = np.flatnonzero((size == limit) & (s != 0))
    bad[tie] = two_sum_rest(x[tie], y[tie], s[tie]) * np.sign(s[tie]) > 0
    return bad


def two_sum_rest(x, y, s):
    """(x - y) - s exactly, where s = fl(x - y)."""
    part = s - x
    return (x - (s - part)) - (y + part)


def judge(case, mode, text, stated, fill, restored):
    """Complaints, [] if there are none; and the largest error as a share of the bound."""
    x, y = case.values.ravel(), restored
    span = exact_range(x, fill)
    bound = asked_bound(mode, text, span)
    wrong = []
    if not math.isfinite(stated):
        return [f"the archive states the bound {stated}"], 0.0
    if Fraction(stated) > bound:
        wrong.append(f"the archive states {stated!r}, more than asked for: {float(bound)!r}")
    same = x.view(BITS[case.kind]) == y.view(BITS[case.kind])
    with np.errstate(invalid="ignore"):  # signalling NaN, Inf - Inf
        xl, yl = x[~same].astype(np.longdouble), y[~same].astype(np.longdouble)
        s = xl - yl
    limits = ((Fraction(stated), "the bound stated"), (bound, "the bound asked for"))
    for limit, whose in sorted(limits):
        bad = np.flatnonzero(over(xl, yl, s, limit))
        if not bad.size:
            break  # nothing is over the larger one either
        at = np.flatnonzero(~same)[bad[0]]
        wrong.append(f"{bad.size} of {x.size} values over {whose} {float(limit)!r}; "
                     f"the first at {at}: {x[at]!r} came back as {y[at]!r}")
    if fill is not None:
        lost = (x == x.dtype.type(fill)) & ~same & ~((x == 0) & (y == 0))
        if lost.any():
            wrong.append(f"{int(lost.sum())} fill values changed")
    if mode in ("rel", "psnr"):
        wrong += judge_range(x, y, same, fill)
    if mode == "psnr" and case.judge_psnr and span > 0:
        wrong += judge_psnr(x, y, fill, span, float(text), stated)
    finite = np.abs(s[np.isfinite(s)])
    share = float(finite.max() / floor_longdouble(bound)) if finite.size and bound > 0 else 0.0
    return wrong, share


def judge_range(x, y, same, fill):
    """What came back with other bits is between the least and the greatest of the counted values."""
    some = counted(x, fill)
    least, greatest = (some.min(), some.max()) if some.size else (np.inf, -np.inf)
    with np.errstate(invalid="ignore"):
        beyond = np.flatnonzero(~same & ~((y >= least) & (y <= greatest)))
    return [f"{beyond.size} values beyond the range, {least!r} to {greatest!r}; the first at "
            f"{beyond[0]}: {x[beyond[0]]!r} came back as {y[beyond[0]]!r}"] if beyond.size else []


def judge_psnr(x, y, fill, span, target, stated):
    """Checks the PSNR over the counted values, unless the bound is near the spacing."""
    keep = np.isfinite(x)
    if fill is not None:
        keep &= x != x.dtype.type(fill)
    spacing = float(np.spacing(np.abs(x[keep]).max()))
    if stated < 4 * spacing:
        return []
    error = x[keep].astype(np.longdouble) - y[keep]
    mean_square = float((error * error).mean())
    if mean_square == 0:
        return []
    psnr = 20 * math.log10(float(span)) - 10 * math.log10(mean_square)
    integers = (x[keep] == np.rint(x[keep])).all()
    slack = PSNR_SLACK_INTEGERS_DB if integers else PSNR_SLACK_DB
    return [] if psnr >= target - slack else [f"PSNR {psnr:.2f} dB, asked {target:g}"]


# ---- running szgpu ----

def run(command):
    """stdout of a command; a RuntimeError that quotes stderr if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip() or "nothing on stderr"
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}, {said}")
    return done.stdout


def accepted_fill(case, told):
    """The fill value the range leaves out; an unasked one must be a known one, and present."""
    if case.fill is not None:
        return case.fill
    if told is None or isinstance(told, str) or math.isnan(told):
        return None
    value = case.values.dtype.type(told)
    known = {case.values.dtype.type(v) for v in KNOWN_FILLS}
    known |= {case.values.dtype.type(np.float32(v)) for v in KNOWN_FILLS}
    return told if value in known and (case.values == value).any() else None


def over_all(command, files):
    """stdout of a command for all files at once, and the complaint about each that it refuses."""
    try:
        return run(command + list(files.values())), {}
    except RuntimeError as problem:
        complaints = {}
        for number, file in files.items():
            try:
                run(command + [file])
            except RuntimeError as alone:
                complaints[number] = str(alone)
        return b"", complaints or dict.fromkeys(files, str(problem))


def compress(binary, extras, case, number, raw, archive):
    """Makes an archive of the field; the complaint if szgpu has one."""
    mode, text = case.runs[number]
    extra = extras[number % len(extras)]
    options = ["-m", mode, "-e", text, "-t", case.kind, "-j", str(1 + number % 3)]
    if case.ask_fill:
        options += ["--fill", repr(float(case.fill))]
    try:
        run([binary, "-z", "-q", "-f"] + options + extra + [raw, "-o", archive])
    except RuntimeError as problem:
        return str(problem)
    return None


def judge_archive(case, number, told, back):
    """What judge says of the run, by what szgpu -l told of its archive and the restored file."""
    restored = np.fromfile(back, dtype=TYPES[case.kind])
    if restored.size != case.values.size:
        return [f"{restored.size} values came back"], 0.0
    try:
        stated = float(told["absolute_bound"])
    except (ValueError, KeyError, TypeError) as problem:
        return [f"-l told {told}: {type(problem).__name__}: {problem}"], 0.0
    return judge(case, *case.runs[number], stated, accepted_fill(case, told.get("fill")), restored)


def some_runs(binary, extras, case, numbers, raw, folder):
    """Archives made, listed, restored and judged: for each, what is wrong, the largest error as a
    share of the bound, the archive's size. Thread counts vary: they must not matter."""
    archives = {n: os.path.join(folder, f"{n}.{case.kind}.szg") for n in numbers}
    complaints = {n: compress(binary, extras, case, n, raw, archives[n]) for n in numbers}
    made = {n: archives[n] for n in numbers if complaints[n] is None}
    told = {}
    if made:
        listed, refused = over_all([binary, "-l", "--json"], made)
        complaints.update(refused)
        lines = listed.decode().splitlines()
        told = {n: json.loads(line) for n, line in zip(made, lines)}
        if not refused and len(lines) != len(made):
            complaints.update(dict.fromkeys(made, f"-l --json told of {len(lines)} archives"))
    for threads in (1, 2, 3):
        some = {n: made[n] for n in made if 1 + (n + 1) % 3 == threads}
        if some:
            complaints.update(over_all([binary, "-x", "-q", "-f", "-j", str(threads)], some)[1])
    for n in numbers:
        if complaints[n] is not None:
            yield [complaints[n]], 0.0, 0
        else:
            wrong, share = judge_archive(case, n, told[n], archives[n][:-len(".szg")])
            yield wrong, share, os.path.getsize(archives[n])


def check(binary, extras, case, parent):
    """Does all runs of one field; returns a line for the report and the failures."""
    folder = tempfile.mkdtemp(dir=parent)
    raw = os.path.join(folder, case.name + "." + case.kind)
    case.values.tofile(raw)
    failures, worst, archive_bytes = [], 0.0, 0
    for first in range(0, len(case.runs), RUNS_AT_ONCE):
        numbers = range(first, min(first + RUNS_AT_ONCE, len(case.runs)))
        results = some_runs(binary, extras, case, numbers, raw, folder)
        for (mode, text), (wrong, share, size) in zip(case.runs[first:], results):
            failures += [f"  {case.name} {case.kind} -m {mode} -e {text}: {w}" for w in wrong]
            worst, archive_bytes = max(worst, share), archive_bytes + size
        for n in numbers:
            for file in (f"{n}.{case.kind}", f"{n}.{case.kind}.szg"):
                if os.path.exists(os.path.join(folder, file)):
                    os.remove(os.path.join(folder, file))
    shutil.rmtree(folder)
    bad_runs = len({f.split(": ")[0] for f in failures})
    ratio = case.values.nbytes * len(case.runs) / archive_bytes if archive_bytes else 0
    line = (f"{'FAILED' if failures else 'ok':6} {case.name:34} {case.kind}  "
            f"{len(case.runs):2} archives, error {worst:.6f} of the bound, ratio {ratio:.2f}")
    return line, failures, len(case.runs), bad_runs


# ---- fields ----

def runs_for(values, fill, quick, rel=tuple(REL)):
    """The bounds to try on a field; absolute ones from loose to far below the spacing."""
    runs = [("rel", text) for text in rel]
    some = counted(values, fill)
    if some.size == 0:
        return runs + [("abs", "0.001"), ("psnr", "80")]
    span = float(min(exact_range(values, fill), Fraction(sys.float_info.max)))
    top = np.abs(some).max()
    spacing = float(top - np.nextafter(top, top.dtype.type(0))) or float(np.spacing(top))
    bounds = [span / 700, spacing * 1.5, spacing * 2.0 ** -12]
    if not quick:
        bounds += [span * 3, span / 30000, spacing * 40, spacing * 9, spacing * 0.51, spacing / 8]
    runs += [("abs", repr(b)) for b in bounds if 0 < b < 1e308]
    return runs + [("psnr", text) for text in (PSNR[1:2] if quick else PSNR)]


def real_cases(folder, quick):
    """Each field of the folder, as it is and converted to the other type."""
    for entry in sorted(os.listdir(folder)):
        found = re.fullmatch(r"(.+_(\d+(?:x\d+)*))\.(f32|f64)\.zst", entry)
        if not found:
            continue
        raw = run(["zstd", "-dc", "-q", os.path.join(folder, entry)])
        given = np.frombuffer(raw, dtype=TYPES[found[3]])
        fill = -1e34 if (given == given.dtype.type(-1e34)).any() else None
        for kind in ("f32", "f64"):
            values = given.astype(TYPES[kind])
            if fill is not None:
                fill = float(values[given == given.dtype.type(-1e34)][0])
            yield Case(found[1], kind, values, fill, False, runs_for(values, fill, quick), True)


def smooth(shape, kind, rng, noise=0.02):
    """Waves with noise, about -2 .. 2."""
    at = np.meshgrid(*[np.arange(n) / max(n, 7) for n in shape], indexing="ij")
    wave = sum(np.sin((3 + 2 * i) * a + i) for i, a in enumerate(at))
    return (wave + noise * rng.standard_normal(shape)).astype(TYPES[kind])


def sprinkle(values, pieces, rng):
    """Copies of values, with each piece at random places."""
    flat = values.copy().ravel()
    for piece in pieces:
        flat[rng.integers(0, flat.size, max(1, flat.size // 97))] = piece
    return flat.reshape(values.shape)


def binades(kind, rng, count=20011):
    """Random mantissas over every binade of the type, both signs, subnormals included."""
    low, high, digits = (-149, 127, 23) if kind == "f32" else (-1074, 1023, 52)
    exponents = np.arange(count) % (high - low + 1) + low
    mantissas = 1 + rng.integers(0, 2 ** digits, count) * 2.0 ** -digits
    mantissas[exponents == high] = np.minimum(mantissas[exponents == high], 1.9375)
    values = np.ldexp(mantissas * rng.choice([-1.0, 1.0], count), exponents)
    return rng.permutation(values).astype(TYPES[kind])


def nan_payloads(kind):
    """Quiet and signalling NaN of both signs with bits in the payload."""
    if kind == "f32":
        words = np.array([0x7FC00001, 0xFFC12345, 0x7F800001, 0xFFFFFFFF], np.uint32)
    else:
        words = np.array([0x7FF8000000000001, 0xFFF8123456789ABC,
                          0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF], np.uint64)
    return words.view(TYPES[kind])


def awkward_values(kind, rng):
    """(name, values, fill or None, ask for it) of the adversarial fields."""
    t, bits = TYPES[kind], BITS[kind]
    info = np.finfo(t)
    tiny, top = float(np.nextafter(t(0), t(1))), float(info.max)
    cube, words = (23, 37, 41), int(info.bits)
    base = smooth(cube, kind, rng)
    yield "offset1000", (1000 + 0.5 * rng.standard_normal(cube)).astype(t), None, False
    yield "offset1e7", (1e7 + smooth(cube, "f64", rng)).astype(t), None, False
    yield "binades", binades(kind, rng), None, False
    yield "randombits", np.frombuffer(rng.bytes(20011 * words // 8), bits).view(t), None, False
    yield "subnormals", (rng.integers(-9999, 9999, 5003) * tiny).astype(t), None, False
    special = [np.inf, -np.inf, -0.0, 0.0, tiny, -3 * tiny, float(info.tiny)]
    yield "specials", sprinkle(base, special, rng), None, False
    holes = sprinkle(base, special[:3], rng).ravel()
    holes[rng.integers(0, holes.size, 999)] = np.resize(nan_payloads(kind), 999)
    yield "payloads", holes.reshape(cube), None, False
    slab = base.copy()
    slab[5:9, 3:20] = np.nan
    yield "nanslab", slab, None, False
    for fill, ask in ((1e20, False), (-1e34, False), (-9999.0, True), (0.0, True)):
        filled = base.copy()
        filled[:, 10:30, 5:] = fill
        filled[7] = fill
        yield f"fill{fill:g}".replace("+", ""), filled, float(t(fill)), ask
    spike = base.copy()
    spike[11, 17, 19] = 1.2345e20
    yield "spike", spike, None, False
    yield "constant", np.full((17, 19), 3.25, t), None, False
    yield "constantminuszero", np.full(1000, -0.0, t), None, False
    yield "constantandnan", sprinkle(np.full(4099, 2.5, t), [np.nan], rng), None, False
    yield "allnan", np.full((5, 7, 9), np.nan, t), None, False
    yield "allinf", np.full(77, -np.inf, t), None, False
    yield "one", np.array([1 / 3], t), None, False
    yield "onenan", np.array([np.nan], t), None, False
    yield "two", np.array([-0.0, 1e-3], t), None, False
    yield "alternating", np.resize(np.array([1.1, -1.1], t), (61, 67)), None, False
    yield "alternatingtop", np.resize(np.array([top, -top], t), 4099), None, False
    yield "ties", ((np.arange(8192) - 4096) / 2.0 ** 9).astype(t), None, False
    yield "integers", rng.integers(-500, 500, (97, 101)).astype(t), None, False
    yield "steps", np.repeat(rng.standard_normal(50) * 1e5, 331).astype(t), None, False
    yield "ramp", (np.arange(65537) * (top / 2 ** 18)).astype(t), None, False
    for shape in ((31,), (1021,), (65537,), (7, 13), (5, 7, 11), (2, 3, 5, 7), (1, 1, 37),
                  (37, 1, 1), (1, 53, 1, 3), (9, 8, 33)):
        yield "shape", smooth(shape, kind, rng), None, False


def synthetic_cases(quick):
    """The adversarial fields of both types; for f64 also with lattice points of 64 bits."""
    for kind in ("f32", "f64"):
        rng = np.random.default_rng(20 if kind == "f32" else 21)
        for name, values, fill, ask in awkward_values(kind, rng):
            rel = (REL[1::2] if quick else REL) + (["1e-10", "1e-14"] if kind == "f64" else [])
            runs = runs_for(values, fill, quick, rel)
            if name in ("ties", "integers"):
                runs += [("abs", text) for text in ("0.5", "1", "0.25", "0.001953125")]
            if name == "spike":
                runs.append(("abs", "0.001"))
            if not quick:
                runs += [("abs", text) for text in ("1e-45", "1e-40", "1e-30", "1e30")]
            shape = "x".join(str(n) for n in values.shape)
            yield Case(f"{name}_{shape}", kind, values, fill, ask, runs)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    default_fields = os.environ.get("SZGPU_FIELDS") or os.path.join(here, "../../shared/datasets")
    parser = argparse.ArgumentParser(description="szgpu's bound, checked from outside")
    parser.add_argument("binary", help="path of szgpu")
    parser.add_argument("--quick", action="store_true", help="fewer absolute and PSNR bounds")
    parser.add_argument("--fields", default=default_fields, help="folder of the real fields")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="fields checked at once")
    parser.add_argument("--only", default="", help="only fields whose name has this in it")
    parser.add_argument("--extra", action="append", default=[],
                        help='options for every -z, e.g. --extra="--zstd"; if given several times, '
                             "archives take them in turn")
    asked = parser.parse_args()
    binary, extras = os.path.abspath(asked.binary), [extra.split() for extra in asked.extra or [""]]
    if not os.access(binary, os.X_OK):
        parser.error(f"{asked.binary} is not a program: build szgpu and give its path")
    cases = list(synthetic_cases(asked.quick))
    if os.path.isdir(asked.fields):
        cases = list(real_cases(asked.fields, asked.quick)) + cases
    else:
        print(f"check_bound: the real fields are skipped, {asked.fields} is not there")
    cases = [c for c in cases if asked.only in c.name]
    failures, runs, bad_runs = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="check_bound_") as parent, \
            concurrent.futures.ProcessPoolExecutor(asked.jobs) as pool:
        # Each field begins with the next options, so that each bound meets all of them.
        work = [pool.submit(check, binary, extras[i % len(extras):] + extras[:i % len(extras)],
                            case, parent) for i, case in enumerate(cases)]
        for line, wrong, count, bad in (w.result() for w in work):
            print("\n".join([line] + wrong[:8]), flush=True)
            failures, runs, bad_runs = failures + wrong, runs + count, bad_runs + bad
    verdict = "every value is within its bound" if not failures else f"{len(failures)} complaints"
    print(f"check_bound: {runs} archives of {len(cases)} fields: {verdict}")
    print(f"{runs - bad_runs} passed, {bad_runs} failed")
    sys.exit(1 if failures or runs == 0 else 0)


if __name__ == "__main__":
    main()
