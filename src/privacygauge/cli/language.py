"""`privacygauge language`, which audits by itself, and the commands below it."""

from __future__ import annotations

import typer

from privacygauge.audits.language import reference
from privacygauge.audits.language.asks import COMMAND
from privacygauge.cli.command import add_other, add_to_itself

app = typer.Typer(name=COMMAND.name)
add_to_itself(app, COMMAND)
add_other(app, reference.NAME, reference.ReferenceRequest, reference.play, reference.HELP)
