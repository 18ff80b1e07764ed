"""`python -m mewcode_nb` is the `mewcode-nb` command."""

from mewcode_nb.cli import main

main()
