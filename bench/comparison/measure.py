"""measure.py - runs peers by turns on a field, verifies all they restore, and takes means.

SPDX-License-Identifier: BSD-3-Clause
"""
import math
import statistics

from comparison import deviation, peers, runners

STATISTICS = {"best": min, "median": statistics.median}
LOSSLESS_LABEL = "lossless"


class Cell:
    """A peer on a field under a bound: what came out of all repetitions, or the failure. The bound
    is absolute, or a fraction of each value if it is pointwise, or None."""

    def __init__(self, runner, field, label, bound, is_pointwise):
        self.peer, self.kind, self.field = runner.name, runner.kind, field
        self.label, self.bound, self.is_pointwise = label, bound, is_pointwise
        self.failure = None
        self.compress_seconds, self.decompress_seconds = [], []
        self.stored_bytes, self.first, self.deviation = 0, None, None

    def add(self, sample, is_warm):
        """Counts a sample. One that came back like the first is as far from the field as that."""
        if (sample.restored.dtype != self.field.values.dtype
                or sample.restored.shape != self.field.values.shape):
            raise runners.PeerFailure(
                f"it restored {sample.restored.dtype} values of shape {sample.restored.shape}")
        content = sample.restored.tobytes()
        if content != self.first:
            found = deviation.compare(self.field, sample.restored, self.bound,
                                       self.is_pointwise)
            if self.deviation is None or found.is_worse_than(self.deviation):
                self.deviation = found
            self.first = self.first or content
        self.stored_bytes = max(self.stored_bytes, sample.stored_bytes)
        if is_warm:
            self.compress_seconds.append(sample.compress_seconds)
            self.decompress_seconds.append(sample.decompress_seconds)

    def finish(self, statistic):
        """Forgets the restored values, and computes what tables and plots show."""
        self.first = None
        if self.failure:
            return
        best = STATISTICS[statistic]
        self.ratio = self.field.values.nbytes / self.stored_bytes
        self.bits = 8 * self.stored_bytes / self.field.values.size
        self.speeds = tuple(self.field.mb_per_s(best(seconds))
                            for seconds in (self.compress_seconds, self.decompress_seconds))

    def as_json(self):
        told = {"peer": self.peer, "kind": self.kind, "field": self.field.file_name(),
                "bound": self.label,
                "absolute_bound": None if self.is_pointwise else self.bound}
        if self.failure:
            return {**told, "failure": self.failure}
        return {**told, "field_bytes": self.field.values.nbytes, "bytes": self.stored_bytes,
                "ratio": self.ratio, "bits_per_value": self.bits,
                "psnr_db": self.deviation.psnr if math.isfinite(self.deviation.psnr) else None,
                "max_error_over_bound": (self.deviation.over_bound
                                         if math.isfinite(self.deviation.over_bound) else None),
                "bound_kept": self.deviation.is_kept,
                "compress_mb_per_s": self.speeds[0], "decompress_mb_per_s": self.speeds[1],
                "compress_seconds": self.compress_seconds,
                "decompress_seconds": self.decompress_seconds}


def race(all_runners, field, label, bound, is_pointwise, repeats, statistic):
    """A cell for each runner. A turn runs them all, each turn begins with another, and the first
    turn warms up: it is verified, but not timed. A runner that fails is out of this race."""
    cells = [Cell(runner, field, label, bound, is_pointwise) for runner in all_runners]
    for turn in range(repeats + 1):
        for place in range(len(cells)):
            index = (place + turn) % len(cells)
            cell = cells[index]
            if cell.failure:
                continue
            try:
                cell.add(all_runners[index].measure(field, bound), turn > 0)
            except runners.PeerFailure as failure:
                cell.failure = str(failure)
    for cell in cells:
        cell.finish(statistic)
    return cells


def compare_field(all_runners, field, bounds, mode, repeats, statistic):
    """All cells of a field: lossy peers under each bound, then the lossless ones."""
    lossy = [runner for runner in all_runners if runner.kind == peers.LOSSY]
    lossless = [runner for runner in all_runners if runner.kind == peers.LOSSLESS]
    cells = []
    for label in bounds if lossy else ():
        bound = float(label) * (field.span if mode == "rel" else 1.0)
        cells += race(lossy, field, label, bound, mode == "pwrel", repeats, statistic)
    if lossless:
        cells += race(lossless, field, LOSSLESS_LABEL, None, False, repeats, statistic)
    return cells


class Mean:
    """A peer under a bound, over the fields that all peers in the means have in common."""

    def __init__(self, cells):
        self.ratio = statistics.geometric_mean(cell.ratio for cell in cells)
        self.speeds = tuple(statistics.geometric_mean(cell.speeds[way] for cell in cells)
                            for way in (0, 1))
        self.is_kept = all(cell.deviation.is_kept for cell in cells)


class Results:
    """All cells of a run, in tables of what is asked for."""

    def __init__(self, all_runners, fields, bounds, cells, mode, threads):
        self.runners, self.fields, self.bounds, self.cells = all_runners, fields, bounds, cells
        self.mode, self.threads = mode, threads
        self.by_key = {(cell.peer, cell.field.file_name(), cell.label): cell for cell in cells}
        self.mean_fields, self.mean_peers = self.choose_means()

    def of(self, kind):
        return [runner for runner in self.runners if runner.kind == kind]

    def labels(self, kind):
        return self.bounds if kind == peers.LOSSY else [LOSSLESS_LABEL]

    def cell(self, runner, field, label):
        return self.by_key[runner.name, field.file_name(), label]

    def works_on(self, runner, field):
        return not any(self.cell(runner, field, label).failure
                       for label in self.labels(runner.kind))

    def choose_means(self):
        """(fields, names of peers): the peers that worked on at least half of the fields, and the
        fields on which all of these did. Means over different fields could not be compared."""
        chosen = [runner for runner in self.runners
                  if 2 * sum(self.works_on(runner, field) for field in self.fields)
                  >= len(self.fields)]
        fields = [field for field in self.fields
                  if all(self.works_on(runner, field) for runner in chosen)]
        return fields, [runner.name for runner in chosen]

    def mean(self, runner, label):
        """The Mean, or None of a peer that is left out of means."""
        if runner.name not in self.mean_peers or not self.mean_fields:
            return None
        return Mean([self.cell(runner, field, label) for field in self.mean_fields])

    def broken(self):
        """Cells in which a value is beyond its bound, or a bit did not come back."""
        return [cell for cell in self.cells if not cell.failure and not cell.deviation.is_kept]

    def failed(self):
        return [cell for cell in self.cells if cell.failure]
