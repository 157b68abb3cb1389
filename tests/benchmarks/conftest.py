"""The benchmarks are no part of the package: they are found in the checkout."""

from __future__ import annotations

import sys

from rules.cython_source import ROOT

if str(ROOT) not in sys.path:  # at its end: it must not decide which build of the package is tested
    sys.path.append(str(ROOT))
