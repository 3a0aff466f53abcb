"""Options of the audits of a classifier, and of `privacygauge classifier`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.classifiers.training_options import TrainingRequest, model_option, training_option
from privacygauge.errors import InputError
from privacygauge.kinds.request import amounts, shares, with_low
from privacygauge.runs.options import Options, Role, argument, asks, keyword, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privacygauge.core.attacks.posterior import Estimator
    from privacygauge.core.game import Attack


NAME = "classifier"
"""Name of the command."""


METRICS = (
    *with_low(
        *shares("accuracy", "advantage", "auc", "tpr@0.1", "tpr@0.01", "tpr@0.001"),
        *amounts("epsilon"),
        *shares("risk", "worst-group"),
    ),
    *amounts("worst-records"),
    *shares("detectable"),
)
"""Names of the metrics that ``--fail-above`` can limit."""


RISKS = ("isotonic", "histogram")
"""Names of the estimators of the privacy risk score."""


@dataclass(frozen=True, kw_only=True)
class JudgingOptions(Options):
    """How a classifier is attacked and its records are judged."""

    attacks: Sequence[Attack | str] | None = keyword(
        'Attacks, or names of attacks of the suite, such as ``"entropy"``; the report lists the '
        "others as not chosen, and intervals and levels allow for the chosen ones alone. Choose "
        "before you look at results. Default: the whole suite.",
        default=None,
    )
    estimator: Estimator | None = keyword(
        "Estimator of the privacy risk score; default: isotonic regression.", default=None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.estimator is not None:
            from privacygauge.core import checks  # with numpy, which a command loads late

            checks.kind(self.estimator, "estimator", "learn", "pg.attacks.Isotonic()")


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(JudgingOptions):
    """How a file of predictions is judged."""

    show_columns: tuple[str, ...] = option(
        "--show",
        "COLUMN",
        "Column of TARGET to print beside the riskiest records. Default: ids only. May be given "
        "several times.",
        split=False,
    )
    drawn: bool = keyword(
        "Whether fair, independent coins chose the target's members, as in `train_predictions`. "
        "The report says so: if the bits came with the data, other differences between members and "
        "non-members look like leakage, too.",
        default=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.show_columns:
            from privacygauge.core import checks  # with numpy, which a command loads late

            checks.kinds(self.show_columns, "show_columns", str, "'ward'")


@dataclass(frozen=True, kw_only=True)
class PredictionOptions(ReleaseOptions):
    """How a file of predictions is judged alone or with one of a shadow model."""

    allow_missing_classes: bool = asks(
        "", "Use the global threshold for classes without shadow records."
    )


@dataclass(frozen=True, kw_only=True)
class ShadowOptions(JudgingOptions):
    """Numbers of models to train, and the parts of their answers to keep."""

    half_width: float | None = training_option(
        "H",
        "Train further targets until the interval of every attack's mean AUC over all targets has "
        "this half-width, such as 0.01. Up to 64 targets are trained.",
    )
    one_logit: bool = training_option(
        "",
        "Keep one logit for each model and record in the run, not one for each class: enough for "
        "LiRA, RMIA, BaVarIA and calibrated attacks. For models that answer with logits, such as "
        "network.",
    )


@dataclass(frozen=True, kw_only=True)
class ClassifierRequest(ShadowOptions, PredictionOptions, TrainingRequest):
    """Options of an audit of a classifier, from predictions in files or from models to train."""

    model: str | None = model_option(
        "The model to train: random-forest, gradient-boosting, logistic, naive-bayes, nearest, "
        "network (64 tanh), network-large (1024-512-256-128 ReLU), or a callable of your own that "
        "takes a random state and returns an untrained model.",
    )
    target: str | None = argument(
        "TARGET",
        "Predictions of the audited model: .npz with probs (or logits), labels, member; .csv, "
        ".tsv, .parquet or .jsonl with p_0 ... (or z_0 ...), label, member.",
    )
    shadow: str | None = asks(
        "SHADOW",
        "Predictions of a model of your own, trained in the same way on other records. Default: "
        "thresholds are cross-fitted on the target.",
        role=Role.FILE,
    )
    pool: str | None = asks(
        "POOL",
        "Predictions of many shadow models on TARGET's records, for attacks on single records: "
        ".npz with probs (or logits) (k, n, c), labels (n,), member (k, n), and perhaps the names "
        "classes (c,).",
        role=Role.FILE,
    )
    classes: tuple[str, ...] = asks(
        "M|A,B,...",
        "Number of classes, or their names in the order of TARGET's columns p_0, p_1, ..., for "
        "labels that are texts. Default: as the predictions show.",
    )
    slices: tuple[str, ...] = option(
        "--slice",
        "COLUMN",
        "Column of TARGET whose groups are compared. Default: all. May be given several times.",
        split=False,
    )
    features: tuple[str, ...] = option(
        "--feature",
        "COLUMN",
        "Column of TARGET, and of SHADOW, with a number that describes the records, for quantile "
        "regression. May be given several times.",
        split=False,
    )
    attacks: tuple[str, ...] = asks(
        "A,B",
        "Attacks to play, such as lira or entropy, for a comparison of like with like; choose them "
        "before you look at results. Default: all.",
    )
    risk: str = asks(
        "NAME",
        "Estimator of the risk score: isotonic or histogram.",
        default="isotonic",
        offers=RISKS,
    )
    fitted: str | None = training_option(
        "FILE.py:NAME",
        "A trained model to audit, or a function that returns it; requires --member. Default: a "
        "target is trained.",
        role=Role.CODE,
    )
    member: str | None = training_option(
        "COLUMN", "Column that says which records the --fitted model was trained on."
    )
    label_only: bool = training_option(
        "",
        "The adversary sees predicted classes only, and asks about each record many times.",
    )
    shadows: int | None = training_option(
        "N",
        "Number of shadow models to train. Default: 16, or what --budget pays for.",
    )
    budget: str | None = training_option(
        "TIME", "Train as many shadow models as fit in this time, such as 10m."
    )

    @property
    def keeps(self) -> bool:
        """Whether models are trained."""
        return self.target is None

    def check(self, jobs: int) -> None:
        """Raise if options do not go together."""
        if self.risk not in RISKS:
            raise InputError(f"--risk must be {' or '.join(RISKS)}, got {self.risk!r}")
        if self.target is None:
            if self.model is None or self.data is None:
                raise InputError(
                    "give TARGET, a file of predictions, or both --model and --data to train models"
                )
            # They describe files of predictions: models that are trained here would ignore them.
            of_predictions = {
                "--shadow": self.shadow,
                "--pool": self.pool,
                "--classes": self.classes,
                "--slice": self.slices,
                "--show": self.show_columns,
                "--feature": self.features,
            }
            for flag, value in of_predictions.items():
                if value:
                    raise InputError(
                        f"{flag} goes with TARGET, a file of predictions, not with --model"
                    )
            if self.member is not None and self.fitted is None:
                raise InputError(
                    "--member says what a model that exists was trained on: give that model with "
                    "--fitted FILE.py:NAME, or --drop the column to have a target trained"
                )
            # Further targets and labels need whole vectors of every model, which one logit does not
            # keep.
            if self.one_logit and (self.half_width is not None or self.label_only):
                other = "--label-only" if self.label_only else "--half-width"
                raise InputError(f"--one-logit does not go with {other}: leave one out")
            # A model that exists is one target, and a budget cannot pay for an open number of them.
            if self.half_width is not None and (self.fitted or self.budget):
                other = "--fitted" if self.fitted else "--budget"
                raise InputError(
                    f"--half-width trains as many targets as it needs: it does not go with {other}"
                )
            if self.fitted is not None and self.member is None:
                raise InputError("--fitted needs --member COLUMN: which records was it trained on?")
        elif self.label_only:
            raise InputError("--label-only asks a model: it goes with --model, not with TARGET")
        elif self.one_logit:
            raise InputError("--one-logit keeps a run: it goes with --model, not with TARGET")
        elif self.model is not None or self.data is not None:
            raise InputError("give either TARGET, or --model and --data, not both")
        elif self.shadow is not None and self.pool is not None:
            raise InputError("give either --shadow or --pool, not both")
        elif self.features and self.pool is not None:
            raise InputError("--feature goes with TARGET alone or with --shadow, not with --pool")
