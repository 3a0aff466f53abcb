"""Numbers in the remarks on results are those of the kept results."""

from functools import cache

import pytest

from privacygauge.papers.page import results_in
from tests.test_docs import ROOT

PAGES = ROOT / "docs" / "reproduction"
FIG_1 = "CIFAR-100, 2,000 least confident, R = 2"
FEW = "2,000 least confident, all labels"
WEIGHT = "adversarial regularisation, weight"

# Page, remark with gaps, decimals, factor, and what fills the gaps: result, row, column, and which
# number of the cell.
REMARKS = (
    (
        "feldman2019.md",
        "{}, {} and {} points beside 0.42, 1.44 and 3.0",
        2,
        100,
        [
            ("feldman-fig1", f"CIFAR-100, {where}", "k 1,040", "value")
            for where in ("all points, all labels", FEW, "2,000 least confident, R = 2")
        ],
    ),
    (
        "feldman2019.md",
        "the least confident points {} ({} to {}) and R = 2 another {} ({} to {}) on CIFAR-100, {} "
        "({} to {}) and {} ({} to {}) on CIFAR-10",
        2,
        100,
        [
            ("feldman-fig1", f"{data}, {where}: more than without it", "k 1,040", end)
            for data in ("CIFAR-100", "CIFAR-10")
            for where in (FEW, "2,000 least confident, R = 2")
            for end in ("value", "low", "high")
        ],
    ),
    (
        "feldman2019.md",
        "it gains {} ({} to {}) points on CIFAR-100 and {} ({} to {}) on CIFAR-10",
        2,
        100,
        [
            ("feldman-fig1", f"{data}, without a prior", "k 1,040", end)
            for data in ("CIFAR-100", "CIFAR-10")
            for end in ("value", "low", "high")
        ],
    ),
    (
        "song2021.md",
        "alike {} ({} to {}) beside {},",
        3,
        1,
        [
            *(
                ("song-fig11", "output of a network taught on the target", "alike", end)
                for end in ("value", "low", "high")
            ),
            ("song-fig11", "risk score, histogram", "alike", "value"),
        ],
    ),
    (
        "feldman2019.md",
        "{} points in place of {}, and {} in place of {} on CIFAR-10",
        2,
        100,
        [
            ("feldman-fig1", f"{data}, 2,000 least confident, R = 2{attack}", "k 1,040", "value")
            for data in ("CIFAR-100", "CIFAR-10")
            for attack in (", message-passing", "")
        ],
    ),
    (
        "feldman2019.md",
        "by {} points on CIFAR-100 and by {} on CIFAR-10",
        2,
        100,
        [
            (
                "feldman-fig2",
                f"{data}, 2,000 least confident, R = 2, k 1,040",
                "NB less the scan from a random query",
                "value",
            )
            for data in ("CIFAR-100", "CIFAR-10")
        ],
    ),
    (
        "long2017.md",
        "closer here in all three: {} to {}",
        2,
        1,
        [("long-table2", f"{model}-Adult", "correlation", "value") for model in ("NN", "LR")],
    ),
    (
        "song2021.md",
        "attacked more, by {} ({} to {}), {} ({} to {}) and {} ({} to {})",
        3,
        1,
        [
            ("song-table2", f"{WEIGHT} {weight} less first", "highest", end)
            for weight in ("0.1", "0.3", "1")
            for end in ("value", "low", "high")
        ],
    ),
    (
        "song2021.md",
        "attacked *less*, by {} ({} to {}) and {} ({} to {})",
        3,
        -1,
        [
            ("song-table2", f"{WEIGHT} {weight} less nearest", "highest", end)
            for weight in ("0.1", "0.3")
            for end in ("value", "high", "low")
        ],
    ),
    (
        "song2021.md",
        "ahead by {} ({} to {}) and {} ({} to {})",
        3,
        1,
        [
            ("song-table7", data, "modified-entropy less neural-nasr", end)
            for data in ("digits", "noisy digits")
            for end in ("value", "low", "high")
        ],
    ),
    (
        "song2021.md",
        "their largest distance is {} ({} to {})",
        3,
        1,
        [
            ("song-fig5", "early stopping less adversarial regularisation", "largest distance", end)
            for end in ("value", "low", "high")
        ],
    ),
    (
        "song2021.md",
        "{} and {} at .9, {} and {} at .8, {} and {} at .7, {} and {} at .6",
        3,
        1,
        [
            ("song-table6", f"{view}: score of at least {cut}", "histogram: precision", "value")
            for cut in (0.9, 0.8, 0.7, 0.6)
            for view in ("authors", "MemGuard")
        ],
    ),
    (
        "long2017.md",
        "NB and LR, {} ({} to {}) and {} ({} to {}), are",
        3,
        1,
        [
            ("long-table2", f"{model}-Adult", "mean PDTP", end)
            for model in ("NB", "LR")
            for end in ("value", "low", "high")
        ],
    ),
    (
        "mireshghallah2022.md",
        "falls from {} to {}, as it falls in the paper's own tables",
        3,
        1,
        [
            ("mireshghallah-claims", f"LR beats the loss, recall at {rate}%", "effect", "value")
            for rate in (10, 1)
        ],
    ),
    (
        "meeus2023.md",
        "on Adult ({}, {} to {}), which counts as holding, and open on the census ({}, {} to {})",
        3,
        1,
        [
            ("meeus-fig4", f"{data}, epsilon 10: distance", "mean AUC", end)
            for data in ("Adult", "UK census")
            for end in ("value", "low", "high")
        ],
    ),
)
CHANCE = {"meeus2023.md": 0.5}
"""Page to the number that its remark is less by."""


@cache
def kept():
    return results_in(ROOT / "docs" / "results")


def number(result, row, column, which):
    return getattr(kept()[result].table.cell(row, column).ours, which)


@pytest.mark.parametrize(("name", "remark", "decimals", "factor", "gaps"), REMARKS)
def test_a_remark_has_the_numbers_of_the_result(name, remark, decimals, factor, gaps):
    less = CHANCE.get(name, 0.0)
    values = [f"{factor * (number(*gap) - less):.{decimals}f}" for gap in gaps]
    # A remark on shares may leave the zero out.
    told = remark.format(*values)
    text = " ".join((PAGES / name).read_text(encoding="utf-8").split())
    assert told in text or told.replace("0.", ".") in text, told
