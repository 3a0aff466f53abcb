"""Commands that have commands below them, and the order in which ``--help`` lists them."""

from __future__ import annotations

import typer
from typer.core import TyperGroup

from privacygauge.audits import canaries as of_canaries
from privacygauge.audits.asking import Group
from privacygauge.audits.language import reference, split
from privacygauge.audits.language.asks import COMMAND as LANGUAGE
from privacygauge.cli import serve
from privacygauge.cli.command import add_other, add_to_itself

_HEADINGS = list(Group)


class Ordered(TyperGroup):
    """Lists its commands by the headings of `Group`, groups of commands last."""

    def list_commands(self, ctx: object) -> list[str]:
        """Return the names of the commands."""
        return sorted(self.commands, key=self._place)

    def _place(self, name: str) -> tuple[int, bool]:
        command = self.commands[name]
        heading = getattr(command, "rich_help_panel", None)
        place = _HEADINGS.index(heading) if heading in _HEADINGS else len(_HEADINGS)
        return place, isinstance(command, TyperGroup)


language = typer.Typer(name=LANGUAGE.name)
"""`privacygauge language`, which audits by itself."""
add_to_itself(language, LANGUAGE)
add_other(language, reference.NAME, reference.ReferenceRequest, reference.play, reference.HELP)
add_other(language, split.NAME, split.SplitRequest, split.play, split.HELP)

canaries = typer.Typer(help="Make canaries for a training, and measure them after it.")
"""`privacygauge language canaries`."""
add_other(canaries, of_canaries.NAME, of_canaries.MakeRequest, of_canaries.make, of_canaries.HELP)
language.add_typer(canaries, name="canaries")

holdout = typer.Typer(name="holdout", cls=Ordered, invoke_without_command=True)
"""`privacygauge holdout`."""


@holdout.callback()
def _holdout(context: typer.Context) -> None:
    """Measure what a test set gives away through the scores of submissions."""
    if context.invoked_subcommand is None:
        print(context.get_help())


holdout.add_typer(serve.app, name="serve", rich_help_panel=Group.TEST_SET)

PARENTS = {"holdout": holdout, "language": language, "language canaries": canaries}
"""What the commands below others are added to, by the words before their last."""
