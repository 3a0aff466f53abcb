from .audited import Audited as Audited
from .audited import leak_scorer as leak_scorer
from .canaries import Canaries as Canaries
from .huggingface import audit_trainer as audit_trainer
from .mlflow import log_to_mlflow as log_to_mlflow
from .wandb import log_to_wandb as log_to_wandb

__all__ = ["Audited", "Canaries", "audit_trainer", "leak_scorer", "log_to_mlflow", "log_to_wandb"]
