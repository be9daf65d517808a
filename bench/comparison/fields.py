"""fields.py - the fields that are compared: raw files, raw files packed by zstd, .npy, made ones.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLE = os.path.join(ROOT, "datasets", "sample", "navywind_u_36x73x144.f32")
REAL_FIELDS = os.environ.get("SZGPU_FIELDS") or os.path.join(ROOT, "../shared/datasets")
MIB = 1 << 20
WAVES_SHAPE = (256, 256, 256)
FILLS = (-1e34, 1e20, 9.969209968386869e36)  # of Ferret, of CMIP and of netCDF
RAW_NAME = re.compile(r"(.+)_(\d+(?:x\d+)*)\.(f32|f64)(\.zst)?")
TYPES = {"f32": np.dtype("<f4"), "f64": np.dtype("<f8")}


class FieldError(Exception):
    """A file that is no field, in one sentence."""


class Field:
    """Values with a name. The span is max - min of the values that are finite and no fill."""

    def __init__(self, name, values, fills=FILLS):
        self.name, self.values = name, values
        self.kind = "f32" if values.dtype == np.float32 else "f64"
        self.is_counted = np.isfinite(values)
        for fill in fills:
            self.is_counted &= values != values.dtype.type(fill)
        if not self.is_counted.any():
            raise FieldError(f"{name} has no value that is finite and no fill.")
        counted = values[self.is_counted]
        self.span = float(counted.max()) - float(counted.min())

    def mb_per_s(self, seconds):
        return self.values.nbytes / 1e6 / max(seconds, 1e-9)

    def dims(self):
        return "x".join(map(str, self.values.shape))

    def file_name(self):
        return f"{self.name}_{self.dims()}.{self.kind}"

    def save(self, folder):
        """The path of the raw file, written under a name that tells szgpu shape and type."""
        path = os.path.join(folder, self.file_name())
        self.values.tofile(path)
        return path


def read_raw(path, found, fills):
    name, dims, kind, is_packed = found.groups()
    if is_packed:
        done = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise FieldError(f"{path} cannot be unpacked by zstd.")
        content = done.stdout
    else:
        with open(path, "rb") as file:
            content = file.read()
    shape = [int(dim) for dim in dims.split("x")]
    expected = int(np.prod(shape)) * TYPES[kind].itemsize
    if len(content) != expected or not content:
        raise FieldError(f"{path} has {len(content)} bytes, but its name says {expected}.")
    return Field(name, np.frombuffer(content, TYPES[kind]).reshape(shape), fills)


def read_npy(path, fills):
    try:
        values = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise FieldError(f"{path} cannot be read as .npy: {error}.") from error
    if values.dtype not in TYPES.values() or values.ndim == 0 or values.size == 0:
        raise FieldError(f"{path} is no array of little-endian f32 or f64 values.")
    name = os.path.basename(path)[:-len(".npy")]
    return Field(name, np.ascontiguousarray(values), fills)


def read(path, fills=FILLS):
    """The field in a file: raw with its shape in the name, such a file packed by zstd, or .npy."""
    found = RAW_NAME.fullmatch(os.path.basename(path))
    if not os.path.isfile(path):
        raise FieldError(f"{path} is no file.")
    if path.endswith(".npy"):
        return read_npy(path, fills)
    if not found:
        raise FieldError(f"{path}: the name must end like wind_36x73x144.f32, in .f64, or in .npy.")
    return read_raw(path, found, fills)


def read_all(paths, fills=FILLS):
    """The fields of files, and of all files in folders whose names are those of fields."""
    fields = []
    for path in paths:
        if os.path.isdir(path):
            names = [name for name in sorted(os.listdir(path))
                     if RAW_NAME.fullmatch(name) or name.endswith(".npy")]
            if not names:
                raise FieldError(f"{path} has no file like wind_36x73x144.f32, .f64 or .npy.")
            fields += [read(os.path.join(path, name), fills) for name in names]
        else:
            fields.append(read(path, fills))
    names = [field.file_name() for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise FieldError(f"Two fields have the name {name}.")
    return fields


def real_fields(folder, only=""):
    """The fields of a folder with `only` in their file's name; without a folder the script ends."""
    try:
        return [field for field in read_all([folder]) if only in field.file_name()]
    except FieldError as error:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")


def waves(shape=WAVES_SHAPE):
    """Waves of several lengths and a little noise, from fixed random numbers; by default 64 MiB."""
    rng = np.random.default_rng(256)
    values = (2e-3 * rng.standard_normal(shape, dtype=np.float32)).astype(np.float32)
    y, x = np.ogrid[:shape[1], :shape[2]]
    for _ in range(8):
        kz, ky, kx = rng.uniform(0.01, 0.12, 3)
        phase, height = rng.uniform(0, 2 * np.pi), rng.uniform(0.2, 1)
        along_y, along_x = np.sin(ky * y + 1), np.sin(kx * x + 2)
        for z, plane in enumerate(values):
            plane += (height * np.sin(kz * z + phase) * along_y * along_x).astype(np.float32)
    return Field("waves", values)


def machine():
    """The processor's model name, if the system gives it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            found = re.search(r"model name\s*:\s*(.+)", file.read())
    except OSError:
        found = None
    return f"{found[1] if found else 'unnamed processor'}, {os.cpu_count()} cores"
