"""Training of many torch networks at once: thousands of shadow models instead of a few."""

from privacygauge.classifier.networks.augment import ImageAugment, views
from privacygauge.classifier.networks.engines import Choice
from privacygauge.classifier.networks.layers import (
    ATTACK_RELU_32,
    LONG_2017,
    MLP,
    SONG_MITTAL_2021,
    SONG_MITTAL_2021_RELU,
)
from privacygauge.classifier.networks.stacks import StackSize, TrainedModels
from privacygauge.classifier.networks.trainer import Networks

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
