"""What is checked before models are asked about texts, and what a report names of the models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from privacygauge.core import checks
from privacygauge.core.versions import versions
from privacygauge.errors import InputError
from privacygauge.language.audited import SHOWN
from privacygauge.language.coins import Coins, read_coins
from privacygauge.language.endpoints import AnyModel, EndpointModel
from privacygauge.language.score_files import energies_place
from privacygauge.language.sides import SIDES, sides_of
from privacygauge.language.text_files import Columns, TextRecords, TextRecordsLike
from privacygauge.language.units import Asked


def check_asked(
    asked: Asked, show: Sequence[str], energies: str | Path | None, population: bool
) -> None:
    """Raise where what was asked for cannot be done, whatever the models say.

    Parameters
    ----------
    asked : Asked
    show : sequence of str
        What to print beside samples: of `SHOWN`.
    energies : str or pathlib.Path, optional
        Where energies are to be kept.
    population : bool
        Whether there are texts of a population.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    if energies is not None:
        energies_place(energies)
    if asked.kinds and "population" in asked.kinds and not population:
        raise InputError(
            "the population threshold needs texts of the population, got none: give them, or take "
            "the threshold oracle or mean-train"
        )
    for name in show:
        if name not in SHOWN:
            raise InputError(f"show must be some of {checks.listed(SHOWN)}, got {name!r}")


def judged_texts(
    members: TextRecordsLike,
    nonmembers: TextRecordsLike,
    population: TextRecordsLike | None,
    columns: Columns | None,
    coins: Coins | str | Path | None,
) -> tuple[list[TextRecords], Coins | None]:
    """Return the texts of each side and the coins, if they dealt these texts.

    They are read before a model is: bad ones are told at once.

    Parameters
    ----------
    members, nonmembers, population, columns, coins
        As in `audit_masked`.

    Raises
    ------
    InputError
        As in `sides_of` and `Coins.require`, or if a side has a single text or patient.
    """
    sides = [x.records for x in sides_of(members, nonmembers, population, columns=columns)]
    n_in, n_out = (len(set(texts.group or range(len(texts)))) for texts in sides[:2])
    if min(n_in, n_out) < 2:
        unit = "text" if sides[0].group is None else "patient"
        raise InputError(
            f"an audit needs at least two {unit}s among the members and two among the non-members, "
            f"got {n_in} and {n_out}: give more of them"
        )
    found = read_coins(coins) if isinstance(coins, str | Path) else coins
    if found is not None:
        found.require(dict(zip(SIDES, sides, strict=False)))
    return sides, found


def origin_of(models: Sequence[AnyModel]) -> dict[str, str]:
    """Return what the models are known by, and what they were asked in, by name."""
    first = models[0].source
    packages = versions("torch", "transformers")
    return {
        **dict(zip(("target", "reference"), map(_named, models), strict=False)),
        **({} if first.base is None else {"base of the target": Path(first.base).name}),
        **({"source of the encoder": "empty"} if getattr(models[0], "empty_source", ()) else {}),
        "computed in": "a server"
        if isinstance(models[0], EndpointModel)
        else f"{first.precision} on {first.device}"
        + (f", weights saved in {first.stored}" if first.stored != first.precision else ""),
        **{name: packages[name] for name in ("torch", "transformers")},
    }


def _named(model: AnyModel) -> str:
    """Return what a model is known by: its weights, or where its server is."""
    if isinstance(model, EndpointModel):
        return f"{model.name} at {model.url}, whose weights cannot be hashed"
    return f"{Path(model.source.path).name} sha256:{model.source.weights}"
