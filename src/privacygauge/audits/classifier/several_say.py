"""What a report says of further models: as targets, or for the adversary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from privacygauge.evaluate.more_models import Foretold
from privacygauge.evaluate.over_targets import SeveralTargets
from privacygauge.report.blocks import note, table, text
from privacygauge.report.document import picked, values_of
from privacygauge.report.numbers import count, decimal_estimate, fixed, key, percent, rate
from privacygauge.report.values import Block, Json, Section


def sections(
    targets: SeveralTargets | None, more_models: Sequence[Foretold]
) -> tuple[Section, ...]:
    """Return the sections about several targets, and about what more shadow models would buy."""
    found = []
    if targets is not None:
        title = f"Over {count(targets.n_targets)} targets"
        found.append(Section("targets", title, tuple(_targets(targets)), "Several targets"))
    if more_models:
        title = "What more shadow models would buy"
        found.append(Section("more-models", title, _more(more_models), "More shadow models"))
    return tuple(found)


def as_data(targets: SeveralTargets | None, more_models: Sequence[Foretold]) -> dict[str, Json]:
    """Return what report.json holds of both; nothing where there is none."""
    found: dict[str, Json] = {}
    if targets is not None:
        found["targets"] = {
            **picked(targets, "n_targets", "n_shadows", half_width_asked="asked"),
            **picked(targets, "half_width"),
            "attacks": [
                {
                    **picked(x, attack="title", auc="auc"),
                    "tpr_at_fpr": values_of({key(fpr): tpr for fpr, tpr in x.tpr_at_fpr.items()}),
                }
                for x in targets.attacks
            ],
        }
    if more_models:
        named = {"attack": "title", "n_models": "n_models", "auc_now": "now"}
        named |= {"auc_with_half": "half", "auc": "auc"}
        found["more_models"] = [picked(x, **named) for x in more_models]
    return found


def _targets(found: SeveralTargets) -> Iterator[Block]:
    n = count(found.n_targets)
    yield text(
        f"Each of {n} models, trained alike on records that fair coins of its own put in, was "
        f"attacked with the same {count(found.n_shadows)} shadow models; the rest of this report "
        "is about the first of them. The numbers are means over targets, and the intervals allow "
        "for other records and for other targets. Targets were added until no interval was wider "
        f"than {fixed(found.asked, 3)} on either side; only widths were looked at."
    )
    yield table(
        "targets",
        f"Means over {n} targets",
        [
            {
                "Attack": x.title,
                "AUC": decimal_estimate(x.auc),
                **{f"TPR at {rate(fpr)} FPR": percent(y) for fpr, y in x.tpr_at_fpr.items()},
            }
            for x in found.attacks
        ],
        prose=("Attack",),
    )
    if not found.reached:
        yield note(
            f"The widest interval still reaches {fixed(found.half_width, 3)} to either side: there "
            f"are no more than {n} targets. More records narrow it further."
        )


def _more(found: Sequence[Foretold]) -> tuple[Block, ...]:
    k, n = found[0].auc.n, count(found[0].n_models)
    return (
        text(
            "More shadow models make attacks stronger; they make no interval narrower. The table "
            f"has the AUC with the {count(k)} shadow models, and what {n} would give on the same "
            f"target and the same records, foretold from random halves of the {count(k)}."
        ),
        table(
            "more-models",
            f"AUC with {n} shadow models",
            [
                {
                    "Attack": x.title,
                    f"With {count(k // 2)}": fixed(x.half, 3),
                    f"With {count(k)}": fixed(x.now, 3),
                    f"With {n}, foretold": decimal_estimate(x.auc),
                }
                for x in found
            ],
            prose=("Attack",),
        ),
    )
