"""Arrays made, reshaped, joined and split."""
