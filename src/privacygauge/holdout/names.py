"""Names of guards as users write them; imports nothing, so that a shell offers them at once."""

GUARDS = (
    "exact",
    "round:2",
    "calibrated",
    "noise:0.005",
    "laplace:0.005",
    "ladder",
    "ladder:0.01",
    "thresholdout:0.04",
)
"""Every kind of guard, with a usual value of its parameter."""
