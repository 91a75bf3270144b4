"""Settings: `config`, the debugging switches, the types of numbers and how they meet."""
