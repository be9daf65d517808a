"""rate_distortion.py - draws bits a value against PSNR for szgpu, SZ3 and zfp on real fields.

SPDX-License-Identifier: BSD-3-Clause

  python3 rate_distortion.py --szgpu PATH [--fields DIR] [--venv DIR] [--out FOLDER]
                             [--picture NAME,NAME...]

Compresses and restores every field of DIR under eight bounds with each tool and checks the bound.
Then it looks for the bound at which szgpu takes no more bits than SZ3 took, for each of SZ3's eight
archives, and compares the PSNR. It prints both as tables and draws the fields named as
rate_distortion.png in FOLDER. Needs what compare_cpu.py needs, and matplotlib, in the same virtual
environment.

PSNR is 20 log10(range / root mean square error), over the values that are not fill.
"""
import argparse
import math
import os
import subprocess
import tempfile

import compare_cpu

HERE = os.path.dirname(os.path.abspath(__file__))
RELS = ["3e-2", "1e-2", "3e-3", "1e-3", "3e-4", "1e-4", "3e-5", "1e-5"]
PICTURE = "meep_ez14,tgv_vx,navywind_u,cosmo_rho"
HALVINGS = 12  # of the interval in which a bound is looked for: a factor of 16 on both sides
OURS, LORENZO, SZ3, SZ3_LORENZO, ZFP = "szgpu auto", "szgpu lorenzo", "SZ3", "SZ3 Lorenzo", "zfp -a"
STYLES = {OURS: "ko-", LORENZO: "kv:", SZ3: "C0s-", SZ3_LORENZO: "C0^:", ZFP: "C1D-"}


class Szgpu:
    """The command with a predictor, as compare_cpu's tools: bytes and restored values count."""

    def __init__(self, binary, name, predictor):
        self.binary, self.name, self.predictor = binary, name, predictor

    def measure(self, field, rel):
        import numpy as np
        with tempfile.TemporaryDirectory(prefix="rate_distortion_") as folder:
            raw = field.save(folder)
            archive, back = raw + ".szg", os.path.join(folder, "back")
            subprocess.run([self.binary, "-z", "-q", "-e", rel, "--predictor", self.predictor, raw,
                            "-o", archive], check=True)
            subprocess.run([self.binary, "-x", "-q", archive, "-o", back], check=True)
            restored = np.fromfile(back, field.values.dtype).reshape(field.values.shape)
            return 0.0, 0.0, os.path.getsize(archive), restored


def psnr(field, restored):
    import numpy as np
    counted = np.isfinite(field.values) & (field.values != field.values.dtype.type(compare_cpu.FILL))
    errors = field.values[counted].astype(np.float64) - restored[counted]
    mean_square = float(np.mean(errors**2))
    return 10 * math.log10(field.span**2 / mean_square) if mean_square > 0 else math.inf


class Point:
    """A field compressed and restored by a tool."""

    def __init__(self, tool, field, rel):
        _, _, size, restored = tool.measure(field, rel)
        self.rel, self.size = rel, size
        self.bits = 8.0 * size / field.values.size
        self.psnr = psnr(field, restored)
        self.is_kept = compare_cpu.bound_kept(field, rel, restored)

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
    rows = [[compare_cpu.label(field), rel] + [str(points[i]) for points in curves.values()]
            for field, curves, _ in results for i, rel in enumerate(RELS)]
    compare_cpu.table(["field", "rel"] + list(results[0][1]), rows)


def show_gains(results):
    print(f"## PSNR of {OURS} minus that of {SZ3}, dB, in archives of the same size\n\n"
          f"By the bound that {SZ3} had.\n")
    rows = [[compare_cpu.label(field)] + ["-" if gain is None else f"{gain:+.2f}" for gain in gains]
            for field, _, gains in results]
    compare_cpu.table(["field"] + RELS, rows)


def measure(field, tools):
    """(field, {tool: its points}, how much PSNR ours gains over SZ3 at each of SZ3's points)"""
    curves = {tool.name: [Point(tool, field, rel) for rel in RELS] for tool in tools}
    equals = [as_small(tools[0], field, point) for point in curves[SZ3]]
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
    default_fields = os.environ.get("SZGPU_FIELDS") or os.path.join(HERE, "../../shared/datasets")
    parser = argparse.ArgumentParser(description="bits a value against PSNR: szgpu, SZ3, zfp")
    parser.add_argument("--szgpu", required=True, help="path of szgpu")
    parser.add_argument("--fields", default=default_fields, help="folder of the real fields")
    parser.add_argument("--venv", default=os.path.join(HERE, "../build/compare-venv"),
                        help="virtual environment of the peers, made when absent")
    parser.add_argument("--out", default=".", help="folder of the picture")
    parser.add_argument("--picture", default=PICTURE, help="fields in the picture")
    asked = parser.parse_args()
    compare_cpu.enter_venv(os.path.abspath(asked.venv), compare_cpu.PACKAGES + ["matplotlib"],
                           "numpy, pysz, zfpy, matplotlib")
    binary = os.path.abspath(asked.szgpu)
    tools = [Szgpu(binary, OURS, "auto"), Szgpu(binary, LORENZO, "lorenzo"),
             compare_cpu.Sz3(SZ3, "[GlobalSettings]\n"),
             compare_cpu.Sz3(SZ3_LORENZO, compare_cpu.SZ3_LORENZO), compare_cpu.Zfp()]
    results = [measure(field, tools) for field in compare_cpu.real_fields(asked.fields, "")]
    show_curves(results)
    show_gains(results)
    draw(results, asked.picture.split(","), os.path.join(asked.out, "rate_distortion.png"))


if __name__ == "__main__":
    main()
