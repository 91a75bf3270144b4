"""Parts of minijax that are compiled, where this package is installed. Users import none of it."""
