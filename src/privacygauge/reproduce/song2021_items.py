"""The tables and figures of Song & Mittal (2021), and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privacygauge.reproduce.item import Status, items
from privacygauge.reproduce.song2021_classifiers import CLASSIFIERS, REGULARISED, UNDEFENDED
from privacygauge.reproduce.song2021_defences import AUTHORS
from privacygauge.reproduce.verdict import Claim, Judgement, above, below, grows, larger

_WEIGHTS = ("0.1", "0.3", "1")
_REGULARISED = f"{REGULARISED}, weight"
_VIEWS = ("authors", "MemGuard", "alike")
_SIGNALS = ("confidence", "entropy", "modified-entropy")
_DEFENDED = (AUTHORS, "memguard (budget 1)")
_SCORE = "risk score"
_LESS = "white-box less modified-entropy"
_GAMES = ("half known", "shadow model")


def _on_same_data(judgement: Judgement) -> Judgement:
    """Return the judgement on the paper's own data, whose numbers can agree."""
    return replace(judgement, same_data=("*",))


def _calibration_claims(view: str) -> tuple[Claim, ...]:
    score = ("risk score, histogram", view)
    network = ("network's output", view)
    return (
        below(f"{view}: the risk score's RMSE is below 0.1", score, 0.1),
        larger(f"{view}: a network's output is further off", network, score),
    )


def _defence_claims(by: str) -> tuple[Claim, ...]:
    return (
        larger(
            f"{by}: a network that does not know of it finds less",
            (f"{by}: neural-jia", "undefended"),
            (f"{by}: neural-jia", "non-adaptive"),
        ),
        larger(
            f"{by}: thresholds on defended shadow predictions still find more than that network",
            (f"{by}: confidence", "adaptive"),
            (f"{by}: neural-jia", "non-adaptive"),
            0.1,
        ),
        larger(
            f"{by}: it lowers the attack by confidence",
            (f"{by}: confidence", "undefended"),
            (f"{by}: confidence", "adaptive"),
        ),
    )


JUDGEMENTS: Mapping[str, Judgement] = {
    "song-table2": Judgement(
        on={"Purchase100": _on_same_data, "Texas100": _on_same_data},
        claims=tuple(
            above(
                f"weight {weight}: attacked no less than the model that stopped early",
                (f"{_REGULARISED} {weight} less first", "highest"),
            )
            for weight in _WEIGHTS
        ),
    ),
    "song-table3": Judgement(
        on={"Texas100": _on_same_data},
        claims=tuple(
            above(f"{view}: classes' own thresholds gain, {signal}", (f"{signal}, gain", view))
            for view in _VIEWS
            for signal in _SIGNALS
        ),
    ),
    "song-table4": Judgement(
        same_data=("*",),
        quick=True,
        claims=(
            larger(
                "modified entropy beats entropy",
                ("modified-entropy", "published shadow"),
                ("entropy", "published shadow"),
            ),
            larger(
                "confidence beats correctness",
                ("confidence", "published shadow"),
                ("correctness", "published shadow"),
            ),
        ),
    ),
    "song-table4-defences": Judgement(
        same_data=("memguard*",),
        claims=tuple(one for by in _DEFENDED for one in _defence_claims(by)),
    ),
    "song-table5": Judgement(
        claims=tuple(
            claim
            for game in _GAMES
            for claim in (
                above(f"{game}: the weights add to the predictions", (_LESS, game)),
                below(f"{game}: they add less than 6 points", (_LESS, game), 0.06),
            )
        )
    ),
    "song-table6": Judgement(
        on={"Texas100": _on_same_data},
        claims=tuple(
            grows(
                f"{view}: precision grows with the threshold",
                [
                    (f"{view}: score of at least {cut}", "histogram: precision")
                    for cut in ("0.5", "0.7", "0.9")
                ],
            )
            for view in _VIEWS
        ),
    ),
    "song-fig2": Judgement(
        claims=(
            grows(
                "the attack finds more with every epoch",
                [(f"epoch {n}", "no defence: highest attack") for n in (1, 5, 40)],
            ),
            larger(
                "an early epoch is more accurate than the regularised model",
                ("epoch 5", "no defence: test accuracy"),
                ("epoch 40", f"{_REGULARISED} 1: test accuracy"),
            ),
            larger(
                "the first epoch that is as accurate is attacked less",
                ("epoch 40", f"{_REGULARISED} 1: highest attack"),
                ("epoch 2", "no defence: highest attack"),
            ),
        )
    ),
    "song-fig3": Judgement(
        on={"Purchase100": _on_same_data},
        claims=tuple(
            claim
            for kind in CLASSIFIERS
            for claim in (
                below(
                    f"{kind}: the risk score's RMSE is below 0.1", (f"{kind}: RMSE", _SCORE), 0.1
                ),
                above(
                    f"{kind}: a network's output is further off",
                    (f"{kind}: RMSE less the score's", "network"),
                ),
            )
        ),
    ),
    "song-fig4": Judgement(
        claims=(below("every architecture's RMSE is below 0.09", ("largest RMSE", _SCORE), 0.09),)
    ),
    "song-fig12": Judgement(
        claims=(below("every architecture's RMSE is below 0.1", ("largest RMSE", _SCORE), 0.1),)
    ),
    "song-fig5": Judgement(
        on={"Purchase100": _on_same_data},
        claims=(
            below(
                "regularisation lowers the mean score",
                (f"{REGULARISED} less {UNDEFENDED}", "mean score"),
            ),
            above(
                "and raises some members above 0.8",
                (f"{REGULARISED} less {UNDEFENDED}", "share from 0.8 on"),
            ),
        ),
    ),
    "song-fig9": Judgement(
        on={"Texas100": _on_same_data},
        claims=(
            *(
                above(
                    f"new records of risky classes lie less with their class's members, {space}",
                    ("others among members keep their class", f"{space}, low less high"),
                )
                for space in ("features", "map")
            ),
            *(
                below(
                    f"risky members lie away from new records of their class, {space}",
                    ("rank correlation of risk and neighbours", space),
                )
                for space in ("features", "map")
            ),
        ),
    ),
    "song-fig6": Judgement(
        on={"Texas100": _on_same_data},
        claims=(
            larger("MemGuard lowers the scores", ("mean", "authors"), ("mean", "MemGuard")),
            below(
                "behind MemGuard most members still have more than 0.6",
                ("at most 0.6", "MemGuard"),
                0.5,
            ),
        ),
    ),
    "song-fig7": Judgement(
        claims=(
            above(
                "members with higher scores have more influence",
                ("rank correlation with the score", "net"),
            ),
        )
    ),
    "song-fig8": Judgement(
        on={"Texas100": _on_same_data},
        claims=tuple(
            above(f"{view}: {what}", ("Pearson's correlation, histogram", view), value)
            for view in ("authors", "alike")
            for what, value in (
                ("classes with a larger error have higher scores", 0.0),
                ("they do so closely, with a correlation above 0.7", 0.7),
            )
        ),
    ),
    "song-fig10": Judgement(
        on={"Purchase100": _on_same_data},
        claims=(
            *(
                above(f"{view}: scores are above a prior of {prior}", (f"prior {prior}", view))
                for view in ("authors", "alike")
                for prior in ("0.1", "0.3", "0.5", "0.7", "0.9")
            ),
            *(
                larger(
                    f"alike: furthest at 0.5, not at {prior}",
                    ("prior 0.5", "alike"),
                    (f"prior {prior}", "alike"),
                )
                for prior in ("0.1", "0.9")
            ),
        ),
    ),
    "song-fig11": Judgement(
        on={"Texas100": _on_same_data},
        claims=tuple(one for view in _VIEWS for one in _calibration_claims(view)),
    ),
}
"""Reproduction to how it is judged."""


PAPER = "Song & Mittal (2021)"

_LOCATION = "Purchase100 and Texas100 cannot be fetched; Location30 stands in"

ITEMS = items(
    PAPER, "song",
    ("table1", "defences benchmarked", Status.PARTLY,
     "its row of Location30 with MemGuard; Purchase100 and Texas100 cannot be fetched",
     "song-table4-defences"),
    ("table2", "early stopping", Status.STAND_IN, _LOCATION),
    ("table3", "thresholds", Status.STAND_IN, _LOCATION),
    ("table4", "MemGuard: undefended", Status.PARTLY,
     "its row of Location30, on the paper's records; Texas100 cannot be fetched"),
    ("table4-defences", "MemGuard: defended", Status.PARTLY,
     "its row of Location30, on the authors' predictions; Texas100 cannot be fetched"),
    ("table5", "white box", Status.STAND_IN, _LOCATION),
    ("table6", "risk thresholds", Status.STAND_IN, _LOCATION),
    ("table7", "image data", Status.NOT_POSSIBLE,
     "CH-MNIST, Car196 and the pretrained ResNet-50 are not available, and nothing like them"),
    ("fig1", "risk scores of three data sets", Status.PARTLY,
     "its curve of Location30, on the authors' predictions; Purchase100 cannot be fetched, and "
     "the network for CIFAR-100 is not available",
     "song-fig6"),
    ("fig2", "accuracy by epoch", Status.STAND_IN, _LOCATION),
    ("fig3", "calibration by defence", Status.STAND_IN, _LOCATION),
    ("fig4", "calibration by architecture", Status.STAND_IN,
     f"{_LOCATION}; the convolutional networks on CIFAR-100 are left out"),
    ("fig5", "risk scores by defence", Status.STAND_IN, _LOCATION),
    ("fig6", "risk scores with MemGuard", Status.STAND_IN, _LOCATION),
    ("fig7", "influence", Status.STAND_IN, _LOCATION),
    ("fig8", "by class", Status.STAND_IN, _LOCATION),
    ("fig9", "features by class", Status.STAND_IN, _LOCATION),
    ("fig10", "priors", Status.STAND_IN, _LOCATION),
    ("fig11", "calibration, MemGuard", Status.STAND_IN, _LOCATION),
    ("fig12", "calibration by architecture, defended", Status.STAND_IN,
     f"{_LOCATION}; kept in its quick form"),
)  # fmt: skip
"""All that the paper prints."""
