"""Phrases that are another language in English words stay out of what people read."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

BANNED = (
    r"\banew\b",
    r"\bat hand\b",
    r"[Bb]eyond doubt",
    r"came furthest",
    r"[Gg]o on with\b",
    r"[Gg]one on with\b",
    r"stands? for (itself|themselves)",
    r"[Ww]here nothing is given",
    r"[Ww]here none is given",
    r"[Ss]o many (records|tables) can show",
    r"(?<!there\s)is no (csv|CSV|JSON|column|folder|directory|number of|valid)\b",
    r"Do not (publish|release)\b",
    r"\bPublish:",
)
"""With what to write instead: again; available; significantly; the strongest attack; resume;
individually; "default: ..."; "With this many records, no audit could show more than ..."; "is not
a ..."; and a finding, never an instruction to release or to publish."""

_PLACES = ("src/privacygauge", "docs", "README.md", "CONTRIBUTING.md", "SECURITY.md")
_KINDS = (".py", ".md", ".j2")


@cache
def texts() -> dict[str, str]:
    """Return what each file says, with strings that are broken over lines in one piece."""
    found = [ROOT / place for place in _PLACES]
    inside = [p for place in found for p in ([place] if place.is_file() else place.rglob("*"))]
    read = [p for p in inside if p.suffix in _KINDS and "results" not in p.parts]
    return {
        str(path.relative_to(ROOT)): re.sub(
            r'\n\s*f?"', "\n", path.read_text(encoding="utf-8").replace('"\n', "\n")
        )
        for path in read
    }


@pytest.mark.parametrize("phrase", BANNED)
def test_no_text_has_the_phrase(phrase):
    # A phrase may be broken over two lines.
    wanted = re.compile(phrase.replace(" ", r"\s+"))
    told = [
        f"{place}: {' '.join(found[0].split())}"
        for place, text in texts().items()
        for found in wanted.finditer(text)
    ]
    assert told == []
