"""The codec's metadata are what packaging/zarr tells other implementations of zarr."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
import zarr
from szgpu.settings import PREDICTORS, Settings
from szgpu.zarr import SzgpuCodec

HERE = Path(__file__).resolve().parent
FOLDER = next(
    (p / "packaging/zarr/szgpu" for p in HERE.parents if (p / "packaging/zarr/szgpu").exists()),
    None,
)
pytestmark = pytest.mark.skipif(FOLDER is None, reason="packaging/zarr is not beside the tests")

SOUND = [
    {"abs": 0.01},
    {"abs": 1, "fill": -9999, "predictor": "lorenzo", "zstd": 3},
    {"rel": 1e-3, "fill": [1.0, float("nan"), float("-inf"), 4]},
    {"psnr": 80, "valid": (0, float("inf"))},
    {"pwrel": 0.01, "predictor": "interpolation"},
    {"lossless": True, "zstd": 19},
]
UNSOUND = [
    {},
    {"abs": 0.01, "rel": 0.01},
    {"abs": -1},
    {"pwrel": 1},
    {"lossless": True, "fill": 3},
    {"pwrel": 0.1, "valid": [0, 1]},
    {"abs": 1, "fill": [1, 2, 3, 4, 5]},
    {"abs": 1, "predictor": "best"},
    {"abs": 1, "zstd": 20},
    {"abs": 1, "other": 1},
]


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema, which reads the schema")
    schema = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("settings", SOUND, ids=str)
def test_the_metadata_of_arrays_are_valid(validator, settings):
    store = zarr.storage.MemoryStore()
    zarr.create_array(
        store, shape=(4, 4), chunks=(2, 2), dtype="float32", compressors=None,
        serializer=SzgpuCodec(**settings),
    )  # fmt: skip
    (codec,) = json.loads(store._store_dict["zarr.json"].to_bytes())["codecs"]
    validator.validate(codec)
    assert SzgpuCodec.from_dict(codec).settings == Settings(**settings)


@pytest.mark.parametrize("configuration", UNSOUND, ids=str)
def test_what_the_codec_refuses_is_not_valid(validator, configuration):
    assert not validator.is_valid({"name": "szgpu", "configuration": configuration})
    with pytest.raises((TypeError, ValueError)):
        SzgpuCodec.from_dict({"name": "szgpu", "configuration": configuration})


def test_the_schema_has_every_setting_and_the_page_names_it(validator):
    modes = validator.schema["oneOf"][0]["properties"]["configuration"]["oneOf"]
    names = {name for mode in modes for name in mode["properties"]}
    assert names == {field.name for field in fields(Settings)}
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert names <= set(re.findall(r"`(\w+)`", page))
    assert set(modes[0]["properties"]["predictor"]["enum"]) == set(PREDICTORS)
    (example,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    validator.validate(json.loads(example)["codecs"][0])
