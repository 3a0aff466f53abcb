"""Options of `privacygauge language canaries make` and `measure`, and their runs.

They are in no kind's folder: `measure` is the audit of a privacy claim, with exposures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from privacygauge.errors import InputError
from privacygauge.kinds.command import Command, Group, Tool
from privacygauge.kinds.request import HelpGroup, Request, amounts
from privacygauge.language.model_options import ModelsRequest
from privacygauge.report.reported import Reported
from privacygauge.runs.options import Role, argument, asks

if TYPE_CHECKING:
    from privacygauge.claims.claim_audit.audit import ClaimAudit
    from privacygauge.core.checks import Floats
    from privacygauge.core.estimate import Estimate
    from privacygauge.evaluate.canaries import CanaryFindings
    from privacygauge.kinds.session import Work
    from privacygauge.language.canaries import MadeCanaries
    from privacygauge.language.loading import Precision
    from privacygauge.report.values import Origin, Report, Verdict

NAME = "make"
"""Command that makes canaries, below ``language canaries``."""

HELP = """Make canaries for a training, each put in or left out by a fair coin.

Example: privacygauge language canaries make 'The code of {name} is {digits:9}.' --out canaries
"""
"""Help of the command, with an example."""

_MEASURE = """Measure what a trained language model knows of canaries.

Example: privacygauge language canaries measure canaries --target model --reference start
"""
_AT_ONCE = 10
LARGE_AREA = 0.7
"""Smallest share of pairs in the right order that is a large leak; an audit that finds nothing must
be able to detect it."""


@dataclass(frozen=True, kw_only=True)
class MakeRequest(Request):
    """Options for making canaries."""

    UNUSED: ClassVar[tuple[str, ...]] = ("level", "title", "note")

    template: str = argument(
        "TEMPLATE",
        "Form of the canaries, in which {digits:N}, {letters:N} and {name} are drawn again for "
        "each.",
        role=Role.PLAIN,
    )
    n: int = asks("N", "Canaries that coins decide about.", default=200)
    copies: int = asks("R", "How often each that is put in is to be trained on.", default=1)
    compared: int = asks("M", "Further canaries that are never trained on.", default=1000)
    out: str = asks("DIR", "Folder for the canaries: new, or empty.")


def make(asked: MakeRequest, work: Work) -> str:
    """Make canaries, write them, and return instructions for their use."""
    from pathlib import Path

    from privacygauge.language.canaries import FILE, INSERT, made_canaries, write_canaries

    made = made_canaries(
        asked.template, asked.n, copies=asked.copies, compared=asked.compared, seed=asked.seed
    )
    write_canaries(asked.out, made)
    place = Path(asked.out)
    n = int(made.inside.sum())
    return (
        f"{n} of {asked.n} canaries were put in by fair coins, {asked.copies} time(s) each.\n"
        f"Add the lines of {place / INSERT} to the training texts, and shuffle. Nothing may be "
        f"trained on {place / FILE}.\n"
        f"Then: privacygauge language canaries measure {asked.out} --target MODEL"
    )


@dataclass(frozen=True, kw_only=True)
class MeasureRequest(ModelsRequest):
    """Options for measuring canaries in a model."""

    canaries: str = argument("CANARIES", "Folder of language canaries make.")
    epsilon: float = asks(
        "E",
        "The claimed epsilon of adding or removing one canary with all its copies; 0: that nothing "
        "at all is learnt of it.",
        default=0.0,
    )


@dataclass(frozen=True, eq=False, repr=False)
class CanaryAudit(Reported):
    """Findings on a model's memory of canaries: the audit of a claim, and exposures."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    claim: ClaimAudit
    """The bound on epsilon, and the claimed epsilon."""
    findings: CanaryFindings
    """Exposures of the inserted canaries."""
    made: MadeCanaries
    """The canaries, and the coins that decided about them."""

    @property
    def area(self) -> Estimate:
        """Share of pairs, an inserted canary and another, that scores put in the right order."""
        from privacygauge.core.transcript import Transcript
        from privacygauge.evaluate.roc import auc

        scores = self.claim.canaries
        return auc(Transcript(scores.score, scores.member), self.level)

    def report(self) -> Report:
        """Return the report, as plain values."""
        import numpy as np

        from privacygauge.report.numbers import Shown, count, decimal
        from privacygauge.report.values import Measure, Section, table, text

        claim = self.claim.report()
        first, *others = claim.measures
        k = self.made.copies
        n = len(self.made.text)
        n_in = int(self.made.inside.sum())
        told = (
            f"{n_in} of {n} canaries were put in by fair coins, each {k} time"
            f"{'' if k == 1 else 's'}. A bound says that epsilon is at least this large; no attack "
            "can say that it is small."
        )
        claimed = self.claim.claim.epsilon > 0
        f = self.findings
        # The median, as a few canaries may rank first by chance.
        median = float(np.median(f.exposure))
        exposure = Measure(
            name="exposure",
            label="Median exposure, in bits",
            found=median,
            shown=Shown(decimal(median, 1)),
            note=f"at most {decimal(f.largest, 1)}",
            text="How far up the canaries that were trained on rank among those that were not.",
            guessing="nothing is learnt: about 1",
        )
        rows = np.flatnonzero(f.inside)
        outside = len(self.made.compared) + int((~f.inside).sum())
        order = np.argsort(-f.exposure, kind="stable")
        meaning = (
            "The loss of each canary that was trained on is ranked among those of "
            f"{count(outside)} canaries that were drawn alike and not trained on. Exposure is the "
            "logarithm of that number and one over the rank, to the base 2: from 0 to "
            f"{decimal(f.largest, 1)} bits. Where nothing is learnt it is above b bits with a "
            "probability of 2 to the minus b."
        )
        exposures = table(
            "exposures",
            "Canaries that were trained on, the best known first",
            [
                {
                    "Canary": count(int(rows[i])),
                    "Exposure, in bits": decimal(f.exposure[i], 1),
                    "Loss, in nats": decimal(f.loss[rows[i]], 1),
                }
                for i in order.tolist()
            ],
            at_once=_AT_ONCE,
        )
        known = Section(
            "exposure", "How well the canaries are known", (text(meaning), exposures), "Exposure"
        )
        return replace(
            claim,
            title="Audit of canaries in a language model",
            intro=told,
            verdict=claim.verdict if claimed else _verdict_without_claim(self, claim.verdict),
            # Without a claim there is nothing that the bound could refute.
            measures=(*others, *([first] if claimed else []), exposure),
            sections=(known, *claim.sections),
            sources="Carlini et al. (2019); Steinke, Nasr and Jagielski (2023).",
        )


def _verdict_without_claim(a: CanaryAudit, found: Verdict) -> Verdict:
    """Return the verdict without a claim; an inconclusive verdict stays as it is."""
    import numpy as np

    from privacygauge.claims.claim_audit.report import open_without_claim
    from privacygauge.evaluate.detectable import detectable_with
    from privacygauge.report.grades import untold_verdict
    from privacygauge.report.numbers import decimal, percent, percent_estimate, rate, rounded_down
    from privacygauge.report.values import Grade, Severity, Verdict

    if open_without_claim(a.claim, found) or found.gauge is None:
        return found
    low = a.claim.free.estimate.low
    exposure = decimal(float(np.median(a.findings.exposure)), 1)
    scale = Grade("no leak found", Severity.NOTHING), Grade("leak", Severity.GRAVE)
    median = f"their median exposure is {exposure} of at most {decimal(a.findings.largest, 1)} bits"
    # A reference that saw the canaries hides them in the scores, but not in the losses.
    apart, by = max(
        ((a.area, "scores above"), (a.findings.known, "has a lower loss than")),
        key=lambda found: found[0].low,
    )
    told_apart = apart.low > 0.5
    # Pairs may be told apart although the guesses about so few coins show no epsilon.
    zones = ("No epsilon shown", "Leak") if told_apart and low <= 0 else ()
    gauge = replace(found.gauge, zones=zones)
    unsaid = "Another attack, or canaries of another form, may show more."
    none = f"The guesses about the coins show no epsilon above 0 at {rate(a.level)}."
    least = min(detectable_with(found, 0.5) for found in (a.area, a.findings.known))
    if low <= 0 and not told_apart and least > LARGE_AREA:
        would = f"pairs told apart in {percent(least)}" if least < 1 else "canaries known by heart"
        return untold_verdict(
            headline="Cannot be told: too few canaries to see even a large leak",
            sentences=(
                f"Nothing was found, but so few canaries would mostly show no less than {would}: "
                f"{median}. {none}",
            ),
            advice=("Make more canaries, train on them, and measure again.",),
        )
    if low <= 0 and not told_apart:
        return Verdict(
            grade=scale[0],
            scale=scale,
            headline=f"No leak found: of the canaries {median}",
            sentences=(none,),
            unsaid=unsaid,
            advice=("Audit with more canaries and more copies, which can show a smaller leak.",),
            gauge=gauge,
        )
    return Verdict(
        grade=scale[1],
        scale=scale,
        headline=(
            "The model knows its canaries"
            + (f": epsilon is at least {rounded_down(low, beyond=0)}" if low > 0 else "")
        ),
        sentences=(
            f"Of the canaries that were put in, {median}. One that was put in {by} one that was "
            f"not in {percent_estimate(apart, 1)} of the pairs.",
            f"The bound on epsilon holds with {rate(a.level)} confidence, of adding or removing "
            "one canary with all its copies. It holds whatever the training is, if the coins were "
            "fair and nothing else was trained on the canaries."
            if low > 0
            else none,
        ),
        unsaid=unsaid,
        advice=(
            "Train for fewer epochs, leave out repeated texts, or train with differential privacy.",
            "Measure again with new canaries.",
        ),
        gauge=gauge,
    )


def audit_canaries(asked: MeasureRequest, work: Work) -> CanaryAudit:
    """Audit a model by its canaries."""
    import numpy as np

    from privacygauge.language.canaries import canary_losses, read_canaries
    from privacygauge.language.text_energies import check_one_kind, compared_models, load_either
    from privacygauge.runs.results import file_hashes

    made = read_canaries(asked.canaries)
    load = partial(load_either, device=asked.device, precision=cast("Precision", asked.precision))
    models = compared_models(asked.target, asked.reference, load, asked.base)
    check_one_kind(models)
    n = len(made.text)
    loss = canary_losses(models[0], (*made.text, *made.compared))
    if np.all(loss == loss[0]):
        raise InputError(
            f"{asked.target} finds all canaries equally likely: its tokenizer does not know what "
            "was drawn; train with canaries of other letters"
        )
    # Calibrated by the reference: loss under it less loss under the target.
    score = -loss[:n] if len(models) == 1 else canary_losses(models[1], made.text) - loss[:n]
    return canary_audit(
        made,
        score,
        loss,
        asked.epsilon,
        seed=asked.seed,
        level=asked.level,
        provenance=file_hashes(asked.files()),
    )


def canary_audit(
    made: MadeCanaries,
    score: Floats,
    loss: Floats,
    epsilon: float = 0.0,
    *,
    seed: int = 0,
    level: float = 0.95,
    provenance: Mapping[str, str] | None = None,
) -> CanaryAudit:
    """Audit a training by the scores and losses of canaries.

    Parameters
    ----------
    made : MadeCanaries
    score : ndarray of float, shape (n,)
        Scores of the canaries that coins decided about; higher means more likely put in.
    loss : ndarray of float, shape (n + m,)
        Losses of the same canaries, and of m others that are never trained on.
    epsilon : float
        Claimed epsilon of adding or removing one canary with all its copies, at least 0.
    seed, level, provenance
        As in `audit_privacy_claim`.
    """
    import numpy as np

    from privacygauge.claims.claim_audit.audit import audit_privacy_claim
    from privacygauge.evaluate.canaries import canary_findings

    n = len(made.text)
    findings = canary_findings(
        made.inside, score, loss=loss[:n], compared=loss[n:], seed=seed, level=level
    )
    claim = audit_privacy_claim(
        {"score": score, "member": made.inside, "id": np.arange(n)},
        epsilon,
        seed=seed,
        level=level,
        command=MEASURE.name,
        provenance=provenance,
    )
    return CanaryAudit(claim.origin, claim, findings, made)


MEASURE = Command(
    "language canaries measure",
    group=HelpGroup.LANGUAGE,
    request=MeasureRequest,
    play=audit_canaries,
    help=_MEASURE,
    metrics=amounts("epsilon", "exposure"),
    limits=(
        "Exit with code 3 if METRIC is above VALUE: epsilon (the lower bound of one canary with "
        "all its copies) or exposure (the median, in bits)."
    ),
)

COMMANDS = (
    Group("language canaries", "Make canaries for a training, and measure them after it."),
    Tool(f"language canaries {NAME}", MakeRequest, make, HELP),
    MEASURE,
)
