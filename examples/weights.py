"""weights.py - packs the tensors of a safetensors file, bit for bit.

SPDX-License-Identifier: BSD-3-Clause

usage: python weights.py [--sample] IN.safetensors OUT.safetensors

With --sample, IN is made first: layers of random weights in bfloat16, scaled as trained ones are.
OUT is a valid safetensors file; szgpu.safetensors.load_file reads it, whole or tensor by tensor.
"""
import argparse
from pathlib import Path

import numpy as np
import safetensors.numpy
from szgpu.safetensors import open_file, save_file


def make_sample(path):
    import ml_dtypes

    random = np.random.default_rng(0)
    tensors = {}
    for layer in range(4):
        for name, rows in (("attention", 512), ("up", 2048), ("down", 512)):
            values = random.standard_normal((rows, 512), dtype="f4") / np.sqrt(rows)
            tensors[f"layers.{layer}.{name}.weight"] = values.astype(ml_dtypes.bfloat16)
        tensors[f"layers.{layer}.norm.weight"] = np.ones(512, "f4")
    safetensors.numpy.save_file(tensors, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("plain", type=Path, metavar="IN.safetensors")
    parser.add_argument("packed", type=Path, metavar="OUT.safetensors")
    arguments = parser.parse_args()
    if arguments.sample:
        make_sample(arguments.plain)

    tensors = safetensors.numpy.load_file(arguments.plain)
    save_file(tensors, arguments.packed)

    with open_file(arguments.packed) as file:
        for name, tensor in tensors.items():
            restored = file.get_tensor(name)  # reads this tensor's bytes alone
            if restored.dtype != tensor.dtype or restored.tobytes() != tensor.tobytes():
                raise SystemExit(f"weights.py: {name} did not come back bit for bit")
            print(f"{name:<28}{str(tensor.dtype):<10}{str(tensor.shape)}")
    before, after = arguments.plain.stat().st_size, arguments.packed.stat().st_size
    print(f"{before:,} bytes in {after:,}: ratio {before / after:.2f}; every bit came back")


if __name__ == "__main__":
    main()
