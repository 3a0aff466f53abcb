"""The tables and figures of Long et al. (2017), what became of them, and how they are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privacygauge.reproduce.item import Status, items
from privacygauge.reproduce.long2017_points import (
    FOUND,
    HIGHEST,
    LOWEST,
    NEARLY_ALWAYS,
    RARELY,
    RIGHT,
)
from privacygauge.reproduce.verdict import (
    Claim,
    Judgement,
    above,
    below,
    claim_of_equality,
    grows,
    larger,
    planted_claim,
)

PAPER = "Long et al. (2017)"

_PURCHASE = (
    "the purchase data may not be passed on; Location30, which has 30 classes in place of 10, "
    "stands in"
)

ITEMS = items(
    PAPER, "long",
    ("table1", "three attacks on a network", Status.STAND_IN, _PURCHASE),
    ("table2", "models and data", Status.PARTLY,
     f"the three rows of Adult are on the paper's data; for the other three {_PURCHASE}"),
    ("table3", "training stability of classifiers", Status.DONE),
    ("fig1", "three attacks against PDTP, record by record", Status.STAND_IN, _PURCHASE),
    ("fig2", "the best of three attacks against PDTP", Status.STAND_IN,
     f"its correlation and shares, without the points; {_PURCHASE}"),
    ("fig3", "averages of PDTP", Status.STAND_IN, _PURCHASE),
    ("fig4", "purchases: attack against PDTP, record by record", Status.STAND_IN,
     f"kept in its quick form; {_PURCHASE}"),
    ("fig5", "Adult: attack against PDTP, record by record", Status.PARTLY,
     "kept in its quick form"),
    ("fig6", "removing records", Status.STAND_IN,
     "the survey of 1.6 million people is not available; Adult, and as many records drawn from "
     "it, stand in"),
    ("fig7", "initial weights", Status.DONE),
    ("fig8", "the other records", Status.DONE),
)  # fmt: skip
"""All that the paper prints."""

_ATTACKS = ("untargeted", "frequency", "distance")
_MODELS_OF_PURCHASES = ("NN-Purchase", "NB-Purchase", "LR-Purchase")
_BOUNDED = (
    "Bayes inference",
    "naive Bayes",
    "naive Bayes, smoothing 1",
    "linear statistical queries",
    "random decision trees",
)
_OWN = {"purchases": lambda judgement: replace(judgement, same_data=("*",))}
"""With purchases of the reader's own all rows are about the paper's data."""


def _rarely_found(names: tuple[str, ...]) -> tuple[Claim, ...]:
    """Return the abstract's claim about a DTP below 0.5, of each attack or model."""
    return tuple(
        below(
            f"{name}: right in {100 * RARELY:g}% at most, {LOWEST}",
            (f"{name}, {LOWEST}", RIGHT),
            RARELY,
        )
        for name in names
    )


def _nearly_always_found(names: tuple[str, ...]) -> tuple[Claim, ...]:
    """Return the abstract's claims about a DTP above 4."""
    share = f"{100 * NEARLY_ALWAYS:g}%"
    return tuple(
        claim
        for name in names
        for claim in (
            above(
                f"{name}: right in more than {share}, {HIGHEST}",
                (f"{name}, {HIGHEST}", RIGHT),
                NEARLY_ALWAYS,
            ),
            above(f"{name}: so for most records, {HIGHEST}", (f"{name}, {HIGHEST}", FOUND), 0.5),
        )
    )


_MADE_UP = "made up, alpha 0.05, initial order"
_ADULT = "Adult, alpha 0.05, initial order"
_AGAIN = "Adult, alpha 0.05, recomputed order"
_STATED = "Adult, alpha 1, initial order"

JUDGEMENTS: Mapping[str, Judgement] = {
    "long-table1": Judgement(
        on=_OWN,
        claims=(
            larger(
                "the distance-based attack beats the untargeted one",
                ("distance", "accuracy"),
                ("untargeted", "accuracy"),
            ),
            larger(
                "the untargeted attack beats the frequency-based one",
                ("untargeted", "accuracy"),
                ("frequency", "accuracy"),
            ),
            *(
                above(f"{name}: accuracy and PDTP go together", (name, "correlation"))
                for name in _ATTACKS
            ),
            larger(
                "the better attack goes with PDTP more closely",
                ("distance", "correlation"),
                ("frequency", "correlation"),
            ),
        ),
    ),
    "long-fig1": Judgement(
        margin=0.1,
        on=_OWN,
        claims=(
            *(
                above(f"{name}: accuracy and PDTP go together", (name, "correlation"))
                for name in _ATTACKS
            ),
            *_rarely_found(_ATTACKS),
            *_nearly_always_found(_ATTACKS),
        ),
    ),
    "long-fig4": Judgement(
        margin=0.1,
        on=_OWN,
        claims=(
            *(
                above(
                    f"{name}: some records have a PDTP above 1",
                    (f"{name}, PDTP above 1", "share of the records"),
                )
                for name in _MODELS_OF_PURCHASES
            ),
            *_rarely_found(_MODELS_OF_PURCHASES),
            *_nearly_always_found(_MODELS_OF_PURCHASES),
        ),
    ),
    "long-fig5": Judgement(
        same_data=("*",),
        margin=0.1,
        claims=(
            above(
                "NN-Adult: some records have a PDTP above 1",
                ("NN-Adult, PDTP above 1", "share of the records"),
            ),
            *_rarely_found(("NN-Adult", "NB-Adult", "LR-Adult")),
        ),
    ),
    "long-fig2": Judgement(
        on=_OWN,
        claims=(
            above(
                "the best attack and PDTP go together",
                ("best of three attacks", "correlation"),
            ),
            above(
                "most records above PDTP 1 are attacked with more than 80%",
                ("best of three attacks", "above 0.8"),
                0.5,
            ),
        ),
    ),
    "long-table2": Judgement(
        same_data=("*-Adult",),
        margins={"mean PDTP": 0.1, "correlation": 0.1},
        on=_OWN,
        claims=(
            *(
                larger(
                    f"{model}: purchases leak more than Adult",
                    (f"{model}-Purchase", "accuracy"),
                    (f"{model}-Adult", "accuracy"),
                )
                for model in ("NN", "NB", "LR")
            ),
            *(
                larger(
                    f"naive Bayes leaks less than {model} on purchases",
                    (f"{model}-Purchase", "accuracy"),
                    ("NB-Purchase", "accuracy"),
                )
                for model in ("NN", "LR")
            ),
            *(
                above(f"{row}: accuracy and PDTP go together", (row, "correlation"))
                for row in ("NN-Purchase", "NB-Purchase", "LR-Purchase", "NN-Adult", "NB-Adult")
            ),
        ),
    ),
    "long-table3": Judgement(
        same_data=("*",),
        quick=True,
        claims=(
            *(
                below(
                    f"{row}: no record breaks the bound", (row, "records above the printed bound")
                )
                for row in _BOUNDED
            ),
            above(
                "nearest neighbours: other queries show what a record's own hides",
                ("nearest neighbours", "records that only other queries show"),
            ),
        ),
    ),
    "long-fig3": Judgement(
        margin=0.1,
        on=_OWN,
        claims=(
            grows(
                "the correlation grows with the measurements",
                [(f"mean of {n}", "correlation") for n in (1, 2, 5, 10, 20, 50, 100)],
            ),
            claim_of_equality(
                "ten measurements do as well as a hundred, within 0.1",
                ("mean of 10", "correlation"),
                ("mean of 100", "correlation"),
                0.1,
            ),
        ),
    ),
    "long-fig6": Judgement(
        claims=(
            # The 45 people of rare ages were put there for these.
            planted_claim(
                below(
                    "made up: one removal brings the DTP below 1",
                    (_MADE_UP, "after one removal"),
                    1,
                )
            ),
            planted_claim(
                below("made up: some stop is below 1", (_MADE_UP, "at the best stopping point"), 1)
            ),
            planted_claim(above("made up: the DTP rises again, a saw", (_MADE_UP, "rises"))),
            below("Adult: one removal brings the DTP below 1", (_ADULT, "after one removal"), 1),
            below("Adult: some stop is below 1", (_ADULT, "at the best stopping point"), 1),
            above("Adult: the DTP rises again, a saw", (_ADULT, "rises")),
            below(
                "Adult, recomputed order: some stop is below 1",
                (_AGAIN, "at the best stopping point"),
                1,
            ),
            above("Adult, recomputed order: a saw too", (_AGAIN, "rises")),
            above(
                "Adult, smoothing of 1 as described: a DTP above 1 at first", (_STATED, "DTP"), 1
            ),
        )
    ),
    **{
        name: Judgement(
            claims=tuple(
                below(
                    f"{person}: the own effect is smaller than one deviation by {cause}",
                    (person, "own effect in deviations"),
                    1,
                )
                for person in ("low salary", "high salary")
            )
        )
        for name, cause in (("long-fig7", "initial weights"), ("long-fig8", "the other records"))
    },
}
"""Reproduction to how it is judged."""
