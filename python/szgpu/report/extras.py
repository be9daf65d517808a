"""Libraries that only the report needs, imported when they are used."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import importlib
import sys
from typing import Any


class ReportError(Exception):
    """What a user can put right. Its text is one sentence."""


def extra(name: str, remedy: str = "pip install 'szgpu[report]'") -> Any:
    """Import a module that may not be installed, or say how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        library = name.partition(".")[0]
        raise ReportError(f"the report needs {library}, which is not installed: {remedy}") from error


class Progress:
    """A progress bar on standard error: tqdm's if there is one, and otherwise a line of text.

    Parameters
    ----------
    total : int
        Steps of the whole work.
    is_quiet : bool
        Show nothing.
    """

    def __init__(self, total: int, is_quiet: bool) -> None:
        self._total = max(total, 1)
        self._done = 0
        self._shown = -1
        self._text = ""
        self._bar: Any = None
        self._is_quiet = is_quiet
        if not is_quiet:
            try:
                self._bar = importlib.import_module("tqdm").tqdm(
                    total=total, unit="value", unit_scale=True, leave=False
                )
            except ImportError:
                pass

    def say(self, text: str) -> None:
        """Name what is being done."""
        self._text = text
        if self._bar is not None:
            self._bar.set_description(text)

    def add(self, count: int) -> None:
        """Count steps that are done."""
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
            return
        percent = 100 * self._done // self._total
        if not self._is_quiet and percent != self._shown:
            self._shown = percent
            print(f"\r{percent:3} %  {self._text:<60.60}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
        elif self._shown >= 0:
            print("\r" + " " * 67 + "\r", end="", file=sys.stderr, flush=True)
