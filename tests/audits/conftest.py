"""What tests of audits share."""

from __future__ import annotations

import pytest

from privacygauge.report.axes import svg_text


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the plots of pages after all, for a test of a module that leaves them empty."""
    monkeypatch.setattr("privacygauge.report.axes.svg_text", svg_text)
