"""__main__.py - random arrays through every door: right, refused when written, or declined.

    python python/tests/random_arrays --count 10000             # all doors in turn
    python python/tests/random_arrays --count 500 --only h5py   # one door
    python python/tests/random_arrays --seed 1 --only h5py --case 17   # one case, as a failure says

judge.py has the rules. Prints each case that is wrong and the command that repeats it, and at the
end how many cases of each door were right, refused, declined and wrong. Exits with 1 if any is
wrong.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from judge import DOORS, Result, run_case

OUTCOMES = ("right", "refused", "declined", "wrong")
_MOST_SHOWN = 150  # letters of a refusal
_MOST_SECONDS = 300  # of a case: it takes less than one


def report(counts: dict[str, Counter[str]]) -> str:
    lines = [f"{'door':<16}" + "".join(f"{name:>10}" for name in OUTCOMES)]
    for door, count in counts.items():
        lines.append(f"{door:<16}" + "".join(f"{count[name]:>10}" for name in OUTCOMES))
    total: Counter[str] = sum(counts.values(), Counter())
    lines.append(f"{'all':<16}" + "".join(f"{total[name]:>10}" for name in OUTCOMES))
    return "\n".join(lines)


class Worker:
    """A process that runs cases, so that one in which it crashes is counted and not the last."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.pool: ProcessPoolExecutor | None = None

    def run(self, door: str, number: int) -> Result:
        if self.pool is None:
            context = multiprocessing.get_context("spawn")
            self.pool = ProcessPoolExecutor(1, mp_context=context)
        try:
            return self.pool.submit(run_case, door, self.seed, number).result(_MOST_SECONDS)
        except (BrokenProcessPool, TimeoutError) as error:
            for process in (self.pool._processes or {}).values():
                process.kill()
            self.pool = None
            what = "crashes" if isinstance(error, BrokenProcessPool) else "hangs"
            return Result(door, self.seed, number, "wrong", what, "", "?")

    def close(self) -> None:
        if self.pool:
            self.pool.shutdown()


def run_all(cases: list[tuple[str, int]], seed: int, jobs: int) -> Iterator[Result]:
    """Run cases by a worker for each job, each of which takes every jobs-th case."""
    workers = [Worker(seed) for _ in range(jobs)]
    try:
        with ThreadPoolExecutor(jobs) as threads:
            for start in range(0, len(cases), jobs):
                rows = zip(workers, cases[start : start + jobs])
                yield from threads.map(lambda row: row[0].run(*row[1]), rows)
    finally:
        for worker in workers:
            worker.close()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="random_arrays", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=400, help="cases, over all doors")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(DOORS), help="one door")
    parser.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    asked = parser.parse_args(arguments)
    doors = [asked.only] if asked.only else list(DOORS)
    cases = [(doors[i % len(doors)], i // len(doors)) for i in range(asked.count)]
    if asked.case is not None:
        cases = [(door, asked.case) for door in doors]
    counts: dict[str, Counter[str]] = {door: Counter() for door in doors}
    faults: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    begun = time.monotonic()
    for result in run_all(cases, asked.seed, asked.jobs):
        counts[result.door][result.outcome] += 1
        if result.outcome == "wrong":
            faults[f"{result.door}: {result.why.partition(':')[0]} ({result.mode})"] += 1
        elif result.outcome == "refused":
            refusals[re.sub(r"'[^']*'|\d[\d.e+-]*", "..", result.why)[:_MOST_SHOWN]] += 1
        if result.outcome == "wrong" or asked.case is not None:
            print(result, flush=True)
    print(report(counts))
    for title, found in (("refused", refusals), ("wrong", faults)):
        for line, count in found.most_common():
            print(f"{title} {count:>5} {line}")
    print(f"{len(cases)} cases, {time.monotonic() - begun:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
