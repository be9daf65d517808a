"""The report as one HTML page that needs nothing else."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files

import szgpu

from .figures import COLORS
from .sources import Source, shape_text
from .statistics import ErrorStatistics, FieldStatistics
from .text import count, number, share_of_bound


@dataclass
class Result:
    """All that was found out about one archive or restored field."""

    label: str
    source: Source
    errors: ErrorStatistics
    ssim: float

    @property
    def is_lossless(self) -> bool:
        return self.errors.bound == 0


@dataclass
class Section:
    """A heading, what to see, and figures, each with a description for those who cannot see it."""

    title: str
    text: str
    figures: list[tuple[bytes, str, str]] = field(default_factory=list)  # svg, alt, caption
    is_narrow: bool = False


def verdict(result: Result) -> str:
    """Say in a sentence whether the bound holds."""
    errors = result.errors
    if errors.beyond_count:
        of_all = f"{errors.beyond_count:,} of {count(errors.value_count, 'value')}"
        verb = "is" if errors.beyond_count == 1 else "are"
        if result.is_lossless:
            return f"{of_all} {'has' if verb == 'is' else 'have'} other bits than the original"
        text = f"{of_all} {verb} beyond the bound {number(errors.bound)}"
        if errors.max_error > errors.scale:
            text += f"; the largest error is {share_of_bound(errors.max_error / errors.scale)} times it"
        return text
    if result.is_lossless or errors.same_bits_count == errors.value_count:
        return f"all {count(errors.value_count, 'value')} came back bit for bit"
    if errors.bound is None:
        share = number(errors.max_error / errors.range)
        return f"no bound is known; the largest error is {number(errors.max_error)}, {share} of the range"
    return (
        f"all {count(errors.value_count, 'value')} within the bound {number(errors.bound)}; "
        f"largest error {share_of_bound(errors.max_error / errors.scale)} of it"
    )


def headline(results: Sequence[Result]) -> str:
    """Sum the page up in a sentence of HTML."""
    missed = [r for r in results if r.errors.beyond_count]
    ratios = [r.source.ratio for r in results if r.source.ratio is not None]
    start = ""
    if len(ratios) == 1:
        start = f"Ratio {number(ratios[0], 3)}. "
    elif ratios:
        start = f"Ratios {number(min(ratios), 3)} to {number(max(ratios), 3)}. "
    if len(results) == 1:
        text = escape(verdict(results[0]))
        text = text[0].upper() + text[1:] + "."
        return start + (f'<span class="missed">{text}</span>' if missed else text)
    if missed:
        which = "; ".join(f"{r.label}: {verdict(r)}" for r in missed)
        verb = "misses its bound" if len(missed) == 1 else "miss their bounds"
        kept = f"{len(missed)} of {len(results)} {verb}. {which}."
        return f'{start}<span class="missed">{escape(kept)}</span>'
    bounded = [r for r in results if r.errors.bound is not None]
    if not bounded:
        return f"{start}No bounds are known."
    values = count(results[0].errors.value_count, "value")
    if len(bounded) == len(results):
        return f"{start}{'Both' if len(results) == 2 else f'All {len(results)}'} keep all {values} within the bound."
    return f"{start}Of {len(results)}, {len(bounded)} have a bound, and all {values} are within it."


def _bound(r: Result) -> str:
    if r.errors.bound is None:
        return "unknown"
    return "lossless" if r.is_lossless else number(r.errors.bound)


def _in_bound(r: Result) -> str:
    if r.errors.beyond_count:
        return f'<span class="missed">✗ {r.errors.beyond_count:,} beyond</span>'
    return "–" if r.errors.bound is None else "✓ all values"


def _largest(r: Result) -> str:
    text = number(r.errors.max_error)
    if not r.errors.bound:
        return text
    share = share_of_bound(r.errors.max_error / r.errors.bound)
    text = f"{text} <small>{share} of the bound</small>"
    return f'<span class="missed">{text}</span>' if r.errors.max_error > r.errors.bound else text


def _bias(r: Result) -> str:
    share = ""
    if r.errors.bound:
        share = f" <small>{number(r.errors.bias / r.errors.bound, 2)} of the bound</small>"
    return number(r.errors.bias, 3) + share


def _gradient(r: Result) -> str:
    return ", ".join(number(100 * g, 3) for g in r.errors.gradient_errors) + " %"


_ROWS: tuple[tuple[str, Callable[[Result], str], str], ...] = (
    ("Bound", _bound, "What should hold for every value, in the unit of the values."),
    ("Within it", _in_bound, "Each value is compared without a rounding error. Values that are not finite, and fill, must be bit-identical or within the bound."),
    ("Ratio", lambda r: number(r.source.ratio, 4), "The size of the field over that of the archive."),
    ("Bits a value", lambda r: number(r.source.bits_a_value, 3), "The size of the archive over the number of values."),
    ("Predictor", lambda r: escape(r.source.predictor) or "–", "What most rows were predicted by."),
    ("Largest error", _largest, "The largest |restored − original|, in the unit of the values."),
    ("Bias", _bias, "The mean error. Near 0, sums and averages of the field are kept."),
    ("RMS error", lambda r: number(r.errors.rms_error, 3), "The root of the mean square error. Errors uniform in the bound would have 0.577 of the bound."),
    ("PSNR", lambda r: number(r.errors.psnr, 4) + " dB", "The range of the field over the RMS error: 20 dB more is a tenth of the error."),
    ("SSIM", lambda r: f"{math.floor(r.ssim * 1e6) / 1e6:.6f}" if math.isfinite(r.ssim) else "–", "Structural similarity in windows of 7 x 7 values of the sample; 1 is identical."),
    ("Gradients", _gradient, "RMS error of differences between neighbours over their RMS, for each axis, slowest first."),
)  # fmt: skip


def _table(results: Sequence[Result]) -> str:
    head = "".join(
        f'<th scope="col"><span class="swatch" style="background:{COLORS[i % len(COLORS)]}"></span>'
        f"{escape(r.label)}</th>"
        for i, r in enumerate(results)
    )
    are_beside = len(results) < 3
    body = "".join(
        f'<tr><th scope="row" title="{escape(meaning)}">{name}</th>'
        + "".join(f'<td class="value">{show(r)}</td>' for r in results)
        + (f'<td class="meaning">{meaning}</td></tr>' if are_beside else "</tr>")
        for name, show, meaning in _ROWS
    )
    below = ""
    if not are_beside:
        terms = "".join(f"<p><b>{name}</b> {meaning}</p>" for name, _, meaning in _ROWS)
        below = f'<div class="meanings">{terms}</div>'
    last = '<th scope="col">What it says</th>' if are_beside else ""
    return (
        f'<div class="scroll"><table><thead><tr><th scope="col">Figure</th>{head}'
        f"{last}</tr></thead><tbody>{body}</tbody></table></div>{below}"
    )


def _violations(results: Sequence[Result]) -> str:
    text = ""
    for r in results:
        if not r.errors.beyond_count:
            continue
        found = r.errors.violations
        lines = "".join(
            f"<p>at [{', '.join(map(str, v.index))}]: original {v.original!r}, restored {v.restored!r}</p>"
            for v in found
        )
        first = "" if len(found) == r.errors.beyond_count else f" The first {len(found)}:"
        text += (
            f'<div class="violations"><p class="missed">{escape(r.label)} misses its bound.{first}</p>'
            f"{lines}</div>"
        )
    return text


def _figure(figure: tuple[bytes, str, str], is_narrow: bool) -> str:
    svg, alt, caption = figure
    data = base64.b64encode(svg).decode()
    css = ' class="narrow"' if is_narrow else ""
    return (
        f'<figure{css}><img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def page(
    original: Source, of_field: FieldStatistics, results: Sequence[Result],
    sections: Sequence[Section], notes: Sequence[str],
) -> str:  # fmt: skip
    """Write the page."""
    name = escape(original.name.rpartition("/")[2])
    masked = f" · {of_field.masked_count:,} not finite or fill (grey)" if of_field.masked_count else ""
    unit = f" {escape(original.unit)}" if original.unit else ""
    facts = (
        f"{shape_text(original.shape)} values of type {original.dtype} · "
        f"{number(original.value_count * original.dtype.itemsize / 1e6, 3)} MB · "
        f"{number(of_field.low)} to {number(of_field.high)}{unit}{masked}"
    )
    body = "".join(
        f"<section><h2>{escape(s.title)}</h2><p>{escape(s.text)}</p>"
        + "".join(_figure(f, s.is_narrow) for f in s.figures)
        + "</section>"
        for s in sections
    )
    css = files(__package__).joinpath("style.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}: szgpu report</title><style>{css}</style></head><body><main>"
        f'<p class="over">szgpu report</p><h1>{name}</h1>'
        f'<p class="headline">{headline(results)}</p><p class="facts">{facts}</p>'
        f"{_violations(results)}{_table(results)}{body}"
        f"<footer>{''.join(f'<p>{escape(n)}</p>' for n in notes)}"
        f"<p>Made by szgpu {escape(szgpu.__version__)}.</p></footer></main></body></html>\n"
    )
