"""Names of pipelines that list their steps."""

from __future__ import annotations

from typing import Any

from privacygauge.classifier.estimators import Estimators
from privacygauge.classifier.trainer import Trainer


def named_with_steps(trainer: Trainer) -> str:
    """Return the name of a kind of model as reports print it, with the steps of a pipeline."""
    steps = steps_of(trainer)
    if not steps or steps.startswith(f"{trainer.name}: "):
        return steps or trainer.name
    return f"{trainer.name} ({steps})"


def steps_of(trainer: Trainer) -> str:
    """Return the steps of a pipeline by the names of their classes; empty for other models.

    Nested estimators follow in parentheses: ``CalibratedClassifierCV (SVC)``.
    """
    if not isinstance(trainer, Estimators):
        return str(getattr(trainer, "steps", ""))  # the trainer of a recorded run
    made: Any = trainer.make(0)
    return _describe_steps(made) if getattr(made, "steps", None) else ""


def _describe_steps(model: Any) -> str:
    name = type(model).__name__
    steps = [step for _, step in getattr(model, "steps", None) or () if _is_step(step)]
    if steps:
        return f"{name}: {', '.join(map(_describe_steps, steps))}"
    groups = (
        getattr(model, key, None) for key in ("transformers", "transformer_list", "estimators")
    )
    inner = [part[1] for group in groups for part in group or () if _is_step(part[1])]
    single = getattr(model, "estimator", None)
    inner += [single] if hasattr(single, "fit") else []
    return f"{name} ({', '.join(map(_describe_steps, inner))})" if inner else name


def _is_step(step: object) -> bool:
    return step is not None and not isinstance(step, str)
