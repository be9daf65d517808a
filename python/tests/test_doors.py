"""random_arrays: a sample of its cases, and that it finds what it is for."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent / "random_arrays"
sys.path.insert(0, str(HERE))

import by_calls  # noqa: E402
import by_zarr  # noqa: E402
import check  # noqa: E402
import judge  # noqa: E402

ONE = {"abs": 0.1}


def within(want, got, settings, missing=(), chunks=None, padding=None):
    want, got = np.asarray(want), np.asarray(got)
    check.require_within(want, got, settings, chunks or want.shape, missing, padding)


def wrong(*arguments, **more):
    with pytest.raises(check.Wrong) as found:
        within(*arguments, **more)
    return found.value.kind


def test_a_sample_of_random_arrays_comes_back_right_or_is_refused():
    done = subprocess.run(
        [sys.executable, HERE, "--count", "320", "--seed", "1"], capture_output=True, text=True
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_sample_of_calls_comes_back_right_by_every_decoder():
    done = subprocess.run(
        [sys.executable, HERE, "--only", "calls", "--count", "120", "--seed", "3"],
        capture_output=True, text=True,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_case_can_be_repeated():
    first, second = (judge.run_case("zarr v2", 5, 3) for _ in range(2))
    assert first == second and "zarr v2" in str(first)
    assert judge.run_case("zarr v2", 5, 4).case != first.case


# ---- the check is exact ----


def test_an_error_of_the_bound_is_right_and_the_next_number_is_not():
    bound = 0.1
    within([0.0], [bound], ONE)
    assert wrong([0.0], [np.nextafter(bound, 1)], ONE) == "over the bound"
    # Here it is 2^-60 above the bound, which a difference of doubles does not show.
    assert 1.0 - -(2.0**-60) == 1.0
    assert wrong([1.0], [-(2.0**-60)], {"abs": 1.0}) == "over the bound"


def test_integers_are_compared_as_integers():
    least, greatest = -(2**31), 2**31 - 1
    within(np.array([least], "i4"), np.array([greatest], "i4"), {"abs": float(2**32 - 1)})
    assert wrong(np.array([least], "i4"), np.array([greatest], "i4"), {"abs": 2.0**32 - 2})
    assert wrong(np.array([250], "u1"), np.array([3], "u1"), {"abs": 9}) == "over the bound"


def test_rel_and_psnr_are_by_the_range_of_each_chunk():
    want, got = np.array([0.0, 1.0, 0.0, 100.0]), np.array([0.0, 1.0, 1.0, 100.0])
    within(want, got, {"rel": 0.01}, chunks=(2,))
    want[0], got[0] = 0.5, 0.52
    assert wrong(want, got, {"rel": 0.01}, chunks=(2,)) == "over the bound"
    within(want, got, {"rel": 0.01}, chunks=(4,))
    assert wrong(want, got, {"rel": 0.01}, missing=(100.0,)) == "over the bound"
    within([0.0, 1.0], [0.0173205080756, 1.0], {"psnr": 40})
    assert wrong([0.0, 1.0], [0.0173205080757, 1.0], {"psnr": 40}) == "over the bound"


def test_what_stands_beyond_the_edge_counts_for_the_range():
    within([9.0], [9.05], {"rel": 0.01}, chunks=(2,), padding=0)
    assert wrong([9.0], [9.05], {"rel": 0.01}, chunks=(1,), padding=0) == "over the bound"


def test_pwrel_is_of_each_value_and_keeps_zeros_and_signs():
    within([1.0, 1000.0], [1.25, 1250.0], {"pwrel": 0.25})
    assert wrong([1.0, 1000.0], [1.2500001, 1000.0], {"pwrel": 0.25}) == "over the bound"
    assert wrong([0.0], [1e-300], {"pwrel": 0.25}) == "a zero or a sign changed"
    assert wrong([0.0], [-0.0], {"pwrel": 0.25}) == "a zero or a sign changed"


def test_what_is_not_finite_comes_back_to_the_bit():
    payload = np.array([0x7FF8000000000123], "u8").view("f8")
    within(payload, payload, ONE)
    assert wrong(payload, [np.nan], ONE) == "NaN or infinity changed"
    assert wrong([np.inf], [1e308], {"abs": 1e308}) == "NaN or infinity changed"
    assert wrong([1.0], [np.nan], ONE) == "NaN or infinity changed"


def test_missing_values_stay_and_no_others_become_missing():
    assert wrong([-9999.0], [-9999.001], ONE, missing=(-9999.0,)) == "a missing value was lost"
    assert wrong([-9999.01], [-9999.0], ONE, missing=(-9999.0,)) == "a value became missing"
    within([-9999.0, -9998.95], [-9999.0, -9998.9], ONE, missing=(-9999.0,))


def test_types_byte_orders_shapes_and_bits_are_compared():
    a = np.array([1, 2], ">i2")
    check.require_same(a, a.copy())
    for other, kind in (
        (a.astype("<i2"), "another type"), (a.reshape(1, 2), "another shape"), (a + a, "another"),
        (np.array([1, 3], ">i2"), "bits changed"),
    ):
        with pytest.raises(check.Wrong, match=kind):
            check.require_same(a, other)
    with pytest.raises(check.Wrong, match="bits changed"):
        check.require_same(np.array([0.0]), np.array([-0.0]))


# ---- a faulty codec is found ----


class Rounds(by_zarr.Szgpu):
    """Takes a bound of its own."""

    def __init__(self, **settings):
        super().__init__(**({"abs": 1.0} if "abs" in settings else settings))


class ForgetsMissing(by_zarr.Szgpu):
    """Adds half the bound to all numbers, missing or not."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.half = float(settings.get("abs", 0)) / 2

    def encode(self, buf):
        with np.errstate(all="ignore"):
            return super().encode(np.asarray(buf + buf.dtype.type(self.half)) if self.half else buf)


class Refuses(by_zarr.Szgpu):
    def encode(self, buf):
        raise TypeError("this codec takes no arrays whatsoever today")


class Fails(by_zarr.Szgpu):
    def encode(self, buf):
        raise KeyError("values")


class CannotRead(by_zarr.Szgpu):
    def decode(self, buf, out=None):
        raise ValueError("this archive is not one that can be read")


@pytest.mark.parametrize(
    ("codec", "kind"),
    [
        (Rounds, "over the bound"),
        (ForgetsMissing, "a missing value was lost"),
        (Refuses, "refused without need"),
        (Fails, "fails without a sentence"),
        (CannotRead, "cannot be read"),
    ],
)
def test_a_fault_is_found(monkeypatch, codec, kind):
    monkeypatch.setattr(by_zarr, "Szgpu", codec)
    monkeypatch.setattr(by_zarr.numcodecs, "get_codec", lambda config: codec(**{
        name: value for name, value in config.items() if name != "id"
    }))
    results = [judge.run_case("numcodecs", 1, number) for number in range(60)]
    assert any(one.outcome == "wrong" and one.why.startswith(kind) for one in results)


@pytest.mark.parametrize(
    ("share", "kind"),
    [
        (1 + 2.0**-47, "the bound stated is above the exact one"),
        (1 - 2.0**-52, "the bound stated loses a unit"),
        (0.5, "over the bound"),
    ],
)
def test_a_false_bound_is_found(monkeypatch, share, kind):
    inspect = by_calls.szgpu.inspect
    monkeypatch.setattr(by_calls.szgpu, "inspect", lambda archive: dataclasses.replace(
        inspect(archive), absolute_bound=inspect(archive).absolute_bound * share
    ))
    monkeypatch.setattr(by_calls.Calls, "_draw_bound", _whole_units)
    results = [judge.run_case("calls", 1, number) for number in range(80)]
    assert any(one.outcome == "wrong" and one.why.startswith(kind) for one in results)


def _whole_units(door, case):
    if case.dtype.kind in "iu" and by_calls.draw.is_bounded(case.dtype):
        case.settings = {"rel": 1.0}


def test_a_decoder_that_differs_is_found(monkeypatch):
    check_decoders = by_calls.Calls._check_decoders
    monkeypatch.setattr(by_calls.Calls, "_check_decoders", lambda door, info, archive, whole: (
        check_decoders(door, info, archive, np.zeros_like(whole))
    ))
    results = [judge.run_case("calls", 1, number) for number in range(10)]
    assert any("differs from the whole" in one.why for one in results)
