"""Options for the unit and the neighbours of a privacy claim."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.runs.options import Options, asks


@dataclass(frozen=True, kw_only=True)
class ClaimTerms(Options):
    """Unit and neighbours of a claim, and the replacement of a canary that is left out."""

    claim_of: str = asks(
        "record|person|K",
        "Whose privacy is claimed: of a record, of a person, or of K records together. Of a "
        "record: a person with k canaries is promised k times the epsilon, by group privacy, and "
        "that is compared.",
        default="record",
        offers=("record", "person"),
    )
    adjacency: str = asks(
        "add-remove|replace",
        "Neighbours that the claim speaks of: data sets with a unit more or less, or with another "
        "one in its place.",
        default="add-remove",
        offers=("add-remove", "replace"),
    )
    left_out: str = asks(
        "removed|replaced",
        "What is in the place of a canary that is left out: nothing, or another record. Replaced "
        "canaries are promised twice the epsilon of adding or removing; a claim about replacing "
        "promises nothing of removed ones.",
        default="removed",
        offers=("removed", "replaced"),
    )

    assume: str = asks(
        "gaussian|nothing",
        "Whether a second bound takes a Gaussian mechanism (or DP-SGD, with --steps) for granted, "
        "where the scores may be those of one. Alone it never lifts a grade above small.",
        default="gaussian",
        offers=("gaussian", "nothing"),
    )
