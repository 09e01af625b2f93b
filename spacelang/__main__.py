"""`python -m spacelang`."""

from spacelang.cli import main

main()
