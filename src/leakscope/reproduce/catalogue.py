"""Every reproduction. A further one: one line here."""

from __future__ import annotations

from leakscope.errors import InputError
from leakscope.reproduce.long2017 import long_table1, long_table2
from leakscope.reproduce.long2017_dtp import long_fig3, long_fig7, long_fig8
from leakscope.reproduce.long2017_removal import long_fig6
from leakscope.reproduce.long2017_stability import long_table3
from leakscope.reproduce.meeus2023 import (
    meeus_fig3a,
    meeus_fig3b,
    meeus_fig4,
    meeus_table2,
    meeus_table3,
)
from leakscope.reproduce.song2021 import song_table4
from leakscope.reproduce.table import Reproduction

REPRODUCTIONS: tuple[Reproduction, ...] = (
    Reproduction("long-table1", "Long et al. (2017), Table 1: three attacks", long_table1),
    Reproduction("long-table2", "Long et al. (2017), Table 2: models and data", long_table2),
    Reproduction("long-table3", "Long et al. (2017), Table 3: training stability", long_table3),
    Reproduction("long-fig3", "Long et al. (2017), Figure 3: averages of PDTP", long_fig3),
    Reproduction("long-fig6", "Long et al. (2017), Figure 6: removing records", long_fig6),
    Reproduction("long-fig7", "Long et al. (2017), Figure 7: initial weights", long_fig7),
    Reproduction("long-fig8", "Long et al. (2017), Figure 8: the other records", long_fig8),
    Reproduction("meeus-table2", "Meeus et al. (2023), Table 2: which records", meeus_table2),
    Reproduction("meeus-table3", "Meeus et al. (2023), Table 3: target attention", meeus_table3),
    Reproduction("meeus-fig3a", "Meeus et al. (2023), Figure 3(a): neighbours", meeus_fig3a),
    Reproduction("meeus-fig3b", "Meeus et al. (2023), Figure 3(b): distances", meeus_fig3b),
    Reproduction("meeus-fig4", "Meeus et al. (2023), Figure 4: PrivBayes", meeus_fig4),
    Reproduction("song-table4", "Song & Mittal (2021), Table 4: Location30", song_table4),
)


def reproduction(name: str) -> Reproduction:
    """Return the reproduction of that name."""
    for known in REPRODUCTIONS:
        if known.name == name:
            return known
    names = ", ".join(known.name for known in REPRODUCTIONS)
    raise InputError(f"there is no reproduction {name!r}; there are {names}")
