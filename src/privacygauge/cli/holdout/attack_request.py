"""What `privacygauge holdout attack` was asked, and doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from privacygauge.audits.holdout_attack.found import HoldoutAudit
from privacygauge.audits.holdout_attack.known import Prior
from privacygauge.audits.holdout_attack.play import attack_holdout
from privacygauge.audits.provenance import file_hashes
from privacygauge.cli.progress import bar
from privacygauge.cli.training import told_how_to_go_on

COMMAND = "holdout attack"
"""By which a run is known that can be gone on with."""


@dataclass(frozen=True)
class AttackRequest:
    """What `privacygauge holdout attack` was asked: kept with the run, to go on with it."""

    labels: str
    """File of the hidden labels."""
    queries: int
    """Submissions of each attack."""
    attacks: tuple[str, ...] = ("nb",)
    """Names of attacks."""
    guards: tuple[str, ...] = ("exact",)
    """Names of guards."""
    trials: int = 10
    """Plays of each attack against each guard."""
    classes: int | None = None
    """Classes, where they do not follow from the files."""
    logits: str | None = None
    """File of a base model's logits."""
    top: int | None = None
    """Candidates of each point."""
    least_confident: int | None = None
    """Points under attack."""
    temperature: float = 1.0
    """Of the logits."""
    prior: str = "uniform"
    """Without logits."""
    seed: int = 0
    """All random draws derive from it."""
    level: float = 0.95
    """Of every interval."""

    def settled(self) -> Mapping[str, Any]:
        """Return the request as JSON values, with whole paths."""
        return {
            **asdict(self),
            "labels": str(Path(self.labels).absolute()),
            "logits": None if self.logits is None else str(Path(self.logits).absolute()),
        }


def attack_request_in(options: Mapping[str, Any]) -> AttackRequest:
    """Return the request that a run was started with."""
    lists = ("attacks", "guards")
    return AttackRequest(**{**options, **{name: tuple(options[name]) for name in lists}})


def attack_of_request(
    request: AttackRequest, run: Path | None, *, jobs: int, quiet: bool
) -> HoldoutAudit:
    """Return the audit that was asked for, playing what `run` does not hold yet."""
    with told_how_to_go_on(run, asdict(request)), bar("Attacking", quiet) as progress:
        return attack_holdout(
            request.labels,
            request.queries,
            logits=request.logits,
            attacks=request.attacks,
            guards=request.guards,
            top=request.top,
            least_confident=request.least_confident,
            temperature=request.temperature,
            prior=cast(Prior, request.prior),
            trials=request.trials,
            classes=request.classes,
            run=run,
            n_jobs=jobs,
            progress=progress,
            seed=request.seed,
            level=request.level,
            command=COMMAND,
            provenance=file_hashes(
                {
                    "labels": Path(request.labels),
                    "logits": None if request.logits is None else Path(request.logits),
                }
            ),
            invocation={"command": COMMAND, "options": request.settled()},
        )
