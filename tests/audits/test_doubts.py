"""No leak found in predictions that are not what they are said to be: this cannot be told."""

from collections import Counter

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.classifiers.audit.models import Fitted
from privacygauge.classifiers.audit.verdict import _of_wrong_labels
from privacygauge.classifiers.predictions import Pool
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.errors import InputError
from privacygauge.report.attacks.verdict import TOO_FEW
from privacygauge.report.values import Severity
from tests.classifiers.made import softmax

N = 400
K = 4
ATTACKS = [pg.attacks.Threshold("confidence", per_class=False), LiraOnline()]


def models(n_models=6, leak=2.0, seed=0, n=N):
    """Return probabilities of models that know classes, surer on members, with who is inside."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(K, size=n)
    inside = rng.random((n_models, n)) < 0.5
    z = rng.normal(size=(n_models, n, K))
    z[:, np.arange(n), labels] += 1.5 + leak * inside
    return softmax(z.reshape(-1, K)).reshape(z.shape), labels, inside


def audits(probs, labels, inside, leaking):
    """Yield audits of the first model: alone, and where `leaking` with shadow models too."""
    given = [
        {"probs": p, "labels": labels, "member": own} for p, own in zip(probs, inside, strict=True)
    ]
    target, shadow = given[:2]
    yield pg.audit_classifier(target, attacks=ATTACKS[:1])
    if leaking:
        yield pg.audit_classifier(target, shadow, attacks=ATTACKS[:1])
        yield pg.audit_pool(target, Pool(probs[1:], False, inside[1:], labels), attacks=ATTACKS)


def untold(audit, said):
    verdict = audit.report().verdict
    assert verdict.grade.severity is Severity.UNTOLD
    assert "may not be what they should be" in verdict.headline
    assert any(said in text for text in audit.warnings)
    return True


def test_predictions_of_models_as_they_are_leave_no_doubts():
    for leak in (0.0, 2.0):
        for audit in audits(*models(leak=leak), leaking=True):
            assert not audit.doubts
            found = audit.report().verdict
            if leak:
                assert found.grade.severity is Severity.GRAVE
            else:  # 400 records would not have shown a moderate leak
                assert found.headline == TOO_FEW


@pytest.mark.slow
def test_few_members_that_stand_out_are_not_explained_by_a_placebo():
    attacks = [LiraOnline()]
    said = Counter()
    for seed in range(20):
        rng = np.random.default_rng(1000 + seed)
        probs, labels, inside = models(9, leak=1.0, seed=seed, n=1200)
        exposed = np.flatnonzero(inside[0])[:60]
        z = np.log(probs[0])
        z[np.arange(1200), labels] += np.where(np.isin(np.arange(1200), exposed), 4.0, 0.0)
        z[np.arange(1200), labels] -= 1.0 * inside[0]
        z += 0.1 * rng.normal(size=z.shape)
        target = {"probs": softmax(z), "labels": labels, "member": inside[0]}
        pool = Pool(probs[1:], False, inside[1:], labels)
        said[pg.audit_pool(target, pool, attacks=attacks, seed=seed).report().verdict.headline] += 1
    assert not [line for line in said if "cannot know the members" in line], said


@pytest.mark.parametrize("leak", [0.0, 2.0])
def test_no_defence_helps_where_columns_are_those_of_other_classes(leak):
    probs, labels, inside = models(2, leak, n=2_000)
    severities = []
    for turned in (0, 1):
        given = [
            {"probs": np.roll(p, turned, axis=1), "labels": labels, "member": own}
            for p, own in zip(probs, inside, strict=True)
        ]
        found = pg.audit_defences(*given, [pg.defences.TopK(1)], attacks=ATTACKS[:1])
        severities.append(found.report().verdict.grade.severity)
        said = any("does not know its classes" in text for text in found.warnings)
        assert said == bool(found.doubts) == bool(turned)
    assert severities == [Severity.GRAVE if leak else Severity.NOTHING, Severity.UNTOLD]


@pytest.mark.parametrize("logits", [False, True])
def test_predictions_of_other_records_are_no_evidence_of_safety(logits):
    probs, labels, inside = models()
    shuffled = np.random.default_rng(1).permutation(N)
    seen = np.log(probs) if logits else probs
    target = {
        "logits" if logits else "probs": seen[0, shuffled], "labels": labels, "member": inside[0]
    }  # fmt: skip
    assert untold(pg.audit_classifier(target, attacks=ATTACKS[:1]), "does not know its classes")


def test_columns_in_another_order_than_the_classes_are_named():
    probs, labels, inside = models()
    for audit in audits(np.roll(probs, 1, axis=2), labels, inside, leaking=True):
        assert any("another order than the classes" in text for text in audit.warnings)


def test_a_model_of_one_class_of_records_is_no_doubt():
    probs, labels, inside = models(leak=0.0)
    one = labels == 0
    target = {"probs": probs[0, one], "labels": labels[one], "member": inside[0, one]}
    assert not pg.audit_classifier(target, attacks=ATTACKS[:1]).doubts


def test_membership_of_another_model_is_no_evidence_of_safety():
    probs, labels, inside = models()
    wrong = np.concatenate([inside[-1:], inside[1:-1]])
    _, *with_shadow = audits(probs[:-1], labels, wrong, leaking=True)
    assert all(untold(audit, "Shadow models give their members away") for audit in with_shadow)


def test_a_target_that_knows_nobody_beside_shadow_models_that_leak_is_no_doubt():
    probs, labels, inside = models(8, n=1_000)
    fresh, own, members = models(1, 0.0, seed=1, n=1_000)
    target = {"probs": fresh[0], "labels": own, "member": members[0]}
    shadow = {"probs": probs[0], "labels": labels, "member": inside[0]}
    rng = np.random.default_rng(2)
    of_pool = rng.random((6, 1_000)) < 0.5
    z = rng.normal(size=(6, 1_000, K))
    z[:, np.arange(1_000), own] += 1.5 + 2.0 * of_pool
    pool = Pool(softmax(z.reshape(-1, K)).reshape(z.shape), False, of_pool, own)
    for audit in (
        pg.audit_classifier(target, shadow, attacks=ATTACKS[:1]),
        pg.audit_pool(target, pool, attacks=ATTACKS),
    ):
        assert audit.report().verdict.grade.severity is Severity.NOTHING
        assert any("cross_val_predict" in text for text in audit.warnings)


def unlike(rng, labels, inside):
    """Return probabilities of a model that is better and surer than others by chance."""
    z = rng.normal(size=(len(labels), K))
    z[np.arange(len(labels)), labels] += rng.normal(1.5, 0.1) + 1.0 * inside
    return softmax(np.exp(rng.normal(0.0, 0.3)) * z)


def beside_an_honest_shadow(known):
    """Count the doubts about targets that know `known` records, with members that are others."""
    said = Counter()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        labels, own = rng.integers(K, size=(2, 1_000))
        bits = rng.random((3, 1_000)) < 0.5
        inside = {"nobody": np.zeros(1_000), "others": bits[2], "all": np.ones(1_000)}[known]
        target = {"probs": unlike(rng, labels, inside), "labels": labels, "member": bits[0]}
        shadow = {"probs": unlike(rng, own, bits[1]), "labels": own, "member": bits[1]}
        doubts = pg.audit_classifier(target, shadow, attacks=ATTACKS[:1]).doubts
        said["refit"] += any("trained on them too" in text for text in doubts)
        said["another"] += any("that of another model" in text for text in doubts)
        said["doubted"] += bool(doubts)
    return said


@pytest.mark.slow
def test_models_that_differ_by_chance_are_no_doubt_where_the_target_knows_nobody():
    assert beside_an_honest_shadow("nobody")["doubted"] <= 2


@pytest.mark.slow
def test_targets_that_know_both_sides_are_doubted_however_sure_they_are():
    assert beside_an_honest_shadow("others")["doubted"] >= 17
    of_all = beside_an_honest_shadow("all")
    assert of_all["another"] >= 18
    assert of_all["refit"] >= 16


@pytest.mark.parametrize("side", ["members", "non-members"])
def test_labels_of_one_side_that_are_of_other_records_are_no_leak(side):
    probs, labels, inside = models(2, 0.0, n=2_000)
    rng = np.random.default_rng(1)
    rows = np.flatnonzero(inside[0] == (side == "members"))
    wrong = labels.copy()
    wrong[rows] = rng.permutation(wrong[rows])
    target = {"probs": probs[0], "labels": wrong, "member": inside[0]}
    shadow = {"probs": probs[1], "labels": labels, "member": inside[1]}
    for audit in (pg.audit_classifier(target), pg.audit_classifier(target, shadow)):
        found = audit.report().verdict
        assert found.grade.severity is Severity.UNTOLD
        if side == "non-members":  # shuffled among the members it looks like a swap
            assert "does not know the classes of the non-members" in found.headline


def learnt(seed, leaf, *, sense):
    """Return records, labels, members, and a tree's answers; labels of `sense` can be learnt."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(K, size=1_000)
    x = rng.normal(size=(1_000, 6)) + 2.0 * sense * rng.normal(size=(K, 6))[labels]
    member = rng.random(1_000) < 0.5
    tree = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=seed)
    return x, labels, member, tree.fit(x[member], labels[member]).predict_proba(x)


@pytest.mark.parametrize("leaf", [1, 5])
def test_labels_without_sense_that_are_known_by_heart_leak(leaf):
    x, labels, member, probs = learnt(1, leaf, sense=0)
    target = {"probs": probs, "labels": labels, "member": member}
    with_features = pg.audit_classifier(target, features=x, attacks=ATTACKS[:1])
    assert with_features.report().verdict.grade.severity is Severity.GRAVE
    alone = pg.audit_classifier(target, attacks=ATTACKS[:1])
    severity = alone.report().verdict.grade.severity
    # A model that errs about some members may as well have been given other people's labels.
    assert severity is (Severity.GRAVE if leaf == 1 else Severity.UNTOLD)
    assert any("or the model knows its members by heart" in text for text in alone.warnings)


@pytest.mark.parametrize("leaf", [1, 5])
def test_labels_of_other_records_are_no_leak_where_members_labels_can_be_learnt(leaf):
    x, labels, member, probs = learnt(1, leaf, sense=1)
    others = np.flatnonzero(~member)
    labels[others] = np.random.default_rng(2).permutation(labels[others])
    target = {"probs": probs, "labels": labels, "member": member}
    audit = pg.audit_classifier(target, features=x, attacks=ATTACKS[:1])
    assert audit.unknown_side is not None
    assert audit.report().verdict.grade.severity is Severity.UNTOLD


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda labels: (labels + 1) % K, "in another order of the classes"),
        (lambda labels: np.roll(labels, 3), "3 rows below the answers"),
        (lambda labels: np.roll(labels, -1), "one row above the answers"),
        (lambda labels: labels[::-1], "in the opposite order of rows"),
    ],
)
def test_the_order_of_labels_that_fits_the_answers_is_named(mistake, said):
    _, labels, member, probs = learnt(1, 1, sense=1)
    others = np.flatnonzero(~member)
    labels[others] = mistake(labels[others])
    target = {"probs": probs, "labels": labels, "member": member}
    found = pg.audit_classifier(target, attacks=ATTACKS[:1]).report().verdict
    assert found.grade.severity is Severity.UNTOLD
    assert said in found.sentences[0]


@pytest.mark.parametrize("wrong", [0.0, 0.3])
def test_other_class_shares_alone_are_no_wrong_labels(wrong):
    """Of one class the model is right about a half, of the other about all."""
    labels = np.repeat([0, 1, 0, 1], [640, 160, 160, 640])
    secret = np.arange(1_600) < 800
    right = (labels == 1) | (np.arange(1_600) % 2 == 0)
    right[secret & (np.arange(1_600) % 100 < 100 * wrong)] = False
    found = _of_wrong_labels(right, secret, np.arange(1_600), labels, 0.95)
    assert (found is None) == (wrong == 0)


@pytest.mark.parametrize("leak", [0.0, 2.0])
def test_labels_that_are_wrong_among_members_alone_are_no_leak(leak):
    """A model that learnt them by heart contradicts none of them: then they still leak."""
    rng = np.random.default_rng(3)
    labels = rng.integers(K, size=3_000)
    member = np.arange(3_000) < 1_500
    noisy = np.where(member & (rng.random(3_000) < 0.15), (labels + 1) % K, labels)
    z = rng.normal(size=(3_000, K))
    z[np.arange(3_000), labels] += 2.5
    z[np.arange(3_000), noisy] += 3 * leak * member
    audit = pg.audit_classifier({"probs": softmax(z), "labels": noisy, "member": member})
    found = audit.report().verdict
    if leak:
        assert found.grade.severity is Severity.GRAVE
    else:
        assert found.headline == "Cannot be told: more labels of the members seem to be wrong"


def test_members_that_are_known_by_heart_with_any_label_still_leak():
    _, labels, inside = models(2, 0.0, n=2_000)
    rng = np.random.default_rng(1)
    z = rng.normal(size=(2, 2_000, K))
    z[:, np.arange(2_000), labels] += 4.0 * inside  # sure of members, clueless of others
    given = [
        {"probs": softmax(one), "labels": labels, "member": own}
        for one, own in zip(z, inside, strict=True)
    ]
    for audit in (pg.audit_classifier(given[0]), pg.audit_classifier(*given)):
        assert audit.report().verdict.grade.severity is Severity.GRAVE


def test_shadow_models_that_all_say_the_same_are_refused():
    probs, labels, inside = models()
    pool = Pool(np.repeat(probs[1:2], 5, axis=0), False, inside[1:], labels)
    target = {"probs": probs[0], "labels": labels, "member": inside[0]}
    with pytest.raises(InputError, match="all 5 shadow models give the same predictions"):
        pg.audit_pool(target, pool, attacks=ATTACKS)
    frozen = FrozenEstimator(DecisionTreeClassifier(random_state=0).fit(probs[0], labels))
    with pytest.raises(InputError, match="all 4 shadow models give the same"):
        pg.audit_model(frozen, probs[0], labels, n_shadows=4, attacks=ATTACKS)


def test_a_model_that_claims_to_know_next_to_nothing_is_no_doubt():
    rng = np.random.default_rng(0)
    _, labels, inside = models()
    probs = softmax(0.01 * rng.normal(size=(N, K)))
    target = {"probs": probs, "labels": labels, "member": inside[0]}
    assert not pg.audit_classifier(target, attacks=ATTACKS[:1]).doubts


def test_a_model_that_was_trained_on_all_records_is_not_said_to_be_safe():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5))
    y = rng.integers(2, size=300)
    x[:, 0] += y
    make = DecisionTreeClassifier(max_depth=6, random_state=0)
    member = rng.random(300) < 0.5
    fitted = Fitted(make.fit(x, y), member)
    audit = pg.audit_model(make, x, y, fitted=fitted, n_shadows=4, attacks=ATTACKS)
    assert untold(audit, "Shadow models give their members away")


@pytest.mark.parametrize("copied", [True, False])
def test_members_among_the_non_members_are_named_although_votes_are_coarse(copied):
    rng = np.random.default_rng(0)
    votes = rng.multinomial(20, np.full(K, 1 / K), N) / 20  # equal by chance, now and then
    labels = votes.argmax(axis=1)
    member = np.arange(N) < N // 2
    if copied:
        votes[~member], labels[~member] = votes[member], labels[member]
    target = {"probs": votes, "labels": labels, "member": member}
    told = pg.audit_classifier(target, attacks=ATTACKS[:1]).warnings
    assert any("equal a non-member in predictions" in text for text in told) is copied
