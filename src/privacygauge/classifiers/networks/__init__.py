"""Training of many torch networks at once: thousands of shadow models instead of a few."""

from privacygauge.classifiers.networks.engines import (
    ATTACK_RELU_32,
    LONG_2017,
    MLP,
    SONG_MITTAL_2021,
    SONG_MITTAL_2021_RELU,
    Choice,
)
from privacygauge.classifiers.networks.task import ImageAugment, views
from privacygauge.classifiers.networks.trainer import Networks, StackSize, TrainedModels

__all__ = [
    "ATTACK_RELU_32",
    "LONG_2017",
    "MLP",
    "SONG_MITTAL_2021",
    "SONG_MITTAL_2021_RELU",
    "Choice",
    "ImageAugment",
    "Networks",
    "StackSize",
    "TrainedModels",
    "views",
]
