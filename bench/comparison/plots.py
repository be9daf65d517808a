"""plots.py - draws the results: ratio against bound, rate-distortion, speed against ratio.

SPDX-License-Identifier: BSD-3-Clause
"""
import math
import os

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402, after the choice of a backend
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

from comparison import peers, runners

DPI = 90
OURS = {"szgpu": "-", "szgpu lorenzo": "--"}  # black, so that they are found at once
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C564B", "#7F7F7F")
MARKERS = ("s", "^", "D", "v", "P", "X", "<", ">")
BROKEN = "#C00000"
RATIO_TICKS = (1, 1.5, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000)
SPEED_TICKS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
BITS_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 40)


def styles(results):
    """{name of a peer: how it is drawn}. Lossy peers have lines, lossless ones hollow marks."""
    chosen = {}
    for kind in (peers.LOSSY, peers.LOSSLESS):
        others = 0
        for runner in results.of(kind):
            is_ours = runner.name.split()[0] == "szgpu"
            style = {"color": "black", "marker": "o"}
            if not is_ours:
                style = {"color": COLOURS[others % len(COLOURS)],
                         "marker": MARKERS[others % len(MARKERS)]}
                others += 1
            style |= {"markersize": 6 if is_ours else 5, "linewidth": 2 if is_ours else 1.2,
                      "linestyle": OURS.get(runner.name, "-")}
            if kind == peers.LOSSLESS:
                style |= {"markerfacecolor": "none", "markersize": 7, "linestyle": "none"}
            chosen[runner.name] = style
    return chosen


def in_front(name):
    """szgpu's lines are drawn last, over the others."""
    return 3 if name.split()[0] == "szgpu" else 2


def set_ticks(axis, ticks):
    low, high = axis.get_view_interval()
    axis.set_ticks([tick for tick in ticks if low <= tick <= high])
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    axis.set_tick_params(which="minor", length=0)


def cross_out(axes, points):
    """A red cross on each point at which a bound was broken."""
    if points:
        axes.plot(*zip(*points), "x", color=BROKEN, markersize=9, markeredgewidth=1.8, zorder=4)


def legend(figure, axes, columns, has_broken):
    """One legend below all panels, in the order of the results."""
    found = {}
    for own in axes:
        for handle, name in zip(*own.get_legend_handles_labels()):
            found.setdefault(name, handle)
    if has_broken:
        found["bound broken"], = axes[0].plot([], [], "x", color=BROKEN, markersize=8,
                                              markeredgewidth=1.8)
    figure.legend(found.values(), found.keys(), loc="upper center", bbox_to_anchor=(0.5, 0),
                  ncol=columns, fontsize=9, frameon=False, handlelength=3)


def mean_words(results):
    count = len(results.mean_fields)
    if count == 1:
        return results.mean_fields[0].file_name()
    return f"geometric means over {count} fields"


def mean_points(results, runner):
    """[(label, Mean)] of a peer, for the bounds under which it has a mean."""
    means = [(label, results.mean(runner, label)) for label in results.labels(runner.kind)]
    return [(label, mean) for label, mean in means if mean]


def draw_ratio(results, path):
    """Ratio against bound: the means of lossy peers; lossless ones as levels."""
    figure, axes = plt.subplots(figsize=(8, 5.6), layout="constrained")
    looks, broken = styles(results), []
    places = {label: float(label) for label in results.bounds}
    levels = results.of(peers.LOSSLESS)
    for runner in results.runners:
        points = mean_points(results, runner)
        if not points:
            continue
        look, name = looks[runner.name], runner.name
        if runner.kind == peers.LOSSY:
            axes.plot([places[label] for label, _ in points], [mean.ratio for _, mean in points],
                      label=runners.title(runner), zorder=in_front(name), **look)
            broken += [(places[label], mean.ratio) for label, mean in points if not mean.is_kept]
        else:  # a level, with its mark where no other level has one
            level = levels.index(runner)
            across = np.geomspace(max(places.values()), min(places.values()), len(levels) + 2)
            axes.plot(across, [points[0][1].ratio] * len(across), label=runners.title(runner),
                      **{**look, "linestyle": ":", "linewidth": 1}, markevery=[level + 1])
    cross_out(axes, broken)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.invert_xaxis()
    set_ticks(axes.yaxis, RATIO_TICKS)
    axes.set_xlabel(f"{peers.MODES[results.mode]} bound")
    axes.set_ylabel("ratio")
    axes.set_title(f"Ratio against bound, {mean_words(results)}", fontsize=11)
    axes.grid(alpha=0.3)
    legend(figure, [axes], 5, broken)
    figure.savefig(path, dpi=DPI, bbox_inches="tight")


def draw_curves(results, axes, field, looks):
    """The panel of a field; whether a bound was broken. A PSNR below 0 is named, not drawn."""
    broken, below = [], []
    for runner in results.of(peers.LOSSY):
        cells = [results.cell(runner, field, label) for label in results.bounds]
        cells = [cell for cell in cells if not cell.failure and not math.isinf(cell.deviation.psnr)]
        drawn = [cell for cell in cells if cell.deviation.psnr >= 0]
        below += [runner.name] if len(drawn) < len(cells) else []
        axes.plot([cell.bits for cell in drawn], [cell.deviation.psnr for cell in drawn],
                  label=runners.title(runner), zorder=in_front(runner.name), **looks[runner.name])
        broken += [(cell.bits, cell.deviation.psnr) for cell in drawn
                   if not cell.deviation.is_kept]
    cross_out(axes, broken)
    if below:
        axes.text(0.97, 0.04, "below 0 dB: " + ", ".join(below), transform=axes.transAxes,
                  ha="right", fontsize=8, color=BROKEN)
    axes.set_xscale("log")
    set_ticks(axes.xaxis, BITS_TICKS)
    axes.set_title(field.file_name(), fontsize=9)
    axes.grid(alpha=0.3)
    return bool(broken)


def draw_rate_distortion(results, path):
    """PSNR against bits a value, a panel for each field; lossless peers have no PSNR."""
    columns = min(len(results.fields), 4)
    rows = -(-len(results.fields) // columns)
    figure, grid = plt.subplots(rows, columns, squeeze=False, layout="constrained",
                                figsize=(max(6, 3.1 * columns), 2.7 * rows + 0.9))
    looks, panels = styles(results), grid.reshape(-1)
    broken = [draw_curves(results, axes, field, looks)
              for axes, field in zip(panels, results.fields)]
    for place, axes in enumerate(panels):
        if place >= len(results.fields):
            axes.set_axis_off()
        elif place + columns >= len(results.fields):
            axes.set_xlabel("bits a value")
        if place % columns == 0:
            axes.set_ylabel("PSNR, dB")
    legend(figure, panels, 5, any(broken))
    figure.savefig(path, dpi=DPI, bbox_inches="tight")


def draw_speed(results, path):
    """Ratio against speed, the means; the bounds stand beside szgpu's points."""
    figure, both = plt.subplots(1, 2, figsize=(11, 5.8), sharey=True, layout="constrained")
    looks, has_broken = styles(results), False
    for way, (axes, word) in enumerate(zip(both, ("compression", "decompression"))):
        broken = []
        for runner in results.runners:
            points = mean_points(results, runner)
            if not points:
                continue
            axes.plot([mean.speeds[way] for _, mean in points],
                      [mean.ratio for _, mean in points], label=runners.title(runner),
                      zorder=in_front(runner.name), **looks[runner.name])
            broken += [(mean.speeds[way], mean.ratio) for _, mean in points if not mean.is_kept]
            if runner.name == "szgpu":
                for label, mean in points:
                    axes.annotate(label, (mean.speeds[way], mean.ratio), xytext=(8, 0),
                                  textcoords="offset points", va="center", fontsize=9)
        cross_out(axes, broken)
        has_broken = has_broken or bool(broken)
        axes.set_xscale("log")
        axes.set_yscale("log")
        set_ticks(axes.xaxis, SPEED_TICKS)
        set_ticks(axes.yaxis, RATIO_TICKS)
        axes.set_xlabel(f"{word}, MB/s")
        axes.grid(alpha=0.3)
    both[0].set_ylabel("ratio")
    figure.suptitle(f"Ratio against speed, {mean_words(results)}, "
                    + ("1 thread" if results.threads == 1 else f"up to {results.threads} threads"),
                    fontsize=11)
    legend(figure, both, 6, has_broken)
    figure.savefig(path, dpi=DPI, bbox_inches="tight")


PICTURES = (
    ("comparison_ratio.png", "Ratio against bound", draw_ratio),
    ("comparison_rate_distortion.png", "PSNR against bits a value", draw_rate_distortion),
    ("comparison_speed.png", "Ratio against speed", draw_speed),
)


def draw_all(results, folder):
    """[(file, what it shows)] of the pictures drawn: those of means only if there are any, that of
    PSNR only if there are lossy peers."""
    drawn = []
    for name, words, draw in PICTURES:
        needs_means = draw is not draw_rate_distortion
        if results.mean_fields if needs_means else results.of(peers.LOSSY):
            draw(results, os.path.join(folder, name))
            plt.close("all")
            drawn.append((name, words))
    return drawn
