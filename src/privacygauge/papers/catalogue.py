"""All reproductions; a new one is a line of `_MADE`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from privacygauge.errors import InputError
from privacygauge.papers import (
    feldman2019,
    feldman2019_items,
    feldman2019_logits,
    long2017,
    long2017_causes,
    long2017_figures,
    long2017_items,
    meeus2023,
    mireshghallah2022,
    mireshghallah2022_figures,
    mireshghallah2022_items,
    song2021,
    song2021_architectures,
    song2021_calibration,
    song2021_embedding,
    song2021_images,
    song2021_items,
    song2021_risk,
    song2021_tables,
    song2021_thresholds,
    song2021_training,
)
from privacygauge.papers.mireshghallah2022_figures import LINEAR, LOGARITHMIC, roc_figure
from privacygauge.papers.table import Entry, Item, Reproduction, deviations, item_title
from privacygauge.papers.verdict import FULL, QUICK, Judgement

_MADE = {
    "Long et al. (2017)": (
        ("long-table1", "three attacks", long2017.long_table1),
        ("long-table2", "models and data", long2017.long_table2),
        (
            "long-table2-causes",
            "Adult otherwise",
            long2017_causes.long_table2_causes,
        ),
        ("long-table3", "training stability", long2017.long_table3),
        (
            "long-fig1",
            "three attacks, record by record",
            long2017_figures.long_fig1,
            long2017_figures.draw_points,
        ),
        ("long-fig2", "the best of three", long2017.long_fig2),
        ("long-fig3", "averages of PDTP", long2017_figures.long_fig3),
        (
            "long-fig4",
            "purchases, record by record",
            partial(long2017_figures.models_figure, "long-fig4", "Figure 4", "Purchase"),
            long2017_figures.draw_points,
        ),
        (
            "long-fig5",
            "Adult, record by record",
            partial(long2017_figures.models_figure, "long-fig5", "Figure 5", "Adult"),
            long2017_figures.draw_points,
        ),
        ("long-fig6", "removing records", long2017_figures.long_fig6),
        ("long-fig7", "initial weights", long2017_figures.long_fig7),
        ("long-fig8", "the other records", long2017_figures.long_fig8),
    ),
    "Meeus et al. (2023)": (
        ("meeus-table2", "which records", meeus2023.meeus_table2),
        ("meeus-table3", "target attention", meeus2023.meeus_table3),
        ("meeus-fig3a", "neighbours", meeus2023.meeus_fig3a),
        ("meeus-fig3b", "distances", meeus2023.meeus_fig3b),
        ("meeus-fig4", "PrivBayes", meeus2023.meeus_fig4),
    ),
    "Mireshghallah et al. (2022)": (
        ("mireshghallah-table2", "samples and notes", mireshghallah2022.mireshghallah_table2),
        ("mireshghallah-table3", "sample length", mireshghallah2022.mireshghallah_table3),
        ("mireshghallah-table4", "model size", mireshghallah2022.mireshghallah_table4),
        ("mireshghallah-table5", "reference model", mireshghallah2022.mireshghallah_table5),
        ("mireshghallah-table6", "names inserted", mireshghallah2022.mireshghallah_table6),
        ("mireshghallah-table7", "who is found", mireshghallah2022_figures.mireshghallah_table7),
        ("mireshghallah-table9", "size and length", mireshghallah2022.mireshghallah_table9),
        ("mireshghallah-table10", "FPR 1%", mireshghallah2022.mireshghallah_table10),
        ("mireshghallah-table11", "normalised energy", mireshghallah2022.mireshghallah_table11),
        ("mireshghallah-fig3", "distributions", mireshghallah2022_figures.mireshghallah_fig3),
        (
            "mireshghallah-fig4",
            "ROC curve",
            partial(roc_figure, "mireshghallah-fig4", "Figure 4", LINEAR),
        ),
        (
            "mireshghallah-fig5",
            "log axis",
            partial(roc_figure, "mireshghallah-fig5", "Figure 5", LOGARITHMIC),
        ),
        (
            "mireshghallah-claims",
            "all of its claims",
            mireshghallah2022_figures.mireshghallah_claims,
        ),
    ),
    "Song & Mittal (2021)": (
        ("song-table2", "early stopping", song2021_training.song_table2),
        ("song-table3", "thresholds", song2021_thresholds.song_table3),
        ("song-table4", "Location30", song2021.song_table4),
        ("song-table4-defences", "Location30 defended", song2021_tables.song_table4_defences),
        ("song-table5", "white box", song2021_tables.song_table5),
        ("song-table6", "risk thresholds", song2021_risk.song_table6),
        ("song-table7", "image data", song2021_images.song_table7),
        ("song-fig2", "accuracy by epoch", song2021_training.song_fig2),
        (
            "song-fig3",
            "calibration by defence",
            song2021_calibration.song_fig3,
            song2021_calibration.draw_fig3,
        ),
        (
            "song-fig4",
            "by architecture",
            song2021_architectures.song_fig4,
            song2021_architectures.draw_fig4,
        ),
        (
            "song-fig5",
            "risk by defence",
            song2021_calibration.song_fig5,
            song2021_calibration.draw_fig5,
        ),
        ("song-fig6", "risk scores", song2021_risk.song_fig6),
        ("song-fig7", "influence", song2021_risk.song_fig7),
        ("song-fig8", "by class", song2021_risk.song_fig8),
        ("song-fig9", "features", song2021_embedding.song_fig9, song2021_embedding.draw_fig9),
        ("song-fig10", "priors", song2021_risk.song_fig10),
        ("song-fig11", "calibration", song2021_risk.song_fig11),
        (
            "song-fig12",
            "by architecture, defended",
            song2021_architectures.song_fig12,
            song2021_architectures.draw_fig4,
        ),
    ),
    "Feldman et al. (2019)": (
        ("feldman-fig1", "attackers with a model", feldman2019_logits.feldman_fig1),
        ("feldman-fig2", "beside a linear scan", feldman2019_logits.feldman_fig2),
        ("feldman-fig3", "bias by queries", feldman2019.feldman_fig3),
        ("feldman-fig4", "queries for a bias", feldman2019.feldman_fig4),
        ("feldman-fig5", "beside the majority", feldman2019.feldman_fig5),
    ),
}
"""Paper to its reproductions: name, content in a few words, maker and, optionally, drawing."""


REPRODUCTIONS: tuple[Reproduction, ...] = tuple(
    Reproduction(
        name,
        f"{paper}, {what}" if number == "in its text" else f"{paper}, {number}: {what}",
        *how,
    )
    for paper, rows in _MADE.items()
    for name, what, *how in rows
    # The name without the paper, such as `table4` of `song-table4`, gives the number.
    for number in (item_title(name.partition("-")[2]),)
)

_PAPERS = (
    long2017_items,
    meeus2023,
    mireshghallah2022_items,
    song2021_items,
    feldman2019_items,
)

ITEMS: tuple[Item, ...] = tuple(item for paper in _PAPERS for item in paper.ITEMS)
"""Every table and figure of the five papers, in the papers' order."""

JUDGEMENTS: Mapping[str, Judgement] = {
    name: judgement for paper in _PAPERS for name, judgement in paper.JUDGEMENTS.items()
}
"""Name of a reproduction to its judgement."""


PROTOCOLS: Mapping[str, tuple[Entry, ...]] = {
    long2017_items.PAPER: long2017_items.ENTRIES,
    meeus2023.PAPER: meeus2023.ENTRIES,
    mireshghallah2022_items.PAPER: mireshghallah2022_items.ENTRIES,
    song2021_items.PAPER: song2021_items.ENTRIES,
    feldman2019.PAPER: feldman2019_items.ENTRIES,
}
"""Paper to its stated settings, each with ours."""


def deviations_of(name: str) -> tuple[str, ...]:
    """Return one sentence for each stated setting in which a reproduction differs."""
    return tuple(text for one in PROTOCOLS.values() for text in deviations(one, name))


def judgement(name: str, form: str = FULL, data: Collection[str] = ()) -> Judgement:
    """Return the judgement of a reproduction in one form; an empty one for an unknown name.

    A quick form that is a different experiment from the full one decides nothing.

    Parameters
    ----------
    name : str
        Name of the reproduction.
    form : str
        `full`, `quick`, or the part of the full form.
    data : collection of str
        Names of the paper's own data that a reader supplied; their rows are then compared too.
    """
    # The default makes no claims and compares no rows.
    found = JUDGEMENTS.get(name, Judgement())
    for given in data:
        if given in found.on:
            found = found.on[given](found)
    return replace(found, decides=False) if form == QUICK and not found.quick else found


def reproduction(name: str) -> Reproduction:
    """Return the reproduction with this name; an unknown name raises `InputError`."""
    for known in REPRODUCTIONS:
        if known.name == name:
            return known
    names = ", ".join(known.name for known in REPRODUCTIONS)
    raise InputError(f"there is no reproduction {name!r}; there are {names}")
