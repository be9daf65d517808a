"""Which libhdf5 this process has, or could have."""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

_MAPPED = re.compile(r"/\S*/libhdf5(?:_serial|_openmpi|_mpich)?[-.][^/\s]*$", re.MULTILINE)


def loaded_libhdf5s() -> list[str]:
    """Find every libhdf5 in this process: h5py and netCDF4 from PyPI have one each."""
    return sorted(set(_MAPPED.findall(Path("/proc/self/maps").read_text())))


def find_libhdf5() -> str | None:
    """Find the libhdf5 of h5py or netCDF4.

    Those of wheels lie beside their packages. Others are where the system or conda has them: then
    the package itself is imported, and what it has mapped says where.
    """
    for name in ("h5py", "netCDF4"):
        spec = find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            continue
        beside = Path(spec.submodule_search_locations[0]).parent
        for folder in (beside / f"{name}.libs", beside / f"{name.lower()}.libs"):
            for file in sorted(folder.glob("libhdf5-*.so*")):
                return str(file)
        try:
            import_module(name)
        except Exception:  # a package that does not work has no libhdf5 to offer
            continue
        if mapped := loaded_libhdf5s():
            return mapped[0]
    return None
