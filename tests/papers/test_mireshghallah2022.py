"""Tables of Mireshghallah et al. (2022): what they compare, and that they can be made."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.datasets.public import PARTS, Sentences
from privacygauge.language.patients import by_patient
from privacygauge.language.text_files import TextRecords
from privacygauge.language.training_steps import DONE
from privacygauge.papers import Effort, mireshghallah2022, reproduction
from privacygauge.papers import mireshghallah2022 as cells
from privacygauge.papers import mireshghallah2022_figures as claims
from privacygauge.papers import mireshghallah2022_figures as figures
from privacygauge.papers.catalogue import judgement
from privacygauge.papers.mireshghallah2022 import (
    FOLDER,
    SIDES,
    ModelPairOptions,
    ModelSetting,
    Scale,
    Target,
    far_texts,
    model_setting,
)
from tests.language.made_scores import made_scores
from tests.thorough import only_thorough

LEVEL = cells.LEVEL
TABLES = {
    "mireshghallah-table2": mireshghallah2022.TABLE_2,
    "mireshghallah-table3": mireshghallah2022.TABLE_3,
    "mireshghallah-table4": mireshghallah2022.TABLE_4,
    "mireshghallah-table5": mireshghallah2022.TABLE_5,
    "mireshghallah-table6": mireshghallah2022.TABLE_6,
    "mireshghallah-table9": mireshghallah2022.TABLE_9,
    "mireshghallah-table10": mireshghallah2022.TABLE_10,
    "mireshghallah-table11": mireshghallah2022.TABLE_11,
}
OTHERS = ("mireshghallah-table7", "mireshghallah-fig4", "mireshghallah-fig5")
FEATURES = 6
SCALE = Scale(2, 5, 6, 10, 3, 2, ((1, 8), (1, 16)), 64)


def drawn(draw: int, leak: float = 0.5):
    return made_scores(np.random.default_rng(draw), patients=(40, 40, 40), leak=leak)


@pytest.fixture
def played(monkeypatch):
    """Take made-up energies for those of models, three draws of them."""
    monkeypatch.setattr(ModelSetting, "scores", lambda self, asked: tuple(map(drawn, range(3))))

    def columns(setting, draw, scores):
        n = int(np.count_nonzero(scores.member))
        return np.random.default_rng(draw).normal(size=(n, FEATURES))

    monkeypatch.setattr(figures, "_columns", columns)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_papers_numbers_beside_ours(played, name):
    made = reproduction(name).make(Effort())
    lines = TABLES[name]
    assert made.name == name
    assert [row.label for row in made.rows] == [line.label for line in lines]
    for row, line in zip(made.rows, lines, strict=True):
        known = [row.cells[column].published for column in cells.COLUMNS]
        assert known == list(line.published or [None] * len(cells.COLUMNS))
        skipped = [column for column, cell in row.cells.items() if isinstance(cell.ours, Skipped)]
        # Where a threshold lets nobody in, there is no precision.
        assert all(column.startswith("precision") for column in skipped)
        assert name.endswith("10") or not skipped
    level = 0.01 if name.endswith("10") else 0.1
    rate = made.rows[0].cells["FPR, LR, population"].ours
    assert rate.low <= level <= rate.high


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_a_figure_is_the_mean_over_draws(played, name):
    made = reproduction(name).make(Effort())
    labels = [row.label for row in made.rows]
    assert len(set(labels)) == len(labels)
    if name.endswith("7"):
        assert len(labels) == 7
        assert made.rows[2].cells["precision, test"].published == 0.692
        # Columns of noise tell nothing: the area is near 1/2 in every row.
        assert all(abs(row.cells["AUC, test"].ours.value - 0.5) < 0.1 for row in made.rows)
        return
    for signal in ("TPR, loss", "TPR, LR"):
        curve = [row.cells[signal].ours.value for row in made.rows]
        assert curve == sorted(curve)
    assert [row.cells["TPR, LR"].published for row in made.rows if row.label == "FPR 0.1"] == [
        0.792
    ]


def test_the_distributions_are_those_of_the_scores(played):
    """Quantiles grow, and are the mean over draws of each draw's own."""
    made = reproduction("mireshghallah-fig3").make(Effort())
    found = {row.label: row.cells for row in made.rows}
    assert list(found) == [f"quantile {share:g}" for share in figures.QUANTILES]
    for column in ("LR, members", "LR, non-members", "loss, members", "loss, non-members"):
        curve = [cells[column].ours.value for cells in found.values()]
        assert curve == sorted(curve)
    ratios = [x.energy_reference - x.energy_target for x in map(drawn, range(3))]
    medians = [
        np.quantile(ratio[scores.member], 0.5, method="inverted_cdf")
        for ratio, scores in zip(ratios, map(drawn, range(3)), strict=True)
    ]
    assert found["quantile 0.5"]["LR, members"].ours.value == pytest.approx(np.mean(medians))
    assert found["quantile 0.5"]["LR, members"].ours.n == 3


def test_table_9_prints_what_tables_3_4_and_6_print_again():
    nine = {line.label: line for line in mireshghallah2022.TABLE_9}
    for line in mireshghallah2022.TABLE_4:
        # Section 4 is of long samples (A.3.3), and ours of Table 4 are of both kinds.
        again = replace(line, label=f"long: {line.label}", view=mireshghallah2022.long)
        assert nine[f"long: {line.label}"] == again
    assert nine["long: members named"].published == mireshghallah2022.TABLE_6[1].published
    assert nine["short: small"].published == mireshghallah2022.TABLE_3[0].published
    areas = {label: line.published[:2] for label, line in nine.items()}
    for line, label in zip(
        mireshghallah2022.TABLE_10,
        ("long: small", "short: small", "long: members named"),
        strict=True,
    ):
        assert areas[label] == line.published[:2]


@pytest.mark.parametrize("fpr", [0.1, 0.01])
def test_the_numbers_of_a_draw_are_what_they_are_called(fpr):
    scores = drawn(7)
    found = cells.measure_draw(scores, fpr)
    statistic = scores.energy_target - scores.energy_reference
    for name, values in (("loss", scores.energy_target), ("LR", statistic)):
        ours = values[scores.member]
        theirs = values[scores.nonmember]
        below = np.mean(ours[:, None] < theirs) + np.mean(ours[:, None] == theirs) / 2
        assert found[f"AUC, {name}"].value == pytest.approx(below, abs=1e-12)
        allowed = int(fpr * np.count_nonzero(scores.population))
        cut = np.sort(values[scores.population])[allowed - 1]
        tpr = np.mean(ours <= cut)
        realised = np.mean(theirs <= cut)
        assert found[f"recall, {name}, population"].value == pytest.approx(tpr)
        assert found[f"FPR, {name}, population"].value == pytest.approx(realised)
        if tpr + realised > 0:
            precision = found[f"precision, {name}, population"].value
            assert precision == pytest.approx(tpr / (tpr + realised))
    mean = scores.energy_target[scores.member].mean()
    recall = np.mean(scores.energy_target[scores.member] <= mean)
    assert found["recall, loss, mean-train"].value == pytest.approx(recall)


def test_without_a_leak_there_is_no_claim(monkeypatch):
    silent = [drawn(draw, leak=0.0) for draw in range(12)]
    found = cells.over_draws([cells.measure_draw(scores, 0.1) for scores in silent])
    for name in ("AUC, loss", "AUC, LR", "AUC, reference alone"):
        # An area of 40 + 40 notes deviates by about 0.03: the mean of twelve by 0.009.
        assert abs(found[name].value - 0.5) < 0.03
    notes = [cells.measure_draw(by_patient(scores), 0.1)["AUC, LR"] for scores in silent]
    assert abs(cells.mean_over_draws("notes", notes).value - 0.5) < 0.05


def estimate(value: float, half: float = 0.1) -> Estimate:
    return Estimate(value, value - half, value + half, LEVEL, 5, "made up")


def test_the_mean_over_draws_is_students():
    values = [0.6, 0.7, 0.65]
    found = cells.mean_over_draws("x", [estimate(x) for x in values])
    low, high = stats.t.interval(LEVEL, 2, np.mean(values), stats.sem(values))
    assert (found.low, found.value, found.high) == pytest.approx((low, np.mean(values), high))
    wide = cells.mean_over_draws("x", [estimate(x) for x in (0.0, 1.0)])
    assert (wide.low, wide.high) == (0.0, 1.0)
    assert cells.mean_over_draws("x", [estimate(0.4)]) == estimate(0.4)
    same = cells.mean_over_draws("x", [estimate(0.4), estimate(0.4, 0.2)])
    assert (same.low, same.high) == pytest.approx((0.2, 0.6))
    assert "nobody" in cells.mean_over_draws("x", [estimate(0.4), Skipped("x", "nobody")]).reason


def test_a_difference_is_taken_draw_by_draw():
    first, second = ([estimate(x) for x in values] for values in ((0.9, 0.8), (0.5, 0.5)))
    found = cells.mean_difference("x", first, second)
    low, high = stats.t.interval(LEVEL, 1, 0.35, stats.sem([0.4, 0.3]))
    assert (found.low, found.value, found.high) == pytest.approx((low, 0.35, high))
    alone = cells.mean_difference("x", first[:1], second[:1])
    assert "+0.400 in one draw" in alone.reason
    assert "each of 2 draws" in cells.mean_difference("x", first, first).reason
    missing = [estimate(0.1), Skipped("x", "nobody")]
    assert "nobody" in cells.mean_difference("x", first, missing).reason


def test_the_claims_are_differences_of_the_published_tables():
    printed = {
        "samples": mireshghallah2022.TABLE_2[0],
        "notes": mireshghallah2022.TABLE_2[1],
        "short samples": mireshghallah2022.TABLE_3[0],
        "long samples": mireshghallah2022.TABLE_3[1],
        "small target": mireshghallah2022.TABLE_4[0],
        "large target, longer": mireshghallah2022.TABLE_4[3],
        "near reference": mireshghallah2022.TABLE_5[0],
        "far reference": mireshghallah2022.TABLE_5[2],
        "members named": mireshghallah2022.TABLE_6[1],
        "members named, notes": mireshghallah2022.TABLE_6[4],
        claims.AT_LOW_FPR: mireshghallah2022.TABLE_10[0],
        "normalised energy": mireshghallah2022.TABLE_11[0],
    }

    def of(line: str, column: str) -> float:
        known = dict(zip(cells.COLUMNS, printed[line].published, strict=True))
        if column == claims.GAIN:
            return math.log(known["recall, LR, population"] / known["recall, loss, population"])
        return known[column]

    told = [claim for claim in claims.CLAIMS if claim.published is not None]
    assert len(told) == 20
    for claim in told:
        difference = of(*claim.larger) - of(*claim.smaller)
        assert claim.published == pytest.approx(difference, abs=6e-4), claim.what


@pytest.mark.slow
def test_every_claim_has_an_effect_and_a_verdict(played):
    made = reproduction("mireshghallah-claims").make(Effort())
    effects = {row.label: row.cells["effect"].ours for row in made.rows if "effect" in row.cells}
    assert len(effects) == len(claims.CLAIMS)
    assert isinstance(effects["LR beats the loss, AUC of samples"], Estimate)
    # The same made-up scores serve every line, so that nothing else has an effect.
    assert isinstance(effects["a near reference serves better, AUC"], Skipped)
    judged = {one.claim: one for one in judgement("mireshghallah-claims").of(made).claims}
    assert set(effects) <= set(judged)
    assert (judged["a near reference serves better, AUC"].word == "not measured") == isinstance(
        effects["a near reference serves better, AUC"], Skipped
    )
    controls = {row.label: row.cells["value"] for row in made.rows if "value" in row.cells}
    assert len(controls) == len(claims.CONTROLS)
    alone = controls["control: reference alone, AUC of samples"]
    # What a control should be is no number of the paper.
    assert alone.published is None
    assert not alone.ours.excludes(0.5)


def test_one_folder_serves_all_tables(tmp_path):
    for name in ("mireshghallah-table2", "mireshghallah-fig4"):
        with model_setting(Effort(run=tmp_path / name)) as setting:
            assert setting.folder == tmp_path / FOLDER
    with model_setting(Effort(quick=True)) as setting:
        scratch = setting.folder
        assert scratch.is_dir()
        assert setting.scale == Scale.of(Effort(quick=True)) != Scale.of(Effort())
    assert not scratch.exists()


def test_far_sentences_are_of_usual_length():
    found = far_texts(500)
    assert len(set(found)) == len(found) == 500
    assert found == far_texts(1000)[:500]
    lengths = [len(text.split()) for text in found]
    assert min(lengths) >= 10
    assert max(lengths) <= 60


class Recorded:
    """Takes the place of trainings and of models, and keeps what they were given."""

    def __init__(self) -> None:
        self.trained: list[tuple[Path, tuple[str, ...], dict[str, object]]] = []
        self.asked: list[tuple[TextRecords, ...]] = []
        self.pairs: list[tuple[Path, Path]] = []
        self.begun: dict[Path, Path] = {}

    def reference(self, texts, out, **how):
        self.trained.append((out, tuple(texts), how))
        return SimpleNamespace(path=out)

    def further(self, begun, texts, out, **how):
        self.begun[out] = begun
        return self.reference(texts, out, **how)

    def energies(self, target, reference, sides, **how):
        self.asked.append(tuple(sides))
        self.pairs.append((target, reference))


def made_up_part(part: str) -> Sentences:
    """Return thirty notes of three sentences; no number and no text is in two parts."""
    note = np.repeat(np.arange(30) + 100 * PARTS.index(part), 3)
    text = tuple(f"{part} sentence {row} of note {number}." for row, number in enumerate(note))
    return Sentences(text, note, np.tile([0, 2, 5], 30))


@pytest.fixture
def recorded(monkeypatch):
    """Read made-up notes, and keep what is trained and asked in place of doing it."""
    found = Recorded()
    module = "privacygauge.papers.mireshghallah2022"
    monkeypatch.setattr(f"{module}.mtsamples", made_up_part)
    monkeypatch.setattr(f"{module}.train_further", found.further)
    monkeypatch.setattr(f"{module}.train_reference", found.reference)
    monkeypatch.setattr(f"{module}.load_masked", lambda path: path)
    monkeypatch.setattr(f"{module}.text_energies", found.energies)
    return found


def test_draws_share_no_note_and_no_reference_text(recorded, tmp_path):
    setting = ModelSetting(SCALE, 0, tmp_path)
    setting.scores(ModelPairOptions())
    notes = [set(side.group) for sides in recorded.asked for side in sides]
    assert [len(group) for group in notes] == [5] * 6
    assert len(set.union(*notes)) == 30
    asked = {text for sides in recorded.asked for side in sides for text in side.text}
    learnt = {place.name.rsplit("-", 1)[0]: set(texts) for place, texts, _ in recorded.trained}
    assert len(learnt["reference-near-base"]) == 18
    assert not learnt["reference-near-base"] & asked
    targets = [texts for place, texts, _ in recorded.trained if "target" in place.name]
    for draw, (texts, sides) in enumerate(zip(targets, recorded.asked, strict=True)):
        assert texts == sides[0].text == setting.members(draw).text


@pytest.mark.parametrize(
    "target", [Target(), Target("small"), Target("small", 2), Target(times=2), Target(named=True)]
)
def test_a_target_is_asked_beside_the_model_that_it_begins_with(recorded, tmp_path, target):
    """Another reference, of another size, would tell of the sizes and not of the members."""
    ModelSetting(SCALE, 0, tmp_path).scores(ModelPairOptions(target))
    assert len(recorded.pairs) == SCALE.draws
    for asked, reference in recorded.pairs:
        assert recorded.begun[asked] == reference


def test_names_are_put_before_the_sides_that_have_them(recorded, tmp_path):
    setting = ModelSetting(SCALE, 0, tmp_path)
    for named in ((), ("member",), SIDES):
        setting.scores(ModelPairOptions(Target(named=True), named=named))
    plain, members, every = (
        dict(zip(SIDES, recorded.asked[2 * row], strict=True)) for row in range(3)
    )
    learnt = next(texts for place, texts, _ in recorded.trained if "target" in place.name)
    assert learnt == members["member"].text == every["member"].text
    for side in SIDES:
        assert (members[side].text == plain[side].text) == (side != "member")
        named = zip(plain[side].text, every[side].text, every[side].group, strict=True)
        names = {(group, after.removesuffix(f" {before}")) for before, after, group in named}
        # One name a note, of two words, and every note's its own.
        assert len(names) == len({name for _, name in names}) == 5
        assert all(len(name.split()) == 2 for _, name in names)


def test_recipes_have_folders_of_their_own(recorded, tmp_path):
    settings = ModelSetting(SCALE, 0, tmp_path), ModelSetting(SCALE, 1, tmp_path)
    recipes = [Target(), Target("small"), Target(times=2), Target(named=True)]
    found = [s.target(recipe, draw) for s in settings for recipe in recipes for draw in range(2)]
    assert len(set(found)) == len(found)
    again = [settings[0].target(recipe, draw) for recipe in recipes for draw in range(2)]
    assert again == found[: len(again)]
    epochs = {how["epochs"] for place, _, how in recorded.trained if "target" in place.name}
    assert epochs == {SCALE.epochs, 2 * SCALE.epochs}
    n_trained = len(recorded.trained)
    found[0].mkdir(parents=True)
    (found[0] / DONE).touch()
    assert settings[0].target(Target(), 0) == found[0]
    # Only the model that it begins with is looked for again.
    assert len(recorded.trained) == n_trained + 1


@only_thorough
@pytest.mark.slow
@pytest.mark.torch
def test_the_quick_form_trains_once_for_all_tables(data_folder, tmp_path):
    pytest.importorskip("transformers")
    for name in (*TABLES, *OTHERS, "mireshghallah-claims"):
        made = reproduction(name).make(Effort(quick=True, run=tmp_path / name))
        assert made.lines()
    models = sorted(
        path.name.rsplit("-", 1)[0] for path in (tmp_path / FOLDER / "models").iterdir()
    )
    assert models == [
        "reference-far-base",
        "reference-near-base",
        "reference-near-small",
        "target-base",
        "target-base",
        "target-base",
        "target-small",
        "target-small",
    ]
    table = reproduction("mireshghallah-table2").make(Effort(quick=True, run=tmp_path / "again"))
    loss, ratio = (table.rows[0].cells[f"AUC, {name}"].ours for name in ("loss", "LR"))
    assert ratio.value > loss.value
