"""check_chunks.py - chunks of real fields: by AUTO they are never larger than by Lorenzo.

SPDX-License-Identifier: BSD-3-Clause

  python3 check_chunks.py SZGPU [--fields DIR]

Cuts chunks of 128 KiB and 1 MiB out of every real field (as check_bound.py finds them), as an HDF5
file would, and compresses each with the predictors lorenzo and auto. All chunks of a field together
must take at most 1 % more with auto, and each of them at most 2 %. Exit code: 0 all held, 1
something did not, 77 numpy or the fields are missing (for ctest's SKIP_RETURN_CODE).
"""
import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: this python3 has no numpy (Debian: python3-numpy)")
    sys.exit(77)

TYPES = {"f32": np.float32, "f64": np.float64}
RELS = (1e-2, 1e-3, 1e-4, 1e-5)
CHUNK_BYTES = (1 << 17, 1 << 20)
CHUNKS = 6  # of a field and size, from all over it
FILL = 1e15  # magnitude from which a value is fill
MOST_TOGETHER, MOST_ALONE = 1.01, 1.02


def real_fields(folder):
    for entry in sorted(os.listdir(folder)):
        found = re.fullmatch(r"(.+)_(\d+(?:x\d+)*)\.(f32|f64)\.zst", entry)
        if found:
            raw = subprocess.run(["zstd", "-dcq", os.path.join(folder, entry)],
                                 stdout=subprocess.PIPE, check=True).stdout
            values = np.frombuffer(raw, TYPES[found[3]])
            yield found[1], found[3], values.reshape([int(n) for n in found[2].split("x")])


def chunk_dims(shape, width, most_bytes):
    """Halves the longest dim until a chunk is small enough."""
    dims = list(shape)
    while np.prod(dims) * width > most_bytes:
        dims[dims.index(max(dims))] //= 2
    return dims


def cut(values, dims):
    """Some whole chunks."""
    places = list(itertools.product(*[range(0, n - d + 1, d)
                                      for n, d in zip(values.shape, dims)]))
    step = max(1, len(places) // CHUNKS)
    for at in places[::step][:CHUNKS]:
        yield np.ascontiguousarray(values[tuple(slice(a, a + d) for a, d in zip(at, dims))])


def sizes(szgpu, predictor, bound, files):
    subprocess.run([szgpu, "-z", "-f", "-q", "-m", "abs", "-e", repr(bound), "--predictor",
                    predictor] + files, check=True)
    return [os.path.getsize(file + ".szg") for file in files]


def check(szgpu, name, kind, values, most_bytes, folder):
    """Complaints about the chunks of one size."""
    dims = chunk_dims(values.shape, values.itemsize, most_bytes)
    files, wrong = [], []
    for i, chunk in enumerate(cut(values, dims)):
        files.append(os.path.join(folder, f"{i}_{'x'.join(map(str, dims))}.{kind}"))
        chunk.tofile(files[-1])
    counted = values[np.isfinite(values) & (np.abs(values) < FILL)]
    for rel in RELS:
        bound = rel * (float(counted.max()) - float(counted.min()))
        lorenzo = sizes(szgpu, "lorenzo", bound, files)
        auto = sizes(szgpu, "auto", bound, files)
        alone = max(mine / other for mine, other in zip(auto, lorenzo))
        together = sum(auto) / sum(lorenzo)
        if together > MOST_TOGETHER or alone > MOST_ALONE:
            wrong.append(f"{name}, chunks of {'x'.join(map(str, dims))}, rel {rel:g}: auto takes "
                         f"{together:.3f} of lorenzo, {alone:.3f} of the worst chunk")
    for file in files:
        os.remove(file)
    return wrong


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("szgpu")
    parser.add_argument("--fields", default=os.environ.get("SZGPU_FIELDS") or
                        os.path.join(here, "../../shared/datasets"))
    asked = parser.parse_args()
    if not os.path.isdir(asked.fields):
        print(f"skipped: there are no real fields in {asked.fields}")
        return 77
    wrong, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, kind, values in real_fields(asked.fields):
            for most_bytes in CHUNK_BYTES:
                wrong += check(asked.szgpu, name, kind, values, most_bytes, folder)
                count += len(RELS)
    print("\n".join(wrong) or f"{count} cases: auto takes at most as much as lorenzo")
    return 1 if wrong else 0 if count else 77


if __name__ == "__main__":
    sys.exit(main())
