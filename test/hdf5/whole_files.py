"""whole_files.py - files by the conventions of netCDF, those of files_of_hdf5, and a comparison.

SPDX-License-Identifier: BSD-3-Clause

Each function makes a file and returns the datasets that a bound is meant for. The comparison walks
through everything that h5py shows of a file.
"""
import h5py
import numpy as np

import files_of_hdf5
from harness import same_bits, waves

OWN_ATTRIBUTES = {"quantization", "quantization_maximum_absolute_error",
                  "quantization_maximum_relative_error", "szgpu_maximum_absolute_error",
                  "szgpu_maximum_relative_error"}
OWN_VARIABLE = "szgpu_quantization"


# ---- files ----

def ocean(path):
    """netCDF-4: a record dimension, a fill value, an integer mask."""
    import netCDF4
    with netCDF4.Dataset(path, "w") as f:
        for name, size in (("time", None), ("lat", 91), ("lon", 180)):
            f.createDimension(name, size)
        time = f.createVariable("time", "f8", ("time",))
        time.units = "hours since 2000-01-01"
        time[:] = np.arange(31) * 6.0
        f.createVariable("lat", "f4", ("lat",))[:] = np.linspace(-90, 90, 91)
        f.createVariable("lon", "f4", ("lon",))[:] = np.arange(180) * 2.0
        mask = np.add.outer(np.arange(91), np.arange(180)) % 3 == 0
        f.createVariable("land_mask", "i4", ("lat", "lon"))[:] = mask
        tos = f.createVariable("tos", "f4", ("time", "lat", "lon"), fill_value=np.float32(-999))
        tos.units = "K"
        tos[:] = np.ma.masked_where(np.broadcast_to(mask, (31, 91, 180)),
                                    280 + 10 * waves((31, 91, 180), "f8"))
    return {"/tos"}


def curvilinear(path):
    """CF: coordinates of two dims, bounds, areas, groups, packed values, several fills, a history."""
    import netCDF4
    with netCDF4.Dataset(path, "w") as f:
        f.Conventions = "CF-1.8"
        f.history = "Mon Jan  1 00:00:00 2024: made"
        f.createDimension("t", None)
        for name, size in (("j", 60), ("i", 80), ("corner", 4), ("level", 5)):
            f.createDimension(name, size)
        kind = f.createEnumType(np.int8, "kind_t", {"land": 0, "sea": 1})
        f.createVariable("kind", kind, ("j", "i"))[:] = np.arange(4800).reshape(60, 80) % 2
        point = f.createCompoundType(np.dtype([("x", "f8"), ("n", "i4")]), "point_t")
        points = np.zeros(5, point.dtype)
        points["x"], points["n"] = np.arange(5) * 0.1, np.arange(5)
        f.createVariable("points", point, ("level",))[:] = points
        lists = f.createVariable("lists", f.createVLType(np.float32, "list_t"), ("level",))
        for k in range(5):
            lists[k] = np.arange(k + 1, dtype="f4")
        names = f.createVariable("names", str, ("level",))
        for k in range(5):
            names[k] = "n" * k
        for name, shape in (("nav_lat", (60, 80)), ("nav_lon", (60, 80)), ("area", (60, 80))):
            f.createVariable(name, "f4", ("j", "i"))[:] = waves(shape)
        f.createVariable("corners", "f4", ("j", "i", "corner"))[:] = waves((60, 80, 4))
        f["nav_lat"].bounds = "corners"
        depth = f.createVariable("depth", "f4", ("level",))
        depth[:], depth.axis = np.arange(5) * 10, "Z"
        ocean_group = f.createGroup("ocean")
        temp = ocean_group.createVariable("temp", "f8", ("t", "level", "j", "i"), zlib=True,
                                          shuffle=True, chunksizes=(1, 5, 60, 80),
                                          fill_value=1e20)
        temp.coordinates = "nav_lat nav_lon"
        temp.cell_measures = "area: area"
        temp.missing_value = np.array([-99.0, -98.0])
        temp.valid_range = np.array([-2.0, 2.0])
        temp.standard_name = "sea_water_temperature"
        temp.units = "degC"
        values = waves((7, 5, 60, 80), "f8").clip(-2, 2)
        values[:, :, 3:9, 4] = -99
        values[:, :, 9:12, 5] = 1e20
        values[:, 2, 20:, 7] = 3.5  # not valid
        temp.set_auto_maskandscale(False)
        temp[:] = values
        stations = f.createGroup("stations")
        for k in range(20):  # more links than HDF5 keeps in the head of a group
            stations.createVariable(f"station{k}", "i4", ())[:] = k
        packed = f.createVariable("packed", "i2", ("t", "j", "i"), zlib=True)
        packed.scale_factor, packed.add_offset, packed.units = 0.01, 273.15, "K"
        packed.set_auto_maskandscale(False)
        packed[:] = (1000 * waves((7, 60, 80))).astype("i2")
    return {"/ocean/temp"}


def wrf(path):
    """As WRF writes: text as characters, coordinates that change with time, small records."""
    import netCDF4
    with netCDF4.Dataset(path, "w") as f:
        f.TITLE = " OUTPUT FROM WRF V4.4 MODEL"
        for name, size in (("Time", None), ("DateStrLen", 19), ("south_north", 50),
                           ("west_east", 70), ("bottom_top", 3)):
            f.createDimension(name, size)
        times = f.createVariable("Times", "S1", ("Time", "DateStrLen"))
        grid = ("Time", "south_north", "west_east")
        for name, units in (("XLAT", "degree_north"), ("XLONG", "degree_east")):
            variable = f.createVariable(name, "f4", grid)
            variable.units = units
            variable[:] = waves((6, 50, 70))
        clock = f.createVariable("XTIME", "f4", ("Time",))
        clock.units, clock[:] = "minutes since 2005-08-28 00:00:00", np.arange(6) * 60
        for k in range(6):
            times[k] = netCDF4.stringtochar(np.array([f"2005-08-28_{k:02}:00:00"], "S19"))[0]
        f.createVariable("LANDMASK", "f4", grid)[:] = waves((6, 50, 70)) > 0
        rain = f.createVariable("RAINNC", "f4", grid)
        rain.coordinates = "XLONG XLAT XTIME"
        rain[:] = np.maximum(waves((6, 50, 70)), 0)
        wind = f.createVariable("U", "f4", ("Time", "bottom_top", "south_north", "west_east"))
        wind[:] = waves((6, 3, 50, 70))
    return {"/RAINNC", "/U"}


def satellite(path):
    """A swath with flags, unsigned bytes, packed counts and a group of coordinates."""
    import netCDF4
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("y", 200)
        f.createDimension("x", 90)
        place = f.createGroup("geolocation")
        for name in ("latitude", "longitude"):
            place.createVariable(name, "f4", ("y", "x"))[:] = waves((200, 90))
        flags = f.createVariable("quality", "f4", ("y", "x"))
        flags.flag_values, flags.flag_meanings = np.arange(3, dtype="f4"), "bad fair good"
        flags[:] = np.arange(18000).reshape(200, 90) % 3
        counts = f.createVariable("counts", "i1", ("y", "x"))
        counts._Unsigned, counts.scale_factor = "true", 0.5
        counts.set_auto_maskandscale(False)
        counts[:] = np.arange(18000).reshape(200, 90) % 251
        radiance = f.createVariable("radiance", "f4", ("y", "x"), endian="big", zlib=True,
                                    chunksizes=(64, 64), fill_value=np.float32(np.nan))
        values = waves((200, 90))
        values[10:20, 30:40] = np.nan
        radiance[:] = np.ma.masked_invalid(values)
    return {"/radiance"}


FILES = (ocean, curvilinear, wrf, satellite, *files_of_hdf5.FILES)


# ---- comparing ----

def plain(file, value):
    """A value with each reference replaced by where it leads."""
    if isinstance(value, h5py.RegionReference):
        if not value:
            return None
        return (file[value].name, h5py.h5r.get_region(value, file.id).get_select_bounds())
    if isinstance(value, h5py.Reference):
        return file[value].name if value else None
    if isinstance(value, h5py.Empty):
        return ("empty", value.dtype.str)
    if isinstance(value, np.ndarray) and value.dtype.names:
        return [[plain(file, row[name]) for name in value.dtype.names] for row in value.ravel()]
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return [plain(file, one) for one in value.ravel()]
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    return value.tobytes() if isinstance(value, np.generic) else value


def describe_type(identifier):
    """The type as it is stored, and where it is committed."""
    name = h5py.h5i.get_name(identifier) if identifier.committed() else None
    return (name, identifier.encode() if not name else identifier.get_class())


def attributes_of(file, thing):
    found = {}
    for name in thing.attrs:
        attribute = h5py.h5a.open(thing.id, name.encode("utf-8", "surrogateescape"))
        found[name] = (describe_type(attribute.get_type()), attribute.shape,
                       plain(file, thing.attrs[name]))
    return found


def properties_of(dataset):
    """Everything but the values."""
    properties = dataset.id.get_create_plist()
    filters = [properties.get_filter(i) for i in range(properties.get_nfilters())]
    return (describe_type(dataset.id.get_type()), dataset.shape, dataset.maxshape,
            properties.get_layout(), dataset.chunks, filters, dataset.external,
            plain(None, dataset.fillvalue) if dataset.dtype.kind in "fiu" else None,
            properties.get_fill_time(), properties.get_attr_creation_order())


class Comparison:
    """Compares two files; compressed: the datasets that a bound is meant for."""

    def __init__(self, test, before, after, compressed, check_values):
        self.test, self.compressed, self.check_values = test, compressed, check_values
        self.seen, self.met = set(), set()
        with h5py.File(before, "r") as self.before, h5py.File(after, "r") as self.after:
            test.assertEqual(self.before.userblock_size, self.after.userblock_size)
            self.things("/", self.before, self.after)
        test.assertEqual(self.met, set(compressed))

    def things(self, path, one, other):
        self.test.assertIs(type(one), type(other), path)
        path = next((at for at in self.compressed if self.before[at] == one), path)
        self.attributes(path, one, other)
        if isinstance(one, h5py.Dataset):
            self.datasets(path, one, other)
        elif isinstance(one, h5py.Group):
            self.groups(path, one, other)

    def attributes(self, path, one, other):
        before = attributes_of(self.before, one)
        after = attributes_of(self.after, other)
        own = OWN_ATTRIBUTES if path in self.compressed else {"history"} if path == "/" else ()
        kept = {name: value for name, value in after.items() if name not in own or name in before}
        if path == "/" and "history" in before:
            self.test.assertTrue(after["history"][2].endswith(before.pop("history")[2]))
            del kept["history"]
        self.test.assertEqual(list(before), list(kept), path)
        for name, value in before.items():
            self.test.assertEqual(value, kept[name], f"{path}: {name}")

    def groups(self, path, one, other):
        key = one.id.__hash__()
        if key in self.seen:
            return
        self.seen.add(key)
        names = [name for name in other if path != "/" or name != OWN_VARIABLE or name in one]
        self.test.assertEqual(list(one), names, path)
        self.test.assertEqual(one.id.get_create_plist().get_link_creation_order(),
                              other.id.get_create_plist().get_link_creation_order(), path)
        for name in one:
            below = f"{path.rstrip('/')}/{name}"
            links = one.get(name, getlink=True), other.get(name, getlink=True)
            self.test.assertIs(type(links[0]), type(links[1]), below)
            self.test.assertEqual(vars(links[0]), vars(links[1]), below)
            if isinstance(links[0], h5py.HardLink):
                self.things(below, one[name], other[name])

    def datasets(self, path, one, other):
        if path in self.compressed:
            self.met.add(path)
            self.test.assertEqual((one.shape, one.dtype, one.maxshape),
                                  (other.shape, other.dtype, other.maxshape), path)
            self.test.assertEqual(describe_type(one.id.get_type()),
                                  describe_type(other.id.get_type()), path)
            self.check_values(path, one, other)
            return
        self.test.assertEqual(properties_of(one), properties_of(other), path)
        if one.is_virtual or one.shape is None:
            return
        self.test.assertEqual(plain(self.before, one[()]), plain(self.after, other[()]), path)


def missing_stay(test, path, before, after, fills):
    """Missing values are the same, bit for bit, and no other value has become one."""
    for fill in fills:
        is_fill = np.isnan(before) if np.isnan(fill) else before == fill
        is_still = np.isnan(after) if np.isnan(fill) else after == fill
        test.assertTrue(np.array_equal(is_fill, is_still), path)
        test.assertTrue(same_bits(before[is_fill], after[is_fill]).all(), path)
