"""Options of `privacygauge dp-audit`, and its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.claims.options import ClaimTerms
from privacygauge.errors import InputError
from privacygauge.kinds.command import Command
from privacygauge.kinds.request import HelpGroup, Request, amounts
from privacygauge.runs.options import Role, argument, asks

if TYPE_CHECKING:
    from privacygauge.claims.claim_audit.audit import ClaimAudit
    from privacygauge.evaluate.claim_designs import Design
    from privacygauge.kinds.session import Work

METRICS = amounts("epsilon", "epsilon-gaussian")
"""Metrics that a release can be held to."""

_HELP = """Audit a claim of differential privacy by what is guessed about canaries.

Example: privacygauge dp-audit canaries.csv --epsilon 2 --delta 1e-5
"""

_LIMITS = (
    "Exit with code 3 if METRIC is above VALUE: epsilon (the lower bound that assumes nothing) or "
    "epsilon-gaussian."
)


@dataclass(frozen=True, kw_only=True)
class ClaimRequest(ClaimTerms, Request):
    """Options of an audit of a privacy claim."""

    canaries: str = argument(
        "CANARIES",
        "Scores of canaries: .csv, .parquet, .jsonl or .npz with score (higher: more likely put "
        "in), member (0 or 1) and optionally id and unit.",
    )
    epsilon: float = asks(
        "E", "The claimed epsilon; of one record added or removed, unless said otherwise."
    )
    delta: float = asks("D", "The claimed delta.", default=0.0)
    runs: str = asks(
        "one|many|sequential",
        "Trainings behind the scores: one (of all canaries, each put in by a fair coin), many "
        "(every row is a training of its own) or sequential (the same in their order, each with a "
        "fair coin: the audit may be repeated after each and stopped at any time).",
        default="one",
        offers=("one", "many", "sequential"),
    )
    guesses: str = asks(
        "R|auto|split|all",
        "How many canaries of one run are guessed, such as 100 or 100,1000; fixed before the "
        "scores are looked at. split: a fifth of the canaries chooses, the others are judged. all: "
        "3%, 10%, 25%, 50% and 90%, corrected for. auto: split from 500 canaries on, else all.",
        default="auto",
    )
    steps: int | None = asks(
        "N",
        "With --runs many: the mechanism is DP-SGD with so many noisy steps; the second bound then "
        "assumes this rather than a Gaussian mechanism.",
    )
    sampling_rate: float = asks(
        "Q", "Probability of a record to take part in a step (with --steps).", default=1.0
    )
    unit: str | None = asks(
        "COLUMN",
        "Column of the people behind the rows, which are then not taken for independent. Default: "
        "unit where there is one, or equal ids.",
    )

    control: str | None = asks(
        "FILE",
        "Positive control, in the form of CANARIES: scores of the same attack on the same training "
        "with its noise switched off. Without it, what is not refuted could not have been told.",
        role=Role.FILE,
    )

    @property
    def design(self) -> Design:
        """Design of the training with canaries."""
        from privacygauge.evaluate.claim import CHOOSING
        from privacygauge.evaluate.claim_designs import ManyRuns, OneRun, Sequential
        from privacygauge.evaluate.sampled_steps import SampledSteps

        if self.runs not in ("one", "many", "sequential"):
            raise InputError(f"--runs must be one, many or sequential, got {self.runs!r}")
        if self.steps is not None and self.runs != "many":
            raise InputError("--steps goes with --runs many: with others there is no such bound")
        if self.sampling_rate != 1.0 and self.steps is None:
            raise InputError("--sampling-rate goes with --steps")
        # Only one run guesses about several canaries at once.
        if self.runs != "one":
            if self.guesses != "auto":
                raise InputError("--guesses goes with --runs one; of many runs every row is judged")
            steps = None if self.steps is None else SampledSteps(self.sampling_rate, self.steps)
            return ManyRuns(steps) if self.runs == "many" else Sequential()
        known = {"auto": None, "split": CHOOSING, "all": 0.0}
        if self.guesses in known:
            return OneRun(choosing=known[self.guesses])
        try:
            numbers = tuple(int(number) for number in self.guesses.split(","))
        except ValueError as error:
            raise InputError(
                "--guesses must be auto, split, all or whole numbers such as 100 or 100,1000, got "
                f"{self.guesses!r}"
            ) from error
        return OneRun(numbers)


def play(asked: ClaimRequest, work: Work) -> ClaimAudit:
    """Run the requested audit."""
    from privacygauge.claims.claim_audit.audit import ClaimOptions
    from privacygauge.kinds.session import Session

    return ClaimOptions(design=asked.design, **vars(asked.part(ClaimTerms))).run(
        asked.canaries,
        asked.epsilon,
        asked.delta,
        unit=asked.unit or "unit",
        control=asked.control,
        session=Session(**asked.told("dp-audit")),
    )


COMMAND = Command(
    "dp-audit",
    group=HelpGroup.CLAIM,
    request=ClaimRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=_LIMITS,
    tables=("records.parquet", "curve.csv"),
)
