"""Looking into programs: what is run as Python, logged, searched for NaN and leaks, forgotten."""
