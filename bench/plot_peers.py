"""plot_peers.py - draws ratio against speed for szgpu and other GPU compressors.

SPDX-License-Identifier: BSD-3-Clause

  python3 plot_peers.py [--out FOLDER]

Reads peers_gpu.csv from the script's folder and writes peers.png. Needs matplotlib.
"""
import argparse
import collections
import csv
import os
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plot_peers.py: matplotlib is missing: pip install matplotlib")

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402, after the choice of a backend

HERE = os.path.dirname(os.path.abspath(__file__))
MARKERS = ("o", "s", "^", "v", "D", "P", "X", "*", "h", "p")


def read():
    """{field: {tool: its rows}}, in the order of the file."""
    fields = collections.OrderedDict()
    with open(os.path.join(HERE, "peers_gpu.csv"), encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            tools = fields.setdefault(row["field"], collections.OrderedDict())
            tools.setdefault(row["tool"], []).append(row)
    return fields


def draw(axes, name, tools):
    for (tool, rows), marker in zip(tools.items(), MARKERS):
        is_ours = tool.startswith("szgpu")
        axes.loglog([float(row["decompress_gb_s"]) for row in rows],
                    [float(row["ratio"]) for row in rows],
                    "-", marker=marker, label=tool, markersize=7 if is_ours else 5,
                    linewidth=2 if is_ours else 0.8, color="black" if is_ours else None)
        if is_ours:
            for row in rows:
                axes.annotate(row["rel"], (float(row["decompress_gb_s"]), float(row["ratio"])),
                              textcoords="offset points", xytext=(8, 0), ha="left",
                              va="center", fontsize=8)
    axes.set_title(name, fontsize=10)
    axes.set_xlabel("decompression, GB/s")
    axes.grid(alpha=0.3)
    axes.set_ylim(2, 6000)
    axes.set_xlim(40, 8000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default=".", help="the folder of the picture")
    out = parser.parse_args().out
    fields = read()
    figure, axes = plt.subplots(1, len(fields), figsize=(11, 4.5), sharey=True)
    for own, (name, tools) in zip(axes, fields.items()):
        draw(own, name, tools)
    axes[0].set_ylabel("ratio")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=(len(labels) + 1) // 2, fontsize=8,
                  frameon=False)
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    figure.savefig(os.path.join(out, "peers.png"), dpi=90)


if __name__ == "__main__":
    main()
