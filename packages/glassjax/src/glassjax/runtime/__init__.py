"""Arrays, devices, evaluation and compiled functions."""
