"""What a report says of further models: as targets, or for the adversary."""

from __future__ import annotations

from collections.abc import Sequence

from privacygauge.evaluate.more_models import Foretold
from privacygauge.evaluate.over_targets import SeveralTargets
from privacygauge.report.document import estimate_dict
from privacygauge.report.numbers import count, decimal_estimate, fixed, key, percent, rate
from privacygauge.report.values import Block, Column, Json, Row, Section, Table, Text, Tone


def sections(found: SeveralTargets | None) -> tuple[Section, ...]:
    """Return the section about several targets, where there are several."""
    if found is None:
        return ()
    n = count(found.n_targets)
    reached = fixed(found.half_width, 3)
    blocks: list[Block] = [
        Text(
            (
                f"Each of {n} models, trained alike on records that fair coins of its own put in, "
                f"was attacked with the same {count(found.n_shadows)} shadow models; the rest of "
                "this report is about the first of them. The numbers are means over targets, and "
                "the intervals allow for other records and for other targets. Targets were added "
                f"until no interval was wider than {fixed(found.asked, 3)} on either side; only "
                "widths were looked at.",
            )
        ),
        _table(found),
    ]
    if not found.reached:
        text = (
            f"The widest interval still reaches {reached} to either side: there are no more than "
            f"{n} targets. More records narrow it further."
        )
        blocks.append(Text((text,), Tone.NOTE))
    return (Section("targets", f"Over {n} targets", tuple(blocks), "Several targets"),)


def _table(found: SeveralTargets) -> Table:
    fprs = tuple(found.attacks[0].tpr_at_fpr)
    return Table(
        "targets",
        f"Means over {count(found.n_targets)} targets",
        (
            Column("Attack", prose=True),
            Column("AUC"),
            *(Column(f"TPR at {rate(fpr)} FPR") for fpr in fprs),
        ),
        tuple(
            Row(
                (
                    x.title,
                    decimal_estimate(x.auc),
                    *(percent(x.tpr_at_fpr[fpr]) for fpr in fprs),
                )
            )
            for x in found.attacks
        ),
    )


def as_data(found: SeveralTargets | None) -> dict[str, Json]:
    """Return what report.json holds of several targets; nothing where there is one."""
    if found is None:
        return {}
    return {
        "targets": {
            "n_targets": found.n_targets,
            "n_shadows": found.n_shadows,
            "half_width_asked": found.asked,
            "half_width": found.half_width,
            "attacks": [
                {
                    "attack": x.title,
                    "auc": estimate_dict(x.auc),
                    "tpr_at_fpr": {key(fpr): value for fpr, value in x.tpr_at_fpr.items()},
                }
                for x in found.attacks
            ],
        }
    }


def more_models(found: Sequence[Foretold]) -> tuple[Section, ...]:
    """Return the section about what more shadow models would buy, where it can be foretold."""
    if not found:
        return ()
    k, n = found[0].auc.n, found[0].n_models
    said = (
        f"More shadow models make attacks stronger; they make no interval narrower. The table "
        f"has the AUC with the {count(k)} shadow models, and what {count(n)} would give on the "
        f"same target and the same records, foretold from random halves of the {count(k)}.",
    )
    table = Table(
        "more-models",
        f"AUC with {count(n)} shadow models",
        (
            Column("Attack", prose=True),
            Column(f"With {count(k // 2)}"),
            Column(f"With {count(k)}"),
            Column(f"With {count(n)}, foretold"),
        ),
        tuple(
            Row((x.title, fixed(x.half, 3), fixed(x.now, 3), decimal_estimate(x.auc)))
            for x in found
        ),
    )
    title = "What more shadow models would buy"
    return (Section("more-models", title, (Text(said), table), "More shadow models"),)


def data_of_more(found: Sequence[Foretold]) -> dict[str, Json]:
    """Return what report.json holds of what more shadow models would buy."""
    if not found:
        return {}
    return {
        "more_models": [
            {
                "attack": x.title,
                "n_models": x.n_models,
                "auc_now": x.now,
                "auc_with_half": x.half,
                "auc": estimate_dict(x.auc),
            }
            for x in found
        ]
    }
