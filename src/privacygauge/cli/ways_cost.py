"""What training every model in several ways will cost, told before it begins."""

from __future__ import annotations

import sys

from privacygauge.classifier.cost import measure_ways, span
from privacygauge.classifier.defences.trainings import Before, Trainings
from privacygauge.classifier.trainer import Cohort


def cost_teller(jobs: int, quiet: bool) -> Before | None:
    """Return what measures and tells the cost of all models; None where nothing is to be told."""
    if quiet:
        return None

    def tell(trainings: Trainings, cohort: Cohort) -> None:
        ways = len(trainings.trainers)
        cost = measure_ways(trainings.trainers, cohort, n_jobs=jobs)
        each = "" if ways == 1 else f", each in {ways} ways"
        print(
            f"Training {len(cohort)} models{each}, {cost.seconds_a_model:.2g} s each, "
            f"{cost.n_jobs} at a time: about {span(cost.seconds(len(cohort)))}.",
            file=sys.stderr,
        )

    return tell
