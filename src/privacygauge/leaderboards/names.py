"""Names of guards, metrics and attacks as users write them; imports nothing, for the shell."""

GUARDS = (
    "exact",
    "round:2",
    "calibrated",
    "noise:0.005",
    "laplace:0.005",
    "ladder",
    "ladder:0.01",
    "ladder:5%",
    "ladder:1.3se",
    "thresholdout:0.04",
)
"""Every kind of guard, with a typical value of its parameter."""

METRICS = (
    "accuracy",
    "balanced-accuracy",
    "top:5",
    "brier",
    "logloss:15",
    "f1",
    "macro-f1",
    "qwk",
    "map@5",
    "ndcg@5",
    "auc",
    "r2",
    "mae:0:1",
    "mse:0:1",
    "rmse:0:1",
    "crps:0:1",
)
"""Every kind of metric, with typical values of its numbers."""

ID_COLUMNS = ("id", "ID", "Id")
"""Names of a column that names the points of a test set."""

ATTACKS = (
    "nb",
    "majority",
    "majority-blum-hardt",
    "scan",
    "hill-climbing",
    "message-passing",
    "linear-programming",
    "designed",
    "reconstruction",
)
"""Every attack on a test set."""
