"""Searches for defects that no table of tests covers."""
