"""The commands of `privacygauge holdout`."""

from __future__ import annotations

import typer

from privacygauge.cli.holdout import serve
from privacygauge.cli.holdout.attack import attack
from privacygauge.cli.holdout.bound import bound
from privacygauge.cli.holdout.log import log

app = typer.Typer(
    name="holdout",
    invoke_without_command=True,
)


@app.callback()
def _holdout(context: typer.Context) -> None:
    """Measure what a test set gives away through the scores of submissions."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command()(bound)
app.command()(attack)
app.command()(log)
app.add_typer(serve.app, name="serve")
