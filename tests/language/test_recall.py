"""ReCaLL in an audit: its prefix is of people who are not judged, and it is silent by chance."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.errors import InputError
from privacygauge.evaluate.playing import audit
from privacygauge.kinds.session import Work
from privacygauge.language import text_energies as module
from privacygauge.language.attacks import PopulationThreshold, energy_attacks, energy_round
from privacygauge.language.audit.command import LanguageRequest, play
from privacygauge.language.energies import MaskPlan
from privacygauge.language.likelihoods import (
    RECALL,
    conditional_log_probabilities,
    prefix_apart,
    recall_signal,
    token_log_probabilities,
)
from privacygauge.language.store import AnswerStore
from privacygauge.language.text_energies import text_energies
from privacygauge.language.text_files import sides_of
from privacygauge.language.texts import plain_texts
from tests.language.tiny_models import made_texts, saved
from tests.thorough import quarter, times

pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def dealt(rng, n, least=2, most=6):
    """Return texts of three sides, some of them and some people on several sides."""
    texts = made_texts(n, int(rng.integers(1 << 31)), least, most)
    found = []
    for _ in range(3):
        rows = rng.choice(n, n // 2, replace=False)
        people = rng.integers(0, n, len(rows))
        shout = rng.random(len(rows)) < 0.3
        found.append(
            {
                "text": [
                    texts[i].upper() if up else texts[i] for i, up in zip(rows, shout, strict=True)
                ],
                "group": [f"p{i}" for i in people],
            }
        )
    return found


def test_no_judged_text_or_person_is_in_the_prefix_nor_its_people_in_the_population(gpt, rng):
    n_found = 0
    for _ in range(times(60)):
        n = int(rng.integers(1, 4))
        try:
            sides = sides_of(*dealt(rng, 12))
            left, prefix = prefix_apart(gpt, sides, n, rng)
        except InputError:
            continue
        n_found += 1
        assert 1 <= len(prefix) <= n
        given = list(zip(sides[2].records.text, sides[2].records.group, strict=True))
        judged, taken = [side.records for side in sides[:2]], set(plain_texts(prefix))
        assert taken.isdisjoint(x for side in judged for x in plain_texts(side.text))
        people = {name for side in judged for name in side.group}
        assert {name for text, name in given if text in prefix} - people
        theirs = {name for text, name in given if plain_texts([text])[0] in taken}
        kept = list(zip(left.records.text, left.records.group, strict=True))
        assert kept == [(text, name) for text, name in given if name not in theirs]
        longest = max(len(x.ids) for s in sides for x in gpt.tokenizer.encoded(s.records.text))
        assert longest + sum(len(x.ids) for x in gpt.tokenizer.encoded(prefix)) <= gpt.limit
    assert n_found > 10


@pytest.mark.slow
def test_the_signal_is_that_of_its_parts(gpt, monkeypatch):
    texts = made_texts(24, 3, 2, 6)
    sides = texts[:8], texts[8:16], texts[16:]
    taken = []

    def noted(*given):
        taken.append(prefix_apart(*given))
        return taken[-1]

    monkeypatch.setattr(module, "prefix_apart", noted)
    told = []
    kept = AnswerStore(progress=lambda *x: told.append(x))
    found = text_energies(gpt, None, sides, recall=2, kept=kept)
    [(left, prefix)] = taken
    rest = [*sides[0], *sides[1], *left.records.text]
    assert list(found.text) == rest
    assert (len(prefix), len(rest)) == (2, 22)
    after = conditional_log_probabilities(gpt, rest, prefix)
    expected = recall_signal(token_log_probabilities(gpt, rest), after)
    assert found.further[RECALL] == pytest.approx(expected, abs=1e-4)
    assert any(
        x.startswith("For recall the target read each text once more, after 2") for x in found.notes
    )
    done, totals = zip(*told, strict=True)
    assert set(totals) == {2 * 22}
    assert list(done) == sorted(done)
    assert done[-1] == 2 * 22
    alone = text_energies(gpt, None, sides)
    assert RECALL not in alone.further
    assert found.further["zlib"][:16].tolist() == alone.further["zlib"][:16].tolist()


@pytest.mark.slow
def test_without_a_leak_intervals_hold_chance(gpt):
    """Fair coins deal the people; the model has learnt none of the texts."""
    games = times(quarter(160))
    alarms = Counter()
    areas = []
    for seed in range(games):
        rng = np.random.default_rng(seed)
        texts = made_texts(120, seed, 2, 4)
        people = rng.integers(0, 60, 120)
        side = rng.integers(0, 3, 60)[people]
        sides = [
            {
                "text": [texts[i] for i in np.flatnonzero(side == k)],
                "group": [f"p{people[i]}" for i in np.flatnonzero(side == k)],
            }
            for k in range(3)
        ]
        scores = text_energies(gpt, None, sides, plan=MaskPlan(seed=seed), recall=2)
        attacks = energy_attacks(scores, (PopulationThreshold(0.1),))
        [attack] = (x for x in attacks if x.name == RECALL)
        [(_, found)] = audit([energy_round(scores)], [attack], seed=seed)
        areas.append(found.auc.value)
        alarms["AUC"] += found.auc.excludes(0.5)
        alarms["accuracy"] += found.accuracy.excludes(0.5)
        alarms["epsilon"] += found.epsilon.low > 0
        alarms["rate"] += found.false_positive_rate.low > 0.2
    most = binom.ppf(1 - 1e-4, games, 0.05)
    assert {name: n for name, n in alarms.items() if n > most} == {}
    assert abs(np.mean(areas) - 0.5) < 4.5 * 0.06 / np.sqrt(games)


@pytest.fixture
def asked(tmp_path):
    texts = made_texts(40, 2, 2, 6)
    files = {}
    for name, some in (
        ("members", texts[:12]), ("nonmembers", texts[12:24]), ("population", texts[24:]),
    ):  # fmt: skip
        files[name] = str(tmp_path / f"{name}.jsonl")
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(json.dumps({"text": text}) + "\n" for text in some)
        )
    return files


@pytest.mark.slow
def test_it_is_an_attack_of_the_audit_and_its_answers_are_kept(asked, tmp_path, monkeypatch):
    models = {
        "target": str(saved(tmp_path / "a", "gpt2")),
        "reference": str(saved(tmp_path / "b", "gpt2", seed=1)),
    }
    request = LanguageRequest(**models, **asked, recall=3)
    request.check(1)
    found = play(request, Work(tmp_path / "out" / "run"))
    assert RECALL in {x.name for x in found.evaluations}
    assert "Recall" in found.report().terms
    monkeypatch.setattr("privacygauge.language.model.CausalModel.ask", None)
    again = play(LanguageRequest.kept(request.settled()), Work(tmp_path / "out" / "run"))
    assert [x.auc for x in again.evaluations] == [x.auc for x in found.evaluations]


def test_what_does_not_go_together(asked, gpt, bert, tmp_path):
    alone = {name: asked[name] for name in ("members", "nonmembers")}
    with pytest.raises(InputError, match="--recall needs --population: it puts texts"):
        LanguageRequest(target="a", **alone, recall=3).check(1)
    masked = LanguageRequest(target=str(saved(tmp_path / "m")), **asked, recall=3)
    with pytest.raises(InputError, match="--recall goes with causal models"):
        masked.settled()
    texts = made_texts(30, 3, 2, 6)
    sides = texts[:10], texts[10:20], texts[20:]
    for target, given, n, told in (
        (bert, sides, 2, "recall needs a causal model of this machine"),
        (gpt, sides[:2], 2, "recall needs a population, whose texts"),
        (gpt, sides, 0, "recall must be at least 1 text, got 0"),
        (gpt, (*sides[:2], sides[2][:3]), 2, "at least 2 texts beside those of people in the"),
        (gpt, (*sides[:2], sides[0][:5]), 2, "recall needs room for a text of the population"),
        (gpt, (*sides[:2], made_texts(4, 5, 40, 44)), 2, "the model reads 64 tokens: leave out"),
    ):
        with pytest.raises(InputError, match=told):
            text_energies(target, None, given, recall=n)
