"""Generators as a command line writes them: a name, the user's code, or a program."""

from __future__ import annotations

from pathlib import Path

from privacygauge.errors import InputError
from privacygauge.runs.code import PROGRAM
from privacygauge.runs.user_code import imported, names_code
from privacygauge.synthetic.generators.command import Command
from privacygauge.synthetic.generators.generator import Generator
from privacygauge.synthetic.generators.named import GENERATORS, as_generator, is_named
from privacygauge.synthetic.generators.recorded import recorded_generator


def written_generator(text: str, run: Path | None = None) -> Generator:
    """Return the generator that a text names, or what stands for it in a finished run.

    Parameters
    ----------
    text : str
        Of a built-in generator, ``FILE.py:NAME`` or ``MODULE:NAME``, or ``command: PROGRAM ...``.
    run : Path, optional
        Folder of a finished run: code of the user's is not imported.

    Raises
    ------
    InputError
        If it names none.
    """
    if run is not None and names_code(text):
        return recorded_generator(run)
    if text.startswith(PROGRAM):
        return Command(text.removeprefix(PROGRAM))
    if is_named(text):
        return as_generator(text)
    if ":" not in text:
        raise InputError(
            f"--generator must be one of {', '.join(GENERATORS)}, or FILE.py:NAME or MODULE:NAME "
            f"of your own, or '{PROGRAM} PROGRAM ...', got {text!r}"
        )
    return as_generator(imported(text))
