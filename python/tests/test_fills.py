"""Fill values that a type does not have, and denormal ones in a program that flushes denormals."""

from __future__ import annotations

import ctypes
import platform
import struct
from contextlib import contextmanager

import numpy as np
import pytest
import szgpu
import zarr
from szgpu.chunks import fills_of
from szgpu.numcodecs import Szgpu
from szgpu.settings import Settings
from szgpu.value_types import VALUE_TYPES
from szgpu.zarr import SzgpuCodec

h5py = pytest.importorskip("h5py")
import szgpu.hdf5  # noqa: E402

NOT_HAD = [
    ("float32", 1e300), ("float32", -3.5e38), ("float16", 1e20), ("uint8", 300), ("uint8", -1),
    ("int8", 128), ("int16", 1.5), ("int16", float("nan")), ("int32", float("inf")),
    ("uint16", 1e300), ("int32", 2.0**31),
]
HAD = [
    ("float32", 3.4e38), ("float32", float("inf")), ("float32", float("nan")), ("float32", 0.1),
    ("float64", 1e300), ("uint8", 255), ("int16", -32768.0), ("float16", 1e-9),
]
SENTENCE = "the fill value .* is not representable in the field's type"


def by_call(array, fill):
    return szgpu.decompress(szgpu.compress(array, abs=1, fill=fill))


def by_numcodecs(array, fill):
    codec = Szgpu(abs=1, fill=fill)
    return codec.decode(codec.encode(array))


def by_zarr2(array, fill):
    stored = zarr.create_array({}, data=array, chunks=array.shape, zarr_format=2,
                               compressors=Szgpu(abs=1, fill=fill), filters=None)
    return stored[...]


def by_zarr3(array, fill):
    stored = zarr.create_array({}, data=array, chunks=array.shape, compressors=None,
                               serializer=SzgpuCodec(abs=1, fill=fill))
    return stored[...]


def by_h5py(array, fill):
    with h5py.File("x", "w", driver="core", backing_store=False) as file:
        file.create_dataset("a", data=array, chunks=array.shape,
                            compression=szgpu.hdf5.Filter(abs=1, fill=fill))
        return file["a"][...]


DOORS = [by_call, by_numcodecs, by_zarr2, by_zarr3, by_h5py]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("dtype", "fill"), NOT_HAD)
def test_a_fill_value_that_the_type_does_not_have_is_refused(door, dtype, fill):
    """1e300 became an infinity in float32."""
    with pytest.raises((szgpu.ArgumentError, OSError, ValueError), match=SENTENCE):
        door(np.arange(2000).reshape(40, 50).astype(dtype), fill)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("dtype", "fill"), HAD)
def test_one_that_it_has_comes_back(door, dtype, fill):
    array = (np.arange(2000) % 100).reshape(40, 50).astype(dtype)
    array[3:7] = fill
    back = np.asarray(door(array, fill))
    assert back[3:7].tobytes() == array[3:7].tobytes()


@pytest.mark.parametrize(("dtype", "fill"), NOT_HAD)
def test_a_container_s_own_one_makes_no_write_fail(dtype, fill):
    """Nobody asked for it, and no value is one."""
    assert fills_of(Settings(abs=1), [fill], VALUE_TYPES[dtype]) == ()
    assert fills_of(Settings(abs=1, fill=[3]), [fill], VALUE_TYPES[dtype]) == (3,)


def test_a_container_s_own_one_is_kept():
    assert fills_of(Settings(abs=1), [np.float32(-9999)], VALUE_TYPES["float32"]) == (-9999,)
    with h5py.File("x", "w", driver="core", backing_store=False) as file:
        properties = {"chunks": (40, 50), "compression": szgpu.hdf5.Filter(abs=1)}
        file.create_dataset("a", (40, 50), "f4", fillvalue=-9999, **properties)


# ---- a program that flushes denormals ----

FENV_BYTES, MXCSR_AT, FTZ_AND_DAZ = 32, 28, 0x8040  # of glibc on x86-64


@contextmanager
def flushed_denormals():
    if platform.machine() != "x86_64":
        pytest.skip("this flushes denormals on x86-64 only")
    libm, before = ctypes.PyDLL("libm.so.6"), ctypes.create_string_buffer(FENV_BYTES)
    libm.fegetenv(before)
    control, = struct.unpack_from("<I", before, MXCSR_AT)
    flushing = ctypes.create_string_buffer(before.raw, FENV_BYTES)
    struct.pack_into("<I", flushing, MXCSR_AT, control | FTZ_AND_DAZ)
    after = ctypes.create_string_buffer(FENV_BYTES)
    libm.fesetenv(flushing)
    try:
        yield
    finally:
        libm.fegetenv(after)
        libm.fesetenv(before)
    assert struct.unpack_from("<I", after, MXCSR_AT)[0] & FTZ_AND_DAZ == FTZ_AND_DAZ


def test_flushed_denormals_do_not_show():
    """Fill values that are denormals were zeros."""
    values = (np.arange(4000) % 1000).astype("f4") * np.float32(1e-42)
    values[::7] = fill = np.float32(1e-40)
    values = values.reshape(40, 100)
    wide = values.astype("f8") * 2.0**-900
    bound, other_fill = np.float32(1e-42), np.float32(2e-40)
    calls = [
        lambda: szgpu.compress(values, abs=1e-42, fill=fill),
        lambda: szgpu.compress(values, abs=bound, fill=[fill, other_fill]),
        lambda: szgpu.compress(wide, abs=5e-324, fill=5e-324),
        lambda: szgpu.compress(wide, rel=1e-3),
        lambda: Szgpu(abs=5e-324, fill=[0.0, 5e-324]).encode(wide),
        lambda: fills_of(Settings(abs=5e-324), [fill], VALUE_TYPES["float32"]),
        lambda: fills_of(Settings(abs=5e-324, fill=0.0), [5e-324], VALUE_TYPES["float64"]),
        lambda: szgpu.inspect(archive).fills,
        lambda: szgpu.decompress(archive).tobytes(),
    ]
    archive = calls[0]()
    plain = [call() for call in calls]
    with flushed_denormals():
        assert float(fill) == 0  # so it would be seen
        flushed = [call() for call in calls]
    for place, (one, other) in enumerate(zip(plain, flushed, strict=True)):
        assert repr(one) == repr(other), place


# ---- values that would become missing ----


def stored_size(store):
    return sum(len(value) for name, value in store.items() if not name.endswith("zarr.json"))


def by_zarr(format, array, own, attributes=None, **more):
    """Give what comes back, and the size of the chunks."""
    store = zarr.storage.MemoryStore()
    how = {"compressors": Szgpu(**more)} if format == 2 else {
        "serializer": SzgpuCodec(**more), "compressors": None}
    made = zarr.create_array(
        store, shape=array.shape, dtype=array.dtype, chunks=(64, 64), zarr_format=format,
        fill_value=own, attributes=attributes or {}, **how,
    )
    made[...] = array
    return zarr.open_array(store)[...], stored_size(store._store_dict)


def swell(dtype):
    y, x = np.indices((128, 128))
    waves = 900 * np.sin(x / 19) * np.cos(y / 23) + 3 * np.sin(x * y)
    return np.rint(waves).astype(dtype)


@pytest.mark.parametrize("format", [2, 3])
@pytest.mark.parametrize("dtype", ["int16", "float32", ">f8"])
@pytest.mark.parametrize(
    ("own", "more"),
    [(100, {}), (0, {"fill": 0}), (7, {"fill": [100, 20]}), (0, {"predictor": "lorenzo", "fill": 0})],
)
def test_no_value_becomes_a_fill_value_among_the_data(format, dtype, own, more):
    """Restored values within the bound of 100 were 100 itself, and so were missing."""
    array = swell(dtype)
    back, _ = by_zarr(format, array, own, abs=50, **more)
    for fill in {own, *np.atleast_1d(more.get("fill", own))}:
        assert ((back == fill) == (array == fill)).all()
    assert abs(back.astype("f8") - array).max() <= 50


def test_nor_at_random():
    """Values of the data mean missing, in every mode; the bounds are of the size of the data."""
    random = np.random.default_rng(5)
    lossy = 0
    for number in range(90):
        array = (swell("f8") * random.choice([1, 0.01])).astype(random.choice(["i2", "f4", "f8"]))
        fills = [float(value) for value in random.choice(array.reshape(-1), random.integers(1, 4))]
        mode = ["abs", "rel", "psnr", "pwrel"][number % 4 if array.dtype.kind == "f" else number % 3]
        bound = {"abs": np.ptp(array) / 20, "rel": 0.05, "psnr": 25.0, "pwrel": 0.1}[mode]
        own, named = (fills[0], fills[1:]) if random.random() < 0.5 else (0, fills)
        more = {"predictor": "lorenzo"} if random.random() < 0.3 else {}
        back, _ = by_zarr(int(random.choice([2, 3])), array, own, **{mode: bound}, fill=named, **more)
        for fill in fills:
            assert ((back == fill) == (array == fill)).all(), (number, fills, mode)
        lossy += (back != array).any()
    assert lossy > 20


def test_nor_one_that_attributes_name():
    array = swell("float32")
    for attributes, missing in (({"missing_value": 100}, 100), ({"_FillValue": 0}, 0)):
        back, _ = by_zarr(3, array, 0, attributes, abs=50)
        assert ((back == missing) == (array == missing)).all()


def test_nor_a_negative_zero():
    array = swell("float32") / 10
    array[3] = -0.0
    back, _ = by_zarr(3, array, 0, abs=5, fill=-0.0)
    assert ((back == 0) == (array == 0)).all()


@pytest.mark.parametrize("format", [2, 3])
@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_zarrs_default_fill_value_makes_nothing_lossless(format, dtype):
    array = swell(dtype)
    back, size = by_zarr(format, array, 0, abs=50)
    _, lossless = by_zarr(format, array, 0, lossless=True)
    assert size < lossless / 4
    is_fill = (array == 0) & ~np.signbit(array)
    assert (back[is_fill] == 0).all()  # kept exactly all the same


@pytest.mark.parametrize("format", [2, 3])
@pytest.mark.parametrize("bound", [{"abs": 50}, {"rel": 0.03}, {"psnr": 30}])
def test_valid_values_stay_valid_and_others_exact(format, bound):
    array = swell("float32")
    is_valid = (array >= -500) & (array <= 500)
    back, _ = by_zarr(format, array, None if format == 2 else 0, valid=(-500, 500), **bound)
    assert (back[~is_valid] == array[~is_valid]).all()
    assert (abs(back[is_valid]) <= 500).all()
    assert (back != array).any()


def test_valid_values_are_stated_in_the_store():
    codec = SzgpuCodec(abs=1, valid=(0, np.inf))
    assert codec.to_dict()["configuration"] == {"abs": 1.0, "valid": [0.0, "inf"]}
    assert SzgpuCodec.from_dict(codec.to_dict()) == codec
    assert Szgpu.from_config(Szgpu(abs=1, valid=(0, np.inf)).get_config()).settings.valid == (0, np.inf)


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"abs": 1, "valid": (5, 0)}, ValueError, "least is not below"),
        ({"abs": 1, "valid": (0, float("nan"))}, ValueError, "least is not below"),
        ({"abs": 1, "valid": (0,)}, ValueError, "not a pair"),
        ({"abs": 1, "valid": 3}, TypeError, "iterable"),
        ({"abs": 1, "valid": ("a", 3)}, TypeError, "not a number"),
        ({"lossless": True, "valid": (0, 1)}, ValueError, "does not go with lossless"),
        ({"pwrel": 0.1, "valid": (0, 1)}, ValueError, "does not go with pwrel"),
    ],
)
def test_valid_values_that_are_none(settings, error, sentence):
    for codec in (SzgpuCodec, Szgpu):
        with pytest.raises(error, match=sentence):
            codec(**settings)
