"""plot_errors.py - draws what errors look like at bounds from 1e-2 to 1e-5.

SPDX-License-Identifier: BSD-3-Clause

  python3 plot_errors.py [--szgpu COMMAND] [--fields FOLDER] [--out FOLDER]

Compresses fields by Lorenzo, restores them with the command and draws the results:

  errors_wind.png    the sample field: restored values and errors at four bounds
  errors_relief.png  a relief of the earth and its slopes at four bounds
  errors_ratio.png   ratio against the bound, and the PSNR that goes with it

It also prints the figures of docs/choosing.md. The sample field comes with the project. The other
fields are in FOLDER, by default the one that datasets/README.md names. If a field is missing, the
script leaves out its picture and says so. Needs matplotlib, numpy and zstd.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

try:
    import matplotlib
    import numpy as np
except ImportError as missing:
    sys.exit(f"plot_errors.py: {missing.name} is missing: pip install matplotlib numpy")

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402, after the choice of a backend

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SAMPLE = os.path.join(ROOT, "datasets", "sample", "navywind_u_36x73x144.f32")
BOUNDS = ("1e-2", "1e-3", "1e-4", "1e-5")
CURVE_BOUNDS = ("1e-1", "3e-2", "1e-2", "3e-3", "1e-3", "3e-4", "1e-4", "3e-5", "1e-5", "1e-6")
FILL_LEAST = 1e15  # magnitude from which a value is fill: the fields mark land so


def values_of(path):
    """The values of a raw f32 file with its shape in the name."""
    shape = os.path.basename(path).split(".")[0].split("_")[-1]
    return np.fromfile(path, "<f4").reshape([int(dim) for dim in shape.split("x")])


def find_field(folder, name, work):
    """The path of a raw field, unpacked into work; None if the folder lacks the field."""
    packed = os.path.join(folder, name + ".zst")
    if not os.path.exists(packed):
        return None
    path = os.path.join(work, name)
    subprocess.run(["zstd", "-dqf", packed, "-o", path], check=True)
    return path


class Roundtrip:
    """A field compressed, restored and compared."""

    def __init__(self, szgpu, path, rel, work):
        archive, back = os.path.join(work, "field.szg"), os.path.join(work, "back.f32")
        subprocess.run([szgpu, "-z", "-q", "-f", "-e", rel, "--predictor", "lorenzo", "-o", archive,
                        path], check=True)
        done = subprocess.run([szgpu, "-x", "-f", "--json", "--compare", path, "-o", back, archive],
                              check=True, stdout=subprocess.PIPE)
        report = json.loads(done.stdout)
        self.rel = rel
        self.original = values_of(path)
        self.restored = np.fromfile(back, "<f4").reshape(self.original.shape)
        self.bound = report["absolute_bound"]
        self.ratio = report["ratio"]
        self.psnr = report["psnr"]
        self.error = self.restored.astype(np.float64) - self.original


def label(trip, unit):
    bound = f"{trip.bound:.0f}" if trip.bound >= 10 else f"{trip.bound:.2g}"
    return f"{trip.rel}: off by at most {bound} {unit}\nratio {trip.ratio:.1f}"


def without_ticks(axes):
    for own in np.ravel(axes):
        own.set_xticks([])
        own.set_yticks([])


def draw_wind(szgpu, work, out):
    trips = [Roundtrip(szgpu, SAMPLE, rel, work) for rel in BOUNDS]
    month, lat = 0, slice(35, 70)
    figure, axes = plt.subplots(2, 5, figsize=(13, 4.6))
    limits = {"vmin": -12, "vmax": 12, "cmap": "RdBu_r", "origin": "lower",
              "interpolation": "nearest", "aspect": "auto"}
    axes[0, 0].imshow(trips[0].original[month, lat], **limits)
    axes[0, 0].set_title("original", fontsize=9)
    line = 20  # among the lines shown
    for column, trip in enumerate(trips, 1):
        axes[0, column].imshow(trip.restored[month, lat], **limits)
        axes[0, column].set_title(label(trip, "m/s"), fontsize=9)
        axes[1, column].imshow(trip.error[month, lat], cmap="PuOr", origin="lower",
                               interpolation="nearest", aspect="auto",
                               vmin=-trip.bound, vmax=trip.bound)
        axes[1, column].set_xlabel(f"error, -{trip.bound:.2g} to {trip.bound:.2g} m/s", fontsize=8)
    without_ticks(axes)
    cut = axes[1, 0]
    cut.plot(trips[0].original[month, lat][line, 40:80], "k-", linewidth=1, label="original")
    cut.plot(trips[0].restored[month, lat][line, 40:80], "r.-", linewidth=0.6, markersize=3,
             label="1e-2")
    cut.plot(trips[1].restored[month, lat][line, 40:80], "b.", markersize=2, label="1e-3")
    cut.legend(fontsize=7, frameon=False)
    cut.set_xlabel("40 values of one row", fontsize=8)
    figure.tight_layout()
    figure.savefig(os.path.join(out, "errors_wind.png"), dpi=80)
    return trips


def slopes(relief):
    y, x = np.gradient(relief.astype(np.float64))
    return np.hypot(x, y)


def draw_relief(szgpu, path, work, out):
    trips = [Roundtrip(szgpu, path, rel, work) for rel in BOUNDS]
    where = (slice(300, 400), slice(560, 690))
    figure, axes = plt.subplots(2, 5, figsize=(13, 5))
    columns = [("original", trips[0].original)]
    columns += [(label(trip, "m"), trip.restored) for trip in trips]
    for own, (title, relief) in zip(axes.T, columns):
        own[0].imshow(relief[where], cmap="terrain", origin="lower", interpolation="nearest",
                      vmin=-600, vmax=1200)
        own[0].set_title(title, fontsize=9)
        own[1].imshow(slopes(relief)[where], cmap="gray_r", origin="lower", interpolation="nearest",
                      vmin=0, vmax=80)
    axes[0, 0].set_ylabel("height")
    axes[1, 0].set_ylabel("slope")
    without_ticks(axes)
    figure.tight_layout()
    figure.savefig(os.path.join(out, "errors_relief.png"), dpi=70)
    return trips


def draw_ratio(szgpu, fields, work, out):
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
    for (name, path), marker in zip(fields, "os^"):
        trips = [Roundtrip(szgpu, path, rel, work) for rel in CURVE_BOUNDS]
        left.loglog([float(trip.rel) for trip in trips], [trip.ratio for trip in trips],
                    marker + "-", markersize=4, label=name)
        right.semilogx([float(trip.rel) for trip in trips], [trip.psnr for trip in trips],
                       marker + "-", markersize=4, label=name)
    left.set_ylabel("ratio")
    right.set_ylabel("PSNR, dB")
    for own in (left, right):
        own.set_xlabel("relative bound")
        own.grid(alpha=0.3)
        own.invert_xaxis()
        own.legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(os.path.join(out, "errors_ratio.png"), dpi=80)


def show(name, trips):
    print(f"\n{name}\n\n| rel | absolute | ratio | largest error | PSNR, dB | mean error |\n"
          "|---|---|---|---|---|---|")
    for trip in trips:
        counted = np.abs(trip.original) < FILL_LEAST
        errors = trip.error[counted]
        print(f"| {trip.rel} | {trip.bound:.3g} | {trip.ratio:.2f} | {np.abs(errors).max():.3g} | "
              f"{trip.psnr:.1f} | {errors.mean():.1g} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--szgpu", default=os.path.join(ROOT, "build", "release", "szgpu"),
                        help="the command; build/release/szgpu by default")
    parser.add_argument("--fields", default=os.environ.get("SZGPU_FIELDS") or
                        os.path.join(ROOT, "..", "shared", "datasets"),
                        help="folder of more fields")
    parser.add_argument("--out", default=".", help="folder of the pictures")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        show("wind", draw_wind(chosen.szgpu, work, chosen.out))
        fields = [("wind", SAMPLE)]
        relief = find_field(chosen.fields, "etopo5_800x1200.f32", work)
        if relief:
            show("relief", draw_relief(chosen.szgpu, relief, work, chosen.out))
            fields.append(("relief", relief))
        else:
            print("plot_errors.py: no etopo5_800x1200.f32.zst: no errors_relief.png",
                  file=sys.stderr)
        ocean = find_field(chosen.fields, "oceantemp_fill_76x90x180.f32", work)
        if ocean:
            trips = [Roundtrip(chosen.szgpu, ocean, rel, work) for rel in BOUNDS]
            show("ocean temperature", trips)
            fields.append(("ocean temperature", ocean))
        draw_ratio(chosen.szgpu, fields, work, chosen.out)


if __name__ == "__main__":
    main()
