"""The metadata of a model card, with the keys that model hubs read."""

from __future__ import annotations

from privacygauge.register.line import RegisterLine
from privacygauge.register.model_card.yaml import Plain
from privacygauge.report.numbers import rate


def metadata(line: RegisterLine, dataset: str) -> dict[str, Plain]:
    """Return a ``model-index`` with one result: the audit's number and the ends of its interval.

    Parameters
    ----------
    line : RegisterLine
    dataset : str
        What the data is called.

    Returns
    -------
    dict
        Task, dataset and metrics of the result. Types of metrics begin with the task, such as
        ``membership-inference-accuracy``, so that nobody takes an attack's accuracy for the
        model's. ``verified`` is false: it is the hub's to say.

    Notes
    -----
    Keys as the Hugging Face Hub documents them for model cards.
    """
    task = {"type": line.kind.task, "name": f"Privacy audit: {line.kind.name}"}
    return {
        "model-index": [
            {
                "name": line.name,
                "results": [
                    {
                        "task": task,
                        "dataset": {"type": "private", "name": dataset},
                        "metrics": _metrics(line),
                    }
                ],
            }
        ]
    }


def _metrics(line: RegisterLine) -> list[Plain]:
    number, start = line.told.number, f"{line.kind.task}-{line.told.number.metric}"
    name = f"{number.label}; guessing: {number.guessing}"
    found: list[Plain] = [_metric(start, name, number.value)]
    if number.estimate is None:
        return found
    sure = f"of its {rate(number.estimate.level)} interval"
    return [
        *found,
        _metric(f"{start}-low", f"Lower end {sure}", number.estimate.low),
        _metric(f"{start}-high", f"Upper end {sure}", number.estimate.high),
    ]


def _metric(kind: str, name: str, value: float) -> dict[str, Plain]:
    return {"type": kind, "name": name, "value": value, "verified": False}
