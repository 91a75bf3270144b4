"""Exit codes by which processes tell their launcher why they ended."""

# The process ended because another failed: EX_TEMPFAIL of sysexits.h.
ENDED_BY_ANOTHER = 75
