"""The audit of a generator: what is attacked, by whom, and what comes out."""

import functools
import re

import numpy as np
import pandas as pd
import pytest

from privacygauge.errors import InputError
from privacygauge.tables.attacks.density import ClosestDistance
from privacygauge.tables.attacks.meta import Screened
from privacygauge.tables.attacks.query_based import QueryBased
from privacygauge.tables.frames import read_table
from privacygauge.tables.generator_audit.audit import SELECTORS, audit_synthetic, select_targets
from privacygauge.tables.generators.adapters import Call
from privacygauge.tables.generators.generator import BayNet, Identity, PrivBayes, Silence
from privacygauge.tables.table import Column, Schema, Table
from tests.tables.made_tables import frame_of

FAST = (QueryBased(meta=Screened()), ClosestDistance())


@pytest.fixture(scope="module")
def people():
    frame = frame_of(np.random.default_rng(4), 400, 3, 2)
    frame.loc[[10, 20], "cat0"] = ["lone", "wolf"]
    return frame


def audited(generator, people, **options):
    given = {"targets": 3, "attacks": FAST, "shadows": 40, "tests": 40, **options}
    return audit_synthetic(generator, people, **given)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["average", "specific", "shared"])
def test_a_household_is_audited_as_one(people, game):
    """A twin of the target, told apart by its last number alone, is in where the target is."""
    twins = pd.concat([people, people.assign(num1=people["num1"] + 1)], ignore_index=True)
    unit = np.tile(np.arange(400), 2)
    seen = {}

    def before(making):
        target = making.setting.targets[0]
        block = next(making.game.blocks(making.setting, 0))
        for number, inside in enumerate(block.inside):
            learnt = making.game.training_set(making.setting, number, making.table).values
            for row in (target, (target + 400) % 800):
                record = making.setting.table.values[row]
                seen[number, row] = np.equal(learnt, record).all(axis=1).any() == inside

    options = {"targets": [10], "game": game, "size": 60, "shadows": 8, "tests": 8}
    options["attacks"] = FAST[1:]
    found = audited(Identity(), twins, unit=unit, before=before, **options)
    assert len(seen) == 16
    assert all(seen.values())
    assert found.sizes.records == 60


@pytest.mark.slow
def test_of_a_household_one_row_is_attacked(people):
    """Its twin is no neighbour: those who stand out are those who do so without twins."""
    twins = pd.concat([people, people.assign(num1=people["num1"] + 1e-9)], ignore_index=True)
    unit = np.tile(np.arange(400), 2)
    options = {"targets": 4, "size": 60, "shadows": 8, "tests": 8, "game": "shared"}
    options["attacks"] = FAST[1:]
    found = audited(Identity(), twins, unit=unit, **options)
    alone = audited(Identity(), people, **options)
    assert len(set(unit[found.targets.rows])) == 4
    assert set(unit[found.targets.rows]) == set(alone.targets.rows.tolist())


@pytest.mark.slow
def test_the_controls_are_told_apart(people):
    told = audited(Identity(), people, size=60, attacks=FAST[1:])
    assert told.headline.auc.value == 1.0
    assert told.headline.worst.epsilon.low == told.headline.worst.epsilon_limit
    silent = audited(Silence(), people, targets=[10], size=40, tests=100)
    assert not silent.headline.auc.excludes(0.5)
    assert silent.headline.worst.epsilon.low == 0.0


class Overspent(PrivBayes):
    """Spends twenty times the epsilon that it promises."""

    def generate(self, table, n, rng):
        return PrivBayes(20 * self.epsilon, self.degree).generate(table, n, rng)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PrivBayes, Overspent])
def test_the_epsilon_of_a_table_is_held_against_its_promise(kind):
    """One record unlike all others, and a schema that is public."""
    schema = Schema(tuple(Column(x, "categorical", categories=("a", "b")) for x in "xy"))
    alone = Table(schema, np.eye(30, 1) * np.ones(2))
    options = {"targets": [0], "game": "specific", "shadows": 200, "tests": 400}
    attacks = (QueryBased(("equal",)),)
    found = audit_synthetic(kind(1.0, 1), alone, made=300, attacks=attacks, **options)
    assert found.promised == 1.0
    assert found.broken_promise == (kind is Overspent)
    said = any("breaks its promise" in text for text in found.report().verdict.sentences)
    assert said == (kind is Overspent)


@pytest.mark.slow
def test_what_was_asked_is_what_was_done(people):
    asked = {"select": ("distance", "random"), "seed": 3, "tests": 20, "shadows": 20}
    found = audited(BayNet(), people, **asked)
    assert [group.method for group in found.groups] == ["distance", "random"]
    assert found.sizes.records == 400 // 6
    assert found.n_tables == len(found.targets) * 40
    assert found.game.name == "average game"
    assert found.generator == "BayNet"
    assert found.settings == {"degree": 1, "bins": 10}
    np.testing.assert_array_equal(np.sort(found.targets.rows), found.targets.rows)
    for group in found.groups:
        aucs = found.attacks[0].aucs[group.positions]
        assert group.means[0].value == pytest.approx(aucs.mean())
        assert group.deviations[0] == pytest.approx(np.std(aucs, ddof=1))
    distance = found.groups[0].positions
    assert sorted(found.targets.ranks[distance]) == [1, 2, 3]
    assert not found.targets.contents
    again = audited(BayNet(), people, **asked, n_jobs=2)
    for one, other in zip(found.attacks, again.attacks, strict=True):
        np.testing.assert_array_equal(one.aucs, other.aucs)


@pytest.mark.slow
def test_a_further_target_or_attack_changes_no_other_number(people):
    few = {"size": 40, "shadows": 20, "tests": 20}
    both = audited(BayNet(), people, targets=[10, 50], **few)
    one = audited(BayNet(), people, targets=[50], **few, attacks=FAST[:1])
    assert one.attacks[0].targets[0].auc == both.attacks[0].targets[1].auc
    # One record alone has the interval of its own AUC.
    assert one.groups[0].means[0] == one.attacks[0].targets[0].auc


@pytest.mark.slow
def test_attack_and_record_of_the_headline_are_chosen_on_other_tables(people):
    found = audited(BayNet(), people, size=40, shadows=20, tests=20)
    own = [attack.own_auc for attack in found.attacks]
    best = int(np.argmax([values.mean() for values in own]))
    assert found.headline.attack == best
    assert found.headline.target == np.argmax(own[best])
    assert found.headline.worst == found.attacks[best].targets[found.headline.target]
    assert found.best is found.attacks[best]
    assert found.best.aucs[found.order].tolist() == sorted(found.best.aucs, reverse=True)


@pytest.mark.slow
def test_many_targets_share_a_pool(people):
    few = people.head(60)
    found = audited("baynet", few, targets="all", shadows=20, tests=20, attacks=FAST[1:])
    assert found.game.name == "shared game"
    assert len(found.targets) == 60
    assert found.n_tables == 40
    assert found.foreseen.n == 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "knowledge"),
    [("specific", None), ("specific", "auxiliary"), ("average", "synthetic"), ("shared", None)],
)
def test_the_other_games(people, game, knowledge):
    options = {"targets": [10], "shadows": 12, "tests": 8, "size": 40, "attacks": FAST[1:]}
    found = audited(Identity(), people, game=game, knowledge=knowledge, **options)
    assert found.headline.auc.value == 1.0
    assert game in found.game.name


def test_rows_groups_and_numbers_of_targets(people):
    table = read_table(people)
    (all_of_them,) = select_targets(table, "all", "distance", 0)
    assert len(all_of_them) == 400
    (given,) = select_targets(table, [5, 3], "distance", 0)
    assert (given.method, given.rows.tolist()) == ("given", [5, 3])
    groups = select_targets(table, {"a": [1], "b": [2, 1]}, "distance", 0)
    assert [(g.method, g.rows.tolist()) for g in groups] == [("a", [1]), ("b", [2, 1])]
    chosen = select_targets(table, 4, tuple(SELECTORS), 0)
    assert [len(g) for g in chosen] == [4] * len(SELECTORS)


@pytest.mark.slow
def test_utility_is_measured_beside(people):
    found = audited(BayNet(), people, targets=[10], size=100, tests=4, shadows=8)
    assert found.utility.marginals
    assert found.utility.holdout_marginals


@pytest.mark.slow
def test_names_and_contents_are_shown_only_when_asked(people):
    ids = np.array([f"person {i}" for i in range(400)])
    found = audited(Silence(), people, targets=[10], ids=ids, show=["cat0"], size=40)
    assert found.targets.ids.tolist() == ["person 10"]
    assert found.targets.contents["cat0"].tolist() == ["lone"]


@pytest.mark.slow
def test_a_run_is_taken_up_again(people, tmp_path):
    done = []
    few = {"run": tmp_path / "run", "size": 40, "shadows": 12, "tests": 8}
    first = audited(BayNet(), people, **few)
    again = audited(BayNet(), people, **few, progress=lambda d, n: done.append((d, n)))
    assert done[0] == (60, 60)
    np.testing.assert_array_equal(first.best.aucs, again.best.aucs)
    # Other attacks are on the same tables, and what the first ones said is kept.
    done.clear()
    counted = lambda d, n: done.append((d, n))  # noqa: E731
    other = audited(BayNet(), people, **few, attacks=FAST[1:], progress=counted)
    assert done[0] == (60, 60)
    assert other.attacks[0].targets[0].auc == first.attacks[1].targets[0].auc
    done.clear()
    audited(BayNet(), people, **few, scoring=counted)
    audited(BayNet(), people, **few, attacks=FAST[1:], scoring=counted)
    assert all(d == n for d, n in done)
    with pytest.raises(InputError, match="another run: generator"):
        audited(Silence(), people, **few)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": [400]}, r"targets must lie in 0\.\.399, the rows of the table, got 400"),
        ({"targets": "some"}, 'a number, rows, or "all"'),
        ({"targets": {}}, "at least one group"),
        ({"select": "nearest"}, "select must name some of distance, random, rare, likelihood"),
        ({"size": 300}, r"the game needs 300 records .*--size"),
        ({"game": "chess"}, "the game must be one of average, specific, shared"),
        ({"tests": 2}, "tests must be at least 4"),
        ({"half_width": 0.7, "tests": None}, "half_width must be in"),
        ({"show": ["nothing"]}, "no column 'nothing' to show"),
        ({"label": "num0"}, "num0"),
        ({"level": 1.0}, "level must be in"),
        ({"ids": [1, 2]}, "ids must have 400 rows"),
        ({"drop": ["nothing"]}, "nothing"),
    ],
)
def test_bad_input_is_one_line(people, options, message):
    with pytest.raises(InputError, match=message) as caught:
        audited(BayNet(), people, **options)
    assert "\n" not in str(caught.value)


def one_short(frame, n, seed):
    return frame.head(n - 1)


def other_columns(frame, n, seed):
    return frame.head(n).rename(columns={"cat0": "dog0"})


def with_gaps(frame, n, seed):
    made = frame.head(n).reset_index(drop=True)
    made.loc[0, "num0"] = np.nan
    return made


def dies(frame, n, seed):
    raise RuntimeError("out of luck")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (one_short, "one_short.*66.*65"),
        (other_columns, "other_columns.*(cat0|dog0)"),
        (with_gaps, "with_gaps.*num0"),
        (dies, "dies.*RuntimeError.*out of luck"),
        (lambda frame, n, seed: None, "lambda"),
    ],
)
def test_generators_that_misbehave(people, function, message):
    with pytest.raises(InputError, match=message) as caught:
        audited(function, people)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_columns_that_name_records_are_pointed_out(people):
    named = people.assign(passport=[f"P{i}" for i in range(len(people))])
    found = audited(Silence(), named, targets=[10], size=40)
    assert any("passport" in warning and "--drop" in warning for warning in found.warnings)


@pytest.mark.slow
def test_polars_like_frames_will_do(people):
    class Frame:
        def to_pandas(self):
            return people

    assert len(audited(Silence(), Frame(), targets=[10], size=40).targets) == 1
    assert isinstance(people, pd.DataFrame)


@pytest.mark.slow
def test_a_private_generator_wants_a_public_schema(people):
    few = {"targets": [10], "size": 40, "shadows": 8, "tests": 4}
    inferred = audited("privbayes:epsilon=1", people, **few)
    assert any("schema" in warning and "public" in warning for warning in inferred.warnings)
    schema = read_table(people).schema
    given = audited("privbayes:epsilon=1", people, **few, schema=schema)
    assert not any("public" in warning for warning in given.warnings)


def _beyond(frame, n, seed):
    """Return noisy numbers, some of which lie beyond the range of the table."""
    rng = np.random.default_rng(seed)
    made = frame.sample(n, replace=True, random_state=seed)
    return made.assign(num0=made["num0"] + 2 * rng.standard_normal(n))


def _kept_inside(low, high, frame, n, seed):
    made = _beyond(frame, n, seed)
    return made.assign(num0=made["num0"].clip(low, high))


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_generator_beyond_the_range_is_audited_like_the_same_one_clipped(people, tmp_path, jobs):
    low = people["num0"].min()
    high = people["num0"].max()
    options = {"targets": [10, 50], "shadows": 8, "tests": 8, "size": 30, "attacks": FAST[1:]}
    kept = Call(functools.partial(_kept_inside, low, high), "mine")
    generator = Call(_beyond, "mine")
    found = audited(generator, people, **options, run=tmp_path / "run", n_jobs=jobs)
    expected = audited(kept, people, **options)
    for one, other in zip(found.attacks, expected.attacks, strict=True):
        np.testing.assert_array_equal(one.aucs, other.aucs)
        assert repr(one.targets) == repr(other.targets)  # NaN is not itself
    told = [text for text in found.origin.warnings if text not in expected.origin.warnings]
    assert len(told) == 1
    assert re.match(r"the generator drew \d+ of 1,?920 numbers .* \(--schema\)$", told[0])
    again = audited(generator, people, **options, run=tmp_path / "run")
    assert again.origin.warnings == found.origin.warnings
