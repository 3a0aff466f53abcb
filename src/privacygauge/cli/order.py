"""The order of commands in ``--help``: by the headings of `Group`, groups of commands last."""

from __future__ import annotations

from typer.core import TyperGroup

from privacygauge.audits.asking import Group

_HEADINGS = list(Group)


class Ordered(TyperGroup):
    """Lists its commands in the order of their headings."""

    def list_commands(self, ctx: object) -> list[str]:
        """Return the names of the commands."""
        return sorted(self.commands, key=self._place)

    def _place(self, name: str) -> tuple[int, bool]:
        command = self.commands[name]
        heading = getattr(command, "rich_help_panel", None)
        place = _HEADINGS.index(heading) if heading in _HEADINGS else len(_HEADINGS)
        return place, isinstance(command, TyperGroup)
