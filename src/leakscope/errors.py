"""The exceptions that a caller may want to catch."""

from __future__ import annotations


class LeakScopeError(Exception):
    """Base of everything that LeakScope raises on purpose."""


class InputError(LeakScopeError, ValueError):
    """An argument or a file breaks a rule; the message says which, and the way out."""


class BudgetError(LeakScopeError):
    """A submission to a test set that no budget is left for."""


class OutputError(LeakScopeError, OSError):
    """A result cannot be written where it was asked for."""
