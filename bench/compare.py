"""compare.py - szgpu beside every other compressor that is there: ratio, error, PSNR and speed.

SPDX-License-Identifier: BSD-3-Clause

  python3 compare.py [FIELD...] [--bounds 1e-2,1e-3,1e-4] [--mode rel|abs|pwrel]
                     [--threads 1] [--repeats 5] [--statistic best|median] [--clock wall|cpu]
                     [--szgpu COMMAND] [--peer 'NAME=COMPRESS ; RESTORE']... [--only NAME,NAME...]...
                     [--fill VALUE]... [--waves] [--timeout SECONDS] [--out FOLDER]

FIELD is a file, or a folder of files: raw values with the shape in the name, slowest axis first
(wind_36x73x144.f32, .f64), such a file packed by zstd (.zst), or .npy. Without FIELD it is the
sample in datasets/sample; --waves adds a made field of 64 MiB. Writes comparison.md,
comparison.json and three pictures to FOLDER, and prints the page.

szgpu and its peers are packages of Python; those that are missing are named and left out:

  python3 -m venv build/compare
  build/compare/bin/pip install . -r bench/compare_requirements.txt
  build/compare/bin/python bench/compare.py --out build/comparison

Every peer gets the same absolute bound: with --mode rel, the bound times max - min of the values
that are finite and no fill. (Values of fill are those of Ferret, CMIP and netCDF, or those of
--fill.) With --mode pwrel, the bound is a fraction of each value, and only those peers take part
that have such a bound, or that cut mantissas. All take turns: a repetition runs every peer before
the next begins, each with another at its head, and the best (or median) repetition counts, after
one that warms up. Every peer has a process of its own, so that one that crashes does not end the
run. Speeds are MB/s, 10^6 bytes of the field, of calls in memory; --clock cpu takes CPU time
instead of the clock, for a machine that other work shares. Whatever a peer restores is compared
with the field, exactly, in every repetition.

--peer adds any compressor that is a command, on a GPU too: two commands that read and write files.
They have places: {input} {archive} {output}, {bound}, {dims} (36x73x144), {fastest_first} (144 73
36, as words), {ndim}, {count}, {type} (f32, f64), {threads}, {seconds}. There is no shell; write
sh -c '...' for one. The seconds of a command are those of its whole process with its files, which a
dagger says, and cannot be compared with those in memory, unless both commands write their own to
the file {seconds}. --szgpu takes szgpu itself as such a command, for where its package is not
installed.

Exit code: 0 the comparison was made, even if peers failed or broke bounds; 1 szgpu did, or the page
could not be written; 2 an argument or a field is bad, or no peer is there.
"""
import argparse
import os
import platform
import shlex
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("compare.py: numpy is missing: pip install numpy (Debian: python3-numpy)")

from comparison import fields, measure, peers, report, runners  # noqa: E402, after the check

try:
    from comparison import plots
    NO_PICTURES = None
except ImportError as missing:
    plots = None
    NO_PICTURES = f"There are no pictures: {missing}; pip install matplotlib."


def positive(kind):
    def parse(text):
        value = kind(text)
        if not 0 < value < float("inf"):
            raise argparse.ArgumentTypeError(f"'{text}' is not positive")
        return value
    return parse


def bounds_of(text):
    labels = [label.strip() for label in text.split(",")]
    for label in labels:
        positive(float)(label)
    if len(set(map(float, labels))) != len(labels):
        raise argparse.ArgumentTypeError(f"'{text}' has a bound twice")
    return labels


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("field", nargs="*", help="files or folders of fields; else the sample")
    parser.add_argument("--bounds", type=bounds_of, default="1e-2,1e-3,1e-4")
    parser.add_argument("--mode", choices=peers.MODES, default="rel", help="of the bounds")
    parser.add_argument("--threads", type=positive(int), default=1)
    parser.add_argument("--repeats", type=positive(int), default=5)
    parser.add_argument("--statistic", choices=measure.STATISTICS, default="best")
    parser.add_argument("--clock", choices=runners.CLOCKS, default="wall")
    parser.add_argument("--szgpu", help="the command szgpu, instead of the package")
    parser.add_argument("--peer", action="append", default=[], help="NAME=COMPRESS ; RESTORE")
    parser.add_argument("--only", action="append",
                        help="only these peers: one by its name, or names with commas between them")
    parser.add_argument("--fill", type=float, action="append", help="a value that means nothing")
    parser.add_argument("--waves", action="store_true", help="also a made field of 64 MiB")
    parser.add_argument("--timeout", type=positive(float), default=300, help="seconds for a call")
    parser.add_argument("--out", default=".", help="folder of the page, the JSON and the pictures")
    asked = parser.parse_args()
    if asked.clock == "cpu" and asked.threads > 1:
        parser.error("--clock cpu adds the time of all threads up, so it needs --threads 1")
    return asked


def names_wanted(asked, commands):
    """The names of --only, all of which must be those of peers; None for all. Some names have
    commas, so a text that is a name is no list of them."""
    if asked.only is None:
        return None
    known = [entry.name for entry in peers.entries_of(asked.mode)]
    known += [command.name for command in commands]
    wanted = [name.strip() for text in asked.only
              for name in ([text] if text.strip() in known else text.split(","))]
    for name in wanted:
        if name not in known:
            raise runners.TemplateError(f"--only '{name}' is no peer; there are "
                                        f"{', '.join(known)}.")
    return wanted


def find_runners(asked):
    """(runners, [(name, why it is missing)], the entries whose packages take part)."""
    settings = asked.threads, asked.clock, asked.timeout
    entries = peers.entries_of(asked.mode)
    ours = runners.szgpu_commands(asked.szgpu, asked.mode, *settings) if asked.szgpu else []
    others = [runners.Command(*runners.parse_template(text), *settings) for text in asked.peer]
    wanted = names_wanted(asked, ours + others)
    names = [runner.name for runner in ours]
    found, missing, taken = [], [], []
    for entry in entries:
        is_wanted = entry.name in wanted if wanted else entry.stands_in_for not in names
        if not is_wanted or entry.name in names:
            continue
        try:
            found.append(runners.InMemory(entry, asked.mode, *settings))
            names.append(entry.name)
            taken.append(entry)
        except runners.PeerFailure as why:
            missing.append((entry.name, str(why)))
    for runner in ours + others:
        if [one.name for one in ours + others + found].count(runner.name) > 1:
            raise runners.TemplateError(f"Two peers have the name '{runner.name}'.")
    order = {entry.name: place for place, entry in enumerate(entries)}
    found += [one for one in ours + others if wanted is None or one.name in wanted]
    found.sort(key=lambda runner: order.get(runner.name, len(order)))
    return found, missing, taken


def find_fields(asked):
    found = fields.read_all(asked.field or [fields.SAMPLE], asked.fill or fields.FILLS)
    found += [fields.waves()] if asked.waves else []
    for field in found:
        if asked.mode == "rel" and field.span == 0:
            raise fields.FieldError(f"{field.name} is constant, so a relative bound is 0: take "
                                    "--mode abs.")
    return found


def settings_of(asked, taken):
    return {"command": "bench/" + shlex.join([os.path.basename(sys.argv[0]), *sys.argv[1:]]),
            "machine": fields.machine(), "python": platform.python_version(),
            "packages": peers.versions(taken), "numpy": np.__version__,
            "mode": asked.mode, "bounds": asked.bounds, "threads": asked.threads,
            "repeats": asked.repeats, "statistic": asked.statistic, "clock": asked.clock}


def about(settings, all_runners):
    """The lines that begin the page."""
    threads = settings["threads"]
    clock = "CPU time" if settings["clock"] == "cpu" else "the clock"
    versions = ", ".join([*settings["packages"], f"numpy {settings['numpy']}"])
    lines = [
        f"Measured by `{settings['command']}` on: {settings['machine']}. Python "
        f"{settings['python']}, {versions}.",
        "",
        f"{threads} thread{'s' if threads > 1 else ''} for the peers that can use more than one; "
        f"all others use one. Speeds are MB/s of the field by {clock}, the {settings['statistic']} "
        f"of {settings['repeats']} repetitions in which all peers took turns, after one that "
        f"warmed up. The bounds are {peers.MODES[settings['mode']]}. "
        "Every restored field was compared with the original in every repetition, exactly."]
    outside = [one for one in all_runners if one.timing != runners.IN_MEMORY]
    if outside:
        named = ", ".join(f"{one.name} ({one.timing})" for one in outside)
        lines += ["", "† A command; all others are calls in memory, with whose speeds those of a "
                  f"whole process cannot be compared: {named}."]
    return lines


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def run(asked):
    found_fields = find_fields(asked)
    all_runners, missing, taken = find_runners(asked)
    try:
        if not all_runners:
            raise runners.TemplateError("No peer is there: " + "; ".join(
                f"{name} ({why})" for name, why in missing) + ".")
        cells = []
        for field in found_fields:
            print(f"compare.py: {field.file_name()}", file=sys.stderr, flush=True)
            cells += measure.compare_field(all_runners, field, asked.bounds, asked.mode,
                                           asked.repeats, asked.statistic)
    finally:
        for runner in all_runners:
            runner.close()
    results = measure.Results(all_runners, found_fields, asked.bounds, cells,
                              asked.mode, asked.threads)
    settings = settings_of(asked, taken)
    os.makedirs(asked.out, exist_ok=True)
    write(asked.out, "comparison.json", report.as_json(results, settings, missing))
    pictures = plots.draw_all(results, asked.out) if plots else []
    lines = about(settings, all_runners) + (["", NO_PICTURES] if NO_PICTURES else [])
    page = report.markdown(results, lines, missing, pictures)
    write(asked.out, "comparison.md", page)
    print(page, end="")
    wrong = report.errors_of_ours(results)
    for sentence in wrong:
        print(f"compare.py: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


def main():
    asked = parse_arguments()
    os.environ["OMP_NUM_THREADS"] = str(asked.threads)  # inherited by the peers' processes
    try:
        return run(asked)
    except (fields.FieldError, runners.TemplateError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"compare.py: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
