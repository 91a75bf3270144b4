"""Settings: `config`, the debugging switches, number types and promotion."""
