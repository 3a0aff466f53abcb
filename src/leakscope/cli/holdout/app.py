"""The commands of `leakscope holdout`."""

from __future__ import annotations

import typer

from leakscope.cli.holdout.attack import attack
from leakscope.cli.holdout.bound import bound

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
