"""Ways to watch programs: recordings, explanations, and execution step by step."""
