#!/usr/bin/env python3
"""make_log2_coefficients.py - prints the polynomials of src/values/log2_core.h.

SPDX-License-Identifier: BSD-3-Clause

usage: scripts/make_log2_coefficients.py > src/values/log2_coefficients.h

Each polynomial meets its function at the Chebyshev nodes of [-1/2, 1/2]. Coefficients are computed
with 60 digits and then rounded to the type.
"""

from decimal import Decimal, getcontext
import struct

getcontext().prec = 60
HALF = Decimal("0.5")
LN2 = Decimal(2).ln()
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


def cosine(x):
    total = term = Decimal(1)
    n = 0
    while abs(term) > Decimal(10) ** -58:
        n += 2
        term *= -x * x / (n * (n - 1))
        total += term
    return total


def polynomial(function, degree):
    """Coefficients, the constant first."""
    count = degree + 1
    nodes = [HALF * cosine(PI * (2 * i + 1) / (2 * count)) for i in range(count)]
    rows = [[x**k if k else Decimal(1) for k in range(count)] + [function(x)] for x in nodes]
    for i in range(count):
        for row in rows:
            if row is not rows[i]:
                times = row[i] / rows[i][i]
                row[:] = [a - times * b for a, b in zip(row, rows[i])]
    return [rows[i][count] / rows[i][i] for i in range(count)]


def to_f32(x):
    return struct.unpack("<f", struct.pack("<f", float(x)))[0]


def macro(name, function, degree, to_type, suffix):
    """X(coefficient) for each, from the highest order down."""
    coefficients = [to_type(c) for c in polynomial(function, degree)]
    lines = [f"  X({c.hex()}{suffix})" for c in reversed(coefficients)]
    print(f"#define {name}(X) \\\n" + " \\\n".join(lines) + "\n")


def log2(t):
    return (3 * HALF + t).ln() / LN2


def exp2(t):
    return ((HALF + t) * LN2).exp()


print(
    """/* log2_coefficients.h - of the polynomials of log2_core.h, by scripts/make_log2_coefficients.py.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * X(coefficient) for each, from the highest order down. LOG2: of log2(1.5 + t), EXP2: of
 * 2^(0.5 + t), both for |t| <= 0.5.
 */
#ifndef SZG_LOG2_COEFFICIENTS_H
#define SZG_LOG2_COEFFICIENTS_H

/* clang-format off */"""
)
macro("SZG_LOG2_F32", log2, 8, to_f32, "f")
macro("SZG_EXP2_F32", exp2, 6, to_f32, "f")
macro("SZG_LOG2_F64", log2, 17, float, "")
macro("SZG_EXP2_F64", exp2, 11, float, "")
print("/* clang-format on */\n\n#endif")
