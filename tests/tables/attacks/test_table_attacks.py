"""Laws that every attack on synthetic tables obeys."""

from dataclasses import replace

import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.tables.attacks.attack import Answer
from privacygauge.tables.attacks.density import ClosestDistance, DensityRatio, MarginalRatio
from privacygauge.tables.attacks.meta import Forest, Screened
from privacygauge.tables.attacks.query_based import QueryBased, distinct_columns
from privacygauge.tables.attacks.suite import suite_for_few, suite_for_many
from privacygauge.tables.attacks.summaries import Groundhog
from tests.tables.attacks.made_views import auc, view_of, with_tables
from tests.thorough import crossed, quarter

FOREST = Forest(10, 5)
ATTACKS = (
    QueryBased(meta=FOREST),
    QueryBased(("equal", "same bin"), Screened(), most=3),
    Groundhog("naive", FOREST),
    Groundhog("histogram", FOREST),
    Groundhog("correlations", FOREST),
    ClosestDistance(),
    ClosestDistance(5),
    DensityRatio(),
    DensityRatio(0),
    MarginalRatio(),
)
every_attack = pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: f"{a.name} {a.variant}")


def score(attack, view, seed=0):
    answer = attack.score(view, np.random.default_rng(seed))
    assert isinstance(answer, Answer)
    assert len(answer.own) == len(view.shadows)
    assert len(answer.released) == len(view.released)
    return answer


@every_attack
def test_tables_that_ignore_the_target_say_nothing(attack):
    own = []
    released = []
    for game in range(quarter(12)):
        view, secret = view_of(np.random.default_rng(game), leak=False)
        answer = score(attack, view)
        own.append(auc(answer.own, view.inside))
        released.append(auc(answer.released, secret))
    for found, n in ((own, 30), (released, 20)):
        # Of one game's AUC: sqrt((2 n + 1) / (12 n^2)), n of each class.
        error = np.sqrt((2 * n + 1) / (12 * n * n) / len(found))
        assert abs(np.mean(found) - 0.5) < 4 * error


@pytest.mark.parametrize(
    "attack",
    [
        QueryBased(meta=Forest(50, 5)),
        QueryBased(("equal",), Forest(50, 5)),
        QueryBased(("equal", "same bin"), Screened(), most=5),
        ClosestDistance(),
        MarginalRatio(5),
    ],
    ids=lambda a: f"{a.name} {a.variant}",
)
def test_copied_records_are_always_found(attack):
    view, secret = view_of(np.random.default_rng(1), n_cont=4, shadows=100, n=40)
    answer = score(attack, view)
    # "<=" counts the copy among all rows that are below it, and cannot always tell.
    least = 0.8 if attack.variant == "at most" else 1.0
    assert auc(answer.released, secret) >= least
    assert auc(answer.own, view.inside) >= least


@pytest.mark.parametrize(
    ("attack", "columns"), crossed(ATTACKS, [(4, 0), (0, 4), (1, 0), (0, 1), (3, 3)])
)
def test_twice_is_equal_and_inputs_stay(attack, columns):
    view, _ = view_of(
        np.random.default_rng(2), n_cat=columns[0], n_cont=columns[1], missing=0.2, shadows=30
    )
    if attack.variant == "correlations" and columns == (0, 1):
        assert isinstance(attack.score(view, np.random.default_rng(0)), Skipped)
        return
    arrays = (view.shadows, view.released, view.target, view.inside, view.known.values)
    before = [array.copy() for array in arrays]
    first = score(attack, view)
    again = score(attack, view)
    assert np.array_equal(first.own, again.own)
    assert np.array_equal(first.released, again.released)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, arrays, strict=True))


@every_attack
def test_the_order_of_rows_changes_nothing(attack):
    view, _ = view_of(np.random.default_rng(3), missing=0.1)
    rng = np.random.default_rng(0)
    mixed = with_tables(view, lambda tables: _rows(tables, rng))
    first = score(attack, view)
    again = score(attack, mixed)
    assert first.own == pytest.approx(again.own, abs=1e-5)
    assert first.released == pytest.approx(again.released, abs=1e-5)


def _rows(tables, rng):
    return np.stack([table[rng.permutation(len(table))] for table in tables])


@every_attack
def test_every_released_table_is_scored_on_its_own(attack):
    view, _ = view_of(np.random.default_rng(4))
    order = np.random.default_rng(0).permutation(len(view.released))
    turned = score(attack, replace(view, released=view.released[order]))
    alone = score(attack, replace(view, released=view.released[:1]))
    whole = score(attack, view)
    assert turned.released == pytest.approx(whole.released[order], abs=1e-6)
    assert alone.released[0] == pytest.approx(whole.released[0], abs=1e-6)
    assert np.array_equal(alone.own, whole.own)


@every_attack
def test_single_precision_is_enough(attack):
    view, _ = view_of(np.random.default_rng(5), levels=40)
    single = score(attack, with_tables(view, lambda tables: tables.astype(np.float32)))
    assert single.released == pytest.approx(score(attack, view).released, abs=1e-4)


@every_attack
def test_each_record_twice_is_the_same_table(attack):
    view, _ = view_of(np.random.default_rng(6))
    longer = replace(view, released=np.concatenate([view.released, view.released], axis=1))
    twice = ClosestDistance(10) if attack == ClosestDistance(5) else attack
    first = score(attack, view).released
    again = score(twice, longer).released
    if isinstance(attack, DensityRatio | MarginalRatio):
        # Half a record is added to each count, however many there are.
        assert np.corrcoef(first, again)[0, 1] > 0.9
    else:
        assert first == pytest.approx(again, rel=1e-5, abs=1e-5)


WIDE = (
    QueryBased(meta=FOREST, queries=3000),
    QueryBased(("equal", "same bin"), Screened(20), most=2),
    MarginalRatio(2),
    ClosestDistance(),
    DensityRatio(),
)


@pytest.mark.parametrize(("attack", "width"), crossed(WIDE, [22, 40]))
def test_wide_tables(attack, width):
    rng = np.random.default_rng(width)
    view, secret = view_of(rng, n_cat=width - 4, n_cont=4, shadows=60, n=30)
    answer = score(attack, view)
    assert auc(answer.released, secret) > 0.75
    sampled = isinstance(attack, QueryBased) and attack.queries == 3000
    assert [note.startswith("a sample of ") for note in answer.notes] == [True] * sampled


def test_a_missing_number_is_looked_for():
    view, secret = view_of(np.random.default_rng(8), n_cat=0, n_cont=2, missing=0.2)
    view = replace(view, target=np.array([np.nan, view.target[1]]))
    rows = np.flatnonzero(secret)
    released = view.released.copy()
    released[np.isnan(released)] = 1.0
    released[rows, 0] = view.target
    shadows = view.shadows.copy()
    shadows[np.isnan(shadows)] = 1.0
    shadows[np.flatnonzero(view.inside), 0] = view.target
    view = replace(view, shadows=shadows, released=released)
    for attack in (QueryBased(meta=FOREST), ClosestDistance(), DensityRatio(), MarginalRatio()):
        assert auc(score(attack, view).released, secret) > 0.99


def test_nothing_known_and_nothing_told_are_said():
    view, _ = view_of(np.random.default_rng(9))
    unknown = replace(view, known=view.known[np.arange(0)])
    same = with_tables(view, lambda tables: np.broadcast_to(tables[:1], tables.shape))
    rng = np.random.default_rng(0)
    for attack in (DensityRatio(), MarginalRatio()):
        assert "known records" in _skipped(attack.score(unknown, rng)).reason
    for attack in (QueryBased(), Groundhog()):
        assert "the adversary's tables" in _skipped(attack.score(same, rng)).reason
    few = with_tables(view, lambda tables: tables[:, :3])
    assert "fewer than k = 4" in _skipped(ClosestDistance(4).score(few, rng)).reason


def _skipped(answer):
    assert isinstance(answer, Skipped)
    return answer


def test_columns_that_are_constant_or_copies_are_left_out():
    counts = np.array([[1, 5, 1, 2, 2], [2, 5, 2, 1, 1], [3, 5, 3, 9, 8]], np.int16)
    assert sorted(distinct_columns(counts)) == [0, 3, 4]


@pytest.mark.parametrize("suite", [suite_for_few(), suite_for_many()], ids=["few", "many"])
def test_names_and_variants_in_a_suite_differ(suite):
    assert len({(attack.name, attack.variant) for attack in suite}) == len(suite)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QueryBased(("less",)), "compare must name some of .*"),
        (lambda: QueryBased(most=0), "most must be at least 1, got 0"),
        (lambda: QueryBased(queries=0), "queries must be at least 1, got 0"),
        (lambda: Groundhog("mean"), "summary must be .*, got 'mean'"),
        (lambda: ClosestDistance(0), "k must be at least 1, got 0"),
        (lambda: DensityRatio(-1), "degree must be at least 0, got -1"),
        (lambda: DensityRatio(bins=0), "bins must be at least 1, got 0"),
        (lambda: MarginalRatio(0), "order must be at least 1, got 0"),
        (lambda: MarginalRatio(folds=1), "folds must be at least 2, got 1"),
    ],
)
def test_bad_choices_are_refused(make, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        make()
