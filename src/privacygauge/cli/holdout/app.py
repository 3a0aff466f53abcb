"""The commands of `privacygauge holdout`."""

from __future__ import annotations

import typer

from privacygauge.audits.asking import Group
from privacygauge.cli.holdout import serve
from privacygauge.cli.order import Ordered

app = typer.Typer(name="holdout", cls=Ordered, invoke_without_command=True)


@app.callback()
def _holdout(context: typer.Context) -> None:
    """Measure what a test set gives away through the scores of submissions."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.add_typer(serve.app, name="serve", rich_help_panel=Group.TEST_SET)
