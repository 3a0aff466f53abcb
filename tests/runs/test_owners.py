"""The distribution that a module is of, found without a path for each file that is installed."""

from importlib.metadata import packages_distributions, version

import pytest

from privacygauge.runs.source import version_of


@pytest.mark.slow
def test_modules_are_of_the_distributions_that_hold_them():
    known = packages_distributions()
    other = {top: names for top, names in known.items() if top not in names}
    assert "sklearn" in other
    for top, names in [("sklearn", other["sklearn"]), *sorted(other.items())[:12]]:
        if top.isidentifier() and not version_of(top).startswith(f"{top} "):
            assert version_of(top) == " ".join(f"{x} {version(x)}" for x in sorted(set(names)))
    assert version_of("no_such_module") == ""
