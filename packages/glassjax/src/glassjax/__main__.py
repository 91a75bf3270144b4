"""The command line of glassjax: `python -m glassjax explain FILE:FUNCTION ARGUMENT...`."""

from glassjax.explaining.command_line import main

if __name__ == "__main__":
    main()
