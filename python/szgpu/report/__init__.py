"""A page that shows what compression did to a field: ``python -m szgpu.report``.

It needs scipy, scikit-image and matplotlib: ``pip install 'szgpu[report]'``.
"""

# SPDX-License-Identifier: BSD-3-Clause

from .assembly import Options, build, write_report
from .extras import ReportError

__all__ = ["Options", "ReportError", "build", "write_report"]
