"""What a codec finds out about its place: filters, shards, attributes, chunks written again."""

import copy
import json
import pickle
import warnings

import numcodecs
import numpy as np
import pytest
import xarray as xr
import zarr
from numcodecs import zarr3 as filters3
from zarr.codecs import ShardingCodec, TransposeCodec

import szgpu
from szgpu.numcodecs import Szgpu
from szgpu.zarr import SzgpuCodec

RNG = np.random.default_rng(11)
A = RNG.normal(0, 10, (40, 50)).astype("f4")

pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")

PIPELINES = ["Batched"]
if hasattr(zarr.core.codec_pipeline, "FusedCodecPipeline"):
    PIPELINES.append("Fused")


@pytest.fixture(params=PIPELINES)
def pipeline(request):
    path = f"zarr.core.codec_pipeline.{request.param}CodecPipeline"
    with zarr.config.set({"codec_pipeline.path": path}):
        yield


def quantized() -> filters3.Quantize:
    return filters3.Quantize(digits=1, dtype="<f4")


def shards(*codecs, shape=(10, 5)) -> ShardingCodec:
    return ShardingCodec(chunk_shape=shape, codecs=codecs)


def array_of(*codecs, store=None):
    return zarr.create(
        shape=A.shape, chunks=(20, 25), dtype="f4", zarr_format=3, codecs=codecs,
        store=zarr.storage.MemoryStore() if store is None else store, fill_value=np.nan,
    )


def filtered(settings):
    """Each way to put a filter before the codec."""
    codec = SzgpuCodec(**settings)
    yield quantized(), codec
    yield quantized(), shards(codec)
    yield quantized(), shards(shards(codec, shape=(5, 5)))
    yield (shards(quantized(), codec),)
    yield (shards(quantized(), shards(codec, shape=(5, 5))),)
    yield (shards(shards(quantized(), codec, shape=(5, 5))),)
    yield TransposeCodec(order=(1, 0)), quantized(), codec


def test_a_filter_before_a_bound_is_refused_wherever_it_stands(pipeline):
    for codecs in filtered({"abs": 0.1}):
        z = array_of(*codecs)
        with pytest.raises(TypeError, match="quantize stands before szgpu"):
            z[...] = A
    for codecs in filtered({"lossless": True}):
        z = array_of(*codecs)
        z[...] = A
        assert np.array_equal(z[...], quantized()._codec.encode(A))


def test_so_it_is_where_the_array_is_opened_again_and_copied(pipeline):
    store = zarr.storage.MemoryStore()
    z = array_of(quantized(), shards(SzgpuCodec(lossless=True)), store=store)
    z[...] = A
    said = json.loads(store._store_dict["zarr.json"].to_bytes())
    said["codecs"][1]["configuration"]["codecs"][0]["configuration"] = {"abs": 0.1}
    made = type(store._store_dict["zarr.json"]).from_bytes(json.dumps(said).encode())
    store._store_dict["zarr.json"] = made
    again = zarr.open_array(store, mode="r+")
    for z in (again, pickle.loads(pickle.dumps(again)), copy.deepcopy(again)):
        assert np.array_equal(z[...], quantized()._codec.encode(A))
        with pytest.raises(TypeError, match="quantize stands before szgpu"):
            z[:20] = 0


def test_a_codec_goes_from_a_filtered_array_to_others(pipeline):
    codec = SzgpuCodec(abs=0.1)
    behind = array_of(quantized(), codec)
    used = behind.metadata.codecs[1]
    for alone in (codec, used, pickle.loads(pickle.dumps(used))):
        for codecs in ([alone], [shards(alone)], [TransposeCodec(order=(1, 0)), alone]):
            z = array_of(*codecs)
            z[...] = A
            assert abs(z[...] - A).max() <= 0.1
            z.resize((60, 50))
            z[40:] = A[:20]
            assert abs(z[40:] - A[:20]).max() <= 0.1
    with pytest.raises(TypeError, match="quantize stands before szgpu"):
        behind[...] = A


def test_filters_may_be_given_as_dictionaries(pipeline):
    for name, configuration in (("transpose", {"order": [1, 0]}),
                                ("numcodecs.quantize", {"digits": 1, "dtype": "<f4"})):
        z = array_of({"name": name, "configuration": configuration}, SzgpuCodec(abs=0.1))
        if name == "transpose":
            z[...] = A
            assert abs(z[...] - A).max() <= 0.1
        else:
            with pytest.raises(TypeError, match="quantize stands before szgpu"):
                z[...] = A


def test_a_bound_without_an_array_is_refused():
    z = array_of(SzgpuCodec(abs=0.1))
    spec = zarr.core.array_spec.ArraySpec(
        shape=A.shape, dtype=z.metadata.data_type, fill_value=np.float32(0),
        config=zarr.core.array_spec.ArrayConfig.from_dict({}),
        prototype=zarr.core.buffer.default_buffer_prototype(),
    )
    values = zarr.core.buffer.cpu.NDBuffer.from_numpy_array(A)
    with pytest.raises(TypeError, match="give the codec to an array"):
        SzgpuCodec(abs=0.1)._encode_sync(values, spec)
    codec = SzgpuCodec(lossless=True)
    archive = codec._encode_sync(values, spec)
    assert np.array_equal(codec._decode_sync(archive, spec).as_numpy_array(), A)


def test_a_filter_of_format_2_is_seen_in_each_pipeline(pipeline):
    for filters in ([numcodecs.Delta("f4")], [numcodecs.Quantize(1, "f4")]):
        z = zarr.create_array(
            {}, shape=A.shape, chunks=A.shape, dtype="f4", zarr_format=2, filters=filters,
            compressors=Szgpu(abs=0.1), fill_value=5,
        )
        with pytest.raises(TypeError, match="stands before szgpu"):
            z[...] = A


# ---- attributes ----


def near_fill(value):
    """Values from -80 to 40, and missing ones that do not stand far from them."""
    t = RNG.uniform(-80, 40, (40, 50)).astype("f4")
    t[::3, ::2] = value
    return t


@pytest.mark.parametrize("fill", [-99.9, -80, -80.01, 41, -9999, 1e20])
@pytest.mark.parametrize("inner", [None, (10, 10)])
def test_missing_values_of_xarray_stay_missing_in_format_3(fill, inner):
    t = near_fill(np.nan)
    codec = SzgpuCodec(abs=0.02)
    if inner:
        codec = ShardingCodec(chunk_shape=inner, codecs=[codec])
    encoding = {"serializer": codec, "compressors": None, "chunks": (20, 50)}
    store = zarr.storage.MemoryStore()
    first, second = (xr.Dataset({"t": (("y", "x"), part)}) for part in (t[:25], t[25:]))
    first.to_zarr(store, zarr_format=3, consolidated=False,
                  encoding={"t": {**encoding, "_FillValue": np.float32(fill)}})
    second.to_zarr(store, append_dim="y", consolidated=False, safe_chunks=False)
    b = xr.open_zarr(store, consolidated=False).t.values
    assert np.array_equal(np.isnan(b), np.isnan(t)) and np.nanmax(abs(b - t)) <= 0.0201


def test_packed_integers_stay_missing_in_format_3():
    t = near_fill(np.nan)
    store = zarr.storage.MemoryStore()
    xr.Dataset({"t": (("y", "x"), t)}).to_zarr(
        store, zarr_format=3, consolidated=False,
        encoding={"t": {
            "serializer": SzgpuCodec(abs=2), "compressors": None, "dtype": "i2",
            "scale_factor": 0.01, "_FillValue": np.int16(-8050),
        }},
    )
    b = xr.open_zarr(store, consolidated=False).t.values
    assert np.array_equal(np.isnan(b), np.isnan(t)) and np.nanmax(abs(b - t)) <= 0.0251


@pytest.mark.parametrize("attributes, kept", [
    ({"_FillValue": -99.9}, [-99.9]),
    ({"missing_value": -99.9}, [-99.9]),
    ({"missing_value": [-99.9, 41.5], "_FillValue": -81}, [-99.9, 41.5, -81]),
    ({"_FillValue": "none", "missing_value": None}, []),
    ({"_FillValue": [], "missing_value": ["-", {}]}, []),
])
def test_attributes_name_missing_values(attributes, kept):
    t = near_fill(3)
    for i, value in enumerate(kept):
        t[i::7, ::3] = value
    z = zarr.create_array(
        {}, shape=t.shape, dtype="f4", chunks=(20, 25), serializer=SzgpuCodec(abs=0.5),
        compressors=None, attributes=attributes,
    )
    z[...] = t
    b = z[...]
    for value in kept:
        is_kept = t == np.float32(value)
        assert is_kept.any() and np.array_equal(b[is_kept], t[is_kept])
    assert 0.1 < abs(b - t).max() <= 0.5


def test_attributes_count_as_they_are_when_values_are_written():
    t = near_fill(3.3)
    is_missing = t == np.float32(3.3)
    z = zarr.create_array({}, shape=t.shape, dtype="f4", chunks=t.shape,
                          serializer=SzgpuCodec(abs=0.5), compressors=None)
    z[...] = t
    assert (z[...][is_missing] != np.float32(3.3)).any()
    z.attrs["missing_value"] = 3.3
    z[...] = t
    assert (z[...][is_missing] == np.float32(3.3)).all()
    z.attrs["missing_value"] = [1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.raises(szgpu.Error, match="at most four"):
        z[...] = t


def test_attributes_are_those_of_the_array_after_it_is_resized_or_copied(pipeline):
    t = near_fill(3.3)
    is_missing = t == np.float32(3.3)
    for codec in (SzgpuCodec(abs=0.5), shards(SzgpuCodec(abs=0.5))):
        store = zarr.storage.MemoryStore()
        z = zarr.create(shape=t.shape, chunks=(20, 25), dtype="f4", zarr_format=3, codecs=[codec],
                        store=store)
        copies = [zarr.create(shape=t.shape, chunks=(20, 25), dtype="f4", zarr_format=3,
                              codecs=z.metadata.codecs, store=zarr.storage.MemoryStore())
                  for _ in range(3)]
        z.resize((60, 50))
        z.append(t[:20])
        for one, has_missing in ((z, True), (copies[0], False), (copies[1], True)):
            if has_missing:
                one.attrs["missing_value"] = 3.3
            one[:40] = t
            assert (one[:40][is_missing] == np.float32(3.3)).all() == has_missing
        copies[2][...] = t
        assert (copies[2][...][is_missing] != np.float32(3.3)).any()
        assert zarr.open_array(store) == zarr.open_array(store)


def test_one_value_that_is_named_twice_is_one():
    t = near_fill(-99.9)
    t[1::5] = -88.8
    named = {"_FillValue": float(np.float32(-99.9)), "missing_value": [-99.9, -88.8, 10**400]}
    z = zarr.create_array(
        {}, shape=t.shape, dtype="f4", chunks=t.shape, fill_value=-99.9, attributes=named,
        serializer=SzgpuCodec(abs=0.5, fill=[-99.9, -88.8, 1, 2]), compressors=None,
    )
    z[...] = t
    for value in (-99.9, -88.8):
        assert (z[...][t == np.float32(value)] == np.float32(value)).all()


# ---- chunks that are written again ----


@pytest.mark.parametrize("part", [np.s_[3:5], np.s_[..., 0], np.s_[..., 1], np.s_[:15]])
@pytest.mark.parametrize("how", [{}, {"order": "F"}, {"dtype": ">f4"}, {"shape": (17, 33, 31)}])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("settings", [{"rel": 1e-3}, {"psnr": 60}, {"pwrel": 1e-3}, {"abs": 0.01}])
def test_parts_written_again_add_up_with_a_warning_or_not_at_all(settings, version, how, part):
    codec = (
        {"serializer": SzgpuCodec(**settings), "compressors": None} if version == 3
        else {"compressors": Szgpu(**settings)}
    )
    how = {"shape": (16, 32, 32), "dtype": "f4", **how}
    z = zarr.create_array({}, chunks=how["shape"], zarr_format=version, fill_value=np.nan,
                          **codec, **how)
    values = (RNG.normal(0, 1, z.shape) + 280).astype("f4")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        z[...] = values  # whole chunks, whatever was read before
        first = z[...]
        z[...] = values + 1
        z[...] = first + np.float32(0.5)
        if "abs" in settings:
            z[part] = values[part]
    if "abs" not in settings:
        with pytest.warns(UserWarning, match=f"with {next(iter(settings))} they move"):
            z[part] = values[part]


def test_settings_are_equal_if_they_read_the_same():
    assert SzgpuCodec(abs=1, fill=np.nan) == SzgpuCodec(abs=1, fill=[float("nan")])
    assert hash(SzgpuCodec(abs=1, fill=np.nan)) == hash(SzgpuCodec(abs=1, fill=np.nan))
    assert SzgpuCodec(abs=1, fill=0.0) != SzgpuCodec(abs=1, fill=-0.0)
    assert SzgpuCodec(abs=1) != SzgpuCodec(abs=2) and SzgpuCodec(abs=1) != 1
