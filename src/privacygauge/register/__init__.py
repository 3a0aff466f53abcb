"""Several audits rendered as one risk register: a page, a document, a table."""

from __future__ import annotations

from privacygauge.register.document import to_dict, to_json
from privacygauge.register.findings import Register
from privacygauge.register.html import render_html
from privacygauge.register.tables import records_frame, register_csv, summary
from privacygauge.register.terminal import terminal_summary
from privacygauge.register.verdict import verdict

__all__ = [
    "files",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
]


def files(r: Register) -> dict[str, bytes]:
    """Return the page, the document and the table, as bytes by file name."""
    return {
        "register.html": render_html(r).encode("utf-8", "replace"),
        "register.json": to_json(r).encode("ascii"),
        "register.csv": register_csv(r).encode("utf-8", "replace"),
    }
