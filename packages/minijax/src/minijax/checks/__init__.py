"""Debugging checks: NaN, reused keys, leaked tracers; numerical derivatives; clearing caches."""
