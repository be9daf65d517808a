"""The accessor of xarray: what it decides, as the command does, and what comes back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import szgpu
from szgpu import roles

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")
pytest.importorskip("h5netcdf")
import szgpu.xarray  # noqa: E402

HERE = Path(__file__).resolve().parent
ROLES = next(
    (p for p in (d / "apps/szgpu/hdf5_roles.c" for d in HERE.parents) if p.exists()), None
)
WAYS = [("zarr", 2), ("zarr", 3), ("h5netcdf", None)]
pytestmark = pytest.mark.filterwarnings("ignore:.*[Cc]onsolidated metadata:UserWarning")


def wave(*shape, dtype="float32", step=9.0):
    grid = np.indices(shape, dtype="float64")
    return (np.sin(grid.sum(0) / step) + np.cos(grid[-1] / 31)).astype(dtype)


def write(dataset, way, path, encoding, **more):
    engine, zarr_format = way
    if engine == "zarr":
        return dataset.to_zarr(path, encoding=encoding, zarr_format=zarr_format, **more)
    return dataset.to_netcdf(path, engine=engine, encoding=encoding, **more)


def read(way, path, **more):
    return xr.open_zarr(path, **more) if way[0] == "zarr" else xr.open_dataset(
        path, engine="h5netcdf", **more)


def plan_of(dataset, way, **bounds):
    return dataset.szgpu.plan(way[0], zarr_format=way[1], **bounds)


def ocean():
    """A dataset with some of everything."""
    t, y, x = 6, 60, 80
    values = wave(t, y, x)
    dataset = xr.Dataset(
        {
            "tos": (("time", "y", "x"), values * 5 + 280, {"units": "K", "cell_measures": "a: area"}),
            "uo": (("time", "y", "x"), np.where(values > 1, np.nan, values), {"units": "m s-1"}),
            "packed": (("time", "y", "x"), values.astype("f8")),
            "limited": (("time", "y", "x"), values, {"valid_range": [-1.0, 1.0]}),
            "area": (("y", "x"), wave(y, x, dtype="f8")),
            "nav_lat": (("y", "x"), wave(y, x), {"units": "degrees_north"}),
            "land_mask": (("y", "x"), wave(y, x)),
            "count": (("time", "y", "x"), np.arange(t * y * x, dtype="i4").reshape(t, y, x)),
            "line": ("z", np.linspace(0, 1, 9000)),
            "short": ("y", wave(y)),
            "single": ((), 3.5),
            "name": ("y", [f"n{i}" for i in range(y)]),
        },
        {
            "time": ("time", np.arange(t).astype("M8[D]").astype("M8[ns]")),
            "y": np.arange(y) / 2, "x": np.arange(x) / 2, "deep": (("y", "x"), wave(y, x)),
        },
        {"title": "an ocean", "history": "made"},
    )
    dataset.tos.encoding = {"_FillValue": -9999.0, "missing_value": -9999.0}
    dataset.packed.encoding = {
        "dtype": "int16", "scale_factor": 0.001, "add_offset": 0.5, "_FillValue": -32767
    }
    return dataset


WHY = {
    "tos": "all fields", "uo": "all fields", "packed": "packed integers", "limited": "all fields",
    "area": "cell_measures of tos", "nav_lat": "a coordinate by its units",
    "land_mask": "a mask by its name", "count": "integers",
    "line": "a coordinate: it rises or falls throughout", "short": "small",
    "single": "a single value", "name": "no numbers that it takes",
    "time": "no numbers that it takes", "y": "a dimension scale", "x": "a dimension scale",
    "deep": "a coordinate of the dataset",
}  # fmt: skip


def test_what_is_kept_and_why():
    plan = ocean().szgpu.plan(abs=0.01)
    assert {name: verdict.why for name, verdict in plan.items()} == WHY
    assert set(plan.encoding) == {"tos", "uo", "limited"}
    lines = str(plan).splitlines()
    assert re.fullmatch(r"tos +abs 0.01 +all fields", lines[0])
    assert re.fullmatch(r"area +kept +cell_measures of tos", lines[4])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cut", [None, {"time": 2}, {"time": 4, "y": 25}])
def test_it_comes_back(way, cut, tmp_path):
    dataset = ocean()
    if cut:
        dataset = dataset.chunk(cut)
        for variable in dataset.variables.values():
            variable.encoding.pop("chunks", None)
    rules = {"tos": 0.01, "u*": 0.001, "packed": 0.01}
    if way[0] == "zarr":
        rules["limited"] = 0.05
    plan = plan_of(dataset, way, abs=rules)
    assert {name for name, one in plan.items() if one.is_compressed} == {"uo", *rules} - {"u*"}
    write(dataset, way, tmp_path / "a", plan.encoding)
    back, want = read(way, tmp_path / "a").load(), dataset.compute()
    for name in want.variables:
        if not plan[name].is_compressed:
            assert back[name].variable.identical(want[name].variable) or name == "time", name
            assert (back[name] == want[name]).all()
            continue
        assert back[name].dims == want[name].dims
        assert {k: np.array(v).tolist() for k, v in back[name].attrs.items()} == want[name].attrs
        assert (np.isnan(back[name]) == np.isnan(want[name])).all()
    assert abs(back.tos - want.tos).max() <= 0.01
    assert abs(back.uo - want.uo).max() <= 0.001
    step = 0.001  # of what was packed: xarray rounds to it first
    assert abs(back.packed - want.packed).max() <= 0.01 + step / 2
    assert back.packed.encoding["dtype"] == np.dtype("int16")
    assert 0 < abs(back.tos - want.tos).max()  # that something was compressed
    assert step < abs(back.packed - want.packed).max()
    is_valid = abs(want.limited) <= 1
    assert ((abs(back.limited) <= 1) == is_valid).all()
    assert (back.limited.where(~is_valid, 0) == want.limited.where(~is_valid, 0)).all()


def test_bounds_are_in_physical_units():
    dataset = ocean()
    plan = dataset.szgpu.plan(abs={"packed": 0.01, "tos": 0.01}, rel={"uo": 1e-3})
    packed = plan["packed"].settings
    assert 10 * (1 - 1e-15) <= packed["abs"] < 10 and packed["fill"] == [-32767]
    assert plan["tos"].settings["abs"] == 0.01 and plan["tos"].settings["fill"] == [-9999]
    width = float(dataset.uo.max() - dataset.uo.min())
    assert plan["uo"].settings == {"abs": pytest.approx(1e-3 * width), **plan["uo"].settings}
    assert "fill" not in plan["uo"].settings
    dataset.packed.encoding["scale_factor"] = -0.01
    assert 0.999 < dataset.szgpu.plan(abs={"packed": 0.01})["packed"].settings["abs"] < 1
    dataset.packed.attrs["valid_range"] = [-1.0, 2.0]  # floats: of unpacked values
    limited = dataset.szgpu.plan(abs={"packed": 1})["packed"].settings
    assert limited["valid"] == (-150, 150)
    dataset.packed.attrs["valid_range"] = np.array([-7, 9], "i2")
    assert dataset.szgpu.plan(abs={"packed": 1})["packed"].settings["valid"] == (-7, 9)


@pytest.mark.parametrize("cut", [None, {"y": 40}])
@pytest.mark.parametrize("decode", [True, False])
def test_rel_and_psnr_mean_the_range_of_the_variable(cut, decode, tmp_path):
    """Missing, well-known missing and invalid values do not count, in whichever unit they are."""
    values = wave(90, 100, dtype="f8") * np.linspace(0.1, 5, 90)[:, None]
    values[:8] = 0.25  # a chunk of equal values states no range
    width = values.max() - values.min()
    values[20, :9], values[20, 9:20], values[21], values[22] = np.nan, 1e20, 700, -np.inf
    made = xr.Dataset({"t": (("y", "x"), values, {"valid_max": 100.0})})
    made.t.encoding["_FillValue"] = -77.0
    integers = np.where(abs(values) < 100, values, np.nan)
    made["p"] = (("y", "x"), integers, {"valid_range": np.array([-500, 400], "i2")})
    made.p.encoding = {"dtype": "int16", "scale_factor": -0.01, "_FillValue": np.int16(-32768)}
    packed = integers[(integers >= -4) & (integers <= 5)]
    made.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf", mask_and_scale=decode) as dataset:
        dataset = dataset.chunk(cut) if cut else dataset
        plan = dataset.szgpu.plan(rel={"t": 1e-3}, psnr={"p": 60})
    assert plan["t"].settings["abs"] == pytest.approx(1e-3 * width, rel=1e-6)
    most = 3**0.5 * 1e-3 * (packed.max() - packed.min())
    assert plan["p"].settings["abs"] * 0.01 == pytest.approx(most, rel=0.01)
    equal = xr.Dataset({"t": (("y", "x"), np.full((90, 100), 3.0))}).szgpu.plan(rel=0.1)["t"]
    assert equal.settings["lossless"] and "abs" not in equal.settings


def test_valid_values_of_netcdf(tmp_path):
    """The filter is told of no limits, but leaves none if all values are valid to begin with."""
    values = wave(90, 130) + 3
    limits = [float(values.min()), float(values.max())]

    def plan(array, bound=0.5, **encoding):
        dataset = xr.Dataset({"t": (("y", "x"), array, {"valid_range": limits})})
        dataset.t.encoding = encoding
        return dataset, dataset.szgpu.plan("h5netcdf", abs=bound)

    missing = values.copy()
    missing[5:9] = np.nan
    for cut in (None, {"y": 40}):
        dataset, _ = plan(missing, _FillValue=np.float32(-9))
        dataset = dataset.chunk(cut) if cut else dataset
        found = dataset.szgpu.plan("h5netcdf", abs=0.5)
        assert found["t"].is_compressed, found
        dataset.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", encoding=found.encoding, mode="w")
        with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as back:
            got = back.t.values
        assert np.array_equal(np.isnan(got), np.isnan(missing))
        assert np.nanmin(got) >= limits[0] and np.nanmax(got) <= limits[1]
        assert 0.1 < np.nanmax(abs(got - missing)) <= 0.5
    invalid = values.copy()
    invalid[5, 5] = 99
    for array, encoding in (
        (invalid, {"_FillValue": np.float32(-9)}),
        (values, {"_FillValue": None}),  # a chunk would have zeros beyond the array's edge
        (values, {"_FillValue": np.float32(-9), "dtype": "float64"}),
    ):
        found = plan(array, **encoding)[1]["t"]
        assert found.why == "values outside its valid limits, which only szgpu --repack keeps"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("attribute", ["_FillValue", "missing_value"])
def test_no_value_becomes_missing(way, attribute, tmp_path):
    values = wave(128, 128) * 500
    values[5:9, 3] = np.nan
    dataset = xr.Dataset({"t": (("y", "x"), values)})
    dataset.t.encoding = {"_FillValue": None, attribute: 100.0}
    write(dataset, way, tmp_path / "a", plan_of(dataset, way, abs=50).encoding)
    back = read(way, tmp_path / "a").load()
    assert (np.isnan(back.t) == np.isnan(dataset.t)).all()
    assert abs(back.t - dataset.t).max() <= 50


def test_each_chunk_of_dask_is_an_archive(tmp_path):
    dataset = ocean()[["tos", "uo"]].chunk({"time": 3, "y": 30})
    dataset.to_zarr(tmp_path / "a", encoding=dataset.szgpu.encoding(abs=0.01))
    stored = zarr.open_array(tmp_path / "a" / "tos")
    assert stored.chunks == (3, 30, 80)
    chunks = sorted((tmp_path / "a" / "tos" / "c").rglob("[0-9]"))
    archives = [path.read_bytes() for path in chunks if path.is_file()]
    assert len(archives) == 4
    assert all(szgpu.inspect(archive).shape == (3, 30, 80) for archive in archives)


@pytest.mark.parametrize("first", [2, 3])
@pytest.mark.parametrize("second", [2, 3])
def test_a_store_in_and_a_store_out(first, second, tmp_path):
    dataset = ocean().drop_vars("name").chunk({"time": 2})
    dataset.to_zarr(tmp_path / "a", zarr_format=first)
    source = xr.open_zarr(tmp_path / "a")
    encoding = source.szgpu.encoding(abs=0.01, zarr_format=second)
    source.to_zarr(tmp_path / "b", encoding=encoding, zarr_format=second)
    back = xr.open_zarr(tmp_path / "b")
    assert abs(back.tos - dataset.tos).max() <= 0.01
    assert back.tos.chunks == dataset.tos.chunks
    assert (back["count"] == dataset["count"]).all()
    # A second time it would lose more, so that it is kept as it came back.
    again = back.szgpu.plan(abs=0.01, zarr_format=first)
    assert again["tos"].why == "compressed with a bound before"
    back.to_zarr(tmp_path / "c", encoding=again.encoding, zarr_format=first)
    assert (xr.open_zarr(tmp_path / "c").tos == back.tos).all()


def test_the_format_is_zarrs_default(tmp_path):
    dataset = ocean()[["tos"]]
    for zarr_format in (2, 3):
        with zarr.config.set({"default_zarr_format": zarr_format}):
            path = tmp_path / str(zarr_format)
            dataset.to_zarr(path, encoding=dataset.szgpu.encoding(abs=0.01))
            assert zarr.open_array(path / "tos").metadata.zarr_format == zarr_format


def test_a_bound_in_a_file_of_netcdf_is_found(tmp_path):
    dataset = ocean()
    encoding = dataset.szgpu.encoding("h5netcdf", abs=0.01, lossless="uo", keep="limited")
    dataset.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", encoding=encoding)
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as back:
        plan = back.szgpu.plan(abs=0.01)
        assert plan["tos"].why == "compressed with a bound before"
        assert plan["uo"].is_compressed
        with pytest.raises(ValueError, match="tos cannot get a bound: compressed with a bound"):
            back.szgpu.plan(abs={"tos": 0.01})
        assert (back.uo == dataset.uo).sum() == np.isfinite(dataset.uo).sum()


@pytest.mark.parametrize("coords", [True, "all"])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_encodings_keep_what_xarray_moved_there(way, masked, coords, tmp_path):
    dataset = ocean().drop_vars("name")
    dataset["crs"] = xr.Variable((), 0, {"grid_mapping_name": "x"})
    dataset.tos.attrs["grid_mapping"] = "crs"
    dataset.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with xr.open_dataset(
        tmp_path / "a.nc", engine="h5netcdf", decode_coords=coords, mask_and_scale=masked
    ) as source:
        plan = plan_of(source, way, abs={"tos": 0.01, "packed": 0.01})
        write(source, way, tmp_path / "b", plan.encoding)
    plain = read(way, tmp_path / "b", decode_cf=False).load()
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf", decode_cf=False) as want:
        assert {"grid_mapping", "cell_measures", "units"} < set(plain.tos.attrs)
        for name in ("tos", "packed"):
            names = set(want[name].attrs) - {"_FillValue"}  # format 2 has it as the array's own
            assert names <= set(plain[name].attrs), name
            assert plain[name].dtype == want[name].dtype
            assert 0 < abs(plain[name].astype("f8") - want[name].astype("f8")).max()
        assert abs(plain.packed.astype("i4") - want.packed.astype("i4")).max() <= 10
        assert abs(plain.tos - want.tos).max() <= 0.01


# ---- recorded ----


def test_the_loss_is_recorded(tmp_path):
    dataset = ocean()
    plan = dataset.szgpu.plan(abs={"tos": 0.01, "packed": 0.02}, pwrel={"uo": 0.001})
    made = plan.recorded
    assert "quantization" not in dataset.tos.attrs and "szgpu_quantization" not in dataset
    made.to_zarr(tmp_path / "a", encoding=plan.encoding)
    back = xr.open_zarr(tmp_path / "a")
    assert back.tos.attrs["quantization_maximum_absolute_error"] == 0.01
    assert back.tos.attrs["quantization"] == "szgpu_quantization"
    assert back.uo.attrs["quantization_maximum_relative_error"] == 0.001
    assert back.packed.attrs == {"szgpu_maximum_absolute_error": 0.02}
    assert back.szgpu_quantization.attrs["algorithm"] == "szgpu"
    first, second = back.attrs["history"].split("\n")
    assert "abs={'tos': 0.01, 'packed': 0.02}" in first and second == "made"
    again = back.drop_encoding().szgpu.plan(abs={"tos": 0.02}).recorded
    assert again.tos.attrs["quantization_maximum_absolute_error"] == 0.01
    assert again.tos.attrs["szgpu_maximum_absolute_error"] == 0.02
    assert "szgpu_quantization_2" in again
    nothing = dataset.szgpu.plan(lossless=True).recorded
    assert nothing.identical(dataset)
    relative = dataset.szgpu.plan(rel={"tos": 1e-3, "packed": 0.01}).recorded
    width = float(dataset.tos.max() - dataset.tos.min())
    assert relative.tos.attrs["quantization_maximum_absolute_error"] == pytest.approx(1e-3 * width)
    width = float(dataset.packed.max() - dataset.packed.min())
    assert relative.packed.attrs["szgpu_maximum_absolute_error"] == pytest.approx(0.01 * width)


# ---- rules, and what is refused ----


def test_rules_choose_variables():
    plan = ocean().szgpu.plan(
        abs={"tos": 0.01, "units=m*": 0.02, "limited": 0.5}, rel=1e-3, lossless=["packed"],
        keep=["lim*"],
    )  # fmt: skip
    found = {name: verdict.what for name, verdict in plan.items() if verdict.is_compressed}
    assert found == {
        "tos": "abs 0.01", "uo": "abs 0.02", "limited": "abs 0.5", "packed": "lossless",
    }  # fmt: skip
    named = ocean().szgpu.plan(abs={"nav_lat": 1e-6, "short": 1e-3, "count": 2})
    assert {name for name in named if named[name].is_compressed} == {"nav_lat", "short", "count"}
    pattern = ocean().szgpu.plan(abs={"[!pz]*": 1e-6, "pack*": 0.01})
    assert {n for n in pattern if pattern[n].is_compressed} == {"tos", "uo", "limited", "packed"}


REFUSED = [
    ({}, "no bound was given"),
    ({"keep": "tos"}, "no bound was given"),
    ({"abs": 1, "rel": 1}, "abs and rel are both for all fields"),
    ({"abs": 1, "lossless": True}, "abs and lossless are both for all fields"),
    ({"abs": 0}, "not a finite positive number"),
    ({"abs": {"tos": -1}}, "not a finite positive number"),
    ({"pwrel": {"tos": 1}}, "not below 1"),
    ({"abs": {"tos": True}}, "not a number"),
    ({"abs": {"tos": "0.1"}}, "not a number"),
    ({"abs": {3: 0.1}}, "not a text"),
    ({"abs": {"": 0.1}}, "names no variable"),
    ({"abs": {"units=": 0.1}}, "names no variable"),
    ({"abs": 1, "keep": 5}, "names no variables"),
    ({"abs": {"tas": 0.1}}, "there is no variable for tas: abs 0.1: choose from tos, uo"),
    ({"abs": {"units=F": 0.1}}, "there is no variable for units=F"),
    ({"abs": 1, "keep": ["tas"]}, "there is no variable for tas: keep"),
    ({"abs": {"tos": 0.1}, "rel": {"tos": 0.1}}, "tos has two bounds, by tos: abs 0.1 and by tos"),
    ({"abs": {"t*": 0.1, "units=K": 0.2}}, "tos has two bounds"),
    ({"abs": {"name": 0.1}}, "name cannot get a bound: no numbers that it takes"),
    ({"abs": {"time": 0.1}}, "time cannot get a bound: no numbers that it takes"),
    ({"abs": {"single": 0.1}}, "single cannot get a bound: a single value"),
    ({"pwrel": {"packed": 0.1}}, "packed cannot get a bound: pwrel is for float32 and float64"),
    ({"pwrel": {"limited": 0.1}}, "limited cannot get a bound: pwrel does not keep to its valid"),
    ({"abs": {"limited": 0.1}, "engine": "h5netcdf"}, "limited cannot get a bound: values outside"),
    ({"abs": 1, "engine": "netcdf4"}, "use engine='h5netcdf'"),
    ({"abs": 1, "engine": "grib"}, "engine is 'grib', which is not one of zarr, h5netcdf"),
    ({"abs": 1, "zstd": 77}, "zstd is 77"),
    ({"abs": 1, "predictor": "best"}, "predictor is 'best'"),
]  # fmt: skip


@pytest.mark.parametrize(("bounds", "sentence"), REFUSED)
def test_what_is_refused_with_a_sentence(bounds, sentence):
    with pytest.raises((ValueError, TypeError), match=re.escape(sentence)) as found:
        ocean().szgpu.encoding(**bounds)
    assert "\n" not in str(found.value)


# ---- as the command ----


@pytest.mark.skipif(ROLES is None, reason="the command's sources are not beside the tests")
def test_the_tables_are_those_of_the_command():
    text = re.sub(r"/\*.*?\*/", "", ROLES.read_text(encoding="utf-8"), flags=re.DOTALL)
    (naming,) = re.findall(r"naming\[\] = \{(.*?)\};", text, re.DOTALL)
    assert tuple(re.findall(r'"(.*?)"', naming)) == roles.NAMING
    (habits,) = re.findall(r"habits\[\] = \{(.*?)\n\};", text, re.DOTALL)
    rows = re.findall(r'\{(NULL|".*?"), "(.*?)", "(.*?)"\}', habits)
    assert [(None if a == "NULL" else a.strip('"'), b, c) for a, b, c in rows] == list(roles.HABITS)
    assert len(rows) == habits.count("{") > 30


NAMES = [
    "tos", "uo", "lat", "LON", "latitude2", "time_bnds", "land_mask", "Mask", "maskx", "landmask",
    "qc_flag_1", "flags", "zeta", "b", "level", "cell",
]  # fmt: skip
ATTRIBUTES = {
    "units": ["K", "m s-1", "degrees_north", "degree_E", "degreesE", "Degrees_East", "degrees",
              "days since 1970-01-01", "1", 5],
    "standard_name": ["air_temperature", "grid_latitude", "depth", "ocean_sigma_coordinate",
                      "sea_binary_mask", "status_flag", "cell_area", "depth_x", "forecast_period"],
    "axis": ["X"], "flag_values": [np.array([0, 1], "i4")], "flag_meanings": ["a b"],
    "valid_min": [-1.0, np.float32(0.5)], "valid_max": [1.0, np.int16(900)],
    "valid_range": [[-1.0, 1.0], [1.0, -1.0], np.array([-500, 500], "i2"), "words"],
}  # fmt: skip
PATTERNS = ["t*", "[a-z]*", "units=K", "standard_name=*_*", "units=[m1]*"]
BOUNDS = [{"abs": 0.01}, {"rel": 1e-3}, {"pwrel": 1e-3}, {"psnr": 60.0}, {"lossless": True}]


def draw_variable(rng, dims, names):
    kinds = ["f4", "f8", "f4", "f8", "f4", "f8", "i2", "u1", "i4", "i2", "u1", "i4", "i8", "u4", "S1"]
    shape = [dims[name] for name in names]
    dtype = rng.choice(kinds)
    values = wave(*shape, dtype="f8") if names else np.float64(1.5)
    if len(names) == 1 and rng.random() < 0.5:
        values = np.sort(values)[:: rng.choice([-1, 1])]
    encoding = {}
    if dtype in ("i2", "i4", "u1") and rng.random() < 0.5:
        encoding = {"dtype": dtype, "scale_factor": float(rng.choice([0.01, -0.5, 1])),
                    "add_offset": float(rng.choice([0, 3]))}  # fmt: skip
        values = np.clip(values, -1, 1) + (4 if dtype == "u1" else 0)
    elif dtype == "S1":
        values = np.full(shape, b"a", "S1")
    else:
        values = (values * (100 if dtype[0] in "iu" else 1)).clip(0 if dtype[0] == "u" else None)
        values = values.astype(dtype)
    if rng.random() < 0.4 and dtype != "S1":
        fill = np.dtype(dtype).type(rng.choice([99, 0, 1, 77]))
        encoding["_FillValue"] = fill
        if rng.random() < 0.4:
            encoding.update(missing_value=fill, _FillValue=None)
        is_missing = rng.random(shape) < 0.1
        values = np.where(is_missing, fill if values.dtype.kind in "iu" else np.nan, values)
        values = values.astype(dtype if "scale_factor" not in encoding else "f8")
    return values, encoding


def draw_dataset(seed, oddness):
    """oddness: how likely each attribute is."""
    rng = np.random.default_rng(seed)
    dims = {"y": 40, "x": 130, "z": 5000, "e": int(rng.choice([3, 20]))}
    dataset = xr.Dataset()
    chosen = [str(name) for name in rng.permutation(NAMES)[: rng.integers(3, 9)]]
    for name in chosen:
        axes = [[], ["e"], ["z"], *[["y", "x"], ["e", "y", "x"]] * 4]
        values, encoding = draw_variable(rng, dims, names := axes[rng.integers(len(axes))])
        attributes = {
            key: values[rng.integers(len(values))]
            for key, values in ATTRIBUTES.items()
            if rng.random() < oddness
        }
        if rng.random() < 2 * oddness:
            word = str(rng.choice(roles.NAMING[1:]))
            attributes[word] = str(rng.choice(["{0}", "a: {0} b: {1}", "{0}: x"])).format(
                rng.choice(chosen), rng.choice(chosen)
            )
        if "units" in attributes and "since" in str(attributes["units"]) and values.dtype.kind == "S":
            del attributes["units"]
        dataset[name] = (names, values, attributes)
        dataset[name].encoding = encoding
    if rng.random() < 0.5:
        dataset = dataset.assign_coords(y=np.arange(40.0), x=np.arange(130.0))
    return rng, dataset


def draw_bounds(rng, keys):
    """Give the arguments of the accessor, and those of repack."""
    ours, rules = {}, {}
    if rng.random() < 0.6:
        ours.update(BOUNDS[rng.integers(len(BOUNDS))])
    theirs = dict(ours)
    for key in rng.permutation(keys)[: rng.integers(0, 3)]:
        ((mode, bound),) = BOUNDS[rng.integers(len(BOUNDS))].items()
        if mode == "lossless" or not isinstance(ours.get(mode, {}), dict):
            continue
        ours.setdefault(mode, {})[str(key)] = bound
        rules[str(key)] = f"{mode}={bound}"
    return ours, {**theirs, "variables": rules}


@pytest.mark.skipif(szgpu.build_info()["command"] is None, reason="there is no command")
@pytest.mark.filterwarnings("ignore::xarray.SerializationWarning")
def test_decisions_are_those_of_the_command(tmp_path):
    counts = {"compressed": 0, "kept": 0, "refused": 0}
    compared = set()
    for seed in range(80):
        rng, dataset = draw_dataset(seed, 0.12)
        path = tmp_path / "a.nc"
        dataset.to_netcdf(path, engine="h5netcdf", invalid_netcdf=True)
        ours, theirs = draw_bounds(rng, [*list(dataset.data_vars)[:2], *PATTERNS])
        try:
            made = szgpu.repack(path, dry_run=True, **theirs)["datasets"]
        except ValueError:
            made = None
        with xr.open_dataset(path, engine="h5netcdf", decode_times=False) as source:
            try:
                plan = source.szgpu.plan(**ours)
            except ValueError as error:
                assert made is None, (seed, error)
                counts["refused"] += 1
                continue
        assert made is not None, (seed, plan)
        for one in made:
            name = one["name"][1:]
            if name not in plan:
                continue  # a dimension without a variable
            assert one["is_compressed"] == plan[name].is_compressed, (seed, one, plan[name])
            counts["compressed" if one["is_compressed"] else "kept"] += 1
            settings = plan[name].settings or {}
            if "abs" in settings and "bound" in one and one["type"].startswith("f"):
                assert settings["abs"] == pytest.approx(one["absolute_bound"]), (seed, one)
                compared.add(plan[name].bound.mode)
    print(counts)
    assert compared == {"abs", "rel", "psnr"}
    assert all(count > 10 for count in counts.values()), counts


# ---- random datasets ----


def most_error(want, settings):
    """Give the largest error of each stored value, by the settings of its codec."""
    if "abs" in settings:
        return settings["abs"]
    if "pwrel" in settings:
        return settings["pwrel"] * abs(want)
    if "lossless" in settings:
        return 0
    raise AssertionError(settings)


def require_right(name, want, got, verdict):
    """Compare what is stored without and with the encoding."""
    assert got.dtype == want.dtype and got.shape == want.shape, name
    if not verdict.is_compressed:
        assert got.values.tobytes() == want.values.tobytes(), name
        return
    named = [want.attrs.get(key) for key in ("_FillValue", "missing_value")]
    fills = [float(value) for value in named if value is not None]
    a, b = want.values.astype("f8"), got.values.astype("f8")
    for fill in fills:  # NaN is never equal
        same = (a == fill) == (b == fill)
        assert same.all(), (name, fill)
    is_number = np.isfinite(a)
    assert np.array_equal(a[~is_number], b[~is_number], equal_nan=True), name
    error = abs(a - b)
    most = np.broadcast_to(most_error(a, verdict.settings), a.shape)
    assert (error[is_number] <= most[is_number]).all(), (name, verdict)
    if "valid" in verdict.settings:
        least, greatest = verdict.settings["valid"]
        is_valid = (a >= least) & (a <= greatest)
        assert (is_valid == ((b >= least) & (b <= greatest))).all(), name
        assert (b == a)[~is_valid & is_number].all(), name


@pytest.mark.filterwarnings("ignore::xarray.SerializationWarning")
def test_random_datasets_are_right_or_refused(tmp_path):
    counts = dict.fromkeys(["compressed", "kept", "lossy", "refused"], 0)
    for seed in range(1000, 1000 + int(os.environ.get("SZGPU_TEST_DATASETS", "30"))):
        rng, dataset = draw_dataset(seed, 0.03)
        way = WAYS[seed % 3]
        plain = {"invalid_netcdf": True} if way[0] == "h5netcdf" else {}
        names = [name for name, array in dataset.data_vars.items() if array.ndim > 1]
        ours, _ = draw_bounds(rng, [*names, "[!A-Z]*"])
        if rng.random() < 0.5:
            cut = {"x": int(rng.integers(20, 131)), "z": 1700}
            dataset = dataset.chunk({name: n for name, n in cut.items() if name in dataset.dims})
        try:
            plan = plan_of(dataset, way, **ours)
        except ValueError as error:
            assert "\n" not in str(error)
            counts["refused"] += 1
            continue
        paths = [tmp_path / f"{which}{seed}" for which in "ab"]
        write(dataset, way, paths[0], {}, **plain)
        write(dataset, way, paths[1], plan.encoding, **plain)
        want, got = (read(way, path, decode_cf=False).load() for path in paths)
        assert set(got.variables) == set(want.variables)
        for name in want.variables:
            require_right((seed, name), want[name], got[name], plan[name])
            counts["compressed" if plan[name].is_compressed else "kept"] += 1
            counts["lossy"] += bool((want[name].values != got[name].values).any())
    print(counts)
    assert all(count > 5 for count in counts.values()), counts
