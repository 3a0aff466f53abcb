"""The audit of a classifier that `privacygauge classifier --model --data` asks for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privacygauge.audits.classifier.asks import NAME, ClassifierRequest
from privacygauge.audits.classifier.found import Audit
from privacygauge.audits.classifier.models import audit_model
from privacygauge.audits.training import Materials, materials, provenance
from privacygauge.audits.work import Work
from privacygauge.classifier.cost import DEFAULT_SHADOWS, DESIGNS, bill, measure, seconds_of
from privacygauge.classifier.fitted import Fitted
from privacygauge.classifier.label_only import LabelOnlyQueries
from privacygauge.classifier.named import fitted_model
from privacygauge.classifier.one_logit import require_logits
from privacygauge.classifier.recorded import recorded_target
from privacygauge.classifier.rows import ByRows
from privacygauge.core.attacks.posterior import ESTIMATORS
from privacygauge.errors import InputError
from privacygauge.runs.store import plan_in


def audit_trained(asked: ClassifierRequest, work: Work) -> Audit:
    """Return the audit that was asked for, training what the run does not hold yet."""
    # Before any code of the user's is imported: the run may have been made with other code.
    invocation = work.invocation(NAME, asked)
    given = materials(asked, work, member=asked.member)
    if asked.one_logit:
        require_logits(given.trainer.name, given.trainer.logits)
    fitted = _fitted(asked, given, work)
    shadows = _shadows(asked, given, work)
    if invocation is not None:
        settled = replace(asked, shadows=shadows, budget=None).settled()
        invocation = {**invocation, "options": settled}
    names = given.records.names
    classes = ", ".join(f"{i} = {name}" for i, name in enumerate(names[:20]))
    classes += ", ..." if len(names) > 20 else ""
    with work.resumable(asked), work.bar("Training models") as progress:
        return audit_model(
            given.trainer,
            given.x,
            given.records.y,
            fitted=fitted,
            label_only=LabelOnlyQueries() if asked.label_only else None,
            n_shadows=shadows,
            half_width=asked.half_width,
            one_logit=asked.one_logit,
            estimator=ESTIMATORS[asked.risk],
            slices=given.records.columns,
            ids=given.records.ids,
            unit=given.records.unit,
            run=work.run,
            n_jobs=work.jobs,
            progress=progress,
            seed=asked.seed,
            level=asked.level,
            command=NAME,
            provenance={**provenance(asked, given.records), "classes": classes},
            invocation=invocation,
        )


def _fitted(asked: ClassifierRequest, given: Materials, work: Work) -> Fitted | None:
    records = given.records
    if asked.fitted is None or records.member is None:
        return None
    if work.read is not None:
        kinds = len(LabelOnlyQueries().names) if asked.label_only else 1
        member, y = np.tile(records.member, kinds), np.tile(records.y, kinds)
        return Fitted(recorded_target(work.read, member, y), records.member)
    model = fitted_model(
        asked.fitted, labels=asked.label_only, anything=isinstance(given.trainer, ByRows)
    )
    return Fitted(model, records.member, records.names)


def _shadows(asked: ClassifierRequest, given: Materials, work: Work) -> int:
    """Return the number of shadow models, and say what training them will cost."""
    n_targets = int(asked.fitted is None)
    if asked.half_width is not None:
        return asked.shadows or DEFAULT_SHADOWS
    known = None if work.run is None else plan_in(work.run)
    begun = None if known is None else known.n_units - n_targets
    if begun is not None and asked.shadows in (None, begun):
        return begun
    wanted = DEFAULT_SHADOWS if asked.shadows is None else asked.shadows
    if wanted < 1:
        raise InputError(f"--shadows must be at least 1, got {wanted}")
    budget = None if asked.budget is None else seconds_of(asked.budget)
    most = wanted if budget is None else max(DESIGNS)
    x, y = given.x, given.records.y
    cost = measure(given.trainer, x, y, n_models=most + 1, n_jobs=work.jobs, seed=asked.seed)
    shadows = wanted
    if budget is not None and (asked.shadows is None or cost.seconds(wanted + 1) > budget):
        most = cost.largest(budget)
        shadows = most if asked.shadows is None else min(most, wanted)
    work.say(bill(cost, shadows, n_targets, asked.shadows, budget))
    return shadows
