"""The classifier audit as a whole: what it says on noise, on a leak, and what it keeps apart."""

import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

import privacygauge as pg
from privacygauge.classifiers.suite import METRICS, prediction_attacks
from privacygauge.core.attacks.posterior import Isotonic, RiskScore
from privacygauge.core.attacks.threshold import Coin
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report.attacks.verdict import grade_attacks
from privacygauge.report.grades import NONE, UNTOLD
from tests.classifiers.made import made_up
from tests.names import SPACES, WINGS, at_the_top, listed
from tests.thorough import only_thorough, times


def intervals(audit):
    """Yield (what it is, estimate, what chance gives) for every interval of an audit."""
    for e in audit.evaluations:
        yield "accuracy", e.accuracy, 0.5
        yield "advantage", e.advantage, 0.0
        yield "auc", e.auc, 0.5
        yield "best accuracy", e.best_accuracy, 0.5
        yield "precision", e.precision, 0.5
        for rate in e.tpr_at_fpr:
            yield f"tpr at {rate.fpr}", rate.estimate, rate.fpr
        for prior, value in e.predictive_values:
            yield f"ppv at {prior}", value, prior
    yield "headline", audit.headline.accuracy, 0.5
    yield "risk", audit.risk.mean, 0.5
    yield "correlation", audit.risk.correlation, 0.0
    for prior, value in audit.risk.excess:
        yield f"excess at {prior}", value, 0.0
    for row in audit.risk.cuts:
        yield f"precision from risk {row.cut} on", row.precision, 0.5
    for part in audit.slices.slices:
        yield "slice", part.accuracy, 0.5


def noise_game(number, shadow):
    """Return how often what left chance out in one game without leakage, and how often it could."""
    target = made_up(n=400, k=8, seed=2 * number)
    known = made_up(n=400, k=8, seed=2 * number + 1) if shadow else None
    attacks = prediction_attacks()[: 2 * len(METRICS)]
    audit = pg.audit_classifier(target, known, attacks=attacks, seed=number)
    missed = Counter()
    asked = Counter()
    for name, estimate, chance in intervals(audit):
        if isinstance(estimate, Estimate):
            asked[name] += 1
            missed[name] += estimate.excludes(chance)
    for name, event in (
        ("epsilon", audit.headline.epsilon.low > 0),
        ("epsilon of an attack", any(e.epsilon.low > 0 for e in audit.evaluations)),
        ("slice announced", bool(audit.slices.announced)),
        ("headline", audit.headline.reached.accuracy.low > 0.5),
        ("verdict", grade_attacks(audit.attacks).grade not in (NONE, UNTOLD)),
    ):
        asked[name] += 1
        missed[name] += event
    return missed, asked


def check_noise(n_games, shadow):
    missed = Counter()
    asked = Counter()
    for number in range(n_games):
        for total, part in zip((missed, asked), noise_game(number, shadow), strict=True):
            total.update(part)
    assert asked["accuracy"] == 8 * n_games
    # Numbers of one game go together, so games are counted: 5% and four standard deviations.
    allowed = 0.05 + 4 * np.sqrt(0.05 * 0.95 / n_games)
    rates = {name: missed[name] / asked[name] for name in asked}
    assert {name: rate for name, rate in rates.items() if rate > allowed} == {}


@pytest.mark.slow
@pytest.mark.parametrize("shadow", [True, False])
def test_on_noise_no_interval_leaves_chance_out_too_often(shadow):
    check_noise(times(60), shadow)


@only_thorough
@pytest.mark.slow
@pytest.mark.parametrize("shadow", [True, False])
def test_on_noise_no_interval_leaves_chance_out_too_often_in_1000_games(shadow):
    check_noise(1000, shadow)


def test_a_leak_is_found_with_and_without_a_shadow():
    target = made_up(400, leak=2.0, seed=1)
    shadow = made_up(400, leak=2.0, seed=2)
    for known in (shadow, None):
        audit = pg.audit_classifier(target, known)
        assert audit.headline.accuracy.low > 0.6
        assert audit.headline.epsilon.low > 0
        assert audit.risk.mean.low > 0.5


@pytest.mark.slow
def test_a_further_attack_changes_no_other_number():
    target = made_up(leak=1.0, seed=1)
    shadow = made_up(leak=1.0, seed=2)
    suite = prediction_attacks()
    alone = pg.audit_classifier(target, shadow, attacks=suite)
    more = pg.audit_classifier(target, shadow, attacks=(Coin(), *suite[::-1]))
    found = {e.title: e for e in more.evaluations}
    for e in alone.evaluations:
        assert found[e.title].accuracy == e.accuracy
        assert found[e.title].auc == e.auc
        assert found[e.title].tpr_at_fpr == e.tpr_at_fpr
    assert np.array_equal(alone.records.risk, more.records.risk)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_one_other_halves():
    target = made_up(100, leak=1.0, seed=1)
    first, again, other = (pg.audit_classifier(target, seed=seed).to_json() for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_records_are_in_the_order_of_the_file():
    ids = np.array([f"r{i}" for i in range(400)])
    target = made_up(leak=1.0, seed=1, ids=ids)
    frame = pg.audit_classifier(target).to_frame()
    assert frame["id"].tolist() == ids.tolist()
    assert frame["member"].tolist() == target.member.tolist()
    expected = target.values[np.arange(400), target.labels]
    assert frame.query("score_confidence_global >= 0")[
        "score_confidence_global"
    ].to_numpy() == pytest.approx(expected)


@pytest.mark.slow
def test_guesses_of_the_records_give_the_reported_counts():
    target = made_up(leak=1.0, seed=1)
    shadow = made_up(leak=1.0, seed=2)
    for known in (shadow, None):
        audit = pg.audit_classifier(target, known)
        for e in audit.evaluations:
            guess = audit.records.guesses[e.title]
            assert int((guess & target.member).sum()) == e.true_positives
            assert int((guess & ~target.member).sum()) == e.false_positives


@pytest.mark.slow
def test_a_planted_slice_is_announced_and_named():
    rng = np.random.default_rng(0)
    target = made_up(4000, leak=0.0, seed=1)
    shadow = made_up(4000, leak=3.0, seed=2)
    values = np.array(target.values)
    ward = rng.integers(6, size=4000)
    exposed = (ward == 4) & target.member
    # Members of ward 4 are predicted with near certainty, all others alike.
    certain = 0.002 + 0.99 * np.eye(5)[target.labels]
    values[exposed] = certain[exposed]
    target = pg.predictions(
        probs=values, labels=target.labels, member=target.member, columns={"ward": ward}
    )
    announced = pg.audit_classifier(target, shadow).slices.announced
    assert ("ward", "4") in {(s.column, s.group) for s in announced}
    assert all(s.column != "ward" or s.group == "4" for s in announced)


@pytest.mark.slow
def test_slices_by_columns_of_the_file_or_by_arrays():
    rng = np.random.default_rng(0)
    columns = {
        "ward": rng.integers(3, size=400),
        "weight": rng.normal(size=400),
        "name": np.array([f"n{i}" for i in range(400)]),
    }
    target = made_up(columns=columns)
    audit = pg.audit_classifier(target)
    assert {"class", "confidence", "ward", "weight"} >= {s.column for s in audit.slices.slices}
    assert sum(s.column == "weight" for s in audit.slices.slices) == 10
    only = pg.audit_classifier(target, slices=["ward"])
    assert {s.column for s in only.slices.slices} <= {"class", "confidence", "ward"}
    given = pg.audit_classifier(target, slices={"mine": columns["ward"]})
    assert "mine" in {s.column for s in given.slices.slices}
    with pytest.raises(pg.InputError, match="no column 'age' to slice by; the columns are: ward"):
        pg.audit_classifier(target, slices=["age"])
    with pytest.raises(pg.InputError, match="more than 200 different texts"):
        pg.audit_classifier(target, slices=["name"])
    with pytest.raises(pg.InputError, match="slice 'mine' must have 400 rows"):
        pg.audit_classifier(target, slices={"mine": [1, 2]})


@pytest.mark.slow
def test_contents_are_kept_only_when_asked_for():
    secret = np.array([f"secret-{i}" for i in range(400)])
    target = made_up(columns={"name": secret, "ward": np.arange(400) % 3})
    silent = pg.audit_classifier(target)
    assert "secret-" not in silent.to_html() + silent.to_json()
    told = pg.audit_classifier(target, show_columns=["name"])
    assert "secret-" in told.to_html()
    with pytest.raises(pg.InputError, match="no column 'age'; the columns are: name, ward"):
        pg.audit_classifier(target, show_columns=["age"])


@pytest.mark.slow
def test_logits_bring_the_scaled_logit_and_probabilities_say_why_not():
    target = made_up()
    audit = pg.audit_classifier(target)
    assert (
        Skipped("scaled-logit", "orders records as confidence does unless logits are given")
        in audit.skipped
    )
    logits = np.log(target.values)
    again = pg.audit_classifier(
        pg.predictions(logits=logits, labels=target.labels, member=target.member)
    )
    assert {e.thresholds for e in again.evaluations if e.name == "scaled-logit"} == {
        "per-class",
        "global",
    }


@pytest.mark.slow
def test_classes_without_shadows_stop_the_audit_unless_allowed():
    target = made_up(seed=1)
    shadow = made_up(seed=2)
    kept = shadow.labels != 3
    fewer = pg.predictions(
        probs=shadow.values[kept], labels=shadow.labels[kept], member=shadow.member[kept]
    )
    with pytest.raises(pg.InputError, match=r"class\(es\) 3 of the target have no shadow records"):
        pg.audit_classifier(target, fewer)
    audit = pg.audit_classifier(target, fewer, allow_missing_classes=True)
    assert "class(es) 3 have no shadow records and use the global threshold" in audit.warnings


@pytest.mark.slow
@given(st.integers(4, 24), st.integers(2, 4), st.booleans(), st.booleans(), st.integers(0, 10**6))
@settings(max_examples=times(25))
def test_tiny_and_degenerate_inputs_give_a_report_or_a_reason(n, k, shadow, certain, seed):
    rng = np.random.default_rng(seed)

    def tiny():
        labels = rng.integers(k, size=n)
        member = rng.permutation(n) < rng.integers(1, n)
        probs = np.eye(k)[rng.integers(k, size=n)] if certain else np.full((n, k), 1 / k)
        return pg.predictions(probs=probs, labels=labels, member=member)

    suite = prediction_attacks()[:8]
    try:
        target, known = tiny(), tiny() if shadow else None
        audit = pg.audit_classifier(target, known, attacks=suite, allow_missing_classes=True)
    except pg.InputError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
    else:
        assert json.loads(audit.to_json())["schema"] == "privacygauge/2"


@pytest.mark.slow
def test_the_report_says_where_the_bits_came_from():
    target = made_up()
    assert "came with the data" in pg.audit_classifier(target).game.secret
    assert "drawn by a fair coin" in pg.audit_classifier(target, drawn=True).game.secret


def test_the_same_predictions_cannot_be_target_and_shadow():
    with pytest.raises(pg.InputError, match="target and shadow hold the same predictions"):
        pg.audit_classifier(made_up(seed=1), made_up(seed=1))


def test_columns_with_too_many_texts_are_said_to_be_left_out():
    names = np.array([f"n{i}" for i in range(400)])
    skipped = pg.audit_classifier(made_up(columns={"name": names})).skipped
    assert Skipped("slices by name", "more than 200 different texts: merge some") in skipped


def test_an_audit_shows_itself_in_a_line():
    few = "<Audit: Cannot be told: too few records for this audit to see a moderate leak>"
    assert repr(pg.audit_classifier(made_up())) == few


def test_two_attacks_of_one_name_are_refused():
    suite = (RiskScore(), RiskScore(estimator=Isotonic(5.0)))
    found = pg.audit_classifier(made_up(), attacks=suite).evaluations
    assert [e.title for e in found] == [
        "privacy-risk-score (isotonic)",
        "privacy-risk-score (isotonic, shrinkage 5)",
    ]
    with pytest.raises(pg.InputError, match="two attacks are called 'coin'"):
        pg.audit_classifier(made_up(), attacks=(Coin(), Coin()))


@pytest.mark.slow
def test_equal_ids_are_one_unit():
    ids = np.arange(400) // 2
    audit = pg.audit_classifier(made_up(ids=ids))
    assert any("400 rows belong to 200 units" in line for line in audit.warnings)
    assert audit.headline.accuracy.n == 200
    named = pg.audit_classifier(made_up(), unit=ids)
    assert named.headline.accuracy == audit.headline.accuracy
    by_column = pg.audit_classifier(made_up(columns={"who": ids}), unit="who")
    assert by_column.headline.accuracy == audit.headline.accuracy
    assert not any("who" in s.column for s in by_column.slices.slices)


def test_all_rows_of_one_unit_are_refused():
    with pytest.raises(pg.InputError, match="2 non-members of different units are needed, got 1"):
        pg.audit_classifier(made_up(ids=np.zeros(400, int)))


@pytest.mark.slow
def test_summary_json_and_plots_can_be_had_from_python(tmp_path):
    audit = pg.audit_classifier(made_up(leak=1.0, seed=1))
    assert "%" in audit.summary()
    assert json.loads(audit.to_json())["schema"] == "privacygauge/2"
    assert audit.plot_roc(log=True).get_xscale() == "log"
    names = {path.name for path in audit.write(tmp_path / "out")}
    assert names == {"report.html", "report.json", "records.parquet", "roc.csv"}


def test_importing_loads_no_framework_and_costs_little():
    code = (
        "import sys, time, numpy; began = time.perf_counter(); import privacygauge; "
        "spent = time.perf_counter() - began; "
        "loaded = {'torch', 'sklearn', 'pandas', 'matplotlib', 'scipy', 'rich', 'typer'}; "
        "print(spent, sorted(loaded & set(sys.modules)))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    spent, loaded = zip(*(run.stdout.split(maxsplit=1) for run in runs), strict=True)
    assert {text.strip() for text in loaded} == {"[]"}
    assert min(map(float, spent)) < 0.3


def test_a_curve_comes_as_arrays_in_the_order_of_scikit_learn():
    target = made_up(200, leak=1.0, seed=1)
    audit = pg.audit_classifier(target)
    for e in audit.evaluations:
        fpr, tpr, thresholds = audit.roc(e.title)
        assert np.trapezoid(tpr, fpr) == pytest.approx(e.auc.value)
        assert thresholds[0] == np.inf
        score = audit.records.scores[e.title]
        for i in (1, len(fpr) // 2):
            assert tpr[i] == (score[target.member] >= thresholds[i]).mean()
            assert fpr[i] == (score[~target.member] >= thresholds[i]).mean()
    best = max(audit.evaluations, key=lambda e: e.auc.value)
    assert np.trapezoid(audit.roc().tpr, audit.roc().fpr) == pytest.approx(best.auc.value)
    with pytest.raises(pg.InputError, match=r"no attack 'x'; the attacks are: correctness"):
        audit.roc("x")


def test_a_plot_is_a_picture_where_a_notebook_shows_its_axes():
    audit = pg.audit_classifier(made_up(60, seed=1))
    for ax in (audit.plot_roc(), audit.plot()):
        assert ax._repr_png_().startswith(b"\x89PNG")
    own = Figure().subplots()
    assert audit.plot_roc(own) is own


@pytest.mark.parametrize("space", ["", *SPACES])
def test_a_misspelt_name_is_answered_with_the_nearest(space):
    module = getattr(pg, space) if space else pg
    for name in module.__all__:
        with pytest.raises(AttributeError) as raised:
            getattr(module, f"{name}x")
        assert str(raised.value) == f"{module.__name__} has no '{name}x'; did you mean '{name}'?"
    with pytest.raises(AttributeError, match=r" has no 'zzzzzzzz'$"):
        module.zzzzzzzz  # noqa: B018


def test_names_that_a_wing_lists_are_suggested_at_the_top_too():
    with pytest.raises(AttributeError, match=r"no 'audit_dpsgd'; did you mean 'audit_dp_sgd'\?"):
        pg.audit_dpsgd  # noqa: B018


def test_every_public_name_can_be_had():
    assert len(pg.__all__) <= 40  # modules too: more are hard to find one's way in
    assert {*WINGS} < {*SPACES}
    assert set(pg.__all__) <= set(dir(pg))
    # A wing lists all of its subject, the shared names too; other names are listed once.
    shared = [name for space in SPACES if space not in WINGS for name in getattr(pg, space).__all__]
    assert len({*shared, *at_the_top()}) == len(shared) + len(at_the_top())
    assert not [name for name, found in listed().items() if found is None]
    with pytest.raises(AttributeError, match="nothing"):
        _ = pg.nothing


def test_names_of_wings_can_be_had_at_the_top_without_a_warning():
    for wing in WINGS:
        module = getattr(pg, wing)
        for name in module.__all__:
            assert getattr(module, name) is getattr(pg, name)


ALWAYS = (
    *(name for name in at_the_top() if name.startswith("audit_")),
    *("vulnerable_records", "prediction_attacks", "pool_attacks", "Networks", "Predictions"),
    *("Fitted", "Estimate", "Skipped", "BudgetError", "InputError", "OutputError"),
)
"""Names that may not leave the top."""


@pytest.mark.parametrize("name", ALWAYS)
def test_what_is_promised_at_the_top_is_there(name):
    assert at_the_top()[name] is getattr(pg, name)
    assert len([name for name in ALWAYS if name.startswith("audit_")]) >= 26
