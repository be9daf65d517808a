"""The command szgpu: ``python -m szgpu`` is the same as ``szgpu``."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import os
import sys

from . import build_info


def main() -> None:
    """Run the command with this process's arguments. Does not return."""
    command = build_info()["command"]
    if command is None:
        sys.exit("szgpu: this installation has no command: install szgpu with pip")
    os.execv(command, ["szgpu", *sys.argv[1:]])


if __name__ == "__main__":
    main()
