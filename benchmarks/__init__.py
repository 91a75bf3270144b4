"""Measurements, run by `./noxw -s bench`. A figure is a median, and says what it is relative to."""
