"""A limit stands in the range of its measure, so that it can be exceeded; percent are shares."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from privacygauge.cli.commands import COMMANDS
from privacygauge.cli.output import Limit, never_exceeded, parsed_limits, policy_limits
from privacygauge.cli.runs import METRICS
from privacygauge.errors import InputError
from privacygauge.kinds.request import Metric

EACH = [(command.name, metric) for command in COMMANDS for metric in command.metrics]
each = pytest.mark.parametrize(("command", "metric"), EACH, ids=[f"{c} {m}" for c, m in EACH])


def test_every_metric_of_every_command_has_its_range():
    for _, metric in EACH:
        assert isinstance(metric, Metric)
        assert metric.most in (1.0, math.inf)
    of_one_name = {name: {m.most for _, m in EACH if m == name} for _, name in EACH}
    assert all(len(ranges) == 1 for ranges in of_one_name.values())


@each
def test_no_limit_outside_the_range_is_taken(command, metric, tmp_path):
    for number in ("nan", "inf", "-inf", "-1", "-0.001", "1e999", "-5%", "nan%"):
        with pytest.raises(InputError, match=r"--fail-above: ") as error:
            parsed_limits([f"{metric}={number}"], [metric])
        assert "\n" not in str(error.value)
        (tmp_path / "policy.toml").write_text(f'[x]\n"{metric}" = "{number}"\n')
        with pytest.raises(InputError, match=r"policy\.toml: \[x\]: "):
            policy_limits(tmp_path / "policy.toml", "x", [metric])
    if metric.most == 1:
        with pytest.raises(InputError, match=r"in \[0, 1\], got 60: did you mean 0\.6\?"):
            parsed_limits([f"{metric}=60"], [metric])
        with pytest.raises(InputError, match=r"in \[0, 1\], got 600%"):
            parsed_limits([f"{metric}=600%"], [metric])
    else:
        with pytest.raises(InputError, match="is not a share"):
            parsed_limits([f"{metric}=60%"], [metric])
        assert parsed_limits([f"{metric}=60"], [metric]) == (Limit(metric, 60.0),)


@given(st.floats(0, 100))
def test_percent_and_shares_are_the_same_limit(number):
    metric = Metric("auc", 1.0)
    assume(math.isfinite(number))
    (percent,) = parsed_limits([f"auc={number!r}%"], [metric])
    (share,) = parsed_limits([f"auc={number / 100!r}"], [metric])
    assert percent == share


def test_percent_stand_in_a_policy_too(tmp_path):
    (tmp_path / "p.toml").write_text('[classifier]\nauc = "60 %"\n"tpr@0.01" = 0.02\naccuracy = 1')
    metrics = next(command.metrics for command in COMMANDS if command.name == "classifier")
    found = policy_limits(tmp_path / "p.toml", "classifier", metrics)
    assert found == (Limit("auc", 0.6), Limit("tpr@0.01", 0.02), Limit("accuracy", 1.0))
    assert never_exceeded(found) == [
        "a limit of 1 on accuracy is 100% and is never exceeded: 1% is accuracy=1%"
    ]


def test_a_register_knows_the_ranges_of_all_audits():
    with pytest.raises(InputError, match=r"severity must be in \[0, 3\], got 4"):
        parsed_limits(["severity=4"], METRICS)
    with pytest.raises(InputError, match=r"did you mean 0\.8\?"):
        parsed_limits(["auc=80"], METRICS)
    # What only a line of another version names has no range, but is no infinity either.
    assert parsed_limits(["of-tomorrow=60"], ["of-tomorrow"]) == (Limit("of-tomorrow", 60.0),)
    with pytest.raises(InputError):
        parsed_limits(["of-tomorrow=inf"], ["of-tomorrow"])
