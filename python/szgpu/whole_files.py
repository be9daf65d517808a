"""Whole files of HDF5 and netCDF: what ``szgpu --repack`` and ``--unpack`` do."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any

USAGE, IO = 1, 2
"""Exit codes of the command."""


def repack(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str] | None = None,
    *,
    abs: float | None = None,
    rel: float | None = None,
    psnr: float | None = None,
    pwrel: float | None = None,
    lossless: bool = False,
    variables: Mapping[str, str] | None = None,
    bounds: str | os.PathLike[str] | None = None,
    like: str | os.PathLike[str] | None = None,
    chunks: str = "auto",
    zstd: int = 0,
    threads: int = 0,
    memory: str | None = None,
    verify: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Copy a netCDF or HDF5 file and compress its fields; everything else is kept.

    docs/netcdf.md says which datasets are compressed and what the new file records. At most one of
    `abs`, `rel`, `psnr`, `pwrel` and `lossless` is for the fields that no rule is for; without one,
    only those with a rule are compressed.

    Parameters
    ----------
    source, target : path
        The file to read, and the one to write, which must not exist. `target` may be left out with
        `dry_run`. A file of classic netCDF needs the program nccopy.
    abs, rel, psnr, pwrel, lossless
        The bound, as in `compress`. Here, rel and psnr mean the range of each variable.
    variables : mapping, optional
        Rules for variables: ``{"tos": "abs=0.01", "units=K": "rel=1e-4", "lat2d": "keep"}``.
    bounds : path, optional
        A file with such rules.
    like : path, optional
        A file by szgpu whose variables have the bounds to take.
    chunks : {"auto", "keep"}, default "auto"
        Whether small chunks are joined.
    zstd : int, default 0
        1 to 19 packs archives with zstd if that saves space.
    threads : int, default 0
        CPU threads; 0 means all cores.
    memory : str, optional
        The most memory, such as ``"4G"``.
    verify : bool, default False
        Read the new file back and compare every variable before the file gets its name.
    overwrite : bool, default False
        Replace an existing file.
    dry_run : bool, default False
        Write nothing, and estimate sizes.

    Returns
    -------
    dict
        What ``szgpu --repack --json`` prints: "datasets" is a list with a dict for each.

    Raises
    ------
    ValueError
        A rule or a file is not one that the command takes.
    OSError
        A file cannot be read or written.
    RuntimeError
        Something else went wrong, for instance too little memory.
    """
    given = {"abs": abs, "rel": rel, "psnr": psnr, "pwrel": pwrel}
    modes = [mode for mode, bound in given.items() if bound is not None]
    if len(modes) + lossless > 1:
        raise ValueError("pass at most one of abs, rel, psnr, pwrel and lossless")
    arguments = ["--repack", "--chunks", chunks]
    for mode in modes:
        arguments += ["-m", mode, "-e", repr(float(given[mode]))]  # type: ignore[arg-type]
    if lossless:
        arguments += ["-m", "lossless"]
    for name, rule in (variables or {}).items():
        arguments += ["--var", f"{name}:{rule}"]
    for option, value in (("--bounds", bounds), ("--like", like)):
        if value is not None:
            arguments += [option, os.fspath(value)]
    if zstd:
        arguments.append(f"--zstd={zstd}")
    arguments += ["--dry-run"] * dry_run
    files = [name for name in (source, target) if name is not None]
    return _run(arguments, files, threads, memory, verify, overwrite)


def unpack(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    threads: int = 0,
    memory: str | None = None,
    verify: bool = False,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Copy a netCDF-4 or HDF5 file and restore its fields, for readers without the plugin.

    The new file has the restored values without szgpu's filter, and everything else as it is.

    Parameters
    ----------
    source, target, threads, memory, verify, overwrite
        As in `repack`.

    Returns
    -------
    dict
        What ``szgpu --unpack --json`` prints: "datasets" is a list with a dict for each.

    Raises
    ------
    ValueError, OSError, RuntimeError
        As `repack` does.
    """
    return _run(["--unpack"], [source, target], threads, memory, verify, overwrite)


def _run(
    arguments: list[str],
    files: list[str | os.PathLike[str]],
    threads: int,
    memory: str | None,
    verify: bool,
    overwrite: bool,
) -> dict[str, Any]:
    from . import build_info
    from .__main__ import environment

    command = build_info()["command"]
    if command is None:
        raise RuntimeError("this installation has no command: install szgpu with pip")
    arguments += ["--json", "-j", str(threads)] + ["-f"] * overwrite + ["-V"] * verify
    if memory is not None:
        arguments += ["--memory", memory]
    done = subprocess.run(
        [command, *arguments, "--", *(os.fspath(file) for file in files)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return dict(json.loads(done.stdout))
    sentence = done.stderr.strip().removeprefix("szgpu: ")
    kind = {USAGE: ValueError, IO: OSError}.get(done.returncode, RuntimeError)
    raise kind(sentence or f"the command ended with exit code {done.returncode}")
