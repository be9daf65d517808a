"""judge.py - runs one case, and says whether it came back right.

A case is right if it comes back as it would without szgpu: to the bit under `lossless`, else each
value within the bound in exact arithmetic, in the same type and byte order, with the same values
missing. It is refused if an exception that says why is raised before anything is written, for one
of the reasons that the docs name; any other refusal is wrong. HDF5 may decline: what comes back
is then bit-identical, and there is a warning.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import importlib
import tempfile
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

import check
import numpy as np
from check import Wrong
from doors import Door
from draw import Case

_MOST_DRAWS = 200  # until the door's library takes an array without the codec
_REFUSALS = (TypeError, ValueError, RuntimeError, NotImplementedError, OSError)

DOORS = {
    "calls": ("by_calls", "Calls", ()),
    "numcodecs": ("by_zarr", "Numcodecs", ()),
    "zarr v2": ("by_zarr", "Zarr", (2,)),
    "zarr v3": ("by_zarr", "Zarr", (3,)),
    "h5py": ("by_hdf5", "H5py", ()),
    "netCDF4": ("by_hdf5", "Netcdf4", ()),
    "xarray, zarr v2": ("by_xarray", "Zarr", (2,)),
    "xarray, zarr v3": ("by_xarray", "Zarr", (3,)),
    "xarray, netCDF": ("by_xarray", "Netcdf", ()),
}


@dataclass(frozen=True)
class Result:
    door: str
    seed: int
    number: int
    outcome: str
    why: str  # it was refused or declined, or what is wrong
    case: str
    mode: str

    def __str__(self) -> str:
        return (
            f"{self.outcome.upper()} {self.door}, seed {self.seed}, case {self.number}: "
            f"{self.why}\n  {self.case}\n  python {Path(__file__).parent} --seed {self.seed} "
            f"--only '{self.door}' --case {self.number}"
        )


def run_case(name: str, seed: int, number: int) -> Result:
    """Draw a case until the door's library takes it without the codec, and judge it with it."""
    module, kind, arguments = DOORS[name]
    door = getattr(importlib.import_module(module), kind)(*arguments)
    place = [seed, *name.encode(), number]
    for draw_number in range(_MOST_DRAWS):
        case = Case(np.random.default_rng([*place, draw_number]))
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            door.draw(case)
            plain, ours = Path(folder, "plain"), Path(folder, "ours")
            plain.mkdir(), ours.mkdir()
            try:
                handle = door.write(case, plain, codec=False)
                want, mask = door.read(case, handle), door.mask(case, handle)
            except Exception:  # noqa: BLE001 - the door's library takes no such array
                continue
            try:
                outcome, why = _judge(door, case, ours, want, mask)
            except Wrong as wrong:
                outcome, why = "wrong", str(wrong)
        return Result(name, seed, number, outcome, why, str(case), next(iter(case.settings)))
    raise RuntimeError(f"{name} takes none of {_MOST_DRAWS} arrays without szgpu")


def _judge(
    door: Door, case: Case, folder: Path, want: np.ndarray, mask: np.ndarray | None
) -> tuple[str, str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            handle = door.write(case, folder, codec=True)
        except Exception as refusal:  # noqa: BLE001 - it is judged
            _require_refusal(door, case, refusal, want)
            return "refused", f"{type(refusal).__name__}: {refusal}"
    warned = [str(one.message) for one in told if str(one.message).startswith("szgpu")]
    try:
        got = door.read(case, handle)
        read_mask = door.mask(case, handle)
    except Wrong:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, what was written is lost
        raise Wrong("cannot be read", f"{_named(error)} {_place(error)}") from error
    is_declined = door.is_declined(case, handle)
    try:
        _require_right(door, case, want, got, is_declined)
    except Wrong:
        # Some filters of other libraries change values of some types: then ours may be right.
        if not case.how.get("filters") or not _same_form(case.values, got):
            raise
        _require_right(door, case, case.values.astype(got.dtype), got, is_declined)
    if mask is not None and (mask != read_mask).any():
        raise Wrong("other values are masked", f"{mask.sum()} became {read_mask.sum()}")
    if is_declined and door.warns(case, handle) and not warned:
        raise Wrong("declined without a warning")
    return ("declined" if is_declined else "right"), "; ".join(warned)


def _require_right(
    door: Door, case: Case, want: np.ndarray, got: np.ndarray, is_declined: bool
) -> None:
    if case.is_lossless or is_declined or not _is_number(want):
        check.require_same(want, got)
        return
    missing = tuple({float(m): m for m in (*case.missing, *door.told(case))}.values())
    check.require_within(want, got, case.settings, case.chunks, missing, door.padding(case))


def _same_form(given: np.ndarray, got: np.ndarray) -> bool:
    return given.shape == got.shape and given.dtype.newbyteorder("=") == got.dtype.newbyteorder("=")


def _is_number(values: np.ndarray) -> bool:
    return values.dtype.kind in "fiu" or values.dtype.name == "bfloat16"


def _require_refusal(door: Door, case: Case, refusal: Exception, want: np.ndarray) -> None:
    what = _named(refusal)
    if not isinstance(refusal, _REFUSALS) or len(str(refusal).split()) < 4:
        raise Wrong("fails without a sentence", f"{what} {_place(refusal)}") from refusal
    if not case.excuses:
        raise Wrong("refused without need", f"{what} {_place(refusal)}") from refusal
    left = door.leavings(case)
    if left is not None and left.shape == want.shape and left.size:
        empty = np.full_like(left, left.reshape(-1)[0])
        if check.differs(left, empty).any():
            raise Wrong("a refused write left values", what) from refusal


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:400]


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"({Path(frame.filename).name}:{frame.lineno})"
