"""openpmd_adios2.py - writes and reads an openPMD series of compressed fields by ADIOS2.

SPDX-License-Identifier: BSD-3-Clause

usage: python openpmd_adios2.py NAME
Writes NAME_0.bp, NAME_1.bp ..., one file for each iteration, and reads them. Needs adios2 2.12,
numpy and the operator of szgpu (docs/adios2.md). The wheels of openPMD-api have an older ADIOS2
inside, which cannot load the operator, so this program writes by ADIOS2 what openPMD 1.1.0 asks
for. Exits with 0 only if every value was restored within its bound.
"""
import sys

import adios2
import numpy as np

SHAPE, STEPS, BOUND = (40, 60, 50), 4, 1e-3
SZGPU = [("plugin", {"PluginName": "szgpu", "PluginLibrary": "adios2_szgpu",
                     "mode": "abs", "bound": str(BOUND)})]

SERIES = {
    "openPMD": "1.1.0", "openPMDextension": np.array(0, "u4"), "basePath": "/data/%T/",
    "meshesPath": "fields/", "iterationEncoding": "fileBased", "software": "openpmd_adios2.py",
}
MESH = {
    "geometry": "cartesian", "dataOrder": "C", "axisLabels": ["z", "y", "x"],
    "gridSpacing": np.full(3, 0.1), "gridGlobalOffset": np.zeros(3), "gridUnitSI": np.array(1.0),
    "unitDimension": np.array([1.0, 1, -3, -1, 0, 0, 0]), "timeOffset": np.array(0.0),
}
COMPONENT = {"position": np.zeros(3), "unitSI": np.array(1.0)}


def field(step):
    z, y, x = np.ogrid[tuple(slice(0, n) for n in SHAPE)]
    return np.sin(0.1 * x + step) * np.cos(0.07 * y) * np.exp(-0.02 * z)


def write_attributes(file, path, attributes):
    for key, value in attributes.items():
        file.write_attribute(path + key, value)


def write(name, step):
    mesh = f"/data/{step}/fields/E/"
    with adios2.Stream(f"{name}_{step}.bp", "w") as file:
        file.begin_step()
        write_attributes(file, "/", {**SERIES, "iterationFormat": f"{name}_%T"})
        write_attributes(file, f"/data/{step}/", {"time": np.array(0.5 * step), "dt": np.array(0.5),
                                                  "timeUnitSI": np.array(1.0)})
        write_attributes(file, mesh, MESH)
        write_attributes(file, mesh + "x/", COMPONENT)
        file.write(mesh + "x", field(step), SHAPE, [0, 0, 0], SHAPE, operations=SZGPU)
        file.end_step()


def greatest_error(name, step):
    """Of all values; a box is also read alone."""
    with adios2.FileReader(f"{name}_{step}.bp") as file:
        back = file.read(f"/data/{step}/fields/E/x")
        box = file.read(f"/data/{step}/fields/E/x", start=[10, 0, 20], count=[5, 60, 2])
    assert (box == back[10:15, :, 20:22]).all()
    return abs(back - field(step)).max()


error = 0.0
for step in range(STEPS):
    write(sys.argv[1], step)
    error = max(error, greatest_error(sys.argv[1], step))
print(f"{sys.argv[1]}: {STEPS} iterations, greatest error {error:.3g}, bound {BOUND:g}")
sys.exit(0 if error <= BOUND else 1)
