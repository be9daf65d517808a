"""Numbers and names as people read them."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import math

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 4) -> str:
    """Write a number with few digits: 0.001, 21.6, 1.2 × 10⁻⁷; a dash if there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:.{digits}g}".replace("-", "−") if abs(value) < 10**digits else f"{value:,.0f}"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    power = f"10{str(int(exponent)).translate(_RAISED)}"
    if mantissa in ("1", "-1"):
        return mantissa[:-1].replace("-", "−") + power
    return f"{mantissa} × {power}".replace("-", "−")


def share_of_bound(share: float) -> str:
    """Write an error over its bound, never rounded across 1."""
    if 0.5 < share <= 1:
        return f"{math.floor(share * 1e4) / 1e4:g}"
    if 1 < share < 2:
        return f"{math.ceil(share * 1e4) / 1e4:g}"
    return number(share)


def count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
