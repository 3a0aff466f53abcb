"""Language models: how likely texts are under a model, and what that tells about training."""
