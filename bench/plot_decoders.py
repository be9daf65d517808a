"""plot_decoders.py - draws what bench_decoders measured.

SPDX-License-Identifier: BSD-3-Clause

  python3 plot_decoders.py [--out FOLDER] JSON...

JSON: files that bench_decoders wrote for --json, from any sub-commands. The script draws those of
these pictures that the files have data for:

  fields_speed.png     every decoder on every input: GB/s of codes, and speed relative to
                       the serial decoder
  fields_chunked.png   decoders on the GPU, speed relative to the chunked one
  sweep_N.png          input N: self-synchronization by subsequence and block, and its phases
  offsets.png          time against decoded size
  bf16.png             lossless frames: GB/s of each stage
  hierarchical.png     DFloat11's decoder of bf16 weights
  rle_time.png         run-length coding: time against size
  rle_speed.png        run-length coding: GB/s at the largest size

The script leaves out rows that failed verification; if there are any, the exit code is 1. Needs
matplotlib.
"""
import argparse
import collections
import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402, after the choice of a backend

PHASES = ("guess", "agree", "place", "write")
STYLES = ("o-", "s-", "^-", "v-", "D-", "P-", "X-", "*-")


def read(paths):
    """bench -> (the file's object, its verified rows), and the number of other rows."""
    benches, unverified = {}, 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
        rows = [row for row in whole["rows"] if row["verified"]]
        unverified += len(whole["rows"]) - len(rows)
        head, known = benches.setdefault(whole["bench"], (whole, []))
        known.extend(rows)
    return benches, unverified


def grouped(rows, key):
    """Rows grouped by a key's value, or by a function's, in order of appearance."""
    groups = collections.OrderedDict()
    for row in rows:
        groups.setdefault(key(row) if callable(key) else row[key], []).append(row)
    return groups


def new_figure(columns, head, rows=1, height=4.2):
    width = 8.0 if columns == 1 else 5.2 * columns if columns == 2 else 4.0 * columns
    figure, axes = plt.subplots(rows, columns, figsize=(width, height * rows), squeeze=False)
    figure.text(0.995, 0.005, head.get("gpu", ""), ha="right", va="bottom", fontsize=7)
    for own in axes.flat:
        own.grid(True, which="major", alpha=0.3)
        own.set_axisbelow(True)
    return figure, axes


def save(figure, folder, name):
    figure.tight_layout()
    path = os.path.join(folder, name + ".png")
    figure.savefig(path, dpi=100, bbox_inches="tight")
    plt.close(figure)
    print(path)


def bars(axes, names, series, is_log=False):
    """series: label -> values, one for each name; None if a name has no value."""
    width = 0.8 / max(1, len(series))
    for number, (label, values) in enumerate(series.items()):
        places = [i - 0.4 + width * (number + 0.5) for i in range(len(names))]
        shown = [(place, value) for place, value in zip(places, values) if value]
        if shown:
            axes.bar([place for place, _ in shown], [value for _, value in shown], width,
                     label=label, color=plt.get_cmap("tab20")(number % 20))
    axes.set_xticks(range(len(names)))
    axes.set_xticklabels(names, rotation=20, ha="right", fontsize=7)
    if is_log:
        axes.set_yscale("log")
    beside(axes)


def beside(axes):
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


# ---- every decoder on every input ----

def input_name(row):
    name = row["input"].rsplit(".", 1)[0]
    return f"{name} {row['bound']:g}" if row.get("kind") == "field" else name


def decoder_name(row):
    if row["backend"] == "cpu":
        return f"{row['decoder']}, {row['threads']} CPU thread" + "s" * (row["threads"] > 1)
    return row["decoder"] + (", bytes" if row["code_bytes"] == 1 else "")


def by_decoder(rows, inputs, key):
    series = collections.OrderedDict()
    for row in rows:
        values = series.setdefault(decoder_name(row), [None] * len(inputs))
        values[inputs.index(input_name(row))] = row[key]
    return series


def plot_fields(head, rows, folder):
    inputs = list(dict.fromkeys(input_name(row) for row in rows))
    figure, axes = new_figure(1, head, rows=2)
    bars(axes[0][0], inputs, by_decoder(rows, inputs, "gb_per_s"), is_log=True)
    axes[0][0].set_ylabel("GB/s of codes")
    bars(axes[1][0], inputs, by_decoder(rows, inputs, "over_serial"), is_log=True)
    axes[1][0].set_ylabel("times the serial decoder")
    save(figure, folder, "fields_speed")
    on_gpu = [row for row in rows if row["backend"] == "cuda"]
    figure, axes = new_figure(1, head)
    bars(axes[0][0], inputs, by_decoder(on_gpu, inputs, "over_chunked"))
    axes[0][0].axhline(1.0, color="black", linewidth=0.8)
    axes[0][0].set_ylabel("times the chunked decoder")
    save(figure, folder, "fields_chunked")


# ---- self-synchronization ----

def plot_sweep(head, rows, folder):
    for number, (name, of_input) in enumerate(grouped(rows, input_name).items()):
        best = {}  # over all run-ups
        for row in of_input:
            at = row["subsequence_bits"], row["block_threads"]
            if at not in best or row["median_ms"] < best[at]["median_ms"]:
                best[at] = row
        sizes = sorted({bits for bits, _ in best})
        figure, axes = new_figure(2, head)
        for style, threads in zip(STYLES, sorted({threads for _, threads in best})):
            line = [best[bits, threads] for bits in sizes if (bits, threads) in best]
            axes[0][0].plot([row["subsequence_bits"] for row in line],
                            [row["gb_per_s"] for row in line], style, markersize=4,
                            label=f"{threads} threads")
        axes[0][0].set_xscale("log", base=2)
        axes[0][0].set_xlabel("bits of a subsequence")
        axes[0][0].set_ylabel("GB/s of codes")
        axes[0][0].set_title(name, fontsize=9)
        axes[0][0].legend(fontsize=7)
        fastest = [min((row for (bits, _), row in best.items() if bits == size),
                       key=lambda row: row["median_ms"]) for size in sizes]
        draw_phases(axes[0][1], fastest)
        save(figure, folder, f"sweep_{number + 1}")


def draw_phases(axes, rows):
    below = [0.0] * len(rows)
    for phase in PHASES:
        shares = [100.0 * row[phase + "_ms"] / row["median_ms"] for row in rows]
        axes.bar(range(len(rows)), shares, bottom=below, label=phase)
        below = [low + share for low, share in zip(below, shares)]
    axes.set_xticks(range(len(rows)))
    axes.set_xticklabels([f"{row['subsequence_bits']}\nx {row['block_threads']}" for row in rows],
                         fontsize=7)
    axes.set_ylabel("% of the time, fastest block")
    beside(axes)


# ---- lines of time against size ----

def draw_times(axes, rows, size_key, name_of, x_label):
    for number, (name, line) in enumerate(grouped(rows, name_of).items()):
        line = sorted(line, key=lambda row: row[size_key])
        axes.plot([row[size_key] for row in line], [row["median_ms"] for row in line],
                  STYLES[number % len(STYLES)], markersize=4, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel(x_label)
    axes.set_ylabel("milliseconds")
    axes.legend(fontsize=7)


def plot_offsets(head, rows, folder):
    inputs = grouped(rows, "input")
    figure, axes = new_figure(len(inputs), head)
    for own, (name, of_input) in zip(axes[0], inputs.items()):
        draw_times(own, of_input, "decoded_codes", decoder_name, "codes decoded")
        own.set_title(name, fontsize=9)
    save(figure, folder, "offsets")


# ---- weights ----

def plot_bf16(head, rows, folder):
    # Counting reads a sample and opening only side data: their bars would dwarf all others.
    stages = [stage for stage in grouped(rows, "stage") if stage not in ("count", "open")]
    series = collections.OrderedDict()
    for kind, of_type in grouped(rows, "type").items():
        found = {row["stage"]: row["gb_per_s"] for row in of_type}
        label = f"{kind}, ratio {of_type[0]['ratio']:.3f}"
        series[label] = [found.get(stage) for stage in stages]
    figure, axes = new_figure(1, head)
    bars(axes[0][0], stages, series)
    axes[0][0].set_ylabel("GB/s of weights")
    save(figure, folder, "bf16")


def plot_hierarchical(head, rows, folder):
    outputs = list(grouped(rows, "output"))
    series = collections.OrderedDict()
    for gap_bits, of_gaps in grouped(rows, "gap_bits").items():
        found = {row["output"]: row["gb_per_s"] for row in of_gaps}
        series[f"gaps of {gap_bits} bits"] = [found.get(output) for output in outputs]
    figure, axes = new_figure(1, head)
    bars(axes[0][0], outputs, series)
    axes[0][0].set_ylabel("GB/s of output")
    save(figure, folder, "hierarchical")


# ---- run-length coding ----

def plot_rle(head, rows, folder):
    kinds = grouped(rows, "data")
    figure, axes = new_figure(len(kinds), head, rows=2)
    for column, (data, of_data) in enumerate(kinds.items()):
        coding = [row for row in of_data if not row["way"].startswith("decode")]
        decoding = [row for row in of_data if row["way"].startswith("decode")]
        for own, shown in ((axes[0][column], coding), (axes[1][column], decoding)):
            draw_times(own, shown, "symbols", lambda row: row["way"], "symbols")
        axes[0][column].set_title(f"{data}, u{8 * of_data[0]['symbol_bytes']}", fontsize=9)
    save(figure, folder, "rle_time")
    most = max(row["symbols"] for row in rows)
    figure, axes = new_figure(1, head, rows=2, height=3.4)
    for own, is_decoding in ((axes[0][0], False), (axes[1][0], True)):
        series = collections.OrderedDict()
        for row in rows:
            if row["symbols"] == most and row["way"].startswith("decode") == is_decoding:
                values = series.setdefault(row["way"], [None] * len(kinds))
                values[list(kinds).index(row["data"])] = row["gb_per_s"]
        bars(own, list(kinds), series, is_log=True)
        own.set_ylabel(f"GB/s of {most} symbols")
    save(figure, folder, "rle_speed")


PLOTS = {"fields": plot_fields, "sweep": plot_sweep, "offsets": plot_offsets, "bf16": plot_bf16,
         "hierarchical": plot_hierarchical, "rle": plot_rle}


def main():
    parser = argparse.ArgumentParser(description="pictures of what bench_decoders measured")
    parser.add_argument("--out", default=".", help="a folder; made where there is none")
    parser.add_argument("json", nargs="+")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    benches, unverified = read(arguments.json)
    for bench, (head, rows) in benches.items():
        if bench not in PLOTS:
            sys.exit(f"no picture of '{bench}'")
        if rows:
            PLOTS[bench](head, rows, arguments.out)
    if unverified:
        print(f"{unverified} rows were not verified, and left out", file=sys.stderr)
    return 1 if unverified else 0


if __name__ == "__main__":
    sys.exit(main())
