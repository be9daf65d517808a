"""levels_seeds.py - makes small archives of levels frames, for seeds.py.

SPDX-License-Identifier: BSD-3-Clause

The archives have at most MOST_BYTES. Together they have every kind of section that a levels frame
may have, stages of every mode, with one and with several groups in a lane, grids of one to three
axes and a fold, blended ones of two and three axes and others, of all stencils, narrow and wide
lattices, several frames, and sections under zstd. Every archive must also restore.
"""
import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test"))
from compact_from_docs import plain  # noqa: E402

MOST_BYTES = 6000
MODES = {0: "zero", 1: "plain", 2: "pairs", 3: "masks"}
STAGES = ("base", "level 0", "level 1", "level 2", "level 3", "level 4")
OUTLIERS = ("exact counts", "exact mask", "exact values", "fill counts", "fill mask")


def noise(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def smooth(shape, scale=0.2):
    """Waves of different lengths along each axis."""
    total = np.zeros(shape)
    for axis, i in enumerate(np.indices(shape)):
        total += np.sin(scale * (1 + 0.3 * axis) * i + axis)
    return total


def edges(shape):
    """With creases along the axes."""
    return np.abs(np.prod([np.sin((0.13 + 0.03 * axis) * i + axis)
                           for axis, i in enumerate(np.indices(shape))], axis=0))


def blocks(shape):
    return sum(i // 8 for i in np.indices(shape)) % 2


def oblique(shape):
    """With creases along none of the axes."""
    return np.abs(np.sin(sum((0.2 + 0.15 * axis) * i for axis, i in enumerate(np.indices(shape)))))


def spoilt(field):
    """With values that are kept exactly, and a coast."""
    field = np.array(field, np.float32)
    flat = field.reshape(-1)
    flat[::37] = 1e20
    flat[:40] = 1e20
    flat[5], flat[111], flat[200] = np.nan, np.inf, -3e30
    return field


def fields():
    """(name, values, bound, further options)"""
    line, plane, box = (3000,), (40, 50), (17, 18, 70)
    period = np.tile(noise(97, 1), 60) + 0.001 * noise(97 * 60, 2)
    spots = np.zeros(box)
    spots[8, 9, 20] = spots[3, 4, 60] = 1.0
    yield "line", smooth(line).astype("f4"), "0.01", []
    yield "line_f64", smooth(line), "1e-3", []
    yield "fold", period.astype("f4"), "0.05", []
    yield "fold_spoilt", spoilt(period), "0.05", ["--fill", "1e20"]
    yield "plane", smooth(plane).astype("f4"), "0.01", []
    yield "plane_edges", edges(plane).astype("f4"), "0.01", []
    yield "plane_blocks", blocks(plane).astype("f4"), "0.01", []
    yield "plane_oblique", oblique(plane).astype("f4"), "0.01", []
    yield "plane_tight", smooth(plane).astype("f4"), "1e-5", []
    yield "plane_noise", noise(plane, 3).astype("f4"), "0.02", []
    yield "plane_zstd", np.tile(smooth((64, 64)), (3, 3)).astype("f4"), "0.01", ["--zstd=5"]
    yield "plane_frames", smooth((150, 20)).astype("f4"), "0.01", ["--frame", "64"]
    yield "box", smooth(box).astype("f4"), "0.01", []
    yield "box_edges", edges(box).astype("f4"), "0.01", []
    yield "box_blocks", blocks(box).astype("f4"), "0.01", []
    yield "box_oblique", oblique(box).astype("f4"), "0.1", []
    yield "box_loose", smooth(box).astype("f4"), "0.5", []
    yield "box_f64", smooth(box), "0.01", []
    yield "box_rough", (smooth(box) + 0.02 * noise(box, 4)).astype("f4"), "0.02", []
    yield "box_noise", noise((9, 10, 11), 5).astype("f4"), "0.05", []
    yield "box_spots", spots.astype("f4"), "0.01", []
    yield "box_wide", (smooth((5, 9, 20)) * 1e3).astype("f8"), "1e-7", []
    yield "box_spoilt", spoilt(smooth((9, 18, 40))), "0.01", ["--fill", "1e20"]
    yield "box_frames", smooth((40, 9, 20)).astype("f4"), "0.01", ["--frame", "16"]
    yield "box_planes", (smooth(box) + 50 * noise((17, 1, 1), 6)).astype("f4"), "0.05", []
    yield "batch", smooth((3, 9, 10, 33)).astype("f4"), "0.01", []
    steps = np.cumsum(noise((20000,), 7) > 2.2)
    yield "differences", steps.astype("f4"), "0.3", ["--predictor", "auto"]


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def make(szgpu, folder, name, values, bound, options):
    """Compresses one field; returns what is in the archive, in words."""
    raw = os.path.join(folder, f"{name}_{'x'.join(map(str, values.shape))}."
                               f"{'f64' if values.dtype == np.float64 else 'f32'}")
    archive = os.path.join(folder, name + ".szg")
    values.tofile(raw)
    asked = options if "--predictor" in options else options + ["--predictor", "interpolation"]
    run([szgpu, "-z", "-q", "-f", "-m", "abs", "-e", bound] + asked + ["-o", archive, raw])
    run([szgpu, "-x", "-q", "-f", "-o", raw, archive])
    os.remove(raw)
    if os.path.getsize(archive) > MOST_BYTES:
        sys.exit(f"levels_seeds.py: {name} has {os.path.getsize(archive)} bytes")
    return contents(archive, json.loads(run([szgpu, "-l", "--json", archive])))


def contents(archive, listing):
    with open(archive, "rb") as file:
        data = plain(file.read())  # to which the listing's offsets refer
    found = {f"{len(listing['frame_list'])} frames"}
    for frame in listing["frame_list"]:
        if frame["kind"] != "levels":
            sys.exit(f"levels_seeds.py: {archive} has a {frame['kind']} frame")
        found.add(f"{frame['lattice_bits']} bits")
        axes, stencil = frame.get("interpolated_axes") or 0, frame.get("stencil") or "no"
        blended = "blended" if "blended" in stencil else "not blended"
        found.update([f"{axes} axes", f"{axes} axes, {blended}", f"{stencil} stencils"])
        found.update([f"{axes} axes, quintic", f"{frame['lattice_bits']} bits, quintic"]
                     if "quintic" in stencil else [])
        found.update(["fold"] if frame.get("fold") else [])
        for section in frame["sections"]:
            found.update([section["name"], section["codec"]])
            if section["name"] in STAGES and section["codec"] == "stored":
                mode, groups = data[section["offset"]], data[section["offset"] + 1]
                found.update([MODES[mode], "lanes of several groups" if groups else "lanes"])
    return found


def write(szgpu, folder):
    """Writes the archives to the folder; exits with a message if something is missing."""
    wanted = set(STAGES) | set(OUTLIERS) | set(MODES.values())
    wanted |= {"stored", "zstd", "32 bits", "64 bits", "fold", "lanes", "lanes of several groups"}
    wanted |= {"1 frames", "3 frames", "0 axes", "1 axes", "2 axes", "3 axes"}
    wanted |= {"2 axes, blended", "3 axes, blended", "2 axes, not blended", "3 axes, not blended"}
    wanted |= {"cubic stencils", "linear stencils", "blended cubic stencils",
               "blended linear stencils", "blended quintic stencils"}
    wanted |= {"2 axes, quintic", "3 axes, quintic", "32 bits, quintic", "64 bits, quintic"}
    found = set()
    for case in fields():
        found |= make(szgpu, folder, *case)
    if wanted - found:
        sys.exit("levels_seeds.py: no archive has: " + ", ".join(sorted(wanted - found)))
