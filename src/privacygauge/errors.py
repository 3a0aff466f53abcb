"""The exceptions that a caller may want to catch."""

from __future__ import annotations


class PrivacyGaugeError(Exception):
    """Base of everything that PrivacyGauge raises on purpose."""


class InputError(PrivacyGaugeError, ValueError):
    """An argument or a file breaks a rule; the message says which, and the way out."""


class BudgetError(PrivacyGaugeError):
    """A submission to a test set that no budget is left for."""


class OutputError(PrivacyGaugeError, OSError):
    """A result cannot be written where it was asked for."""
