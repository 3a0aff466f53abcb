from .audited import Audited as Audited
from .audited import leak_scorer as leak_scorer
from .mlflow import log_to_mlflow as log_to_mlflow

__all__ = ["Audited", "leak_scorer", "log_to_mlflow"]
