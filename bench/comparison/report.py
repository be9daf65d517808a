"""report.py - the results as Markdown and as JSON.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import math

from comparison import peers, runners

TITLES = {peers.LOSSY: "With a bound", peers.LOSSLESS: "Lossless"}


def table(head, rows):
    """The lines of a table of Markdown."""
    return (["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
            + ["| " + " | ".join(row) + " |" for row in rows] + [""])


def show_table(head, rows):
    print("\n".join(table(head, rows)), flush=True)


def star(is_kept):
    return "" if is_kept else "*"


def matrix(results, kind, show):
    """A row for each field and bound, a column for each peer; a peer that failed has a dash."""
    chosen = results.of(kind)
    rows = []
    for field in results.fields:
        for label in results.labels(kind):
            shown = []
            for runner in chosen:
                cell = results.cell(runner, field, label)
                shown.append("-" if cell.failure else show(cell))
            rows.append([field.file_name()] + ([label] if kind == peers.LOSSY else []) + shown)
    lead = ["field", "bound"] if kind == peers.LOSSY else ["field"]
    return table(lead + [runners.title(runner) for runner in chosen], rows)


def show_ratio(cell):
    return f"{cell.ratio:.2f}{star(cell.deviation.is_kept)}"


def show_speeds(cell):
    return f"{cell.speeds[0]:.0f} / {cell.speeds[1]:.0f}"


def show_psnr(cell):
    if math.isinf(cell.deviation.psnr):
        return "exact"
    return "-" if math.isnan(cell.deviation.psnr) else f"{cell.deviation.psnr:.1f}"


def over_bound_text(over):
    """An error over the bound, of which one that is just beyond it shows by how much."""
    if not 1 <= over < 1.001:
        return f"{over:.4g}"
    return "1" if over == 1 else f"1 + {over - 1:.1g}"


def show_error(cell):
    over = cell.deviation.over_bound
    return f"{over:.4g}" if cell.deviation.is_kept else over_bound_text(over) + "*"


def summary(results, kind):
    """A row for each peer: means by bound, the threads it used, how many cells broke the bound."""
    rows = []
    for runner in results.of(kind):
        means = [results.mean(runner, label) for label in results.labels(kind)]
        done = [cell for cell in results.cells if cell.peer == runner.name and not cell.failure]
        broken = sum(not cell.deviation.is_kept for cell in done)
        rows.append([runners.title(runner), str(runner.threads)] + [
            "-" if mean is None else f"{mean.ratio:.2f}{star(mean.is_kept)}; "
            f"{mean.speeds[0]:.0f} / {mean.speeds[1]:.0f}" for mean in means]
            + [f"{len(done) - broken} of {len(done)}"])
    kept = "bound kept" if kind == peers.LOSSY else "every bit kept"
    return table(["", "threads", *results.labels(kind), kept], rows)


def summaries(results):
    lines = ["## In short", ""]
    if not results.mean_fields:
        return lines + ["No field went through all peers, so there are no means.", ""]
    lines += [f"Geometric means over {len(results.mean_fields)} of {len(results.fields)} fields: "
              "ratio; compress / decompress, MB/s.", ""]
    out = [field.file_name() for field in results.fields if field not in results.mean_fields]
    if out:
        lines += [f"Not in the means: {', '.join(out)}, on which not every peer worked.", ""]
    for kind in (peers.LOSSY, peers.LOSSLESS):
        if results.of(kind):
            lines += [f"{TITLES[kind]}:", ""] + summary(results, kind)
    return lines


def grouped(cells, text_of):
    """A line for each peer: the fields and bounds, with what is to be said of each."""
    by_peer = {}
    for cell in cells:
        said = by_peer.setdefault(cell.peer, {}).setdefault(cell.field.file_name(), {})
        said.setdefault(text_of(cell), []).append(cell.label)
    for peer, by_field in by_peer.items():
        places = [f"{field}, " + ", ".join(f"{', '.join(labels)} ({text})"
                                           for text, labels in said.items())
                  for field, said in by_field.items()]
        yield f"- {peer}: {'; '.join(places)}"


def troubles(results, missing):
    """What could not be measured, and what broke its promise, by name."""
    lines = []
    if missing:
        lines += ["Not there, so not compared:", ""]
        lines += [f"- {name}: {why}" for name, why in missing] + [""]
    if results.failed():
        lines += ["Failed:", ""] + list(grouped(results.failed(), lambda cell: cell.failure)) + [""]
    if results.broken():
        lines += ["Bound broken (a star in the tables), the largest error over the bound:", ""]
        lines += grouped(results.broken(), lambda cell: "some bit" if cell.bound is None
                         else over_bound_text(cell.deviation.over_bound))
        lines.append("")
    return lines


def markdown(results, about, missing, pictures):
    """The whole page. about: lines on the machine and the way of measuring."""
    lines = about + [""] + troubles(results, missing) + summaries(results)
    lines += [f"![{text}]({name})\n" for name, text in pictures]
    if results.of(peers.LOSSY):
        for head, show in (("Ratio", show_ratio),
                           ("Compress / decompress, MB/s", show_speeds),
                           ("Largest error over the bound", show_error), ("PSNR, dB", show_psnr)):
            lines += [f"## {head}", ""] + matrix(results, peers.LOSSY, show)
    if results.of(peers.LOSSLESS):
        lines += ["## Lossless: ratio", ""] + matrix(results, peers.LOSSLESS, show_ratio)
        lines += ["## Lossless: compress / decompress, MB/s", ""]
        lines += matrix(results, peers.LOSSLESS, show_speeds)
    return "\n".join(lines).rstrip("\n") + "\n"


def as_json(results, settings, missing):
    told = {"settings": settings,
            "peers": [{"name": runner.name, "kind": runner.kind, "threads": runner.threads,
                       "seconds": runner.timing} for runner in results.runners],
            "missing": [{"name": name, "why": why} for name, why in missing],
            "cells": [cell.as_json() for cell in results.cells]}
    return json.dumps(told, indent=1, allow_nan=False) + "\n"


def errors_of_ours(results):
    """Sentences on what szgpu itself did wrong; there should be none."""
    return [f"{cell.peer} on {cell.field.file_name()} at {cell.label}: "
            + (cell.failure or "the bound was broken")
            for cell in results.failed() + results.broken() if cell.peer.split()[0] == "szgpu"]
