"""The audit of a language model: the leak of its training texts through its energies."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.core import checks, seeds
from privacygauge.core.estimate import Skipped
from privacygauge.core.versions import versions
from privacygauge.errors import InputError
from privacygauge.evaluate.played import GameDescription
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session
from privacygauge.language.attacks import FPRS
from privacygauge.language.audit.report import report
from privacygauge.language.audit.verdict import LanguageResult
from privacygauge.language.audited import SHOWN, audit_energies
from privacygauge.language.controls import unlearnt
from privacygauge.language.endpoints import AnyModel, EndpointModel
from privacygauge.language.energies import MaskPlan
from privacygauge.language.loading import Asked as AskedPrecision
from privacygauge.language.model import CausalModel, MaskedModel, load_causal, load_masked
from privacygauge.language.patients import comparable, with_dealt_units
from privacygauge.language.scores import (
    TextScores,
    TextScoresLike,
    as_text_scores,
    energies_place,
    write_energies,
)
from privacygauge.language.splitting import Coins, read_coins
from privacygauge.language.store import AnswerStore
from privacygauge.language.text_energies import Form, compared_models, text_energies, with_chat
from privacygauge.language.text_files import SIDES, Columns, TextRecordsLike, sides_of
from privacygauge.language.units import ThresholdOptions, asked_for, require_two
from privacygauge.language.windows import WHOLE, Windows
from privacygauge.report import direction
from privacygauge.report.numbers import count, percent_estimate, rate, several
from privacygauge.report.values import Report
from privacygauge.runs.options import Options, keyword


class LanguageAudit(LanguageResult):
    """Findings of an audit of a language model, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)


_ORIGINS = {
    "population": "on samples of a population, none of which is judged",
    "oracle": "on the judged non-members themselves, which no attacker has (oracle)",
    "mean-train": "at the mean of the judged members, which the model's makers may publish",
}
_DRAWN = (
    "drawn by a fair coin for every person before the model was trained: members and non-members "
    "differ in nothing else"
)
_GIVEN = (
    "came with the data: no coins were drawn, so members and non-members may also differ in other "
    "ways than membership; the controls look for that"
)
_ORACLE = (
    "no population was given: thresholds are taken from the judged non-members themselves (an "
    "oracle), so their false-positive rate is right by construction and an attacker's would not be"
)
_UNCHECKED = (
    "no control of the texts could be played, so nothing says whether members and non-members "
    "differ in more than membership: give a column energy_reference, or text"
)


@dataclass(frozen=True, kw_only=True)
class JudgingOptions(Options):
    """How energies of texts are judged."""

    threshold: str | Sequence[str] | None = keyword(
        "Source of thresholds: ``population``, ``oracle`` or ``mean-train``, or several. By "
        "default the population, or the oracle without one; the loss is then also played with the "
        "mean training loss.",
        default=None,
    )
    fpr: float | Sequence[float] = keyword(
        "The false-positive rates that thresholds are chosen for, each in (0, 1).", default=FPRS
    )
    show: Sequence[str] = keyword(
        "Columns printed next to the samples most at risk: ``text`` or ``length``; nothing "
        "otherwise.",
        default=(),
    )
    coins: Coins | str | Path | None = keyword(
        "Those that dealt members and non-members before the training, such as `split_texts` "
        "tosses: then the test is honest by construction, and there is a bound on epsilon, person "
        "by person. With texts, these must be those that the coins dealt.",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class LanguageOptions(JudgingOptions):
    """An audit of a language model from energies of texts."""

    def run(
        self,
        scores: TextScoresLike,
        *,
        session: Session = Session("language"),
    ) -> LanguageAudit:
        """Measure how far the energies of texts give away a language model's training data.

        Parameters
        ----------
        scores : TextScores, path, mapping of arrays, or data frame
            Energies beside what is known of each sample; see `load_text_scores` for the columns.
        session : Session, optional
            Seed, and level in (0, 1); the intervals of the controls hold together at this level.

        Returns
        -------
        LanguageAudit

        Raises
        ------
        InputError
            One line: what is wrong, and the way out.

        Notes
        -----
        Mireshghallah et al. (2022): the likelihood ratio is section 2.3, thresholds from a
        population section 2.4, the patient level Table 2, the lengths section 4.2. The controls are
        ours.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> member = np.repeat([1, 0], 100)
        >>> reference = rng.normal(9.0, 0.5, 200)
        >>> target = reference - 0.5 * member + rng.normal(0, 0.5, 200)
        >>> found = audit_language(
        ...     {
        ...         "sample": range(200),
        ...         "member": member,
        ...         "energy_target": target,
        ...         "energy_reference": reference,
        ...     }
        ... )
        >>> found.controls.fired
        ()
        >>> found.headline.attack.name
        'likelihood-ratio'
        """
        asked = asked_for(self.threshold, self.fpr, session.seed, session.level)
        given = as_text_scores(scores)
        coins = self.coins
        dealt = read_coins(coins) if isinstance(coins, str | Path) else coins
        return audit_of(given, asked, show=self.show, coins=dealt, running=session)


audit_language = one_line(
    LanguageOptions,
    LanguageOptions.run,
    "audit_language",
    without=KEEPING,
    arrays='{"energy_target": ..., "energy_reference": ..., "member": ...}',
)


def audit_of(
    scores: TextScores,
    asked: ThresholdOptions,
    show: Sequence[str],
    coins: Coins | None,
    running: Session,
    about: Mapping[str, str] | None = None,
) -> LanguageAudit:
    """Run the audit of `audit_language`; `about` are lines before those of `running`."""
    apart: tuple[str, ...] = ()
    if coins is None:
        # Coins that were dealt before the training make every difference one of chance.
        drawn = seeds.stream(asked.seed, "language", "equal lengths")
        scores, apart = comparable(with_dealt_units(scores), drawn)
    found, skipped = audit_energies(scores, asked, show=show, coins=coins, apart=apart)
    samples = found.samples
    controls = found.controls
    # Warnings about easily misread results, the gravest first. The lack of any control comes before
    # all others, since it concerns every number of the report.
    warnings = [] if controls.played else [_UNCHECKED]
    warnings += scores.notes
    if "sizes" in controls.fired:
        assert not isinstance(controls.sizes, Skipped)
        warnings.append(f"control sizes: {controls.sizes.meaning}")
    kinds = dict.fromkeys(threshold.kind for threshold in samples.thresholds)
    if "oracle" in kinds and not scores.population.any():
        warnings.append(_ORACLE)
    if scores.energy_reference is not None:
        inside = scores.member
        told = unlearnt(
            -scores.energy_target[inside], -scores.energy_reference[inside], asked.level
        )
        warnings += [] if told is None else [told]
    # One sentence per false-positive rate that was missed, about all its thresholds.
    missed = [x for x in samples.thresholds if not x.kept]
    for asked_rate in dict.fromkeys(x.asked for x in missed):
        first, *further = (x for x in missed if x.asked == asked_rate)
        others = ""
        if further:
            others = f"; so do those of {several(len(further), 'further attack')}"
        warnings.append(
            f"{first.attack}: the threshold for {rate(asked_rate or 0.0)} false positives, taken "
            f"from {count(first.n)} population samples, gives "
            f"{percent_estimate(first.realised)} on the judged non-members{others}: the population "
            "is unlike them, and precision and recall hold for the realised rate"
        )
    nominal = {x.asked for x in samples.thresholds if x.asked is not None}
    rates = sorted((x for x in nominal if x * samples.n_out < 10), reverse=True)
    if rates:
        independent = len(np.unique(scores.unit[scores.nonmember]))
        of = "" if scores.group is None else f" of {count(independent)} patients"
        warnings.append(
            f"{count(samples.n_out)} non-members{of} cannot resolve a false-positive rate of "
            f"{', '.join(rate(x) for x in rates)}: fewer than 10 false positives are expected "
            "there, and the intervals are wide"
        )
    for unit, where in zip(found.units, ("", "Patient by patient: "), strict=False):
        if unit.headline.inverted:
            sentence, _ = direction.sentences(unit.headline.inverted)
            warnings.append(f"{where}{sentence}")
    origin = running.origin(skipped=skipped, warnings=tuple(warnings), about=about)
    sees = "Sees how likely a text is under the audited model (its energy)"
    if scores.energy_reference is not None:
        sees += ", and under a reference model that did not learn from it"
    if scores.further:
        sees += f"; further signals of the audited model: {checks.short_list(scores.further)}"
    game = GameDescription(
        "membership inference from energies",
        question="Was this text in the language model's training data?",
        adversary=sees,
        secret=_DRAWN if coins is not None else _GIVEN,
        thresholds="; ".join(_ORIGINS[kind] for kind in kinds),
        n_in=samples.n_in,
        n_out=samples.n_out,
    )
    return LanguageAudit(**vars(found), origin=origin, game=game)


# The audit of a language model from the model itself: its energies of texts, then the attacks.


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(JudgingOptions):
    """How texts are read and models are asked for their energies."""

    form: Form = keyword(
        "Form of the energy, ``mean`` or ``sum``; the sum grows with a text's length.",
        default="mean",
    )
    columns: Columns | None = keyword(
        "Where texts, ids and groups have other names than the usual ones.", default=None
    )
    device: str = keyword("Device of models that are given as paths.", default="cpu")
    precision: AskedPrecision = keyword(
        "Precision of models that are given as paths; see `load_masked`.", default="float32"
    )
    windows: Windows = keyword(
        "How long texts are read, where paths are given; see `load_masked`.", default=WHOLE
    )
    base: str | Path | None = keyword(
        "The folder of the target's base, where the target is a PEFT adapter that does not name "
        "it.",
        default=None,
    )
    energies: str | Path | None = keyword(
        "A ``.parquet`` or ``.csv`` file to keep the energies in, for `audit_language`.",
        default=None,
    )


Asking = Callable[[Sequence[AnyModel]], None]
"""Called with the models once all arguments are checked, before a model is queried."""


@dataclass(frozen=True, kw_only=True)
class MaskedOptions(ReadingOptions):
    """An audit of a masked language model."""

    plan: MaskPlan | None = keyword(
        "How texts are masked; by default 10 balanced masks of 15%, drawn by `seed`. The pattern "
        "``single`` gives the normalised energy.",
        default=None,
    )

    def run(
        self,
        target: str | Path | MaskedModel,
        reference: str | Path | MaskedModel | None,
        members: TextRecordsLike,
        nonmembers: TextRecordsLike,
        population: TextRecordsLike | None = None,
        *,
        before: Asking | None = None,
        session: Session = Session("language"),
    ) -> LanguageAudit:
        """Measure how far a masked language model gives away the texts it was trained on.

        Parameters
        ----------
        target, reference : path or MaskedModel
            Folders of this machine, or models from `load_masked`. Without a reference (None) that
            of a PEFT adapter is its base; else only the loss attack is played, and controls that
            need it are missing.
        members, nonmembers, population : path, sequence of str, mapping of lists, or data frame
            Texts that the target was trained on; texts like them that it was not trained on;
            further ones of that kind, which thresholds are taken from. See `load_texts` for files.
        before : callable, optional
            Called with the models when all that was given is checked, before they are asked.
        session : Session, optional
            Seed, level, run folder and workers. A stopped audit goes on in its folder, and one of a
            second target finds the answers of its reference there. The progress counts texts, once
            a model.

        Returns
        -------
        LanguageAudit

        Raises
        ------
        InputError
            One line: what is wrong, and the way out.

        Notes
        -----
        Mireshghallah et al. (2022), section 2.
        """
        checks.kind(self.plan, "plan", MaskPlan, "a MaskPlan()")
        return _audit_model(
            self,
            (target, reference),
            (members, nonmembers, population),
            plan=self.plan or MaskPlan(seed=session.seed),
            before=before,
            session=session,
        )


audit_masked = one_line(MaskedOptions, MaskedOptions.run, "audit_masked")


@dataclass(frozen=True, kw_only=True)
class CausalOptions(ReadingOptions):
    """An audit of a causal language model."""

    recall: int | None = keyword(
        "Also play ReCaLL: each text is read once more after at most this many texts of the "
        "population, whose people are left out of it; see `prefix_apart`.",
        default=None,
    )

    def run(
        self,
        target: str | Path | CausalModel | EndpointModel,
        reference: str | Path | CausalModel | EndpointModel | None,
        members: TextRecordsLike,
        nonmembers: TextRecordsLike,
        population: TextRecordsLike | None = None,
        *,
        before: Asking | None = None,
        session: Session = Session("language"),
    ) -> LanguageAudit:
        """Measure how far a causal language model gives away the texts it was trained on.

        Parameters
        ----------
        target, reference : path, CausalModel or EndpointModel
            Folders of this machine, models from `load_causal`, or both behind servers.
        members, nonmembers, population, before
            As in `audit_masked`. The energy is minus the log-likelihood.
        session : Session, optional
            As in `audit_masked`.

        Returns
        -------
        LanguageAudit
            Findings for the loss, for the likelihood ratio if there is a reference, and for the
            signals of `token_signals`.

        Raises
        ------
        InputError
            One line: what is wrong, and the way out.
        """
        return _audit_model(
            self,
            (target, reference),
            (members, nonmembers, population),
            plan=MaskPlan(seed=session.seed),
            recall=self.recall,
            before=before,
            session=session,
        )


audit_causal = one_line(CausalOptions, CausalOptions.run, "audit_causal")


def _audit_model(
    options: ReadingOptions,
    asked_models: tuple[Any, Any],
    given: tuple[TextRecordsLike, TextRecordsLike, TextRecordsLike | None],
    *,
    plan: MaskPlan,
    recall: int | None = None,
    before: Asking | None,
    session: Session,
) -> LanguageAudit:
    """Return the audit of a target and its reference, by their energies of the texts."""
    asked = asked_for(options.threshold, options.fpr, session.seed, session.level)
    members, nonmembers, population = given
    # Check the options that can be checked before any model runs.
    if options.energies is not None:
        energies_place(options.energies)
    if asked.kinds and "population" in asked.kinds and population is None:
        raise InputError(
            "the population threshold needs texts of the population, got none: give them, or take "
            "the threshold oracle or mean-train"
        )
    for name in options.show:
        if name not in SHOWN:
            raise InputError(f"show must be some of {checks.short_list(SHOWN)}, got {name!r}")
    checks.kind(options.windows, "windows", Windows, "a Windows()")
    checks.kind(options.columns, "columns", Columns, "a Columns()")
    target, reference = asked_models
    columns = with_chat(options.columns, target, options.base)
    # The texts of each side, and the coins if they assigned these texts. They are read before a
    # model is loaded, so that invalid texts are reported at once.
    texts = [x.records for x in sides_of(members, nonmembers, population, columns=columns)]
    n_in, n_out = (len(set(side.group or range(len(side)))) for side in texts[:2])
    require_two(n_in, n_out, "text" if texts[0].group is None else "patient")
    dealt = read_coins(options.coins) if isinstance(options.coins, str | Path) else options.coins
    if dealt is not None:
        dealt.require(dict(zip(SIDES, texts, strict=False)))
    masked = isinstance(options, MaskedOptions)
    load: Callable[..., AnyModel] = functools.partial(
        load_masked if masked else load_causal,
        device=options.device,
        precision=options.precision,
        windows=options.windows,
    )
    models = compared_models(target, reference, load, options.base)
    scores = text_energies(
        models[0],
        models[1] if len(models) > 1 else None,
        texts,
        plan=plan,
        form=options.form,
        recall=recall,
        kept=AnswerStore(session.run, session.n_jobs, session.progress, session.invocation),
        before=None if before is None else lambda: before(models),
    )
    if options.energies is not None:
        write_energies(scores, options.energies)
    masks = {"masks": json.dumps(plan.describe())} if masked else {}
    # The models' names and the settings that they ran with, by label.
    # Both models run in the same way: the settings are those of the target.
    first = models[0].source
    packages = versions("torch", "transformers")
    # A server's weights cannot be hashed: its model is known by its address alone.
    names = (
        f"{model.name} at {model.url}, whose weights cannot be hashed"
        if isinstance(model, EndpointModel)
        else f"{Path(model.source.path).name} sha256:{model.source.weights}"
        for model in models
    )
    told = {
        **dict(zip(("target", "reference"), names, strict=False)),
        **({} if first.base is None else {"base of the target": Path(first.base).name}),
        **({"source of the encoder": "empty"} if getattr(models[0], "empty_source", ()) else {}),
        "computed in": "a server"
        if isinstance(models[0], EndpointModel)
        else f"{first.precision} on {first.device}"
        + (f", weights saved in {first.stored}" if first.stored != first.precision else ""),
        **{name: packages[name] for name in ("torch", "transformers")},
        **masks,
        "energy": f"{options.form} form",
    }
    return audit_of(
        scores,
        asked,
        show=options.show,
        coins=dealt,
        running=session,
        about=told,
    )
