"""Calls in one line take their keywords, and what they say of them, from a class of options."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

import privacygauge as pg

CALLS = {
    "AttributeOptions": pg.audit_attribute,
    "CandidateOptions": pg.audit_candidates,
    "ClaimOptions": pg.audit_privacy_claim,
    "DefenceOptions": pg.audit_defences,
    "ExtractionOptions": pg.audit_extraction,
    "TrainingClaimOptions": pg.audit_dp_sgd,
    "TrainingDefenceOptions": pg.audit_training_defences,
    "SyntheticOptions": pg.audit_synthetic,
    "FewFitsOptions": pg.audit_few_fits,
    "ReleasedOptions": pg.audit_released,
    "CausalOptions": pg.audit_causal,
    "ClassifierOptions": pg.audit_classifier,
    "DtpOptions": pg.audit_dtp,
    "HoldoutAttackOptions": pg.attack_holdout,
    "HoldoutBoundOptions": pg.holdout_bounds,
    "ComparisonOptions": pg.compare_reports,
    "InspectOptions": pg.inspect_model,
    "LabelOptions": pg.audit_labels,
    "LanguageOptions": pg.audit_language,
    "MaskedOptions": pg.audit_masked,
    "ModelOptions": pg.audit_model,
    "PoolOptions": pg.audit_pool,
    "RegressorOptions": pg.audit_regressor,
    "ScoreOptions": pg.audit_scores,
    "TrainingOptions": pg.audit_training,
    "VulnerableOptions": pg.vulnerable_records,
    "WhiteBoxOptions": pg.audit_white_box,
    "WorstCaseOptions": pg.audit_worst_case,
}


KEEPING = ("run", "n_jobs", "progress", "invocation")
UNUSED = {
    "AttributeOptions": KEEPING,
    "CandidateOptions": ("invocation",),
    "ClaimOptions": KEEPING,
    "ClassifierOptions": KEEPING,
    "ComparisonOptions": KEEPING,
    "DefenceOptions": ("run", "n_jobs", "invocation"),
    "ExtractionOptions": ("n_jobs", "invocation"),
    "TrainingClaimOptions": KEEPING,
    "HoldoutBoundOptions": ("level", *KEEPING),
    "InspectOptions": KEEPING,
    "LanguageOptions": KEEPING,
    "PoolOptions": KEEPING,
    "ReleasedOptions": ("run", "n_jobs", "invocation"),
    "ScoreOptions": KEEPING,
    "VulnerableOptions": ("level", *KEEPING),
    "WhiteBoxOptions": KEEPING,
}


@pytest.mark.parametrize("name", UNUSED)
def test_a_call_refuses_settings_that_it_has_no_use_for(name):
    for setting in UNUSED[name]:
        assert setting not in inspect.signature(CALLS[name]).parameters
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{setting}'"):
            CALLS[name](None, **{setting: None})


def test_every_class_of_options_has_its_call():
    assert {*CALLS, "Session"} == set(pg.options.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_has_and_describes_every_field(name):
    options = getattr(pg.options, name)
    signature = inspect.signature(CALLS[name]).parameters
    described = inspect.getdoc(CALLS[name])
    for field, text in options.described():
        assert signature[field.name].default == field.default
        assert f"\n{field.name} : " in described
        assert " ".join(text.split()[:4]) in " ".join(described.split())
    for field in fields(pg.options.Session):
        if field.name not in UNUSED.get(name, ()):
            # The report says the name of the call, or of its command.
            own = field.name == "command"
            assert own or signature[field.name].default == field.default
            assert f"\n{field.name} : " in described
    run = inspect.signature(options.run).parameters
    assert set(signature) - {f.name for f in fields(options)} >= set(run) - {"self", "session"}


def test_one_line_and_options_give_the_same_report():
    labels = np.random.default_rng(0).integers(0, 2, 200)
    asked = pg.options.HoldoutAttackOptions(attacks=("majority",), trials=2)
    found = asked.run(labels, 30, session=pg.options.Session("attack_holdout", seed=4))
    again = pg.attack_holdout(labels, 30, attacks=("majority",), trials=2, seed=4)
    assert found.to_json() == again.to_json()


def test_a_wrong_keyword_is_named_with_the_nearest():
    with pytest.raises(
        TypeError, match=r"audit_model\(\) got .* 'n_shadow'; did you mean 'n_shadows'"
    ):
        pg.audit_model(None, n_shadow=3)
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'zzz'$"):
        pg.audit_model(None, zzz=3)


@pytest.mark.parametrize(
    ("call", "wrong", "meant"),
    [
        (pg.predictions, "lables", "labels"),
        (pg.audit_leaderboard, "sead", "seed"),
        (pg.audit_mechanism, "epsilom", "epsilon"),
        (pg.audit_answers, "levle", "level"),
        (pg.audit_unlearning, "levle", "level"),
    ],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_calls_that_are_written_by_hand_name_the_nearest_keyword_too(call, wrong, meant):
    message = f"{call.__name__}() got an unexpected keyword argument '{wrong}'"
    with pytest.raises(TypeError, match=re.escape(f"{message}; did you mean '{meant}'?")):
        call(**{wrong: 1})


def test_calls_work_where_python_drops_what_is_said_of_them():
    code = "import privacygauge as pg; print(pg.audit_model.__name__, pg.audit_model.__doc__)"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["audit_model", "None"]
