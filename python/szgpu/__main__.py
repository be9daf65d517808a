"""The command szgpu: ``python -m szgpu`` is the same as ``szgpu``."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import os
import sys

from . import build_info
from .libhdf5 import find_libhdf5

HDF5_LIBRARY = "SZGPU_HDF5_LIBRARY"
"""The environment variable by which the command learns of a libhdf5."""

PLUGINS = "HDF5_PLUGIN_PATH"


def environment() -> dict[str, str]:
    """What the command needs to read HDF5: a libhdf5, and the folder of szgpu's filter for it."""
    variables = dict(os.environ)
    if HDF5_LIBRARY not in variables and (library := find_libhdf5()):
        variables[HDF5_LIBRARY] = library
    if plugin := build_info()["hdf5_plugin"]:
        others = [folder for folder in variables.get(PLUGINS, "").split(os.pathsep) if folder]
        variables[PLUGINS] = os.pathsep.join(dict.fromkeys([plugin, *others]))
    return variables


def main() -> None:
    """Run the command with this process's arguments. Does not return."""
    command = build_info()["command"]
    if command is None:
        sys.exit("szgpu: this installation has no command: install szgpu with pip")
    os.execve(command, ["szgpu", *sys.argv[1:]], environment())


if __name__ == "__main__":
    main()
