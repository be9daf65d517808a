"""A warning about values that look like fill but are not named, by the command's rule."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import sys
import warnings
from typing import Any

from . import _core, arrays


def warn_of_fill(request: _core.Request, field: arrays.Field, archive: Any) -> None:
    """Look at a field in the memory of the CPU; on a GPU this would cost a copy."""
    if field.device is not None:
        return
    sentence = _core.fill_warning(request, field.buffer, archive)
    if sentence:
        warnings.warn(sentence, UserWarning, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """Count the frames up to the first one outside of the package."""
    frame, level = sys._getframe(1), 1
    package = __name__.partition(".")[0]
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level
