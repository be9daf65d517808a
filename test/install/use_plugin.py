"""use_plugin.py - writes a dataset through the HDF5 filter and reads it back, by h5py.

SPDX-License-Identifier: BSD-3-Clause

  HDF5_PLUGIN_PATH=FOLDER szgpu --h5-args -m abs -e 0.01 | use_plugin.py FILE
"""
import re
import sys

import h5py
import numpy as np

said = re.search(r"^h5py: +compression=(\d+), compression_opts=\((.*)\)$", sys.stdin.read(), re.M)
number, words = int(said[1]), tuple(map(int, said[2].split(",")))
values = np.sin(np.arange(60000, dtype="f4") * 0.01).reshape(200, 300)
with h5py.File(sys.argv[1], "w") as file:
    file.create_dataset("field", data=values, chunks=(100, 300), compression=number,
                        compression_opts=words)
with h5py.File(sys.argv[1], "r") as file:
    farthest = np.abs(file["field"][()].astype("f8") - values).max()
    stored_bytes = file["field"].id.get_storage_size()
if not 0 < farthest <= 0.01 or stored_bytes > values.nbytes / 4:
    sys.exit(f"use_plugin.py: off by {farthest}, in {stored_bytes} of {values.nbytes} bytes")
