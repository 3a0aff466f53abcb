"""What requests of before share: how a run is started again, and how to go on with it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from privacygauge.audits.user_code import code_in


def invocation_of(
    command: str, options: Mapping[str, Any], code: Mapping[str, Any], recorded: bool
) -> Mapping[str, Any] | None:
    """Return how to start a run again, with digests of the code that it names; None to keep it."""
    return None if recorded else {"command": command, "options": options, "code": code}


@contextmanager
def told_how_to_go_on(run: Path | None, options: Mapping[str, object]) -> Iterator[None]:
    """Say how to go on when the run is interrupted; code that options name is named again."""
    try:
        yield
    except KeyboardInterrupt:
        if run is not None:
            again = [
                f"--{name} {shlex.quote(str(text))}" for name, text in code_in(options).items()
            ]
            told = " ".join(["privacygauge resume", str(run.parent), *again])
            print(f"\nprivacygauge: go on with: {told}", file=sys.stderr)
        raise
