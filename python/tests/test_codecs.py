"""What zarr and numcodecs hand the codecs comes back, or is refused before anything is written."""

from __future__ import annotations

import array
import json
import mmap

import ml_dtypes
import numcodecs
import numpy as np
import pytest
import szgpu
import xarray as xr
import zarr
import zarr.codecs.numcodecs as filters3
from szgpu.numcodecs import Szgpu
from szgpu.zarr import SzgpuCodec
from zarr.codecs import TransposeCodec

pytestmark = [
    pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr"),
    pytest.mark.filterwarnings("ignore:The data type"),
]

RNG = np.random.default_rng(11)
BITS = RNG.integers(0, 1 << 63, size=(6, 10), dtype="u8")
LOSSLESS = Szgpu(lossless=True)

VALUES = {
    **{name: BITS.astype(name) for name in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?")},
    **{name: BITS.astype("i8").astype(name) for name in (">i2", ">u4", ">i8", ">f4", ">f8")},
    "f2": BITS.astype("u2").view("f2"),
    **{name: BITS.view("i8").astype(name) for name in ("M8[ns]", "m8[m]", ">M8[s]", "M8[25s]")},
    "f4": RNG.normal(size=(6, 10)).astype("f4"),
    "signaling NaN": np.full((6, 10), 0x7FA00001, "u4").view("f4"),
    "f8": RNG.normal(size=(6, 10)),
    "longdouble": RNG.normal(size=(6, 10)).astype("longdouble"),
    "c8": (RNG.normal(size=(6, 10)) + 1j).astype("c8"),
    ">c16": (RNG.normal(size=(6, 10)) + 1j).astype(">c16"),
    "text": RNG.choice([b"a", b"bb", b""], size=(6, 10)),
    "unicode": RNG.choice(["a", "zwölf", ""], size=(6, 10)),
    ">unicode": RNG.choice(["a", "zwölf", ""], size=(6, 10)).astype(">U5"),
    "bfloat16": RNG.normal(size=(6, 10)).astype(ml_dtypes.bfloat16),
    "float8": RNG.normal(size=(6, 10)).astype(ml_dtypes.float8_e4m3fn),
}
SHAPES = {
    "C": lambda a: a,
    "Fortran": np.asfortranarray,
    "row": lambda a: a.reshape(-1),
    "five axes, Fortran": lambda a: np.asfortranarray(a.reshape(2, 3, 1, 5, 2)),
    "one value": lambda a: a.reshape(-1)[:1].reshape(()),
    "no values": lambda a: a[:0],
}


def memory(a: object) -> bytes:
    return numcodecs.compat.ensure_ndarray(a).tobytes(order="A")


def mapped(data: bytes) -> mmap.mmap:
    pages = mmap.mmap(-1, len(data))
    pages.write(data)
    return pages


# ---- numcodecs: any buffer, without loss ----


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", VALUES)
def test_arrays_come_back_with_their_type_and_their_bytes(name, shape):
    a = SHAPES[shape](VALUES[name])
    archive = LOSSLESS.encode(a)
    b = LOSSLESS.decode(archive)
    assert b.dtype == a.dtype and memory(b) == memory(a)
    assert b.size == a.size
    if shape in ("C", "Fortran", "row"):
        assert b.shape == a.shape and b.strides == a.strides
    for out in (
        np.empty_like(a),
        np.empty(a.nbytes, "u1"),
        bytearray(a.nbytes),
        array.array("b", bytes(a.nbytes)),
        memoryview(bytearray(a.nbytes)),
    ):
        assert LOSSLESS.decode(archive, out=out) is out
        assert memory(out) == memory(a)


@pytest.mark.parametrize("settings", [{"lossless": True}, {"lossless": True, "zstd": 3}], ids=str)
def test_every_kind_of_buffer_comes_back(settings):
    codec = Szgpu(**settings)
    for name, a in VALUES.items():
        data = memory(a)
        for buffer in (
            data, bytearray(data), memoryview(data), array.array("b", data), mapped(data),
            memoryview(bytearray(data)).toreadonly(),
        ):
            assert memory(codec.decode(codec.encode(buffer))) == data, (name, type(buffer))
        archive = codec.encode(a)
        for kind in (
            archive, bytearray(archive), memoryview(archive), array.array("b", archive),
            np.frombuffer(archive, "u1"), np.frombuffer(archive, "i1"), mapped(archive),
        ):
            assert memory(codec.decode(kind)) == data, (name, type(kind))
    numbers = array.array("d", [1.5, -2.5])
    assert codec.decode(codec.encode(numbers)).tolist() == [1.5, -2.5]


def test_memory_that_is_cut_or_not_aligned_comes_back():
    wide = np.arange(60, dtype="i4").reshape(6, 10)
    assert np.array_equal(LOSSLESS.decode(LOSSLESS.encode(wide[::2, 1::3])), wide[::2, 1::3])
    shifted = np.frombuffer(b"x" + wide.tobytes(), "u1")[1:].view("i4")
    assert not shifted.flags.aligned
    assert np.array_equal(LOSSLESS.decode(LOSSLESS.encode(shifted)), shifted)
    out = np.zeros((6, 20), "i4")
    LOSSLESS.decode(LOSSLESS.encode(wide), out=out[:, ::2])
    assert np.array_equal(out[:, ::2], wide) and not out[:, 1::2].any()


def test_records_are_the_bytes_of_their_fields():
    a = np.array([(1, 2.5, b"x"), (3, -4.5, b"yz")], [("a", "<i4"), ("b", ">f8"), ("c", "S3")])
    assert np.array_equal(LOSSLESS.decode(LOSSLESS.encode(a)).view(a.dtype), a)


def test_settings_come_back_from_json_and_from_their_words():
    for settings in (
        {"lossless": True}, {"abs": 0.1}, {"rel": 1e-3, "zstd": 3}, {"abs": 1.0, "fill": np.nan},
        {"abs": np.float32(0.1), "zstd": np.int64(3)}, {"lossless": np.bool_(True)},
        {"abs": 0.1, "fill": [-999, -888.0, np.inf]}, {"pwrel": 1e-3, "predictor": "lorenzo"},
    ):
        codec = Szgpu(**settings)
        config = json.loads(json.dumps(codec.get_config()))
        assert numcodecs.get_codec(config) == codec
        assert eval(repr(codec), {"Szgpu": Szgpu}) == codec
        v3 = SzgpuCodec(**settings)
        assert SzgpuCodec.from_dict(json.loads(json.dumps(v3.to_dict()))) == v3
    assert repr(Szgpu(abs=0.1)) == "Szgpu(abs=0.1)"


def test_what_numcodecs_never_takes_is_refused():
    with pytest.raises(TypeError, match="filter"):
        LOSSLESS.encode(np.array(["a", None], object))
    archive = LOSSLESS.encode(np.arange(10))
    with pytest.raises(TypeError, match="object"):
        LOSSLESS.decode(archive, out=np.empty(10, object))
    with pytest.raises(ValueError, match="needs memory to write to"):
        LOSSLESS.decode(archive, out=bytes(80))
    with pytest.raises(ValueError, match="80 bytes.* 40 "):
        LOSSLESS.decode(archive, out=bytearray(40))


def test_what_follows_an_archive_is_a_type_or_refused():
    archive = LOSSLESS.encode(np.arange(10, dtype="u1"))
    for note in (b"x", b"numpy ", b"numpy |O8", b"numpy <u4,<u4", b"numpy <u3", b"numpy <M8[ns]x"):
        with pytest.raises((szgpu.TrailingBytesError, TypeError)):
            LOSSLESS.decode(archive + note)
    for note in (b"numpy <u4", b"numpy |S0", b"numpy |V7"):
        with pytest.raises(szgpu.CorruptError):
            LOSSLESS.decode(archive + note)
    with pytest.raises(szgpu.TruncatedError):
        LOSSLESS.decode(b"")
    with pytest.raises(szgpu.CorruptError):
        LOSSLESS.decode(archive[:-1])


# ---- numcodecs: with a bound ----


@pytest.mark.parametrize("shape", ["C", "Fortran", "row", "five axes, Fortran", "one value"])
@pytest.mark.parametrize("dtype", ["f2", ">f2", "f4", ">f4", "f8", ">f8", "i2", ">i2", ">i4", "u2"])
def test_a_bound_holds_for_both_byte_orders_and_both_orders_of_axes(dtype, shape):
    a = SHAPES[shape]((100 * np.sin(np.arange(60)) + 200).reshape(6, 10).astype(dtype))
    codec = Szgpu(abs=3)
    archive = codec.encode(a)
    b = codec.decode(archive)
    assert b.dtype == a.dtype and b.size == a.size
    out = np.empty_like(a)
    codec.decode(archive, out=out)
    for restored in (b.reshape(-1, order="A"), out.reshape(-1, order="A")):
        assert abs(restored.astype("f8") - a.reshape(-1, order="A").astype("f8")).max() <= 3
    assert out.dtype == a.dtype


def test_a_bound_on_bytes_is_refused():
    codec, a = Szgpu(abs=1e-3), np.linspace(0, 1, 96, dtype="f4").reshape(8, 12)
    data = a.tobytes()
    for buffer in (data, bytearray(data), memoryview(data), mapped(data), array.array("b", data)):
        with pytest.raises(TypeError, match="lossless=True takes bytes"):
            codec.encode(buffer)
    for one in (numcodecs.Shuffle(4), numcodecs.CRC32(), numcodecs.Zlib(), numcodecs.Fletcher32()):
        with pytest.raises(TypeError, match="lossless=True"):
            codec.encode(one.encode(a))
    assert codec.decode(codec.encode(a.astype("u1"))).shape == a.shape


@pytest.mark.parametrize("name", ["?", "u4", "i8", "text", "unicode", "M8[ns]", "c8", "float8"])
def test_a_bound_for_types_that_have_none_is_refused(name):
    with pytest.raises(TypeError, match="lossless=True"):
        Szgpu(abs=1).encode(VALUES[name])
    if name != "float8":
        with pytest.raises(TypeError, match="lossless=True"):
            made = zarr.create_array({}, shape=(4,), dtype=VALUES[name].dtype, compressors=None,
                                     serializer=SzgpuCodec(abs=1))
            made[...] = VALUES[name][0, :4]


# ---- zarr ----


def stored(a: np.ndarray, version: int, settings: dict, **more: object) -> np.ndarray:
    """Write an array and read it as another program would."""
    store = zarr.storage.MemoryStore()
    codec = {"compressors": Szgpu(**settings)} if settings else {}
    if version == 3:
        codec = {"serializer": SzgpuCodec(**settings), "compressors": None}
    chunks = tuple(max(1, n * 2 // 3) for n in a.shape)
    more = {"chunks": chunks, "zarr_format": version, **codec, **more}
    zarr.create_array(store, shape=a.shape, dtype=a.dtype, **more)[...] = a
    return np.asarray(zarr.open_array(store, mode="r")[...])


V3_TYPES = sorted(set(VALUES) - {"longdouble", "bfloat16", "float8"})


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", V3_TYPES)
def test_zarr_gives_back_every_type_without_loss(name, order):
    for version in (2, 3):
        a = VALUES[name].copy(order=order)
        own = {"order": order} if version == 2 else {"config": {"order": order}}
        for values in (a, a[3], a[:1, 0].reshape(()), a.reshape(3, 2, 2, 1, 5)):
            b = stored(values, version, {"lossless": True}, **own)
            if values.ndim:  # zarr gives a scalar else
                assert b.dtype == (a.dtype if version == 2 else a.dtype.newbyteorder("="))
            assert b.astype(a.dtype).tobytes() == values.tobytes()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f2", ">f2", "f4", ">f4", "f8", ">f8", "i2", ">i2", "u1", ">i4"])
def test_zarr_keeps_a_bound_in_both_orders(dtype, order):
    a = (100 * np.sin(np.arange(600) / 9) + 120).reshape(20, 30).astype(dtype)
    for version in (2, 3):
        own = {"order": order} if version == 2 else {"config": {"order": order}}
        for values in (a, a.reshape(-1), a.reshape(2, 2, 5, 5, 6)):
            b = stored(values, version, {"abs": 2}, **own)
            assert b.shape == values.shape and abs(b.astype("f8") - values.astype("f8")).max() <= 2


def test_zarr_shards_and_records():
    a = VALUES[">i8"]
    assert np.array_equal(stored(a, 3, {"lossless": True}, chunks=(2, 5), shards=(6, 5)), a)
    with pytest.raises(TypeError, match="lossless=True"):
        stored(a, 3, {"abs": 1}, chunks=(2, 5), shards=(6, 5))
    records = np.array([(1, 2.5), (3, -4.5)], [("a", "<i4"), ("b", "<f8")])
    for version in (2, 3):
        assert np.array_equal(stored(records, version, {"lossless": True}), records)


def test_zarr_refuses_text_of_any_length_when_the_array_is_made():
    with pytest.raises((TypeError, ValueError), match="string|fixed size"):
        zarr.create_array({}, shape=(4,), dtype=str, serializer=SzgpuCodec(lossless=True))
    words = np.array(["a", "zwölf", ""], object)
    z = zarr.create_array({}, shape=3, dtype=str, chunks=(2,), zarr_format=2, compressors=LOSSLESS,
                          filters=[numcodecs.VLenUTF8()])
    z[...] = words
    assert z[...].tolist() == words.tolist()


# ---- filters before the codec ----


def filters_of(dtype: str, version: int) -> list:
    """The filters that numcodecs has for a type, but those that lose values by themselves."""
    module = numcodecs if version == 2 else filters3
    found = [module.Delta(dtype=dtype)]
    if dtype[1] == "f":
        found += [module.FixedScaleOffset(offset=0, scale=8, dtype=dtype),
                  module.FixedScaleOffset(offset=0, scale=8, dtype=dtype, astype="<i4"),
                  module.AsType(encode_dtype="<f4" if dtype[2] == "8" else "<f8", decode_dtype=dtype),
                  module.Quantize(digits=6, dtype=dtype)]
        if dtype[0] == "<":
            found += [module.BitRound(keepbits=10)]
    else:
        found += [module.AsType(encode_dtype="<i8", decode_dtype=dtype)]
    if version == 2:
        found += [numcodecs.Shuffle(int(dtype[2])), numcodecs.Zlib(), numcodecs.CRC32(),
                  numcodecs.Base64()]
    return found


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f8", "<i4", ">i2", "<u2"])
def test_behind_filters_lossless_is_right_and_a_bound_is_refused(dtype, version):
    """Errors of values behind Delta add up, and what Shuffle gives is not even values."""
    a = (np.arange(240) % 50 / 8 + 3).astype(dtype)
    for one in filters_of(dtype, version):
        for values in (a, a.reshape(12, 20)):
            kept = stored(values, version, {"lossless": True}, filters=[one])
            assert np.array_equal(kept, values), one
            with pytest.raises(TypeError, match="leave the filter out, or use lossless=True"):
                stored(values, version, {"abs": 1}, filters=[one])


def test_filters_of_other_types():
    mask = VALUES["?"]
    assert np.array_equal(stored(mask, 2, {"lossless": True}, filters=[numcodecs.PackBits()]), mask)
    packed = stored(mask, 3, {"lossless": True}, filters=[filters3.PackBits()], chunks=mask.shape)
    assert np.array_equal(packed, mask)
    labels = numcodecs.Categorize(["a", "zwölf", ""], dtype="<U5")
    words = VALUES["unicode"]
    assert np.array_equal(stored(words, 2, {"lossless": True}, filters=[labels]), words)
    with pytest.raises(TypeError, match="categorize"):
        stored(words, 2, {"abs": 1}, filters=[labels])


def test_filters_that_keep_the_values_may_stand_before_a_bound():
    a = np.sin(np.arange(600) / 9).reshape(20, 30)
    order = TransposeCodec(order=(1, 0))
    assert abs(stored(a, 3, {"abs": 1e-3}, filters=[order]) - a).max() <= 1e-3
    swap = {"encode_dtype": ">f8", "decode_dtype": "<f8"}
    assert abs(stored(a, 2, {"abs": 1e-3}, filters=[numcodecs.AsType(**swap)]) - a).max() <= 1e-3
    assert abs(stored(a, 3, {"abs": 1e-3}, filters=[filters3.AsType(**swap)]) - a).max() <= 1e-3


def test_among_the_filters_of_format_2_it_knows_as_much():
    among = {"compressors": numcodecs.Zlib()}
    a = (np.sin(np.arange(600) / 9) * 40 + 100).astype("f4").reshape(20, 30)
    a[3:7, 5:] = 120.25
    b = stored(a, 2, {}, filters=[Szgpu(abs=0.5)], fill_value=120.25, **among)
    assert (b[a == 120.25] == 120.25).all() and 0 < abs(b - a).max() <= 0.5
    line = (np.arange(600) % 200).astype("u1")  # not bytes that a filter made
    assert abs(stored(line, 2, {}, filters=[Szgpu(abs=1)], **among).astype(int) - line).max() <= 1
    for filters in ([numcodecs.Delta("f4"), Szgpu(abs=1)], [Szgpu(abs=1), Szgpu(abs=1)]):
        with pytest.raises(TypeError, match="leave the filter out|lossless=True"):
            stored(a, 2, {}, filters=filters, **among)
    again = [numcodecs.Delta("f4"), Szgpu(lossless=True), Szgpu(lossless=True)]
    assert np.array_equal(stored(a, 2, {}, filters=again, **among), a)


def test_the_type_is_the_one_that_a_filter_hands_over():
    a = np.arange(60, dtype="<i8")
    cast = filters3.AsType(encode_dtype="<i2", decode_dtype="<i8")
    assert np.array_equal(stored(a, 3, {"lossless": True}, filters=[cast]), a)
    bits = filters3.BitRound(keepbits=3)  # hands over integers, and says floats
    rounded = bits._codec.encode(a.astype("f4")).view("f4")
    assert np.array_equal(stored(a.astype("f4"), 3, {"lossless": True}, filters=[bits]), rounded)


def test_an_array_behind_a_filter_that_was_written_once_is_read():
    store = zarr.storage.MemoryStore()
    zarr.create_array(store, data=np.arange(8, dtype="f4"), chunks=(8,), compressors=None,
                      filters=[filters3.Delta(dtype="<f4")], serializer=SzgpuCodec(lossless=True))
    said = json.loads(store._store_dict["zarr.json"].to_bytes())
    said["codecs"][1]["configuration"] = {"abs": 0.1}
    store._store_dict["zarr.json"] = type(store._store_dict["zarr.json"]).from_bytes(
        json.dumps(said).encode()
    )
    assert zarr.open_array(store, mode="r")[...].tolist() == list(range(8))


# ---- fill values ----


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("fill", [-9999.0, 1e20, np.nan, np.inf, -np.inf, 0.25])
@pytest.mark.parametrize("dtype", ["f4", ">f4", "f8"])
def test_the_fill_value_of_an_array_comes_back_exactly(dtype, fill, version):
    a = (np.sin(np.arange(2000) / 9).reshape(40, 50) + 3).astype(dtype)
    a[RNG.random(a.shape) < 0.2] = fill
    a[30:] = fill
    for settings in ({"abs": 0.01}, {"abs": 0.01, "predictor": "interpolation"}, {"pwrel": 0.01}):
        b = stored(a, version, settings, fill_value=fill)
        is_fill = np.isnan(a) if np.isnan(fill) else a == fill
        assert np.array_equal(b[is_fill], a[is_fill], equal_nan=True)
        assert abs(b[~is_fill] - a[~is_fill]).max() <= 0.05


@pytest.mark.parametrize("version", [2, 3])
def test_fill_values_of_integers_and_of_halves_come_back_exactly(version):
    for dtype, fill in (("i2", -999), (">i2", -999), ("u1", 255), ("i4", -(1 << 30)), ("f2", -999)):
        a = (20 * np.sin(np.arange(2000) / 9).reshape(40, 50) + 30).astype(dtype)
        a[::3, ::4] = fill
        b = stored(a, version, {"abs": 3}, fill_value=fill)
        assert (b[a == fill] == fill).all()


@pytest.mark.parametrize("version", [2, 3])
def test_cells_that_were_never_written_read_as_0(version):
    """They came back as 0.0003."""
    waves = np.sin(np.arange(2000) / 9).reshape(40, 50) + 0.001 * RNG.normal(size=(40, 50))
    for cut in (np.s_[:15], np.s_[:, :20], np.s_[5:20, 30:], np.s_[:39, :49]):
        a = np.zeros((40, 50), "f4")
        a[cut] = waves[cut]
        for settings in ({"abs": 1e-3}, {"rel": 1e-3}, {"abs": 1e-3, "predictor": "interpolation"}):
            b = stored(a, version, settings, chunks=a.shape)
            assert not b[a == 0].any()
    row = np.zeros(1000, "f4")
    row[:400] = np.sin(np.arange(400)) + 2
    assert not stored(row, version, {"abs": 1e-3}, chunks=(1000,))[400:].any()


def test_the_fill_value_0_comes_back_wherever_it_is():
    a = np.where(RNG.random((64, 64)) < 0.3, 0, RNG.normal(size=(64, 64))).astype("f4")
    for version in (2, 3):
        b = stored(a, version, {"abs": 0.1}, fill_value=0)
        assert not b[a == 0].any() and abs(a - b).max() <= 0.1


def test_missing_values_stay_missing_through_xarray():
    a = np.linspace(0, 30, 4800, dtype="f4").reshape(60, 80)
    a[:9] = np.nan
    for version, codec in (
        (2, {"compressors": Szgpu(abs=0.01)}),
        (3, {"serializer": SzgpuCodec(abs=0.01), "compressors": None, "fill_value": -9999.0}),
        (3, {"serializer": SzgpuCodec(abs=0.01, fill=np.float32(-9999)), "compressors": None}),
        (3, {"serializer": SzgpuCodec(abs=0.01), "compressors": None}),
    ):
        store = zarr.storage.MemoryStore()
        xr.Dataset({"s": (("y", "x"), a)}).to_zarr(
            store, zarr_format=version, consolidated=False,
            encoding={"s": {**codec, "_FillValue": np.float32(-9999)}},
        )
        b = xr.open_zarr(store, consolidated=False).s.values
        assert np.array_equal(np.isnan(b), np.isnan(a))
        assert np.nanmax(abs(b - a)) <= 0.01
    packed = {"dtype": "i2", "scale_factor": 0.01, "_FillValue": np.int16(-32768)}
    store = zarr.storage.MemoryStore()
    xr.Dataset({"s": (("y", "x"), a)}).to_zarr(
        store, zarr_format=2, consolidated=False,
        encoding={"s": {"compressors": Szgpu(abs=1), **packed}},
    )
    b = xr.open_zarr(store, consolidated=False).s.values
    assert np.array_equal(np.isnan(b), np.isnan(a)) and np.nanmax(abs(b - a)) <= 0.0151
