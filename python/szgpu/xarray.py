"""xarray: which variables of a dataset to compress, and the encoding that does it.

Importing this module gives each `xarray.Dataset` an accessor `szgpu`.

>>> import numpy as np
>>> import xarray as xr
>>> import szgpu.xarray
>>> ds = xr.Dataset({"t": (("y", "x"), np.ones((90, 90)))}, {"x": np.arange(90.0)})
>>> print(ds.szgpu.plan(abs=0.01))
t  abs 0.01  all fields
x  kept      a dimension scale
>>> ds.to_zarr("small.zarr", encoding=ds.szgpu.encoding(abs=0.01), consolidated=False)  # doctest: +ELLIPSIS
<xarray.backends.zarr.ZarrStore object at ...>
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from . import _core
from .roles import KEPT, Rule, Rules, find_habit, find_named
from .settings import choice
from .xarray_variables import About

__all__ = ["Plan", "Verdict"]

ENGINES = {"zarr": 0, "h5netcdf": 1, "netcdf4": 2}
_LEAST_BYTES = 1 << 14  # of a variable: below, an archive saves nothing worth a bound
_QUANTIZATION = "quantization"  # of CF 8.4
_CONTAINER = "szgpu_quantization"


@dataclass(frozen=True)
class Verdict:
    """What happens to a variable, and why."""

    settings: Mapping[str, Any] | None  # of the codec, in stored units; None: it is kept
    bound: Rule | None  # in the variable's own unit
    why: str

    @property
    def is_compressed(self) -> bool:
        return self.settings is not None

    @property
    def what(self) -> str:
        return self.bound.what if self.is_compressed and self.bound else "kept"


class Plan(Mapping[str, Verdict]):
    """What happens to each variable of a dataset; `print` shows it as a table."""

    def __init__(
        self,
        dataset: xr.Dataset,
        verdicts: dict[str, Verdict],
        engine: str,
        zarr_format: int | None,
        call: str,
    ) -> None:
        self._dataset, self._verdicts, self._call = dataset, verdicts, call
        self._engine, self._zarr_format = engine, zarr_format

    def __getitem__(self, name: str) -> Verdict:
        return self._verdicts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._verdicts)

    def __len__(self) -> int:
        return len(self._verdicts)

    def __str__(self) -> str:
        rows = [(name, one.what, one.why) for name, one in self.items()]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
        return "\n".join(f"{n:{widths[0]}}  {what:{widths[1]}}  {why}" for n, what, why in rows)

    __repr__ = __str__

    @property
    def encoding(self) -> dict[str, dict[str, Any]]:
        """What to pass as `encoding` to `to_zarr` or `to_netcdf`.

        It has the variables to compress, and those whose own encoding names codecs that do not
        fit. All others are written as xarray does.
        """
        found = {}
        for name, verdict in self.items():
            about = About(name, self._dataset[name].variable)
            if self._engine == "zarr":
                made = about.zarr_encoding(verdict.settings, self._zarr_format or 3)
            else:
                made = about.hdf5_encoding(verdict.settings)
            if made is not None:
                found[name] = made
        return found

    @property
    def recorded(self) -> xr.Dataset:
        """The dataset with what it loses in its attributes, as `szgpu --repack` writes them.

        Section 8.4 of CF 1.12 describes `quantization` and `quantization_maximum_absolute_error`.
        The call is the first line of `history`.
        """
        made = self._dataset.copy(deep=False)
        container = _CONTAINER
        number = 1
        while container in made.variables:
            number += 1
            container = f"{_CONTAINER}_{number}"
        is_needed = False
        for name, verdict in self.items():
            if verdict.bound is None or verdict.settings is None or "lossless" in verdict.settings:
                continue
            self._record(made[name], verdict.bound, verdict.settings, container)
            is_needed = True
        if is_needed:
            version = _core.version
            about = {"algorithm": "szgpu", "implementation": f"szgpu version {version}"}
            made[container] = xr.Variable((), np.int8(0), about)
            line = f"{time.strftime('%a %b %d %H:%M:%S %Y')}: {self._call} (szgpu {version})"
            former = made.attrs.get("history")
            made.attrs["history"] = f"{line}\n{former}" if former else line
        return made

    def _record(
        self, array: xr.DataArray, bound: Rule, settings: Mapping[str, Any], container: str
    ) -> None:
        kind = "relative" if bound.mode == "pwrel" else "absolute"
        error = f"quantization_maximum_{kind}_error"
        about = About(str(array.name), array.variable)
        most = bound.bound
        if bound.mode in ("rel", "psnr"):
            most = settings["abs"] * abs(about.packing[0])
        if about.stored.kind in "iu" or _QUANTIZATION in array.attrs or error in array.attrs:
            array.attrs[f"szgpu_maximum_{kind}_error"] = most
            return
        array.attrs.update({_QUANTIZATION: container, error: most})


@xr.register_dataset_accessor("szgpu")  # type: ignore[no-untyped-call]
class _Accessor:
    """`dataset.szgpu`: what szgpu compresses of a dataset, with which bounds."""

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def plan(
        self,
        engine: str = "zarr",
        *,
        abs: float | Mapping[str, float] | None = None,
        rel: float | Mapping[str, float] | None = None,
        psnr: float | Mapping[str, float] | None = None,
        pwrel: float | Mapping[str, float] | None = None,
        lossless: bool | str | Iterable[str] = False,
        keep: str | Iterable[str] = (),
        zarr_format: int | None = None,
        predictor: str = "auto",
        zstd: int = 0,
    ) -> Plan:
        """Decide what happens to each variable, as ``szgpu --repack`` does.

        docs/netcdf.md says which variables are kept: coordinates, masks, flags, integers, text and
        small ones among others. Packed ones are compressed if a rule fits them. What is missing
        (`_FillValue`, `missing_value`, `valid_range`, `valid_min`, `valid_max`) stays missing.

        Parameters
        ----------
        engine : {"zarr", "h5netcdf"}, default "zarr"
            What writes: `to_zarr`, or `to_netcdf` with this engine.
        abs, rel, psnr, pwrel : float or mapping, optional
            As in `szgpu.compress`, in the unit of the values as xarray shows them. A number is for
            all fields. A mapping has rules: a name, a pattern such as ``"t*"``, ``"units=K"`` or
            ``"standard_name=air_*"``, and the number for what fits. `rel` and `psnr` mean the range
            of each variable, for which its values are read, or computed by Dask.
        lossless, keep : names or patterns, optional
            What is compressed losslessly, or not by szgpu. ``lossless=True`` is for all fields.
        zarr_format : {2, 3}, optional
            As for `to_zarr`.
        predictor, zstd
            As in `szgpu.compress`.

        Raises
        ------
        ValueError
            No variable fits a rule, two rules differ, or what is named cannot be compressed.
        """
        given = {"abs": abs, "rel": rel, "psnr": psnr, "pwrel": pwrel}
        choice(ENGINES, engine, "engine")
        if engine == "netcdf4":
            raise ValueError(
                "the netCDF4 package cannot select filters when it writes: use engine='h5netcdf'"
            )
        rules = Rules(lossless, keep, **given)
        more = {"predictor": predictor, "zstd": zstd}
        if engine == "zarr" and zarr_format is None:
            zarr_format = _default_zarr_format()
        judge = _Judge(self._dataset, rules, engine, zarr_format, more)
        names = [str(name) for name in self._dataset.variables]
        verdicts = {name: judge.verdict(name) for name in names}
        rules.require_used(names)
        words = {**given, "lossless": lossless or None, "keep": keep or None}
        call = ", ".join(f"{word}={value!r}" for word, value in words.items() if value is not None)
        return Plan(
            self._dataset, verdicts, engine, zarr_format, f"ds.szgpu.plan({engine!r}, {call})"
        )

    def encoding(self, engine: str = "zarr", **settings: Any) -> dict[str, dict[str, Any]]:
        """Make the `encoding` for `to_zarr` or `to_netcdf`; the arguments are those of `plan`."""
        return self.plan(engine, **settings).encoding


def _default_zarr_format() -> int:
    import zarr

    return int(zarr.config.get("default_zarr_format"))


class _Declined(Exception):  # noqa: N818  it is no error unless the variable was named
    """Why a variable is kept."""


class _Judge:
    """Decides by the same steps as apps/szgpu/hdf5_plan.c."""

    def __init__(
        self,
        dataset: xr.Dataset,
        rules: Rules,
        engine: str,
        zarr_format: int | None,
        more: Mapping[str, Any],
    ) -> None:
        self._dataset, self._rules, self._more = dataset, rules, more
        self._engine, self._zarr_format = engine, zarr_format
        texts = {"/": {**dataset.encoding, **dataset.attrs}}
        for name, variable in dataset.variables.items():
            texts[str(name)] = {**variable.encoding, **variable.attrs}
        self._named = find_named(texts)

    def verdict(self, name: str) -> Verdict:
        about = About(name, self._dataset[name].variable)
        own = self._rules.find(name, about.attributes)
        rule = own or self._rules.rest
        if rule is None:
            return Verdict(None, None, "no bound for it")
        if rule.mode == KEPT:
            return Verdict(None, None, f"the rule {rule.key}")
        is_asked = own is not None and own.is_own_name
        try:
            self._require_possible(about)
            if not is_asked:
                self._require_field(about, is_rule=own is not None)
            self._require_suitable(about, rule)
        except _Declined as declined:
            if is_asked:
                raise ValueError(
                    f"{name} cannot get a bound: {declined}: leave it out of the rules"
                ) from None
            return Verdict(None, None, str(declined))
        why = f"the rule {rule.key}" if own else "all fields"
        return Verdict({**about.settings(rule), **self._more}, rule, why)

    def _require_possible(self, about: About) -> None:
        if not about.is_number:
            raise _Declined("no numbers that it takes")
        if about.variable.size == 0:
            raise _Declined("no values")
        if about.variable.ndim == 0:
            raise _Declined("a single value")
        if about.had_bound:
            raise _Declined("compressed with a bound before")

    def _require_field(self, about: About, *, is_rule: bool) -> None:
        name, variable = about.name, about.variable
        if name in self._dataset.dims:
            raise _Declined("a dimension scale")
        if name in self._named:
            raise _Declined(self._named[name])
        habit = find_habit(name, about.attributes)
        if habit is not None:
            raise _Declined(habit)
        if name in self._dataset.coords:
            raise _Declined("a coordinate of the dataset")
        if about.stored.kind in "iu" and not (is_rule and about.is_packed):
            raise _Declined("packed integers" if about.is_packed else "integers")
        if variable.size * about.stored.itemsize < _LEAST_BYTES:
            raise _Declined("small")
        if variable.ndim == 1 and _is_slope(variable):
            raise _Declined("a coordinate: it rises or falls throughout")

    def _require_suitable(self, about: About, rule: Rule) -> None:
        if rule.mode == "lossless":
            return
        if about.is_unsigned:
            raise _Declined("unsigned by _Unsigned")
        if rule.mode == "pwrel":
            if about.stored.name not in ("float32", "float64"):
                raise _Declined("pwrel is for float32 and float64")
            if about.is_packed:
                raise _Declined("pwrel is not for packed values")
            if about.valid is not None:
                raise _Declined("pwrel does not keep to its valid values")
        if about.valid is not None:
            least, greatest = about.valid
            if not least <= greatest:
                raise _Declined("no valid values, by its valid_range, valid_min and valid_max")
            if self._engine != "zarr" and not about.stays_valid:
                raise _Declined("values outside its valid limits, which only szgpu --repack keeps")
        count = about.count_fills(self._zarr_format if self._engine == "zarr" else None)
        if count > 4:
            raise _Declined(f"{count} kinds of missing values, and 4 can be kept")


def _is_slope(variable: xr.Variable) -> bool:
    """Whether the values only rise or only fall; NaN does neither."""
    values = np.asarray(variable.data if variable.chunks is None else variable.data.compute())
    steps = np.diff(values.astype("float64"))
    return bool(values[0] != values[-1] and ((steps >= 0).all() or (steps <= 0).all()))

