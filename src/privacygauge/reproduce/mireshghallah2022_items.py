"""The tables and figures of Mireshghallah et al. (2022), and how they are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from privacygauge.reproduce.item import Status, items
from privacygauge.reproduce.mireshghallah2022_claims import CLAIMS
from privacygauge.reproduce.mireshghallah2022_figures import LINEAR, LOGARITHMIC
from privacygauge.reproduce.verdict import Claim, Judgement, above, larger

PAPER = "Mireshghallah et al. (2022)"

_NOTES = (
    "MIMIC-III and ClinicalBERT cannot be passed on; medical transcriptions and small models "
    "trained on them stand in"
)


ITEMS = items(
    PAPER,
    "mireshghallah",
    ("table1", "names of models and thresholds", Status.NO_RESULT, "notation"),
    ("table2", "samples and notes", Status.STAND_IN, _NOTES),
    ("table3", "sample length", Status.STAND_IN, _NOTES),
    ("table4", "model size", Status.STAND_IN, _NOTES),
    ("table5", "reference model", Status.STAND_IN, _NOTES),
    ("table6", "names inserted", Status.STAND_IN, _NOTES),
    ("table7", "who is found", Status.STAND_IN, _NOTES),
    ("table8", "symbols", Status.NO_RESULT, "notation"),
    ("table9", "model size and sample length", Status.STAND_IN, _NOTES),
    ("table10", "FPR 1%", Status.STAND_IN, _NOTES),
    ("table11", "normalised energy", Status.STAND_IN, _NOTES),
    ("fig1", "steps of the attack", Status.NO_RESULT, "a drawing of the method"),
    ("fig2", "choosing a threshold", Status.NO_RESULT, "a drawing of the method"),
    ("fig3", "likelihood ratio and loss of members and non-members", Status.STAND_IN, _NOTES),
    ("fig4", "ROC curve", Status.STAND_IN, _NOTES),
    ("fig5", "ROC curve on a logarithmic axis", Status.STAND_IN, _NOTES),
    ("claims", "all of its claims", Status.STAND_IN, _NOTES),
)
"""All that the paper prints, and what it says."""

_LOSS = "AUC, loss"
_LR = "AUC, LR"


def _ratio_wins(rows: Sequence[str], one: str = _LR, other: str = _LOSS) -> tuple[Claim, ...]:
    return tuple(larger(f"{row}: LR beats the loss", (row, one), (row, other)) for row in rows)


def _claim_of_more(what: str, row: str, other: str, column: str) -> Claim:
    return larger(what, (row, column), (other, column))


_SHORT = "short, 10 to 20 tokens"
_LONG = "long, 21 to 60 tokens"
_SAMPLES = "sample level, without names"
_NAMED = "sample level, members named"

JUDGEMENTS: Mapping[str, Judgement] = {
    "mireshghallah-table2": Judgement(
        claims=(
            *_ratio_wins(("sample level", "note level")),
            _claim_of_more("notes leak more than samples, LR", "note level", "sample level", _LR),
            _claim_of_more(
                "notes leak more than samples, loss", "note level", "sample level", _LOSS
            ),
        )
    ),
    "mireshghallah-table3": Judgement(
        claims=(
            *_ratio_wins((_SHORT, _LONG)),
            _claim_of_more("long samples leak more, LR", _LONG, _SHORT, _LR),
            _claim_of_more("long samples leak more, loss", _LONG, _SHORT, _LOSS),
        )
    ),
    "mireshghallah-table4": Judgement(
        claims=(
            *_ratio_wins(("small", "small, longer", "large", "large, longer")),
            _claim_of_more(
                "large and longer leaks more than small, LR", "large, longer", "small", _LR
            ),
            _claim_of_more(
                "large and longer leaks more than small, loss", "large, longer", "small", _LOSS
            ),
        )
    ),
    "mireshghallah-table5": Judgement(
        claims=(
            _claim_of_more(
                "a near reference serves better",
                "near reference, words",
                "far reference, words",
                _LR,
            ),
            larger(
                "a far one still beats the loss",
                ("far reference, words", _LR),
                ("far reference, words", _LOSS),
            ),
        )
    ),
    "mireshghallah-table6": Judgement(
        claims=(
            _claim_of_more("names make samples leak more, LR", _NAMED, _SAMPLES, _LR),
            _claim_of_more("names hide samples from the loss", _SAMPLES, _NAMED, _LOSS),
            _claim_of_more(
                "names make notes leak more, LR",
                "note level, members named",
                "note level, without names",
                _LR,
            ),
        )
    ),
    "mireshghallah-table7": Judgement(
        claims=(
            _claim_of_more(
                "punctuation tells more than length", "non-alphanumeric", "length", "AUC, test"
            ),
            _claim_of_more(
                "punctuation tells more than digits", "non-alphanumeric", "digits", "AUC, test"
            ),
            _claim_of_more(
                "rare tokens add to punctuation",
                "non-alphanumeric, rarest tokens",
                "non-alphanumeric",
                "AUC, test",
            ),
        )
    ),
    "mireshghallah-table9": Judgement(
        claims=_ratio_wins(
            [
                f"{length}: {model}"
                for length in ("all", "short")
                for model in ("small", "small, longer", "large", "large, longer", "members named")
            ]
        )
    ),
    "mireshghallah-table10": Judgement(
        claims=_ratio_wins(
            ("sample level", _SHORT, "members named"),
            "recall, LR, population",
            "recall, loss, population",
        )
    ),
    "mireshghallah-table11": Judgement(claims=_ratio_wins(("sample level", _SHORT))),
    "mireshghallah-fig3": Judgement(
        claims=(
            larger(
                "LR: three quarters of the members are above a typical non-member",
                ("quantile 0.25", "LR, members"),
                ("quantile 0.5", "LR, non-members"),
            ),
            larger(
                "loss: a quarter of the members and more are below one",
                ("quantile 0.5", "loss, non-members"),
                ("quantile 0.25", "loss, members"),
            ),
        )
    ),
    "mireshghallah-fig4": Judgement(
        claims=_ratio_wins([f"FPR {fpr:g}" for fpr in LINEAR], "TPR, LR", "TPR, loss")
    ),
    "mireshghallah-fig5": Judgement(
        claims=_ratio_wins([f"FPR {fpr:g}" for fpr in LOGARITHMIC], "TPR, LR", "TPR, loss")
    ),
    "mireshghallah-claims": Judgement(
        claims=tuple(above(claim.what, (claim.what, "effect")) for claim in CLAIMS)
    ),
}
"""Reproduction to how it is judged."""
