"""files_of_hdf5.py - files of HDF5: with openPMD's conventions, with those of NeXus, and with none.

SPDX-License-Identifier: BSD-3-Clause

Each function makes a file and returns the datasets that a bound is meant for.
"""
import h5py
import numpy as np

from harness import waves


def experiment(path):
    """HDF5 without conventions: links, references, types, filters, layouts, odd names."""
    with h5py.File(path, "w", userblock_size=1024, track_order=True) as f:
        run = f.create_group("run", track_order=True)
        run["zeta"], run["alpha"] = np.arange(4), "text"
        f["f4"] = np.dtype("f4")
        f["f4 too"] = np.dtype("f4")
        density = f.create_dataset("zz/density", data=waves((70, 60, 50)), chunks=(20, 30, 50),
                                   maxshape=(None, 60, 100), compression=4, shuffle=True)
        density.attrs["unit"] = "kg/m³"
        density.attrs.create("rooms", np.arange(3), dtype="u2")
        density.attrs.create("typed", 2.5, dtype=f["f4 too"])
        f.create_dataset("of a type", data=waves((80, 90)), dtype=f["f4 too"])
        f.create_dataset("half", data=waves((80, 200), "f2"), chunks=(40, 100), compression=1)
        f.create_dataset("of h5py", data=waves((80, 200)), chunks=(40, 100), compression="lzf")
        f.create_dataset("line", data=waves((50000,)), chunks=(1000,), fletcher32=True)
        f.create_dataset("holes", (64, 64, 64), "f4", chunks=(16, 64, 64),
                         fillvalue=-1)[20:30] = waves((10, 64, 64))
        f.create_dataset("six", data=waves((2, 2, 3, 10, 20, 30)))
        f.create_dataset("noise", data=np.random.default_rng(1).standard_normal((100, 100)))
        f.create_dataset("ids", data=np.arange(10000), chunks=(5000,), compression=1)
        f.create_dataset("slope", data=np.sqrt(np.arange(30000.0)))
        f["small"], f["single"] = waves((10, 10)), np.float64(3.5)
        f["none"], f["no rows"] = h5py.Empty("f4"), np.zeros((0, 3), "f4")
        f.create_dataset("unwritten", (100, 100, 100), "f8", chunks=(50, 50, 50))
        f["bytes"] = np.void(b"\0\1\2")
        f["flags"] = np.array([True, False])
        f["texts"] = np.array(["a", "bc", ""], h5py.string_dtype())
        f["fixed"] = np.array([b"a", b"bcd"])
        f["complex"] = waves((100, 100)).astype("c8")
        f["odd : * name ?"] = waves((90, 90))
        f["records"] = np.array([(1, 2.5)], [("a", "i4"), ("b", "f4", (1,))])
        f["same"] = f["zz/density"]
        f["zz/up"] = f["/"]
        f["soft"], f["nowhere"] = h5py.SoftLink("/zz/density"), h5py.SoftLink("gone/away")
        f["far"] = h5py.ExternalLink("other.h5", "/there")
        references = np.array([f["zz/density"].ref, f["run"].ref, f["ids"].ref], h5py.ref_dtype)
        f["references"] = references
        f["regions"] = np.array([f["zz/density"].regionref[3:5, :, 2]], h5py.regionref_dtype)
        f.attrs["main"] = f["zz/density"].ref
        f["zz"].attrs["kind"] = "group"
        list_type = h5py.vlen_dtype(h5py.ref_dtype)
        many = np.empty(2, object)
        many[0], many[1] = references[:2], references[2:]
        f.attrs.create("many", many, dtype=list_type)
        pair = np.dtype([("to", h5py.ref_dtype), ("n", "i4")])
        f.create_dataset("pairs", data=np.array([(references[0], 5), (references[1], 6)], pair))
        f["ids"].make_scale("ids of all")
        f["noise"].dims[0].label = "row"
        layout = h5py.VirtualLayout((70, 60, 50), "f4")
        layout[:] = h5py.VirtualSource(".", "zz/density", (70, 60, 50))
        f.create_virtual_dataset("virtual", layout)
    with open(path, "r+b") as file:
        file.write(b"#!/bin/sh\n# a block of the user")
    return {"/zz/density", "/of a type", "/half", "/line", "/holes", "/six", "/noise",
            "/odd : * name ?"}


def labelled(path):
    """h5py's dimension scales, in groups, one of them of no dataset's name."""
    with h5py.File(path, "w") as f:
        group = f.create_group("scan/one")
        group["x"], group["energy"] = np.cos(np.arange(120.0)), np.linspace(1, 2, 90) ** 2
        group["x"].make_scale("place")
        group["energy"].make_scale()
        data = group.create_dataset("data", data=waves((120, 90), ">f8"), chunks=(7, 11))
        for axis, name in enumerate(("x", "energy")):
            data.dims[axis].attach_scale(group[name])
            data.dims[axis].label = name
        f.create_dataset("image_mask", data=waves((120, 90)) > 0, dtype="f4")
    return {"/scan/one/data"}


def describe(thing, **attributes):
    """Sets attributes; a text becomes one of a fixed length, as openPMD-api writes it."""
    for name, value in attributes.items():
        is_text = isinstance(value, str) or (isinstance(value, list) and isinstance(value[0], str))
        thing.attrs[name] = np.array(value, "S") if is_text else value


def openpmd(path):
    """Two iterations of a particle-in-cell run: meshes with their grids and units, components that
    are constant, records of particles, patches."""
    with h5py.File(path, "w") as f:
        describe(f, openPMD="1.1.0", openPMDextension=np.uint32(1), basePath="/data/%T/",
                 meshesPath="fields/", particlesPath="particles/", iterationEncoding="groupBased",
                 iterationFormat="/data/%T/", software="a test", date="2024-01-01 00:00:00 +0000")
        for step in (0, 100):
            data = f.create_group(f"data/{step}")
            describe(data, time=np.float64(step * 1e-16), dt=np.float64(1e-16), timeUnitSI=1.0)
            grid = {"geometry": "cartesian", "dataOrder": "C", "axisLabels": ["z", "y", "x"],
                    "gridSpacing": np.array([2e-7, 1e-7, 1e-7], "f4"), "gridUnitSI": 1.0,
                    "gridGlobalOffset": np.zeros(3), "timeOffset": np.float32(0),
                    "fieldSmoothing": "none"}
            field = data.create_group("fields/E")
            describe(field, unitDimension=np.array([1.0, 1, -3, -1, 0, 0, 0]), **grid)
            for axis, dtype in (("x", "f4"), ("y", "f8")):
                component = field.create_dataset(axis, data=waves((24, 30, 40), dtype, seed=step))
                describe(component, unitSI=9.1e13, position=np.array([0.5, 0, 0], "f4"))
            describe(field.create_group("z"), unitSI=9.1e13, position=np.zeros(3, "f4"), value=0.0,
                     shape=np.array([24, 30, 40], "u8"))
            density = data.create_dataset("fields/rho", data=waves((24, 30, 40)), chunks=(8, 30, 40),
                                          compression=1, shuffle=True)
            describe(density, unitSI=1.6e5, position=np.zeros(3, "f4"),
                     unitDimension=np.array([-3.0, 0, 1, 1, 0, 0, 0]), **grid)
            electrons = data.create_group("particles/electrons")
            describe(electrons, particleShape=np.float32(3), currentDeposition="Esirkepov")
            for record, axes in (("position", "xyz"), ("momentum", "xyz"), ("weighting", "")):
                where = electrons.create_group(record) if axes else electrons
                for axis in axes or (record,):
                    describe(where.create_dataset(axis, data=waves((5000,), seed=ord(axis[0]))),
                             unitSI=1e-7)
                describe(electrons[record], unitDimension=np.zeros(7), timeOffset=np.float32(0),
                         macroWeighted=np.uint32(record == "weighting"), weightingPower=1.0)
            for axis in "xyz":
                describe(electrons.create_group(f"positionOffset/{axis}"), value=0.0, unitSI=1e-7,
                         shape=np.array([5000], "u8"))
            electrons["id"] = np.arange(5000, dtype="u8")[::-1]
            patches = electrons.create_group("particlePatches")
            patches["numParticles"], patches["numParticlesOffset"] = np.full((2, 2), (2500, 0)).T
            patches["offset/x"], patches["extent/x"] = np.array([0, 2e-6]), np.full(2, 2e-6)
    return {f"/data/{step}/{name}" for step in (0, 100) for name in (
        "fields/E/x", "fields/E/y", "fields/rho", "particles/electrons/weighting",
        *(f"particles/electrons/{record}/{axis}" for record in ("position", "momentum")
          for axis in "xyz"))}


def nexus(path):
    """A scan: classes, the default plot, axes of one and two dims, links by `target`, and data by the
    rules from before 2014."""
    with h5py.File(path, "w", track_order=True) as f:
        describe(f, NX_class="NXroot", default="entry", file_name="scan.nxs", NeXus_version="4.4.3")
        entry = f.create_group("entry", track_order=True)
        describe(entry, NX_class="NXentry", default="plot")
        entry["definition"], entry["title"] = "NXmx", "a scan of a µm beam"
        entry["start_time"] = "2024-01-01T00:00:00+01:00"
        detector = entry.create_group("instrument/detector")
        describe(entry["instrument"], NX_class="NXinstrument")
        describe(detector, NX_class="NXdetector")
        frames = detector.create_dataset("data", data=waves((20, 60, 70)), chunks=(1, 60, 70),
                                         maxshape=(None, 60, 70), compression=1, shuffle=True)
        describe(frames, units="counts", target="/entry/instrument/detector/data",
                 long_name="intensity", interpretation="image")
        detector.create_dataset("raw", data=(1e3 * waves((20, 60, 70))).astype("u4"), chunks=(1, 60, 70))
        detector.create_dataset("pixel_mask", data=np.zeros((60, 70), "u4"), compression=1)
        detector["count_time"], detector["distance"] = np.full(20, 0.1), 1.5
        describe(detector["distance"], units="m")
        plot = entry.create_group("plot", track_order=True)
        plot.attrs["axes"] = np.array(["angle", ".", "."], h5py.string_dtype())
        describe(plot, NX_class="NXdata", signal="data", angle_indices=np.int32(0),
                 auxiliary_signals=["sum"])
        plot["data"], plot["raw"] = frames, h5py.SoftLink("/entry/instrument/detector/raw")
        plot["angle"] = np.cos(np.arange(20.0))
        describe(plot["angle"], units="deg")
        plot["sum"] = waves((60, 70), "f8")
        plot["far"] = h5py.ExternalLink("raw.nxs", "/entry/data/data")
        mapped = entry.create_group("map")
        describe(mapped, NX_class="NXdata", signal="flux", axes=["y_set", "x_set"],
                 x_set_indices=np.array([0, 1], "i4"), y_set_indices=np.array([0, 1], "i4"))
        mapped["flux"] = waves((64, 80))
        mapped["flux_errors"] = np.abs(waves((64, 80)))
        mapped["x_set"], mapped["y_set"] = waves((64, 80), "f8"), waves((64, 80), "f8", seed=2)
        before = entry.create_group("before_2014")
        describe(before, NX_class="NXdata")
        before["counts"], before["x"] = waves((4000, 3)), np.sin(np.arange(4000.0))
        before["energy"] = np.array([3.0, 1.0, 2.0])
        describe(before["counts"], signal=np.int32(1), axes="[x:energy]")
        describe(before["energy"], axis=np.int32(2), primary=np.int32(1), units="keV")
    return {"/entry/instrument/detector/data", "/entry/plot/sum", "/entry/map/flux",
            "/entry/map/flux_errors", "/entry/before_2014/counts"}


FILES = (experiment, labelled, openpmd, nexus)
