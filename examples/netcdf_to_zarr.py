"""netcdf_to_zarr.py - copies a netCDF file to a zarr store, its fields compressed within bounds.

SPDX-License-Identifier: BSD-3-Clause

usage: python netcdf_to_zarr.py [--rel SHARE] [--abs NAME=BOUND]... [--sample] IN.nc OUT.zarr

Variables of floats get a bound, and so do integers that are packed with scale_factor or add_offset,
which xarray unpacks. Coordinates and all other variables come back bit for bit. The copy is made in
chunks of about 8 MiB, so the file may be larger than the memory. At the end every value is read back
and compared. The table's first column of bytes counts the values as IN.nc stores them, before its own
compression: a packed short has 2 bytes.
"""
import argparse
from pathlib import Path

import dask
import numpy as np
import xarray as xr
from szgpu.zarr import SzgpuCodec

SAMPLE = Path(__file__).parent.parent / "datasets" / "sample" / "navywind_u_36x73x144.f32"


def make_sample(path):
    wind = np.fromfile(SAMPLE, "<f4").reshape(36, 73, 144)
    wind[:, 40:44, 60:70] = np.nan  # as over land
    coordinates = {
        "month": np.arange(36),
        "lat": np.linspace(-90, 90, 73),
        "lon": np.arange(144) * 2.5,
    }
    variable = (("month", "lat", "lon"), wind, {"units": "m s-1", "long_name": "zonal wind"})
    count = (("month",), np.full(36, 31, "i4"))
    dataset = xr.Dataset({"u": variable, "days": count}, coordinates)
    dataset.to_netcdf(path, encoding={"u": {"_FillValue": np.float32(-9999)}})


def bounds_of(dataset, share, given):
    """The absolute bound of each variable of floats. One pass over the data finds their ranges."""
    names = [name for name, v in dataset.data_vars.items() if v.dtype in ("f4", "f8") and v.ndim]
    unknown = set(given) - set(names)
    if unknown:
        raise SystemExit(f"netcdf_to_zarr.py: not a variable of floats: {', '.join(unknown)}")
    ranges = {name: (dataset[name].max(), dataset[name].min()) for name in names}
    (ranges,) = dask.compute(ranges)
    bounds = {name: share * float(most - least) for name, (most, least) in ranges.items()}
    return {name: given.get(name, bound) for name, bound in bounds.items()}


def codec(bound):
    """A variable that is constant, or has no value at all, has no range."""
    return SzgpuCodec(abs=bound) if bound > 0 else SzgpuCodec(lossless=True)


def stored_bytes(store, name):
    return sum(file.stat().st_size for file in (store / name).rglob("*") if file.is_file())


def bytes_as_stored(dataset):
    """The bytes of each variable's values in the type that the file has, not that of xarray."""
    types = {name: v.encoding.get("dtype", v.dtype) for name, v in dataset.variables.items()}
    return {name: v.size * np.dtype(types[name]).itemsize for name, v in dataset.variables.items()}


def report(original, copy, bounds, raw_bytes, store):
    print(f"{'variable':<16}{'bytes':>14}{'stored':>14}{'ratio':>8}{'bound':>12}{'error':>12}")
    for name, bound in bounds.items():
        error = float(abs(original[name].astype("f8") - copy[name]).max())
        same_gaps = bool((original[name].isnull() == copy[name].isnull()).all())
        stored = stored_bytes(store, name)
        raw = raw_bytes[name]
        print(f"{name:<16}{raw:>14,}{stored:>14,}{raw / stored:>8.1f}{bound:>12.3g}{error:>12.3g}")
        if error > bound or not same_gaps:
            raise SystemExit(f"netcdf_to_zarr.py: {name} is not within its bound")


def main():
    title, _, _, explanation = __doc__.split("\n\n", 3)
    parser = argparse.ArgumentParser(
        description=title, epilog=explanation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rel", type=float, default=1e-4, metavar="SHARE",
                        help="the bound of each variable, as a share of its range; default: 1e-4")
    parser.add_argument("--abs", action="append", default=[], metavar="NAME=BOUND",
                        help="the bound of a variable, in its unit; once for each variable")
    parser.add_argument("--sample", action="store_true",
                        help="first make IN.nc from the wind field in datasets/sample")
    parser.add_argument("netcdf", type=Path, metavar="IN.nc")
    parser.add_argument("zarr", type=Path, metavar="OUT.zarr")
    arguments = parser.parse_args()
    given = {}
    for text in arguments.abs:
        name, _, bound = text.rpartition("=")
        given[name] = float(bound)
    if arguments.sample:
        make_sample(arguments.netcdf)

    dask.config.set({"array.chunk-size": "8MiB"})
    dataset = xr.open_dataset(arguments.netcdf, chunks="auto")
    bounds = bounds_of(dataset, arguments.rel, given)
    raw_bytes = bytes_as_stored(dataset)
    for variable in dataset.variables.values():
        variable.encoding = {}  # netCDF's own: packing, deflate, chunks
    encoding = {
        name: {"serializer": codec(bound), "compressors": None} for name, bound in bounds.items()
    }
    dataset.to_zarr(arguments.zarr, mode="w", zarr_format=3, consolidated=False, encoding=encoding)
    report(dataset, xr.open_zarr(arguments.zarr, consolidated=False), bounds, raw_bytes, arguments.zarr)


if __name__ == "__main__":
    main()
