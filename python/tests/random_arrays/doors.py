"""doors.py - what a door of another library has to do for a case."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import check
import numpy as np
from draw import Case

_NEW_PROCESS = """
import sys
import numpy as np
path, out = sys.argv[1:3]
def return_(values):
    np.save(out, np.asarray(values))
"""


class Door:
    """One way in and out. The same is done without the codec, which shows what should come back."""

    def draw(self, case: Case) -> None:
        """Draw a case that this door takes."""
        raise NotImplementedError

    def write(self, case: Case, folder: Path, codec: bool) -> Any:
        """Write the case's array, with the codec or without, and give what `read` needs."""
        raise NotImplementedError

    def read(self, case: Case, handle: Any) -> np.ndarray:
        """Read the array as it is stored: without masks and scales."""
        raise NotImplementedError

    def mask(self, case: Case, handle: Any) -> np.ndarray | None:
        """Read which values the door's library takes for missing, if it has a say in this."""
        return None

    def is_declined(self, case: Case, handle: Any) -> bool:
        """Whether the codec was left out, as HDF5 does, or is lossless instead."""
        return False

    def warns(self, case: Case, handle: Any) -> bool:
        """Whether a warning must be given if the codec is left out."""
        return False

    def leavings(self, case: Case) -> np.ndarray | None:
        """Read what a refused write left, if it can be read."""
        return None

    def told(self, case: Case) -> tuple[Any, ...]:
        """Name the values that the door tells the codec are missing."""
        return ()

    def padding(self, case: Case) -> Any:
        """Name the value that chunks have beyond the array's edge; None: there is nothing."""
        return 0


def in_new_process(code: str, path: str) -> np.ndarray:
    """Read by a process that has imported nothing yet. The code gives its array to `return_`."""
    out = f"{path}.read.npy"
    done = subprocess.run(
        [sys.executable, "-c", _NEW_PROCESS + code, path, out],
        capture_output=True, text=True, timeout=120,
    )
    if done.returncode:
        raise check.Wrong("a new process cannot read it", done.stderr.strip()[-300:])
    return np.asarray(np.load(out))
