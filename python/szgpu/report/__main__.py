"""The command ``python -m szgpu.report``."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import argparse
import math
import sys
from typing import NoReturn

import szgpu

from .assembly import Options, write_report
from .extras import ReportError

BOUND_MISSED = 4  # as the command szgpu has it


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ReportError(f"{message}; --help shows what there is")


def _integers(text: str, separator: str) -> tuple[int, ...]:
    try:
        values = tuple(int(part) for part in text.split(separator))
    except ValueError:
        values = (-1,)
    if min(values) < 0:
        raise argparse.ArgumentTypeError(f"{text} is not numbers with {separator} between them")
    return values


def _bound(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a finite positive number")
    return value


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="python -m szgpu.report",
        description="Write a page that shows what compression did to a field.",
        epilog="Exit codes: 0; 1 if an input cannot be used; 4 if a bound is missed.",
    )
    parser.add_argument("original", help="raw, .npy or FILE.h5:DATASET")
    parser.add_argument("others", nargs="+", metavar="archive|restored", help="up to 8 of them")
    parser.add_argument("-o", required=True, metavar="FILE", help="the page, such as report.html")
    parser.add_argument("-t", metavar="TYPE", help="of raw files: f32, f64, f16 or bf16")
    parser.add_argument("-d", metavar="DIMS", type=lambda t: _integers(t, "x"),
                        help="of raw files, slowest first: 36x73x144")  # fmt: skip
    parser.add_argument("--bound", type=_bound, metavar="B",
                        help="what should hold for restored files, in the unit of the values")  # fmt: skip
    parser.add_argument("--fill", type=float, metavar="VALUE", help="the value for missing data")
    parser.add_argument("--plane", metavar="I[,J]", type=lambda t: _integers(t, ","),
                        help="where to cut: an index for each axis except the last two")  # fmt: skip
    parser.add_argument("--sz3", action="store_true",
                        help="compress with SZ3 too (pysz), in memory, at the same bounds")  # fmt: skip
    parser.add_argument("-q", action="store_true", help="no progress bar")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        args = _arguments(arguments)
        options = Options(args.t, args.d, args.bound, args.fill, args.plane, args.sz3, args.q)
        holds = write_report(args.original, args.others, args.o, options)
    except (ReportError, szgpu.Error) as error:
        print(f"szgpu.report: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0 if holds else BOUND_MISSED


if __name__ == "__main__":
    sys.exit(main())
