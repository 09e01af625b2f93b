"""Entry point of `python -m spacelang`."""

from spacelang.cli import main

main()
