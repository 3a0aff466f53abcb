"""Every reproduction. A further one: one line here."""

from __future__ import annotations

from collections.abc import Mapping

from privacygauge.errors import InputError
from privacygauge.reproduce import (
    feldman2019_items,
    long2017_items,
    meeus2023_items,
    mireshghallah2022_items,
    song2021_items,
)
from privacygauge.reproduce.feldman2019 import feldman_fig3, feldman_fig5
from privacygauge.reproduce.feldman2019_logits import feldman_fig1, feldman_fig2
from privacygauge.reproduce.feldman2019_queries import feldman_fig4
from privacygauge.reproduce.item import Item
from privacygauge.reproduce.long2017 import long_fig2, long_table1, long_table2
from privacygauge.reproduce.long2017_dtp import long_fig3, long_fig7, long_fig8
from privacygauge.reproduce.long2017_removal import long_fig6
from privacygauge.reproduce.long2017_stability import long_table3
from privacygauge.reproduce.meeus2023 import (
    meeus_fig3a,
    meeus_fig3b,
    meeus_fig4,
    meeus_table2,
    meeus_table3,
)
from privacygauge.reproduce.mireshghallah2022 import (
    mireshghallah_table2,
    mireshghallah_table3,
    mireshghallah_table4,
    mireshghallah_table5,
    mireshghallah_table6,
    mireshghallah_table9,
    mireshghallah_table10,
    mireshghallah_table11,
)
from privacygauge.reproduce.mireshghallah2022_claims import mireshghallah_claims
from privacygauge.reproduce.mireshghallah2022_figures import (
    mireshghallah_fig3,
    mireshghallah_fig4,
    mireshghallah_fig5,
    mireshghallah_table7,
)
from privacygauge.reproduce.song2021 import song_table4
from privacygauge.reproduce.song2021_architectures import draw_fig4, song_fig4
from privacygauge.reproduce.song2021_calibration import draw_fig3, song_fig3
from privacygauge.reproduce.song2021_defences import song_table4_defences
from privacygauge.reproduce.song2021_distribution import draw_fig5, song_fig5
from privacygauge.reproduce.song2021_embedding import draw_fig9, song_fig9
from privacygauge.reproduce.song2021_risk import (
    song_fig6,
    song_fig8,
    song_fig10,
    song_fig11,
    song_table6,
)
from privacygauge.reproduce.song2021_sensitivity import song_fig7
from privacygauge.reproduce.song2021_thresholds import song_table3
from privacygauge.reproduce.song2021_training import song_fig2, song_table2
from privacygauge.reproduce.song2021_white_box import song_table5
from privacygauge.reproduce.table import Reproduction
from privacygauge.reproduce.verdict import Judgement

REPRODUCTIONS: tuple[Reproduction, ...] = (
    Reproduction("long-table1", "Long et al. (2017), Table 1: three attacks", long_table1),
    Reproduction("long-table2", "Long et al. (2017), Table 2: models and data", long_table2),
    Reproduction("long-table3", "Long et al. (2017), Table 3: training stability", long_table3),
    Reproduction("long-fig2", "Long et al. (2017), Figure 2: the best of three", long_fig2),
    Reproduction("long-fig3", "Long et al. (2017), Figure 3: averages of PDTP", long_fig3),
    Reproduction("long-fig6", "Long et al. (2017), Figure 6: removing records", long_fig6),
    Reproduction("long-fig7", "Long et al. (2017), Figure 7: initial weights", long_fig7),
    Reproduction("long-fig8", "Long et al. (2017), Figure 8: the other records", long_fig8),
    Reproduction("meeus-table2", "Meeus et al. (2023), Table 2: which records", meeus_table2),
    Reproduction("meeus-table3", "Meeus et al. (2023), Table 3: target attention", meeus_table3),
    Reproduction("meeus-fig3a", "Meeus et al. (2023), Figure 3(a): neighbours", meeus_fig3a),
    Reproduction("meeus-fig3b", "Meeus et al. (2023), Figure 3(b): distances", meeus_fig3b),
    Reproduction("meeus-fig4", "Meeus et al. (2023), Figure 4: PrivBayes", meeus_fig4),
    Reproduction(
        "mireshghallah-table2",
        "Mireshghallah et al. (2022), Table 2: samples and notes",
        mireshghallah_table2,
    ),
    Reproduction(
        "mireshghallah-table3",
        "Mireshghallah et al. (2022), Table 3: sample length",
        mireshghallah_table3,
    ),
    Reproduction(
        "mireshghallah-table4",
        "Mireshghallah et al. (2022), Table 4: model size",
        mireshghallah_table4,
    ),
    Reproduction(
        "mireshghallah-table5",
        "Mireshghallah et al. (2022), Table 5: reference model",
        mireshghallah_table5,
    ),
    Reproduction(
        "mireshghallah-table6",
        "Mireshghallah et al. (2022), Table 6: names inserted",
        mireshghallah_table6,
    ),
    Reproduction(
        "mireshghallah-table7",
        "Mireshghallah et al. (2022), Table 7: who is found",
        mireshghallah_table7,
    ),
    Reproduction(
        "mireshghallah-table9",
        "Mireshghallah et al. (2022), Table 9: size and length",
        mireshghallah_table9,
    ),
    Reproduction(
        "mireshghallah-table10",
        "Mireshghallah et al. (2022), Table 10: FPR 1%",
        mireshghallah_table10,
    ),
    Reproduction(
        "mireshghallah-table11",
        "Mireshghallah et al. (2022), Table 11: normalised energy",
        mireshghallah_table11,
    ),
    Reproduction(
        "mireshghallah-fig3",
        "Mireshghallah et al. (2022), Figure 3: distributions",
        mireshghallah_fig3,
    ),
    Reproduction(
        "mireshghallah-fig4", "Mireshghallah et al. (2022), Figure 4: ROC curve", mireshghallah_fig4
    ),
    Reproduction(
        "mireshghallah-fig5", "Mireshghallah et al. (2022), Figure 5: log axis", mireshghallah_fig5
    ),
    Reproduction(
        "mireshghallah-claims",
        "Mireshghallah et al. (2022), all of its claims",
        mireshghallah_claims,
    ),
    Reproduction("song-table2", "Song & Mittal (2021), Table 2: early stopping", song_table2),
    Reproduction("song-table3", "Song & Mittal (2021), Table 3: thresholds", song_table3),
    Reproduction("song-table4", "Song & Mittal (2021), Table 4: Location30", song_table4),
    Reproduction(
        "song-table4-defences",
        "Song & Mittal (2021), Table 4: Location30 defended",
        song_table4_defences,
    ),
    Reproduction("song-table5", "Song & Mittal (2021), Table 5: white box", song_table5),
    Reproduction("song-table6", "Song & Mittal (2021), Table 6: risk thresholds", song_table6),
    Reproduction("song-fig2", "Song & Mittal (2021), Figure 2: accuracy by epoch", song_fig2),
    Reproduction(
        "song-fig3", "Song & Mittal (2021), Figure 3: calibration by defence", song_fig3, draw_fig3
    ),
    Reproduction(
        "song-fig4", "Song & Mittal (2021), Figure 4: by architecture", song_fig4, draw_fig4
    ),
    Reproduction(
        "song-fig5", "Song & Mittal (2021), Figure 5: risk by defence", song_fig5, draw_fig5
    ),
    Reproduction("song-fig6", "Song & Mittal (2021), Figure 6: risk scores", song_fig6),
    Reproduction("song-fig7", "Song & Mittal (2021), Figure 7: influence", song_fig7),
    Reproduction("song-fig8", "Song & Mittal (2021), Figure 8: by class", song_fig8),
    Reproduction("song-fig9", "Song & Mittal (2021), Figure 9: features", song_fig9, draw_fig9),
    Reproduction("song-fig10", "Song & Mittal (2021), Figure 10: priors", song_fig10),
    Reproduction("song-fig11", "Song & Mittal (2021), Figure 11: calibration", song_fig11),
    Reproduction(
        "feldman-fig1", "Feldman et al. (2019), Figure 1: attackers with a model", feldman_fig1
    ),
    Reproduction(
        "feldman-fig2", "Feldman et al. (2019), Figure 2: beside a linear scan", feldman_fig2
    ),
    Reproduction("feldman-fig3", "Feldman et al. (2019), Figure 3: bias by queries", feldman_fig3),
    Reproduction(
        "feldman-fig4", "Feldman et al. (2019), Figure 4: queries for a bias", feldman_fig4
    ),
    Reproduction(
        "feldman-fig5", "Feldman et al. (2019), Figure 5: beside the majority", feldman_fig5
    ),
)

_PAPERS = (
    long2017_items,
    meeus2023_items,
    mireshghallah2022_items,
    song2021_items,
    feldman2019_items,
)

ITEMS: tuple[Item, ...] = tuple(item for paper in _PAPERS for item in paper.ITEMS)
"""Every table and figure that the five papers print."""

JUDGEMENTS: Mapping[str, Judgement] = {
    name: judgement for paper in _PAPERS for name, judgement in paper.JUDGEMENTS.items()
}
"""Reproduction to how it is judged."""


def judgement(name: str) -> Judgement:
    """Return how a reproduction is judged; where nothing is said of it, by nothing."""
    return JUDGEMENTS.get(name, Judgement())


def reproduction(name: str) -> Reproduction:
    """Return the reproduction of that name."""
    for known in REPRODUCTIONS:
        if known.name == name:
            return known
    names = ", ".join(known.name for known in REPRODUCTIONS)
    raise InputError(f"there is no reproduction {name!r}; there are {names}")
