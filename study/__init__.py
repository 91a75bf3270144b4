"""The study: a stage of minijax whose most instructive functions are left for you to write."""
