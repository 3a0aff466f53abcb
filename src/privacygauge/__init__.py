"""PrivacyGauge: what a released model, table or leaderboard gives away about the data behind it.

>>> import privacygauge as pg
>>> result = pg.audit_classifier("target.npz", "shadow.npz")  # doctest: +SKIP
>>> print(result.summary())  # doctest: +SKIP

What most people need is listed here; ``pg.classifiers``, ``pg.tables``, ``pg.language``,
``pg.leaderboards``, ``pg.claims`` and ``pg.releases`` list everything about their subject, and
``pg.signals`` what concerns models that are no classifiers.
"""

import lazy_loader

from privacygauge.errors import suggest_names

_attribute, _, _names = lazy_loader.attach_stub(__name__, __file__)

_LISTED_BY_WINGS = frozenset(
    {
        "AttributeAudit",
        "Audit",
        "ClaimAudit",
        "Comparison",
        "DefenceAudit",
        "DtpAudit",
        "Fitted",
        "HoldoutAudit",
        "LanguageAudit",
        "LeaderboardAudit",
        "Networks",
        "ReleasedAudit",
        "RiskRegister",
        "ScoreAudit",
        "SyntheticAudit",
        "UnlearningAudit",
        "VulnerableRecords",
        "attack_holdout",
        "audit_answers",
        "audit_attribute",
        "audit_candidates",
        "audit_causal",
        "audit_defences",
        "audit_defended",
        "audit_dp_sgd",
        "audit_dtp",
        "audit_extraction",
        "audit_few_fits",
        "audit_labels",
        "audit_masked",
        "audit_mechanism",
        "audit_pool",
        "audit_training_defences",
        "audit_unlearning",
        "audit_white_box",
        "audit_worst_case",
        "compare_reports",
        "compare_worst_cases",
        "holdout_bounds",
        "load_predictions",
        "model_card",
        "pool_attacks",
        "read_table",
        "risk_register",
        "save_predictions",
    }
)
"""Names that can be had here as well, but are listed where their subject is."""

__all__ = sorted({*_names} - _LISTED_BY_WINGS)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name == "__version__":
        from privacygauge.core.versions import own_version

        return own_version()
    return _attribute(name)


suggest_names(__name__, _names)
