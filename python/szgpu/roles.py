"""Which variables are no fields by CF's conventions or their names, and which bound is for which.

The tables are those of apps/szgpu/hdf5_roles.c, and the rules those of apps/szgpu/bounds.c, in the
same words: a test compares the tables, and what both make of the same files.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from .settings import Settings

NAMING = (
    "coordinates",
    "bounds",
    "climatology",
    "cell_measures",
    "formula_terms",
    "grid_mapping",
    "geometry",
    "node_coordinates",
    "node_count",
    "part_node_count",
    "interior_ring",
    "edge_coordinates",
    "face_coordinates",
    "volume_coordinates",
    "coordinate_interpolation",
    "axes",
)
"""Attributes of CF, UGRID and NeXus whose words are names of variables."""

HABITS: tuple[tuple[str | None, str, str], ...] = (
    ("CLASS", "DIMENSION_SCALE", "a dimension scale"),
    ("axis", "*", "a coordinate by its axis"),
    ("flag_values", "*", "flags"),
    ("flag_masks", "*", "flags"),
    ("flag_meanings", "*", "flags"),
    ("units", "* since *", "times by its units"),
    ("units", "degree*north", "a coordinate by its units"),
    ("units", "degree*east", "a coordinate by its units"),
    ("units", "degree*_[ne]", "a coordinate by its units"),
    ("units", "degree[ne]", "a coordinate by its units"),
    ("units", "degrees[ne]", "a coordinate by its units"),
    ("standard_name", "*latitude", "a coordinate by its standard_name"),
    ("standard_name", "*longitude", "a coordinate by its standard_name"),
    ("standard_name", "*_coordinate", "a coordinate by its standard_name"),
    ("standard_name", "time", "a coordinate by its standard_name"),
    ("standard_name", "forecast_*", "a coordinate by its standard_name"),
    ("standard_name", "height", "a coordinate by its standard_name"),
    ("standard_name", "depth", "a coordinate by its standard_name"),
    ("standard_name", "altitude", "a coordinate by its standard_name"),
    ("standard_name", "cell_area", "sizes of cells by its standard_name"),
    ("standard_name", "cell_volume", "sizes of cells by its standard_name"),
    ("standard_name", "*_mask", "a mask by its standard_name"),
    ("standard_name", "*status_flag*", "flags by its standard_name"),
    ("standard_name", "*quality_flag*", "flags by its standard_name"),
    (None, "lat", "a coordinate by its name"),
    (None, "lon", "a coordinate by its name"),
    (None, "latitude", "a coordinate by its name"),
    (None, "longitude", "a coordinate by its name"),
    (None, "time", "a coordinate by its name"),
    (None, "mask", "a mask by its name"),
    (None, "mask_*", "a mask by its name"),
    (None, "*_mask", "a mask by its name"),
    (None, "*landmask", "a mask by its name"),
    (None, "flag*", "flags by its name"),
    (None, "*_flag*", "flags by its name"),
)
"""An attribute, or None for the name; a pattern, in which case does not count; what fits it."""


def text_of(value: Any) -> str | None:
    """See the value of an attribute as a text, if it is one or several."""
    if isinstance(value, str):
        return value
    several = value if isinstance(value, (list, tuple, np.ndarray)) else ()
    are_texts = len(several) > 0 and all(isinstance(one, str) for one in several)
    return " ".join(several) if are_texts else None


_OTHER_SEPARATORS = str.maketrans(":,[]", "    ")


def find_named(variables: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Find which variables an attribute of another one names, and say by which.

    variables: the attributes of each variable; those of the dataset are "/"'s.
    """
    named: dict[str, str] = {}
    for by, attributes in variables.items():
        for attribute in NAMING:
            words = text_of(attributes.get(attribute)) or ""
            if attribute == "axes":  # NeXus before 2014 separates names otherwise
                words = words.translate(_OTHER_SEPARATORS)
            for word in words.split():
                if not word.endswith(":") and word in variables and word != by:
                    named.setdefault(word, f"{attribute} of {by}")
    return named


def find_habit(name: str, attributes: Mapping[str, Any]) -> str | None:
    """Say what a variable is by its own attributes or its name, if it is no field."""
    for attribute, pattern, what in HABITS:
        if attribute is not None and attribute not in attributes:
            continue
        if attribute is not None and pattern == "*":  # flags are numbers
            return what
        text = name if attribute is None else text_of(attributes[attribute])
        if text is not None and fnmatchcase(text.lower(), pattern.lower()):
            return what
    return None


# ---- which bound is for which variable ----

KEPT = "keep"
_BOUNDS = ("abs", "rel", "psnr", "pwrel")
_SUBJECTS = ("standard_name", "units", "name")


@dataclass
class Rule:
    """A bound for the variables whose name, `units` or `standard_name` fits."""

    key: str  # as it was given
    mode: str  # of szgpu.compress, or KEPT
    bound: float  # 1 if lossless or kept
    is_used: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        subject, mark, which = self.key.partition("=")
        is_subject = bool(mark) and subject in _SUBJECTS
        self.subject, self.which = (subject, which) if is_subject else ("name", self.key)
        if not self.which:
            raise ValueError(f"the rule {self.key!r} names no variable: give one")
        self.is_pattern = any(mark in self.which for mark in "*?[")

    @property
    def is_own_name(self) -> bool:
        return self.subject == "name" and not self.is_pattern

    def fits(self, name: str, attributes: Mapping[str, Any]) -> bool:
        text = name if self.subject == "name" else text_of(attributes.get(self.subject))
        if text is None:
            return False
        return text == self.which or (self.is_pattern and fnmatchcase(text, self.which))

    def __str__(self) -> str:
        return f"{self.key}: {self.what}"

    @property
    def what(self) -> str:
        """Say which bound it is, as the command does."""
        return self.mode if self.mode in (KEPT, "lossless") else f"{self.mode} {self.bound:g}"


class Rules:
    """The bounds of a call: numbers, or mappings from variables to numbers."""

    def __init__(self, lossless: Any = False, keep: Any = (), **bounds: Any) -> None:
        self.rules: list[Rule] = []
        self.rest: Rule | None = None
        for mode in _BOUNDS:
            given = bounds.get(mode)
            if isinstance(given, Mapping):
                for key, bound in given.items():
                    self.rules.append(_rule(key, mode, bound))
            elif given is not None:
                self._set_rest(_rule("*", mode, given))
        if lossless is True:
            self._set_rest(Rule("*", "lossless", 1.0))
        for mode, keys in (("lossless", lossless or ()), (KEPT, keep)):
            if keys is not True:
                self.rules += [Rule(_key_of(key), mode, 1.0) for key in _keys_of(keys, mode)]
        if self.rest is None and not any(rule.mode != KEPT for rule in self.rules):
            raise ValueError(
                "no bound was given: give one for all fields, as in abs=0.01, or for some, as in "
                'abs={"t": 0.01}'
            )

    def _set_rest(self, rule: Rule) -> None:
        if self.rest is not None:
            raise ValueError(
                f"{self.rest.mode} and {rule.mode} are both for all fields: leave one of them out, "
                'or give it for some variables, as in abs={"t": 0.01}'
            )
        self.rest = rule

    def find(self, name: str, attributes: Mapping[str, Any]) -> Rule | None:
        """Find the rule for a variable: one for its own name comes before others."""
        fitting = [rule for rule in self.rules if rule.fits(name, attributes)]
        for rule in fitting:
            rule.is_used = True
        best = [rule for rule in fitting if rule.is_own_name] or fitting
        for other in best[1:]:
            if (other.mode, other.bound) != (best[0].mode, best[0].bound):
                raise ValueError(
                    f"{name} has two bounds, by {best[0]} and by {other}: leave one of them out"
                )
        return best[0] if best else None

    def require_used(self, names: Iterable[str]) -> None:
        for rule in self.rules:
            if not rule.is_used:
                raise ValueError(
                    f"there is no variable for {rule}: choose from {', '.join(names) or 'none'}"
                )


def _key_of(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the rule {key!r} is not a text: give a variable's name, or a pattern")
    return key


def _keys_of(keys: Any, what: str) -> list[Any]:
    if isinstance(keys, str):
        return [keys]
    if not isinstance(keys, Iterable):
        raise TypeError(f"{what} is {keys!r}, which names no variables: give a list of names")
    return list(keys)


def _rule(key: Any, mode: str, bound: Any) -> Rule:
    return Rule(_key_of(key), mode, Settings(**{mode: bound}).bound)
