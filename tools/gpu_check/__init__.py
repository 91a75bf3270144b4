"""What a GPU has to show before a release: `python -m tools.gpu_check`."""
