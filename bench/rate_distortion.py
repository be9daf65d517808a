"""rate_distortion.py - draws bits a value against PSNR for szgpu, SZ3 and zfp on real fields.

SPDX-License-Identifier: BSD-3-Clause

  python3 rate_distortion.py [--fields DIR] [--out FOLDER] [--picture NAME,NAME...]

Compresses and restores every field of DIR under eight bounds with each tool and checks the bound.
Then it looks for the bound at which szgpu takes no more bits than SZ3 took, for each of SZ3's eight
archives, and compares the PSNR. It prints both as tables and draws the fields named as
rate_distortion.png in FOLDER. Needs the package szgpu, and pysz, zfpy and matplotlib, which are
among the packages of compare_requirements.txt.

PSNR is 20 log10(range / root mean square error), over the values that are not fill.
"""
import argparse
import os

import numpy as np

from comparison import deviation, fields, peers
from comparison.report import show_table

RELS = ["3e-2", "1e-2", "3e-3", "1e-3", "3e-4", "1e-4", "3e-5", "1e-5"]
PICTURE = "meep_ez14,tgv_vx,navywind_u,cosmo_rho"
HALVINGS = 12  # of the interval in which a bound is looked for: a factor of 16 on both sides
OURS, LORENZO, SZ3, SZ3_LORENZO, ZFP = "szgpu auto", "szgpu lorenzo", "SZ3", "SZ3 Lorenzo", "zfp -a"
STYLES = {OURS: "ko-", LORENZO: "kv:", SZ3: "C0s-", SZ3_LORENZO: "C0^:", ZFP: "C1D-"}


class Point:
    """A field compressed and restored by a tool, one of peers.py."""

    def __init__(self, tool, field, rel):
        bound = float(rel) * field.span
        packed = tool.compress(field.values, bound)
        found = deviation.compare(field, tool.decompress(packed, field.values), bound)
        self.rel, self.size, self.psnr, self.is_kept = rel, len(packed), found.psnr, found.is_kept
        self.bits = 8.0 * self.size / field.values.size

    def __str__(self):
        return f"{self.bits:.3f}, {self.psnr:.2f}" if self.is_kept else f"{self.bits:.3f}*"


def as_small(tool, field, other):
    """The point of `tool` with the tightest bound found at which it is no larger than `other`;
    None if it is larger at 16 times the bound."""
    best, least, most = None, float(other.rel) / 16, float(other.rel) * 16
    for _ in range(HALVINGS):
        middle = (least * most)**0.5
        point = Point(tool, field, repr(middle))
        if point.size <= other.size:
            best, most = point, middle
        else:
            least = middle
    return best


def show_curves(results):
    print("## Bits a value, and PSNR in dB\n\nA star: the bound was broken on some value.\n")
    rows = [[field.file_name(), rel] + [str(points[i]) for points in curves.values()]
            for field, curves, _ in results for i, rel in enumerate(RELS)]
    show_table(["field", "rel"] + list(results[0][1]), rows)


def show_gains(results):
    print(f"## PSNR of {OURS} minus that of {SZ3}, dB, in archives of the same size\n\n"
          f"By the bound that {SZ3} had.\n")
    rows = [[field.file_name()] + ["-" if gain is None else f"{gain:+.2f}" for gain in gains]
            for field, _, gains in results]
    show_table(["field"] + RELS, rows)


def measure(field, tools):
    """(field, {tool: its points}, how much PSNR ours gains over SZ3 at each of SZ3's points)"""
    curves = {name: [Point(tool, field, rel) for rel in RELS] for name, tool in tools.items()}
    equals = [as_small(tools[OURS], field, point) for point in curves[SZ3]]
    gains = [equal and equal.psnr - point.psnr for equal, point in zip(equals, curves[SZ3])]
    return field, curves, gains


def label_bits(axes):
    shown = [bits for bits in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 40)
             if axes.get_xlim()[0] <= bits <= axes.get_xlim()[1]]
    axes.set_xticks(shown, [f"{bits:g}" for bits in shown])
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def draw(results, names, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    chosen = [next(r for r in results if r[0].name == name) for name in names]
    figure, axes = plt.subplots(2, len(chosen), figsize=(3.4 * len(chosen), 6.2), sharex="col",
                                squeeze=False, height_ratios=(2, 1))
    for (upper, lower), (field, curves, gains) in zip(axes.T, chosen):
        for name, points in curves.items():
            upper.semilogx([p.bits for p in points], [p.psnr for p in points], STYLES[name],
                           label=name, markersize=4, linewidth=2 if name == OURS else 1)
        upper.set_title(field.file_name(), fontsize=10)
        label_bits(upper)
        known = [(p.bits, gain) for p, gain in zip(curves[SZ3], gains) if gain is not None]
        lower.semilogx(*zip(*known), STYLES[OURS], markersize=4)
        lower.axhline(0, color="C0", linewidth=1)
        lower.set_xlabel("bits a value")
        label_bits(lower)
    axes[0][0].set_ylabel("PSNR, dB")
    axes[1][0].set_ylabel(f"dB more than {SZ3}")
    axes[0][0].legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description="bits a value against PSNR: szgpu, SZ3, zfp")
    parser.add_argument("--fields", default=fields.REAL_FIELDS, help="folder of the real fields")
    parser.add_argument("--out", default=".", help="folder of the picture")
    parser.add_argument("--picture", default=PICTURE, help="fields in the picture")
    asked = parser.parse_args()
    tools = {OURS: peers.Szgpu(1), LORENZO: peers.Szgpu(1, predictor="lorenzo"),
             SZ3: peers.Sz3(1), SZ3_LORENZO: peers.Sz3(1, peers.SZ3_LORENZO), ZFP: peers.Zfp(1)}
    results = [measure(field, tools) for field in fields.real_fields(asked.fields)]
    show_curves(results)
    show_gains(results)
    draw(results, asked.picture.split(","), os.path.join(asked.out, "rate_distortion.png"))


if __name__ == "__main__":
    main()
