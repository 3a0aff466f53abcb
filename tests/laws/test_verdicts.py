"""A verdict on a classifier is what the release adds: never a difference that was there before.

Each null is a model whose answers say nothing about membership, given what is known of a record;
each plant a leak of one kind. Rates in the thorough form are of 200 games a cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.stats import binom
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import BernoulliNB

import privacygauge as pg
from privacygauge.classifiers.predictions import Pool
from privacygauge.errors import InputError
from privacygauge.report.values import Severity
from tests.classifiers.made import softmax
from tests.tables.made_tables import frame_of
from tests.thorough import THOROUGH, quarter

GAMES = 200 if THOROUGH else 8
LEAKS = (Severity.SMALL, Severity.MODERATE, Severity.GRAVE)
REFUSED = "refused"


@dataclass(frozen=True)
class Table:
    """What a model answers about records; the first half are members."""

    labels: np.ndarray
    logits: np.ndarray
    member: np.ndarray
    rng: np.random.Generator

    def given(self, rows: np.ndarray | None = None, **columns: np.ndarray) -> dict:
        some = np.arange(len(self.labels)) if rows is None else rows
        return {
            "probs": softmax(self.logits)[some],
            "labels": self.labels[some],
            "member": self.member[some],
            **{name: values[some] for name, values in columns.items()},
        }

    def surer(self, rows: np.ndarray, by: float | np.ndarray) -> None:
        """Raise the logit of some records' own classes."""
        self.logits[rows, self.labels[rows]] += by


def table(seed: int, n: int = 1200, k: int = 4, labels: Callable | None = None) -> Table:
    rng = np.random.default_rng(seed)
    member = np.arange(n) < n // 2
    y = rng.integers(k, size=n) if labels is None else labels(rng, member)
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), y] += 1.2 + rng.normal(size=n)
    return Table(y, logits, member, rng)


def severity(target: dict, shadow: object = None) -> Severity | str:
    try:
        if isinstance(shadow, Pool):
            audit = pg.audit_pool(target, shadow)
        else:
            audit = pg.audit_classifier(target, shadow)
    except InputError:
        return REFUSED
    return audit.report().verdict.grade.severity


def shares(seed: int, leak: float = 0.0) -> Severity | str:
    def drawn(rng: np.random.Generator, member: np.ndarray) -> np.ndarray:
        return (rng.random(len(member)) < np.where(member, 0.5, 0.08)).astype(int)

    made = table(seed, 2000, 2, drawn)
    made.logits[made.labels == 1, 1] -= 1
    made.surer(np.flatnonzero(made.member), leak)
    return severity(made.given())


def drift(seed: int, leak: float = 0.0) -> Severity | str:
    made = table(seed, 2000)
    year = (2010 + 5 * made.rng.normal(size=2000) + 3 * ~made.member).round()
    made.surer(np.arange(2000), 0.15 * (2010 - year))
    made.surer(np.flatnonzero(made.member), leak)
    return severity(made.given(year=year))


def hospitals(seed: int, leak: float = 0.0, depends: float = 0.8) -> Severity | str:
    """Members come from other hospitals, whose records are as much harder as `depends` says."""
    made = table(seed, 2000)
    x = made.rng.normal(size=2000) + 0.8 * (made.member - 0.5)
    names = np.array(["north", "east", "south", "west", "centre"])
    made.surer(np.arange(2000), -depends * x)
    made.surer(np.flatnonzero(made.member), leak)
    return severity(made.given(hospital=names[np.digitize(x, [-1.2, -0.4, 0.4, 1.2])]))


def noisy_groups(of: Callable[[np.random.Generator], tuple]) -> Callable[[int], Severity | str]:
    """Return games whose members come less often from some groups, which are harder."""

    def play(seed: int) -> Severity | str:
        rng = np.random.default_rng(seed)
        column, hard = of(rng)
        n = len(column)
        member = rng.random(n) < np.where(hard, 0.25, 0.65)
        y = rng.integers(4, size=n)
        logits = rng.normal(size=(n, 4))
        logits[np.arange(n), y] += np.where(hard, 0.2, 1.5) + rng.normal(size=n)
        return severity(Table(y, logits, member, rng).given(column=column))

    return play


def numbered(levels: int, hard: int) -> Callable[[np.random.Generator], tuple]:
    def of(rng: np.random.Generator) -> tuple:
        column = rng.integers(levels, size=3000)
        return column, np.isin(column, rng.permutation(levels)[:hard])

    return of


def night(rng: np.random.Generator) -> tuple:
    hour = rng.integers(24, size=3000)
    return hour, (hour < 6) | (hour >= 22)


def both_ends(rng: np.random.Generator) -> tuple:
    lab = rng.normal(5, 1, 3000).round(1)
    return lab, np.abs(lab - 5) > 1


def recording(block: int, depends: float) -> Callable[[int], Severity | str]:
    """Return games about a signal whose noise drifts, cut into blocks that coins deal to sides."""

    def play(seed: int) -> Severity | str:
        rng = np.random.default_rng(seed)
        n = 3000
        level = np.zeros(n)
        for i in range(1, n):
            level[i] = depends * level[i - 1] + np.sqrt(1 - depends**2) * rng.normal()
        y = rng.integers(2, size=n)
        logits = rng.normal(size=(n, 2))
        logits[np.arange(n), y] += 1.5 * np.exp(-0.7 * level)
        member = (rng.random(n // block) < 0.5).repeat(block)
        return severity(Table(y, logits, member, rng).given())

    return play


def repeats(each: int, noise: float = 0.0, k: int = 4) -> Callable[[int], Severity | str]:
    def play(seed: int) -> Severity | str:
        n = 1000
        made = table(seed, n, k)
        rows = np.repeat(np.arange(n), each)
        given = made.given(rows)
        seen = made.logits[rows] + noise * made.rng.normal(size=(len(rows), k))
        return severity({**given, "probs": softmax(seen)})

    return play


def oversampled(seed: int) -> Severity | str:
    made = table(seed, 1600)
    rows = np.concatenate([made.rng.integers(0, 800, size=1600), np.arange(800, 1600)])
    return severity(made.given(rows))


def of_pool(
    coins: Callable[[np.random.Generator, np.ndarray], np.ndarray], easier: float = 0.0
) -> Callable[[int], Severity | str]:
    """Return games against a target that leaks nothing and shadow models that do."""

    def play(seed: int) -> Severity | str:
        n = 1200
        made = table(seed, n)
        hard = 1.2 * made.rng.normal(size=n) + easier * made.member
        made.surer(np.arange(n), hard)
        inside = coins(made.rng, made.member)
        answers = []
        for own in inside:
            other = made.rng.normal(size=(n, 4))
            other[np.arange(n), made.labels] += 1.2 + hard + own
            answers.append(softmax(other))
        return severity(made.given(), Pool(np.array(answers), False, inside, made.labels))

    return play


def fair(rng: np.random.Generator, member: np.ndarray) -> np.ndarray:
    return rng.random((8, len(member))) < 0.5


def smote(seed: int) -> Severity | str:
    """Most members of the rarer class lie between two others, as oversampling makes them."""
    rng = np.random.default_rng(seed)

    def people(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = (rng.random(n) < 0.25).astype(int)
        return rng.normal(size=(n, 6)) + 0.5 * y[:, None], y

    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0)
    model = forest.fit(*people(2000))
    inside, y_inside = people(1000)
    outside, y_outside = people(1000)
    rare = inside[y_inside == 1]
    nearest = cKDTree(rare).query(rare, k=6)[1]
    first = rng.integers(len(rare), size=500)
    second = nearest[first, rng.integers(1, 6, size=500)]
    between = rare[first] + rng.random((500, 1)) * (rare[second] - rare[first])
    x = np.vstack([inside, between, outside])
    target = {
        "probs": model.predict_proba(x),
        "labels": np.concatenate([y_inside, np.ones(500, int), y_outside]),
        "member": np.arange(2500) < 1500,
        **{f"x{j}": column for j, column in enumerate(x.T)},
    }
    return severity(target)


def own_rows(seed: int) -> Severity | str:
    made = table(seed, 1000)
    hard = 1.2 * made.rng.normal(size=1000)
    other = Table(made.labels, made.rng.normal(size=(1000, 4)), made.member, made.rng)
    for one in (made, other):
        one.surer(np.arange(1000), hard)
    return severity(made.given(), other.given())


NULLS: dict[str, Callable[[int], Severity | str]] = {
    "fair": lambda seed: severity(table(seed).given()),
    "hundred classes": lambda seed: severity(table(seed, k=100).given()),
    "class shares": shares,
    "drift": drift,
    "drift over hospitals": hospitals,
    "clinics by number": noisy_groups(numbered(12, 4)),
    "schools by number": noisy_groups(numbered(80, 25)),
    "hours of the night": noisy_groups(night),
    "both ends of a lab value": noisy_groups(both_ends),
    "a recording in blocks of 50": recording(50, 0.95),
    "a recording in blocks of 100": recording(100, 0.98),
    "a file appended twice": repeats(2),
    "each row five times": repeats(5),
    "views of ten classes": repeats(5, 0.1, 10),
    "views that are joined in part": repeats(5, 0.07, 4),
    "views as far apart as records": repeats(5, 0.2, 4),
    "views of two classes": repeats(5, 0.05, 2),
    "oversampled members": oversampled,
    "interpolated members": smote,
    "pool": of_pool(fair),
    "pool of members only": of_pool(lambda rng, member: fair(rng, member) & member),
    "pool with other coins": of_pool(
        lambda rng, member: rng.random((8, len(member))) < np.where(member, 0.8, 0.2)
    ),
    "members easier for all models": of_pool(fair, 0.8),
    "shadow on the target's own rows": own_rows,
}


UNFAIR = {
    "pool of members only",
    "pool with other coins",
    "shadow on the target's own rows",
    "members easier for all models",
    "views of two classes",
    "views that are joined in part",
    "views as far apart as records",
    "a recording in blocks of 50",
    "a recording in blocks of 100",
}
"""Saying that nothing can be told is right: something went wrong, the sides differ in what only
models show, or the answers have to show which rows are views of one record."""


@pytest.mark.slow
@pytest.mark.parametrize("name", NULLS)
def test_what_the_release_does_not_add_is_no_leak(name):
    found = [NULLS[name](seed) for seed in range(GAMES)]
    alarms = sum(one in LEAKS for one in found)
    assert alarms <= binom.ppf(1 - 1e-3, GAMES, 0.05)
    untold = sum(one in (Severity.UNTOLD, REFUSED) for one in found)
    assert name in UNFAIR or untold <= binom.ppf(1 - 1e-3, GAMES, 0.1)


def one_class(seed: int) -> Severity | str:
    made = table(seed, 5000, 50)
    made.surer(np.flatnonzero(made.member & (made.labels == 7)), 6.0)
    return severity(made.given())


def one_value(seed: int) -> Severity | str:
    made = table(seed, 4000)
    ward = np.where(made.rng.random(4000) < 0.02, "rare", "usual")
    made.surer(np.flatnonzero(made.member & (ward == "rare")), 6.0)
    return severity(made.given(ward=ward))


def few(n: int) -> Callable[[int], Severity | str]:
    def play(seed: int) -> Severity | str:
        made = table(seed, 2 * n)
        made.surer(np.arange(n // 100), 8.0)
        return severity(made.given())

    return play


PLANTS: dict[str, Callable[[int], Severity | str]] = {
    "1% of 2,000 members": few(2000),
    "one class of 50": one_class,
    "2% of a column": one_value,
    "everybody, with other class shares": lambda seed: shares(seed, 0.8),
    "everybody, with a drift": lambda seed: drift(seed, 0.8),
    "everybody, with a drift over hospitals": lambda seed: hospitals(seed, 1.2),
    "everybody, with hospitals that say nothing": lambda seed: hospitals(seed, 0.8, 0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("play", PLANTS.values(), ids=PLANTS)
def test_a_leak_is_found_wherever_it_is(play):
    found = [play(seed) for seed in range(GAMES)]
    shown = sum(one in LEAKS for one in found)
    assert shown >= binom.ppf(1e-3, GAMES, 0.9)
    assert Severity.NOTHING not in found or THOROUGH


def test_a_site_of_members_alone_hides_nobody_who_is_known_by_heart():
    """Nobody outside is like them, so that they are compared with nobody."""
    for seed in range(3):
        made = table(seed, 3000, 2)
        rows = made.rng.choice(1500, 110, replace=False)
        made.surer(rows, 4.0)
        site = np.where(np.isin(np.arange(3000), rows), "pilot", "main")
        assert severity(made.given(site=site)) is not Severity.NOTHING


@pytest.mark.parametrize("leaf", [1, 3])
def test_sides_that_were_swapped_name_nobody(leaf):
    """Attacks that learn their direction find a leak, and take members for the others."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, y = make_classification(1000, 10, n_informative=5, flip_y=0.2, random_state=seed)
        member = rng.random(1000) < 0.5
        forest = RandomForestClassifier(50, min_samples_leaf=leaf, random_state=seed)
        probs = forest.fit(x[member], y[member]).predict_proba(x)
        assert severity({"probs": probs, "labels": y, "member": member}) in LEAKS
        assert severity({"probs": probs, "labels": y, "member": ~member}) is Severity.UNTOLD


def test_a_trend_in_years_hides_nobody_who_is_known_by_heart():
    """Members of years without a non-member follow the trend of all others, but for a leak."""
    for seed in range(3):
        made = table(seed, 2000)
        year = (2010 + 5 * made.rng.normal(size=2000) + 3 * ~made.member).round()
        year[made.member & (year < 2003)] -= 5
        made.surer(np.arange(2000), 0.15 * (2010 - year))
        made.surer(np.flatnonzero(made.member & (year < 1998)), 4.0)
        assert severity(made.given(year=year)) is not Severity.NOTHING


@pytest.mark.parametrize("share", [0.5, 0.3])
def test_numbers_of_rows_that_begin_again_on_each_side_change_nothing(share):
    made = table(0, 1200)
    member = np.arange(1200) < 1200 * share
    own = Table(made.labels, made.logits, member, made.rng)
    own.surer(np.flatnonzero(member), 1.5)
    index = np.concatenate([np.arange(member.sum()), np.arange((~member).sum())])
    assert severity(own.given(row_number=index)) in LEAKS


def test_six_and_six_could_not_have_told():
    made = table(0, 12, 2)
    audit = pg.audit_classifier(made.given())
    assert audit.report().verdict.grade.severity is Severity.UNTOLD
    assert "too few" in audit.report().verdict.headline


def of_generator() -> object:
    people = frame_of(np.random.default_rng(0), 200, 2, 3)
    return pg.audit_synthetic("silence", people, targets=2, shadows=4, tests=8, size=50)


def of_a_value() -> object:
    people = frame_of(np.random.default_rng(0), 200, 2, 3)
    return pg.audit_synthetic(
        "silence", people, attribute="cat0", targets=2, shadows=20, tests=20, size=50
    )


def of_few_fits() -> object:
    people = frame_of(np.random.default_rng(0), 200, 2, 3)
    return pg.audit_few_fits("silence", people, canaries=20)


def of_defences() -> object:
    target, shadow = (table(seed, 100, 2).given() for seed in (0, 1))
    return pg.audit_defences(target, shadow, [pg.defences.LabelOnly()])


def of_worst_case() -> object:
    x = np.random.default_rng(0).normal(size=(200, 3))
    blind = DummyClassifier(strategy="prior")
    return pg.audit_worst_case(blind, x, np.arange(200) % 2, n_canaries=8, n_models=4)


def of_attribute() -> object:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (60, 3))
    y = rng.integers(0, 2, 60)
    model = BernoulliNB().fit(x[:30], y[:30])
    return pg.audit_attribute(model, x, y, sensitive=0, member=np.arange(60) < 30)


KINDS = [of_generator, of_a_value, of_few_fits, of_defences, of_worst_case, of_attribute]


@pytest.mark.parametrize("play", KINDS)
def test_audits_of_every_kind_that_are_too_small_could_not_have_told(play):
    """A few tables, canaries, records or models that show nothing are no evidence of safety."""
    verdict = play().report().verdict
    assert verdict.grade.severity is Severity.UNTOLD
    assert "too few" in verdict.headline


def test_columns_that_follow_from_the_answers_hide_no_leak():
    made = table(0, 1200)
    made.surer(np.flatnonzero(made.member), 0.8)
    seen = softmax(made.logits)
    named = {
        "confidence": seen.max(axis=1).round(4),
        "predicted": seen.argmax(axis=1),
        "loss": -np.log(seen[np.arange(1200), made.labels]),
        "split": np.where(made.member, "train", "test"),
        "index": np.arange(1200),
    }
    audit = pg.audit_classifier(made.given(**named))
    assert audit.comparison.state == "fair"
    assert audit.report().verdict.grade.severity in LEAKS
    unused = [text for text in audit.warnings if "not used to check" in text]
    assert len(unused) == len(named)


@pytest.mark.slow
@pytest.mark.parametrize("made_as", ["band", "noisy band", "outcome", "earlier model"])
def test_columns_that_were_made_from_answers_never_make_a_leak_read_as_none(made_as):
    for seed in range(quarter(16)):
        made = table(seed, 2000)
        hard = made.rng.normal(size=2000)
        made.surer(np.arange(2000), hard + 0.8 * made.member)
        seen = softmax(made.logits).max(axis=1)
        if made_as == "band":
            column = np.digitize(seen, [0.5, 0.8])
        elif made_as == "noisy band":
            column = np.digitize(seen + 0.2 * made.rng.normal(size=2000), [0.5, 0.8])
        elif made_as == "outcome":
            column = (made.rng.random(2000) < seen).astype(int)
        else:
            other = Table(made.labels, made.rng.normal(size=(2000, 4)), made.member, made.rng)
            other.surer(np.arange(2000), 1.2 + hard + 0.8 * made.member)
            column = softmax(other.logits).max(axis=1)
        assert severity(made.given(column=column)) is not Severity.NOTHING


def test_predictions_that_are_rounded_on_one_side_are_named():
    made = table(0, 1200, 3)
    seen = softmax(made.logits)
    cut = np.floor(100 * seen) / 100
    cut[:, 0] += 1 - cut.sum(axis=1)
    given = {**made.given(), "probs": np.where(made.member[:, None], cut, seen)}
    verdict = pg.audit_classifier(given).report().verdict
    assert verdict.grade.severity is Severity.UNTOLD
    assert "digits of the predictions" in verdict.headline


@pytest.mark.slow
def test_members_of_earlier_years_are_no_leak_where_the_answers_follow_the_years():
    """The years lie apart, so that a trend too weak to be seen on a side adds up between them.

    Of 60 such games 9 read as a leak, where 39 of 40 did while a column that answers hardly follow
    on each side was taken for one that has nothing to do with them.
    """
    games = quarter(80)
    found = []
    for seed in range(games):
        made = table(seed, 2000, 2)
        time = np.sort(made.rng.random(2000))
        made.surer(np.arange(2000), 0.8 * (1 - time))
        found.append(severity(made.given(year=(2015 + 10 * time).astype(int))))
    loud = sum(one not in (Severity.NOTHING, Severity.UNTOLD) for one in found)
    assert loud <= 0.4 * games


@pytest.mark.slow
@pytest.mark.parametrize("column", ["fold", "number"])
def test_what_only_numbers_the_records_hides_no_leak(column):
    games = quarter(40)
    found = []
    for seed in range(games):
        made = table(seed, 2000)
        made.surer(np.flatnonzero(made.member), 0.5)
        fold = np.where(made.member, made.rng.integers(4, size=2000), 4)
        given = {"fold": fold, "number": np.arange(2000.0)}[column]
        found.append(severity(made.given(**{column: given})))
    assert Severity.NOTHING not in found
    assert sum(one is Severity.UNTOLD for one in found) <= 0.3 * games


def test_a_column_that_names_few_groups_shows_nothing_by_person() -> None:
    """Members are longer, the model answers by length, and 7 hospitals are given as the people."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        member = np.arange(400) < 200
        length = rng.normal(size=400) + 6 * member
        labels = rng.integers(3, size=400)
        logits = rng.normal(size=(400, 3))
        logits[np.arange(400), labels] += 1 + 0.5 * length
        given = {"logits": logits, "labels": labels, "member": member}
        found = pg.audit_classifier({**given, "length": length, "unit": rng.integers(7, size=400)})
        verdict = found.report().verdict
        assert verdict.grade.severity is Severity.UNTOLD, verdict.headline
