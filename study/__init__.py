"""The study: a stage of glassjax whose most instructive functions are left for you to write."""
