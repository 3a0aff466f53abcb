"""Settings that all tests share: random examples are the same in every run."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.thorough import quarter

# Read by whatever is loaded later: on tiny tables threads wait for each other, and processes of
# tests beside each other wait longest.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile(
    "same-every-run",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=quarter(50),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("same-every-run")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without what takes every worker ten seconds: rewriting the asserts of 400 files.

    What pytest makes of them is kept for the next time, and 700,000 objects are looked through
    for garbage neither now nor at every test; later ones less often.
    """
    gc.disable()
    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:
            patch.setattr(sys, "dont_write_bytecode", False)
        collected = yield
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()
    return collected


@pytest.fixture(scope="module")
def undrawn() -> Iterator[None]:
    """Leave the plots of pages empty, whose drawing takes longer than most audits of tests.

    For what looks at no plot: they are drawn in tests/laws/test_reports.py, in the tests of each
    kind of report and by the commands that run in a process of their own.
    """
    with pytest.MonkeyPatch.context() as patch:
        empty = '<svg viewBox="0 0 1 1"></svg>'
        patch.setattr("privacygauge.report.axes.svg_text", lambda draw, *, transparent: empty)
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = os.environ.get("PRIVACYGAUGE_DATA")
    if not folder:
        pytest.skip("PRIVACYGAUGE_DATA names no folder with real data")
    if not Path(folder).is_dir():
        pytest.skip(f"PRIVACYGAUGE_DATA names {folder}, which is not a folder")
    return Path(folder)
