"""Language models: the likelihood of texts under a model, and membership inference from it."""
