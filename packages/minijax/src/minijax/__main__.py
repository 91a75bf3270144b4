"""The command line of minijax: `python -m minijax explain FILE:FUNCTION ARGUMENT...`."""

from minijax.explaining.command_line import main

if __name__ == "__main__":
    main()
