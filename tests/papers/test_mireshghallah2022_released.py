"""The scores published with the code of Mireshghallah et al. (2022), audited: nothing may move."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

import privacygauge as pg
from privacygauge.report.values import Severity
from tests.cli.test_main import run_inside

FILE = "mireshghallah2022_losses.npz"
AREAS = {"loss": 0.661, "likelihood-ratio": 0.928}
REFERENCE = 0.188
"""AUC of the reference's energy alone, which saw neither side: .812 the other way round."""


@pytest.fixture(scope="module")
def released(data_folder):
    """Return the losses of ClinicalBERT and PubMed-BERT on long notes of MIMIC."""
    if not (data_folder / FILE).is_file():
        pytest.skip(f"the data folder holds no {FILE}: the losses published with the paper's code")
    losses = np.load(data_folder / FILE, allow_pickle=False)
    sides = ("member", "nonmember")
    target, reference = (
        np.concatenate([losses[f"{model}_{side}"] for side in sides])
        for model in ("target", "reference")
    )
    member = np.arange(len(target)) < len(losses["target_member"])
    assert (int(member.sum()), int((~member).sum())) == (13_983, 1_718)
    return pd.DataFrame(
        {
            "sample": np.arange(len(target)),
            "energy_target": target,
            "energy_reference": reference,
            "member": member.astype(int),
        }
    )


@pytest.mark.slow
def test_the_areas_are_those_of_the_released_scores_and_the_shift_is_named(released):
    found = pg.audit_language(released, threshold="oracle", fpr=0.1)
    areas = {x.name: x.auc.value for x in found.evaluations if x.name in AREAS}
    assert areas == pytest.approx(AREAS, abs=5e-4)
    control = found.controls.reference
    assert control.auc.value == pytest.approx(REFERENCE, abs=5e-4)
    assert control.fires
    assert found.report().verdict.grade.severity is Severity.UNTOLD


@pytest.mark.slow
def test_the_command_says_the_same(released, tmp_path, capsys):
    released.to_csv(tmp_path / "scores.csv", index=False)
    asked = ("language", "--scores", tmp_path / "scores.csv", "--threshold", "oracle")
    out = ("--out", tmp_path / "out", "--quiet", "--fail-above", "auc=0.99")
    assert run_inside((*asked, *out), capsys).returncode == 3  # a control fired
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    attacks = {x["name"]: x["auc"]["value"] for x in report["attacks"]}
    assert {name: attacks[name] for name in AREAS} == pytest.approx(AREAS, abs=5e-4)
    assert report["controls"]["reference"]["auc"]["value"] == pytest.approx(REFERENCE, abs=5e-4)
    assert report["headline"]["attack"].startswith("likelihood-ratio")
    assert report["verdict"]["headline"].startswith("The test is not honest")


PRINTED = 0.900
"""AUC of the likelihood ratio in Table 2 of the paper."""


@pytest.mark.slow
def test_the_printed_area_is_that_of_members_with_another_members_reference(released):
    """The authors' code draws target and reference losses of members independently."""
    rng = np.random.default_rng(0)
    member = released["member"].to_numpy() == 1
    target = released["energy_target"].to_numpy()
    reference = released["energy_reference"].to_numpy()
    others = target[~member] - reference[~member]
    n = len(others)
    assert n == 1_718

    def area(ratio):
        ranks = rankdata(np.concatenate([-ratio, -others]))[:n]
        return (ranks.sum() - n * (n + 1) / 2) / n**2

    together = []
    apart = []
    for _ in range(10):
        rows, other_rows = (rng.choice(member.sum(), n, replace=False) for _ in range(2))
        together.append(area(target[member][rows] - reference[member][rows]))
        apart.append(area(target[member][rows] - reference[member][other_rows]))
    assert np.mean(together) == pytest.approx(AREAS["likelihood-ratio"], abs=0.004)
    # A draw varies by .005; ten of them by .0015.
    assert np.mean(apart) == pytest.approx(PRINTED, abs=0.006)
    assert max(apart) < min(together)
