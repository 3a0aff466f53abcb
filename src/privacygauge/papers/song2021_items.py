"""Tables and figures of Song & Mittal (2021) with their judgements, and the settings of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privacygauge.claims.defences.adversarial_regularisation import AttackNetworkSizes
from privacygauge.classifiers.networks import SONG_MITTAL_2021, SONG_MITTAL_2021_RELU
from privacygauge.classifiers.neural import NeuralNasr
from privacygauge.classifiers.suite import METRICS
from privacygauge.classifiers.white_box import WhiteBox
from privacygauge.core.attacks.posterior import Histogram
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.datasets.local_copies import LOCATION30
from privacygauge.evaluate.risk import CUTS, PRIORS
from privacygauge.papers import (
    song2021_architectures,
    song2021_embedding,
    song2021_images,
    song2021_risk,
    song2021_tables,
    song2021_thresholds,
    song2021_training,
)
from privacygauge.papers.song2021 import (
    BATCH,
    EPOCHS,
    FEWER,
    LOCATION,
    MEMBERS,
    PAIRS,
    PUBLISHED,
    PURCHASE,
    RATE,
    TARGET,
    TEXAS,
)
from privacygauge.papers.song2021_calibration import (
    BINS,
    CLASSIFIERS,
    EARLY,
    LONG,
    REGULARISED,
    STOPPED,
    TAUGHT,
    UNDEFENDED,
)
from privacygauge.papers.song2021_calibration import PAIRS as FIGURE_PAIRS
from privacygauge.papers.song2021_embedding import CLASSES, LEAST, PERPLEXITY
from privacygauge.papers.song2021_risk import PARTS
from privacygauge.papers.song2021_tables import AUTHORS
from privacygauge.papers.song2021_training import NETWORKS, RECORDED, SHOWN, SMALL, WEIGHTS
from privacygauge.papers.table import Entry, Status, Table, items
from privacygauge.papers.verdict import (
    Claim,
    Judgement,
    above,
    below,
    claim_of_equality,
    every,
    grows,
    larger,
    near,
    paired_claim,
    planted_claim,
    some,
    stated_in,
)

_WEIGHTS = ("0.1", "0.3", "1")
_REGULARISED = f"{REGULARISED}, weight"
_VIEWS = ("authors", "MemGuard", "alike")
_SIGNALS = ("confidence", "entropy", "modified-entropy")
_DEFENDED = (AUTHORS, "memguard (budget 1)")
_SCORE = "risk score"
_GAMES = ("half known", "shadow model")
_SHADOWS = ("published shadow", "alike shadow")


def _on_same_data(judgement: Judgement) -> Judgement:
    """Return the judgement for the paper's own data: the numbers of all rows can agree."""
    return replace(judgement, same_data=("*",))


NASR = 0.516
"""Accuracy of the attack by which Nasr et al. judged their defence: the larger of two (Table 2)."""

EQUAL = 0.02
"""Largest difference of two test accuracies that count as similar: the paper's own pairs differ by
0.2 and 1.5 points (Table 2)."""


def _no_less_at_equal_accuracy(row: str, weight: str, rule: str) -> Claim:
    """Return the claim that a defended model is attacked no less than one that stopped early.

    Not measured unless the two are alike in test accuracy for certain, and the defence costs
    accuracy for certain: the paper compares at similar accuracy, and stops early for what the
    defence loses.
    """
    what = f"weight {weight}: attacked no less than at the {rule} epoch of similar accuracy"

    def effect(table: Table) -> Estimate | Skipped:
        cost = larger(
            what,
            (UNDEFENDED, "test accuracy"),
            (f"{_REGULARISED} {weight}", "test accuracy"),
        ).effect(table)
        if isinstance(cost, Estimate) and cost.low <= 0:
            return Skipped(what, f"weight {weight}: that it costs accuracy is not certain")
        alike = near(what, (row, "test accuracy"), EQUAL).effect(table)
        if isinstance(alike, Estimate) and alike.low <= 0:
            return Skipped(
                what, f"weight {weight}: the accuracies may differ by more than {EQUAL:g}"
            )
        return above(what, (row, "highest")).effect(table)

    return Claim(what, effect)


def _modified_wins(kind: str, column: str, prefix: str = "") -> Claim:
    """Return the claim that modified entropy always finds more than entropy."""
    return larger(
        f"{kind}: modified entropy finds more than entropy",
        (f"{prefix}modified-entropy", column),
        (f"{prefix}entropy", column),
    )


def _defence_claims(by: str) -> tuple[Claim, ...]:
    unaware = larger(
        f"{by}: a network that does not know of it finds less",
        (f"{by}: neural-jia", "undefended"),
        (f"{by}: neural-jia", "non-adaptive"),
    )
    # The paper says "much larger".
    aware = larger(
        f"{by}: thresholds on defended shadow predictions find more than that network, by over 0.1",
        (f"{by}: confidence", "adaptive"),
        (f"{by}: neural-jia", "non-adaptive"),
        0.1,
    )
    metrics = (
        larger(
            f"{by}: it lowers the attack by confidence",
            (f"{by}: confidence", "undefended"),
            (f"{by}: confidence", "adaptive"),
        ),
        _modified_wins(by, "adaptive", f"{by}: "),
    )
    if by == AUTHORS:
        # Of the authors' own predictions these come out as they are printed.
        metrics = (planted_claim(metrics[0]), planted_claim(metrics[1]))
    return stated_in(
        "3.3.3",
        (
            unaware,
            aware,
            *metrics,
        ),
    )


_EARLY = tuple(
    f"{_REGULARISED} {weight}: early stopping ({rule})"
    for weight in _WEIGHTS
    for rule in ("nearest", "first")
)
_CUTS = tuple(f"score of at least {cut:g}" for cut in sorted(CUTS))
SIMILAR_PRECISION = 0.05
"""Largest difference of two precisions that count as similar: the paper's own differ by up to 4.6
points at the same threshold (Table 6)."""
SIMILAR_SCORES = 0.05
"""Largest distance of two distributions of scores that count as similar: the paper's own two differ
by up to 4.4 points at a threshold of Table 6."""


def _table6_claims() -> tuple[Claim, ...]:
    precision = "histogram: precision"
    recall = "histogram: recall"
    return stated_in(
        "4.2.3",
        (
            *(
                grows(
                    f"{view}: precision grows with the threshold",
                    [(f"{view}: {cut}", precision) for cut in _CUTS],
                )
                for view in (*_VIEWS, *CLASSIFIERS)
            ),
            every(
                "at the same threshold precision is similar with and without MemGuard, within "
                f"{SIMILAR_PRECISION:g}",
                [
                    claim_of_equality(
                        cut,
                        (f"authors: {cut}", precision),
                        (f"MemGuard: {cut}", precision),
                        SIMILAR_PRECISION,
                    )
                    for cut in _CUTS
                ],
            ),
            every(
                # In the paper's own table recall at 0.5 is larger behind MemGuard (99.9 and 94.3%).
                "at the same threshold above 0.5 recall is smaller with MemGuard",
                [
                    larger(cut, (f"authors: {cut}", recall), (f"MemGuard: {cut}", recall))
                    for cut in _CUTS[1:]
                ],
            ),
        ),
    )


LITTLE = 0.06
"""Lead of the white-box attack that we take for limited: the paper's largest is .058 (Table 5)."""


def _table5_claims(game: str) -> tuple[Claim, ...]:
    # The paper's attack, that of Nasr et al., knows half of the records; the other game is ours.
    paper = game == _GAMES[0]

    best = ("white-box", game)
    rivals = {
        (f"{best[0]} less {other}", game): (other, game) for other in (*METRICS, "neural-nasr")
    }
    return (
        *stated_in(
            "3.3.4" if paper else "",
            (
                # Paired where the table has the difference.
                every(
                    f"{game}: the weights add to the best attack on predictions",
                    [
                        paired_claim(lead, larger(rival[0], best, rival), above)
                        for lead, rival in rivals.items()
                    ],
                ),
                # The lead over the best is the smallest of all.
                some(
                    f"{game}: they add less than {100 * LITTLE:g} points to it",
                    [
                        paired_claim(
                            lead,
                            larger(rival[0], rival, best, -LITTLE),
                            lambda what, at: below(what, at, LITTLE),
                        )
                        for lead, rival in rivals.items()
                    ],
                ),
            ),
        ),
        *stated_in("3.1.3" if paper else "", (_modified_wins(game, game),)),
    )


HIGH = 0.8
"""Score that no member of the paper's undefended model has (section 4.2.2)."""
FEW = 0.05
"""Most of the undefended model's members with such scores, for the claim to be one about others."""


def _raises_some() -> Claim:
    """Return the claim that regularisation raises some members above all undefended ones.

    Not measured where the undefended model has many members there already.
    """
    what = f"and raises some members above {HIGH:g}, where no undefended one is"

    def effect(table: Table) -> Estimate | Skipped:
        cell = table.cell(f"score of at least {HIGH:g}", UNDEFENDED)
        if cell is not None and isinstance(cell.ours, Estimate) and cell.ours.value > FEW:
            share = f"{100 * cell.ours.value:.0f}%"
            return Skipped(what, f"{share} of the undefended members are above {HIGH:g} already")
        return above(what, (f"{REGULARISED} less {UNDEFENDED}", "share from 0.8 on")).effect(table)

    return Claim(what, effect)


CLOSE = 0.7
"""Correlation from which we read two numbers as closely related; the paper's is .94."""
_BY_CLASS = "Pearson's correlation, histogram"


def _closely(view: str) -> Claim:
    """Return the claim that scores and errors of classes are closely related.

    The errors of classes with few records are noisy, which lowers a correlation and never raises
    it: an upper end below `CLOSE` excludes nothing.
    """
    what = (
        f"{view}: they do so closely (the paper's .94), above {CLOSE:g}; noise of the classes' "
        "errors lowers it, so that less decides nothing"
    )
    found = above(what, (_BY_CLASS, view), CLOSE)

    def effect(table: Table) -> Estimate | Skipped:
        one = found.effect(table)
        if isinstance(one, Skipped):
            return one
        return replace(one, high=1 - CLOSE, method=f"{one.method}; upper end that of 1")

    return Claim(what, effect)


def _as_accurate_earlier() -> Claim:
    """Return the claim that an earlier epoch of the undefended model is as accurate.

    Of all epochs before the last, since the figure's reader chooses one by its accuracy.
    """
    last = (f"epoch {NETWORKS.epochs}", f"{_REGULARISED} {SHOWN:g}: test accuracy")
    return some(
        "an earlier epoch of the undefended model is as accurate as the regularised one, within "
        f"{EQUAL:g}",
        [
            claim_of_equality(
                str(epoch), (f"epoch {epoch}", "no defence: test accuracy"), last, EQUAL
            )
            for epoch in RECORDED
            if epoch < NETWORKS.epochs
        ],
    )


JUDGEMENTS: Mapping[str, Judgement] = {
    "song-table2": Judgement(
        on={"Purchase100": _on_same_data, "Texas100": _on_same_data},
        claims=stated_in(
            "3.3.2",
            (
                *(
                    _no_less_at_equal_accuracy(f"{_REGULARISED} {weight} less {rule}", weight, rule)
                    for rule in ("nearest", "first")
                    for weight in _WEIGHTS
                ),
                every(
                    "with the defence attacks find more than the 51.6% of Nasr et al., at every "
                    "weight",
                    [
                        above(weight, (f"{_REGULARISED} {weight}", "highest"), NASR)
                        for weight in _WEIGHTS
                    ],
                ),
                every(
                    "it lowers the highest attack, at every weight",
                    [
                        larger(
                            weight,
                            ("no defence", "highest"),
                            (f"{_REGULARISED} {weight}", "highest"),
                        )
                        for weight in _WEIGHTS
                    ],
                ),
                *(
                    every(
                        f"{kind}: modified entropy finds more than entropy",
                        [larger(row, (row, "modified-entropy"), (row, "entropy")) for row in rows],
                    )
                    for kind, rows in (
                        ("no defence", ("no defence",)),
                        ("every weight", [f"{_REGULARISED} {weight}" for weight in _WEIGHTS]),
                        ("every epoch of early stopping", _EARLY),
                    )
                ),
            ),
        ),
    ),
    "song-table3": Judgement(
        on={"Texas100": _on_same_data},
        claims=(
            *stated_in(
                "3.3.2",
                (
                    above(
                        f"{kind}: classes' own thresholds gain, {signal}", (f"{signal}, gain", kind)
                    )
                    for kind in CLASSIFIERS
                    for signal in _SIGNALS
                ),
            ),
            # The paper never compares thresholds on its predictions for Location30.
            *(
                above(f"{view}: classes' own thresholds gain, {signal}", (f"{signal}, gain", view))
                for view in song2021_thresholds.AUTHORS
                for signal in _SIGNALS
            ),
        ),
    ),
    "song-table4": Judgement(
        same_data=("*",),
        quick=True,
        claims=(
            *stated_in(
                "3.3.3",
                (_modified_wins(shadow, shadow) for shadow in _SHADOWS),
            ),
            *stated_in(
                "footnote 6",
                (
                    larger(
                        f"{shadow}: modified entropy finds more than confidence",
                        ("modified-entropy", shadow),
                        ("confidence", shadow),
                    )
                    for shadow in _SHADOWS
                ),
            ),
        ),
    ),
    "song-table4-defences": Judgement(
        # Other defences are ours, on the same undefended predictions; the paper has no row of them.
        same_data=("memguard*",),
        beside_chance=("adaptive",),
        # The authors' own predictions, judged again; and a defence that keeps every class.
        given=(
            *((f"{AUTHORS}: {name}", "*") for name in METRICS),
            ("memguard (budget 1): correctness", "*"),
        ),
        claims=tuple(one for by in _DEFENDED for one in _defence_claims(by)),
    ),
    "song-table5": Judgement(
        claims=tuple(claim for game in _GAMES for claim in _table5_claims(game))
    ),
    "song-table6": Judgement(
        on={"Texas100": _on_same_data, "Purchase100": _on_same_data},
        claims=_table6_claims(),
    ),
    "song-table7": Judgement(
        claims=(
            *stated_in(
                "A",
                (
                    above(
                        f"{data}: modified entropy finds more than a network",
                        (data, f"{song2021_images.BEST} less neural-nasr"),
                    )
                    for data in song2021_images.NOISE
                ),
            ),
            *stated_in(
                "3.1.3",
                (
                    larger(
                        f"{data}: modified entropy finds more than entropy",
                        (data, "modified-entropy"),
                        (data, "entropy"),
                    )
                    for data in song2021_images.NOISE
                ),
            ),
        ),
    ),
    "song-fig2": Judgement(
        # Of the test accuracy alone: the paper's figure shows no attack.
        claims=stated_in("3.2.1", (_as_accurate_earlier(),)),
    ),
    "song-fig3": Judgement(
        relative=("risk score", "network*"),
        on={"Purchase100": _on_same_data},
        claims=stated_in(
            "4.2.1",
            (
                claim
                for kind in CLASSIFIERS
                for claim in (
                    below(
                        f"{kind}: the risk score's RMSE is below 0.1",
                        (f"{kind}: RMSE", _SCORE),
                        0.1,
                    ),
                    above(
                        f"{kind}: a network's output is further off",
                        (f"{kind}: RMSE less the score's", TAUGHT),
                    ),
                )
            ),
        ),
    ),
    "song-fig4": Judgement(
        claims=stated_in(
            "Figure 4",
            (below("every architecture's RMSE is below 0.09", ("largest RMSE", _SCORE), 0.09),),
        )
    ),
    "song-fig12": Judgement(
        claims=stated_in(
            "D", (below("every architecture's RMSE is below 0.1", ("largest RMSE", _SCORE), 0.1),)
        )
    ),
    "song-fig5": Judgement(
        on={"Purchase100": _on_same_data},
        claims=stated_in(
            "4.2.2",
            (
                below(
                    "regularisation lowers the mean score",
                    (f"{REGULARISED} less {UNDEFENDED}", "mean score"),
                ),
                _raises_some(),
                near(
                    "early stopping has a similar distribution of scores as regularisation, within "
                    f"{SIMILAR_SCORES:g}",
                    (f"{STOPPED} less {REGULARISED}", "largest distance"),
                    SIMILAR_SCORES,
                ),
            ),
        ),
    ),
    "song-fig9": Judgement(
        on={"Texas100": _on_same_data},
        claims=(
            *stated_in(
                "4.2.4",
                (
                    above(
                        f"new records of risky classes lie less with their class's members, "
                        f"{space}",
                        ("others among members keep their class", f"{space}, low less high"),
                    )
                    for space in ("features", "map")
                ),
            ),
            # The paper says it of classes, not of single members.
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
        claims=stated_in(
            "4.2.2",
            (
                larger("MemGuard lowers the scores", ("mean", "authors"), ("mean", "MemGuard")),
                below(
                    "behind MemGuard 70% of the members and more still have more than 0.6",
                    ("at most 0.6", "MemGuard"),
                    0.3,
                ),
            ),
        ),
    ),
    "song-fig7": Judgement(
        claims=stated_in(
            "4.2.4",
            (
                above(
                    "members with higher scores have more influence",
                    ("rank correlation with the score", "net"),
                ),
            ),
        )
    ),
    "song-fig8": Judgement(
        on={"Texas100": _on_same_data},
        claims=stated_in(
            "4.2.4",
            (
                claim
                for view in ("authors", "alike")
                for claim in (
                    above(
                        f"{view}: classes with a larger error have higher scores",
                        (_BY_CLASS, view),
                    ),
                    _closely(view),
                )
            ),
        ),
    ),
    "song-fig10": Judgement(
        relative=("authors", "MemGuard", "alike"),
        on={"Purchase100": _on_same_data},
        claims=stated_in(
            "B",
            (
                *(
                    above(
                        f"{view}: most members are above the prior, at every prior",
                        (song2021_risk.ABOVE, view),
                        0.5,
                    )
                    for view in ("authors", "alike")
                ),
                *(
                    every(
                        f"{view}: furthest at 0.5 of all priors",
                        [
                            larger(str(prior), ("prior 0.5", view), (f"prior {prior:g}", view))
                            for prior in PRIORS
                            if prior != 0.5
                        ],
                    )
                    for view in ("authors", "alike")
                ),
            ),
        ),
    ),
    "song-fig11": Judgement(
        relative=("authors", "MemGuard", "alike"),
        on={"Texas100": _on_same_data},
        claims=stated_in(
            "C",
            (
                claim
                for view in _VIEWS
                for claim in (
                    below(
                        f"{view}: the risk score's RMSE is below 0.1",
                        ("risk score, histogram", view),
                        0.1,
                    ),
                    larger(
                        f"{view}: a network's output is further off",
                        (song2021_risk.ON_TARGET, view),
                        ("risk score, histogram", view),
                    ),
                )
            ),
        ),
    ),
}
"""Name of a reproduction to its judgement."""


PAPER = "Song & Mittal (2021)"

_LOCATION = "Purchase100 and Texas100 cannot be fetched; Location30 stands in"

ITEMS = items(
    PAPER, "song",
    ("table1", "defences benchmarked", Status.PARTLY,
     "two of its eight numbers, of Location30 with MemGuard; Purchase100 and Texas100 cannot be "
     "fetched",
     "song-table4-defences"),
    ("table2", "early stopping", Status.STAND_IN, _LOCATION),
    ("table3", "thresholds", Status.STAND_IN, _LOCATION),
    ("table4", "MemGuard: undefended", Status.PARTLY,
     "its row of Location30, on the paper's records; Texas100 cannot be fetched"),
    ("table4-defences", "MemGuard: defended", Status.PARTLY,
     "its row of Location30, on the authors' predictions; Texas100 cannot be fetched"),
    ("table5", "white box", Status.STAND_IN, _LOCATION),
    ("table6", "risk thresholds", Status.STAND_IN, _LOCATION),
    ("table7", "image data", Status.STAND_IN,
     "CH-MNIST, Car196 and the pretrained ResNet-50 cannot be fetched; digits stand in"),
    ("fig1", "risk scores of three data sets", Status.PARTLY,
     "its curve of Location30, on the authors' predictions; Purchase100 cannot be fetched, and "
     "the network for CIFAR-100 is not available",
     "song-fig6"),
    ("fig2", "accuracy by epoch", Status.STAND_IN, _LOCATION),
    ("fig3", "calibration by defence", Status.STAND_IN, _LOCATION),
    ("fig4", "calibration by architecture", Status.STAND_IN,
     f"{_LOCATION} for both, in one panel of the tanh networks: the middle panel, of relu "
     "networks, "
     "and the convolutional networks on CIFAR-100 are left out"),
    ("fig5", "risk scores by defence", Status.STAND_IN, _LOCATION),
    ("fig6", "risk scores with MemGuard", Status.STAND_IN, _LOCATION),
    ("fig7", "influence", Status.STAND_IN, _LOCATION),
    ("fig8", "by class", Status.STAND_IN, _LOCATION),
    ("fig9", "features by class", Status.STAND_IN, _LOCATION),
    ("fig10", "priors", Status.STAND_IN, _LOCATION),
    ("fig11", "calibration, MemGuard", Status.STAND_IN, _LOCATION),
    ("fig12", "calibration by architecture, defended", Status.STAND_IN, _LOCATION),
)  # fmt: skip
"""All tables and figures of the paper."""


# The settings that Song & Mittal (2021) state, and ours.

_COPY = (
    "song-table2 song-table3 song-table5 song-table6 song-fig2 song-fig3 song-fig4 song-fig5 "
    "song-fig6 song-fig7 song-fig8 song-fig9 song-fig10 song-fig11 song-fig12"
)
_TABLE_4 = "song-table4 song-table4-defences"
_BY_DESCENT = (
    "song-table4 song-table5 song-table6 song-fig6 song-fig7 song-fig8 song-fig10 song-fig11"
)
_BY_ADAM = "song-table2 song-table3 song-table6 song-fig2 song-fig3 song-fig4 song-fig5 song-fig12"
_NO_DATA = f"they may not be passed on; {LOCATION} stands in"
_WITH_COPY = "with a copy of the reader's own; without one Location30 stands in"
_NASR = (
    "Nasr et al. (2018), whom the paper follows, have larger layers; the stand-in has a twentieth "
    "of their records"
)
_JIA = "Jia et al. (2019), whom the paper follows, give it; the paper itself does not"
_SHADOW = (
    "an attacker does not know whom the target learnt from; what the network learns on the shadow "
    "model is further off on the target where the two differ"
)
_PAIRS = "more than one shows how much initial weights and order of batches matter"
_OWN = "the paper names none; PrivacyGauge's own"
_ONE_SET = "one set of models serves Tables 5 and 6 and Figures 6, 8, 10 and 11"

# The activation changes nothing about widths and depths.
SHAPES = song2021_architectures.architectures("tanh")
"""Architectures of Figures 4 and 12."""

ENTRIES = (
    Entry(
        _COPY,
        "3.3.1",
        "data without a copy",
        paper="Purchase100, Texas100",
        ours=LOCATION,
        why=_WITH_COPY,
    ),
    Entry(
        _COPY,
        "3.3.1",
        "Purchase100, records and binary features",
        paper=(197_324, 600),
        ours="those of the reader's file",
        why=_WITH_COPY,
    ),
    Entry(
        _COPY,
        "3.3.1",
        "Texas100, records and binary features",
        paper=(67_330, 6_170),
        ours="those of the reader's file",
        why=_WITH_COPY,
    ),
    Entry(_COPY, "3.3.1", "Purchase100, members", paper=19_732, ours=MEMBERS[PURCHASE]),
    Entry(_COPY, "3.3.1", "Texas100, members", paper=10_000, ours=MEMBERS[TEXAS]),
    Entry(
        f"{_TABLE_4} {_COPY}",
        "3.3.1",
        "Location30, records",
        paper=5_010,
        ours=LOCATION30[0],
    ),
    Entry(
        f"{_TABLE_4} {_COPY}",
        "3.3.1",
        "Location30, binary features",
        paper=446,
        ours=LOCATION30[1],
    ),
    Entry(
        f"{_TABLE_4} {_COPY}",
        "3.3.1",
        "Location30, classes",
        paper=30,
        ours=LOCATION30[2],
    ),
    Entry(
        f"{_TABLE_4} {_COPY}",
        "3.3.1",
        "Location30, members",
        paper=1_000,
        ours=MEMBERS[LOCATION],
    ),
    Entry(
        "song-fig4",
        "4.2.1",
        "CIFAR100 and its networks",
        paper="five",
        ours="none",
        why="image networks on CIFAR-100 are not made",
    ),
    Entry(
        "song-fig4",
        "4.2.1",
        "panel of Texas100 and its relu networks, without a copy",
        paper="beside that of Purchase100",
        ours="none",
        why=(
            "the one stand-in is shown once, with the tanh networks of Purchase100; Figure 12 has "
            "it twice"
        ),
    ),
    Entry(
        "song-table2 song-table3 song-table6 song-fig2 song-fig3 song-fig4 song-fig5",
        "3.3.2",
        "hidden units",
        paper=(1024, 512, 256, 128),
        ours=SONG_MITTAL_2021.hidden,
    ),
    Entry(
        "song-table2 song-table6 song-fig2 song-fig3 song-fig4 song-fig5",
        "3.3.2",
        "activation for Purchase100",
        paper="tanh",
        ours=SONG_MITTAL_2021.activation,
    ),
    Entry(
        "song-table4 song-table6 song-fig6 song-fig7 song-fig8 song-fig9 song-fig11",
        "3.3.3",
        "activation for Texas100 and Location30",
        paper="relu",
        ours=SONG_MITTAL_2021_RELU.activation,
    ),
    Entry(
        "song-table2 song-table3",
        "3.3.2",
        "activation where Texas100 is meant, Tables 2 and 3",
        paper="tanh",
        ours=SONG_MITTAL_2021.activation,
    ),
    Entry(
        _BY_DESCENT,
        "3.3.3",
        "optimiser, relu networks",
        paper=None,
        ours="gradient descent",
        why=_JIA,
    ),
    Entry(_BY_DESCENT, "3.3.3", "epochs, relu networks", paper=None, ours=EPOCHS, why=_JIA),
    Entry(
        _BY_DESCENT,
        "3.3.3",
        "records a step, relu networks",
        paper=None,
        ours=BATCH,
        why=_JIA,
    ),
    Entry(
        _BY_DESCENT,
        "3.3.3",
        "learning rate, relu networks",
        paper=None,
        ours=RATE,
        why=_JIA,
    ),
    Entry(
        "song-table4",
        "3.3.3",
        "members of a shadow model like the published one",
        paper=None,
        ours=PUBLISHED.n_train,
        why="as in the authors' released predictions",
    ),
    Entry(
        "song-table4",
        "3.3.3",
        "epochs of a shadow model like the published one",
        paper=None,
        ours=FEWER,
        why="its members' median confidence is then the published one's",
    ),
    Entry(
        "song-table4",
        "3.3.3",
        "pairs of a target and a shadow model",
        paper=1,
        ours=PAIRS,
        why=_PAIRS,
    ),
    Entry(
        "song-table4",
        "3.3",
        "records that are judged, half of them members",
        paper=2_000,
        ours=2 * TARGET.n_train,
    ),
    *(
        Entry(_BY_ADAM, "3.3.2", f"{what}, tanh networks", paper=None, ours=ours, why=_OWN)
        for what, ours in (
            ("optimiser", NETWORKS.optimiser),
            ("learning rate", NETWORKS.learning_rate),
            ("records a step", NETWORKS.batch_size),
        )
    ),
    Entry(
        "song-table2 song-table3 song-table6 song-fig2 song-fig3 song-fig5",
        "3.3.2",
        "epochs, tanh networks",
        paper=None,
        ours=NETWORKS.epochs,
        why=_OWN,
    ),
    Entry(
        "song-table5 song-fig10",
        "3.3.4, B",
        "undefended network of Purchase100",
        paper="that of Section 3.3.2, as in Tables 2 and 3",
        ours=(
            f"another, by gradient descent at {RATE:g}, {EPOCHS} epochs; there by "
            f"{NETWORKS.optimiser} at {NETWORKS.learning_rate:g}, {NETWORKS.epochs} epochs"
        ),
        why=f"{_ONE_SET}: with a copy one printed row is judged of two networks",
    ),
    Entry(
        "song-table5",
        "3.3.4",
        "undefended network of Texas100",
        paper="that of Section 3.3.2, as in Tables 2 and 3",
        ours=f"another, by gradient descent at {RATE:g}, {EPOCHS} epochs",
        why=_ONE_SET,
    ),
    Entry(
        "song-fig7 song-fig8",
        "4.2.4",
        "undefended network",
        paper="that of Texas100 from Jia et al.",
        ours=f"trained here, by gradient descent at {RATE:g}, {EPOCHS} epochs",
        why=_NO_DATA,
    ),
    Entry(
        "song-fig9",
        "4.2.4",
        "undefended network",
        paper="that of Texas100 from Jia et al., as in Figures 7 and 8",
        ours=(
            f"another than in those, by {song2021_embedding.NETWORKS.optimiser} at "
            f"{song2021_embedding.NETWORKS.learning_rate:g}, {song2021_embedding.NETWORKS.epochs} "
            "epochs"
        ),
        why=(
            "trained as for Figures 3 and 5; the paper's network cannot be had, and either way of "
            "training is PrivacyGauge's choice"
        ),
    ),
    Entry(
        "song-fig12",
        "D",
        "network behind MemGuard",
        paper="that of Texas100 from Jia et al.",
        ours=(
            f"of the same layers, by {NETWORKS.optimiser} at {NETWORKS.learning_rate:g}, "
            f"{song2021_architectures.EPOCHS} epochs"
        ),
        why="one way of training serves all architectures of both figures",
    ),
    Entry(
        "song-fig4 song-fig12",
        "4.2.1",
        "epochs, all architectures",
        paper=None,
        ours=song2021_architectures.EPOCHS,
        why=_OWN,
    ),
    Entry(
        "song-table2",
        "3.3.2",
        "early stopping, epoch",
        paper="of similar accuracy",
        ours="the nearest, and the first that is as accurate",
        why="two readings of similar; both are shown",
    ),
    Entry(
        "song-table2",
        "3.3.2",
        "early stopping, epochs that are saved",
        paper="every one",
        ours=RECORDED,
        why="accuracy hardly moves between the later ones",
    ),
    Entry(
        "song-table3 song-table6 song-fig3 song-fig5",
        "3.3.2",
        "early stopping, epochs that are saved",
        paper="every one",
        ours=EARLY,
        why="accuracy peaks within them on the stand-in",
    ),
    Entry(
        "song-table3 song-table6 song-fig3 song-fig5",
        "3.3.2",
        "early stopping, epoch",
        paper="of similar accuracy",
        ours="the first that is as accurate, on the shadow model's records",
        why="no attack is judged on these",
    ),
    Entry(
        "song-table2",
        "3.3.2",
        "attack by a network, column",
        paper="Nasr et al. (2018)",
        ours="none",
        why="thresholds alone decide the comparison; Tables 5 and 7 and Figures 3 and 11 have it",
    ),
    Entry(
        "song-table2 song-table3 song-table6 song-fig2 song-fig3 song-fig5 song-fig12",
        "3.3.2",
        "adversarial regularisation, records of the attack that are no members",
        paper="validation data",
        ours="reference records that are not judged",
        why="the paper names no number; as many as are left, at most as many as members",
    ),
    Entry(
        "song-table2",
        "3.3.2",
        "adversarial regularisation, weights",
        paper=None,
        ours=WEIGHTS,
        why=_OWN,
    ),
    Entry(
        "song-table3 song-table6 song-fig2 song-fig3 song-fig5 song-fig12",
        "3.3.2",
        "adversarial regularisation, weight",
        paper=None,
        ours=SHOWN,
        why=_OWN,
    ),
    Entry(
        "song-table2 song-table3 song-table6 song-fig2 song-fig3 song-fig5 song-fig12",
        "2.3.1, equation 3",
        "adversarial regularisation, gain of the attack",
        paper="mean log I",
        ours="mean log I",
    ),
    Entry(
        "song-table2 song-table3 song-table6 song-fig2 song-fig3 song-fig5 song-fig12",
        "3.3.2",
        "adversarial regularisation, program that trained",
        paper="follows Nasr et al., whose code has mean(I) - 1/2",
        ours="the equation's mean log I",
        why=(
            "which of the two trained the paper's models it does not say; with the other the "
            "weights mean something else, and how the tables would differ was not measured"
        ),
    ),
    Entry(
        "song-table2 song-table3 song-table6 song-fig2 song-fig3 song-fig5 song-fig12",
        "3.3.2",
        "adversarial regularisation, the attack's layers on the answers",
        paper=AttackNetworkSizes().answers,
        ours=SMALL.answers,
        why=_NASR,
    ),
    Entry(
        "song-table2 song-table3 song-table6 song-fig2 song-fig3 song-fig5 song-fig12",
        "3.3.2",
        "adversarial regularisation, the attack's layers on the class",
        paper=AttackNetworkSizes().classes,
        ours=SMALL.classes,
        why=_NASR,
    ),
    Entry(
        "song-table4-defences",
        "3.3.3",
        "networks of the attack without thresholds",
        paper="the best of six, two of which know that noise is added",
        ours="one",
        why="the best of six on the judged records is chosen after the fact",
    ),
    Entry(
        "song-table2",
        "3.3.2",
        "trainings beside those of the paper",
        paper="none",
        ours="dropout, weight decay",
        why="for comparison; no claim is about them",
    ),
    Entry(
        "song-table5",
        "3.3.4",
        "records whose membership the attack knows",
        paper=None,
        ours="half of the judged ones; beside it none, with a shadow model",
        why="as in Nasr et al. (2019); what is found with a shadow model is not judged",
    ),
    Entry(
        "song-table5",
        "3.3.4",
        "white-box attack",
        paper="Nasr et al. (2019)",
        ours=f"one hidden layer on {', '.join(WhiteBox().parts)}",
        why="theirs has convolutions and more layers, on gradients of every weight",
    ),
    Entry(
        "song-table6 song-fig3 song-fig4 song-fig5 song-fig6 song-fig7 song-fig8 song-fig9 "
        "song-fig10 song-fig11 song-fig12",
        "4.1",
        "risk score, bins of the histogram",
        paper=None,
        ours=Histogram().bins,
        why="the number of the authors' released code",
    ),
    Entry(
        "song-fig3 song-fig4 song-fig11 song-fig12",
        "4.2.1",
        "bins of the calibration",
        paper=None,
        ours=BINS,
        why="the paper's figures show about as many points",
    ),
    Entry(
        "song-fig3 song-fig11",
        "4.2.1",
        "attack network, answers that it learns from",
        paper="the target's",
        ours="the target's",
    ),
    Entry(
        "song-fig3 song-fig11",
        "4.2.1",
        "attack network, records that it is judged on",
        paper=None,
        ours="those that it did not learn from; each half in turn",
        why="asked about what it learnt, it would repeat it; a second one learns on a shadow model",
    ),
    Entry(
        "song-table5 song-table7",
        "3.3.4, A",
        "attack network, answers that it learns from",
        paper="the target's",
        ours="a shadow model's; in the white box also half of the target's",
        why=_SHADOW,
    ),
    Entry(
        "song-fig3 song-fig11 song-table5 song-table7",
        "4.2.1",
        "attack network, hidden units",
        paper="Nasr et al. (2018)",
        ours=NeuralNasr().network.hidden,
        why=_NASR,
    ),
    Entry(
        "song-fig11 song-table5 song-table7",
        "4.2.1",
        "attack network, epochs",
        paper=None,
        ours=NeuralNasr().network.epochs,
        why="the library's own",
    ),
    Entry(
        "song-fig3",
        "4.2.1",
        "attack network, epochs",
        paper=None,
        ours=(NeuralNasr().network.epochs, LONG.network.epochs),
        why="both are shown: how far its output is off depends on them",
    ),
    Entry(
        "song-fig4 song-fig12",
        "4.2.1",
        "activations",
        paper=("relu", "sigmoid", "tanh"),
        ours=tuple(sorted({one.activation for one in SHAPES})),
    ),
    Entry(
        "song-fig4 song-fig12",
        "4.2.1",
        "networks that do not learn",
        paper="one is left out, of 4% accuracy",
        ours=f"left out, if right on less than {song2021_architectures.LEARNT:g} of their members",
        why=(
            "the paper names no limit; a network that learns nothing has no members to find, and "
            "which ones is in the table"
        ),
    ),
    Entry(
        "song-fig4 song-fig12",
        "4.2.1",
        "widths",
        paper=(0.5, 1.0, 2.0),
        ours=tuple(sorted({one.width for one in SHAPES})),
    ),
    Entry(
        "song-fig4 song-fig12",
        "4.2.1",
        "depths",
        paper=(3, 4, 5),
        ours=tuple(sorted({one.depth for one in SHAPES})),
    ),
    Entry(
        "song-fig7",
        "4.2.4",
        "members removed at a time",
        paper="one",
        ours=f"one of {PARTS} parts",
        why="a training for each of the members would take a day; the control is another part",
    ),
    Entry("song-fig8", "4.2.4", "classes", paper=100, ours=LOCATION30[2], why=_NO_DATA),
    Entry(
        "song-fig9",
        "4.2.4",
        "classes of the lowest and the highest risk, each",
        paper=5,
        ours=CLASSES,
    ),
    Entry(
        "song-fig9",
        "4.2.4",
        "members that a class must have, Texas100",
        paper=100,
        ours=LEAST[TEXAS],
    ),
    Entry(
        "song-fig9",
        "4.2.4",
        "members that a class must have, stand-in",
        paper=100,
        ours=LEAST[LOCATION],
        why="its classes have 33 on average",
    ),
    Entry(
        "song-fig9", "4.2.4", "t-SNE, perplexity", paper=None, ours=PERPLEXITY, why="the usual one"
    ),
    Entry(
        "song-table6",
        "4.2.3",
        "thresholds of the risk score",
        paper=(1.0, 0.9, 0.8, 0.7, 0.6, 0.5),
        ours=CUTS,
    ),
    Entry(
        "song-fig10",
        "B",
        "priors",
        paper=(0.1, 0.3, 0.5, 0.7, 0.9),
        ours=PRIORS,
    ),
    Entry(
        "song-table5",
        "3.3.4",
        "CIFAR100 and its DenseNet",
        paper="pretrained",
        ours="none",
        why="image networks on CIFAR-100 are not made",
    ),
    Entry(
        "song-table5",
        "3.3.4",
        "activation, of Texas100 and of the stand-in for all of its classifiers",
        paper="tanh",
        ours=SONG_MITTAL_2021_RELU.activation,
        why=(
            f"{_ONE_SET}, most of which the paper has of such a network; on a copy of "
            "Purchase100 it is tanh"
        ),
    ),
    Entry(
        "song-fig10",
        "B",
        "activation of the undefended network of Purchase100, without a copy",
        paper="tanh",
        ours=SONG_MITTAL_2021_RELU.activation,
        why=f"{_ONE_SET}; with a copy the activation is the paper's",
    ),
    Entry(
        "song-table3 song-table6 song-fig3 song-fig5",
        "4.2.1",
        "pairs of a target and a shadow model",
        paper=1,
        ours=FIGURE_PAIRS,
        why=_PAIRS,
    ),
    Entry(
        "song-fig4 song-fig12",
        "4.2.1",
        "pairs of a target and a shadow model",
        paper=1,
        ours=song2021_architectures.PAIRS,
        why=_PAIRS,
    ),
    Entry(
        "song-table7",
        "A",
        "images",
        paper=("CH-MNIST", "Car196"),
        ours=tuple(song2021_images.NOISE),
        why="they cannot be fetched; digits come with scikit-learn",
    ),
    Entry(
        "song-table7",
        "A",
        "training images of CH-MNIST",
        paper=2_000,
        ours=song2021_images.MEMBERS,
        why="of the digits there are no more for two models and their non-members",
    ),
    Entry(
        "song-table7", "A", "blocks of convolutions", paper=(32, 64), ours=song2021_images.CHANNELS
    ),
    Entry(
        "song-table7",
        "A",
        "network for Car196",
        paper="ResNet-50, trained on ImageNet",
        ours="none",
        why="its weights cannot be fetched",
    ),
    Entry("song-table7", "A", "epochs", paper=None, ours=song2021_images.EPOCHS, why=_OWN),
    Entry("song-table7", "A", "optimiser", paper=None, ours=NETWORKS.optimiser, why=_OWN),
    Entry("song-table7", "A", "learning rate", paper=None, ours=song2021_images.RATE, why=_OWN),
    Entry("song-table7", "A", "images a step", paper=None, ours=song2021_images.BATCH, why=_OWN),
    Entry(
        "song-table7",
        "A",
        "pairs of a target and a shadow model",
        paper=1,
        ours=song2021_images.PAIRS,
        why=_PAIRS,
    ),
    Entry(
        "song-table2 song-fig2",
        "3.3.2",
        "pairs of a target and a shadow model",
        paper=1,
        ours=song2021_training.PAIRS,
        why=_PAIRS,
    ),
    Entry(
        "song-table5 song-table6 song-fig6 song-fig8 song-fig10 song-fig11",
        "3.3",
        "pairs of a target and a shadow model, relu",
        paper=1,
        ours=song2021_tables.PAIRS,
        why=_PAIRS,
    ),
    Entry(
        "song-fig9",
        "4.2.4",
        "pairs of a target and a shadow model",
        paper=1,
        ours=song2021_embedding.PAIRS,
        why=_PAIRS,
    ),
)
"""All settings that the paper states of its experiments, and the choices it leaves open."""
