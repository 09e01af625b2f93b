"""Torture spacelang and its peers: kill processes, fill disks, let clocks jump, and count what each has lost.

    python tests/torture/torture.py [--kills 1000] [--peer-kills 20] [--tools NAME ...] [--faults NAME ...]
    python tests/torture/torture.py --table

Each tool searches the same objective with random search and two workers, and is started again with the same arguments
until its run is complete. The rows are added to `results.csv` (`--output`) as they come. What is in the file is not
repeated: interrupt the script at will, and start it again. A peer is tortured if FOLDER/NAME (`--peers FOLDER`) is an
environment in which `pip install -r tests/torture/peers/NAME.txt` was run. A full disk needs the right to mount one,
clock jumps need a C compiler (`clock.c`).
"""

import argparse
import csv
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent))

from faults import CLUSTER_FAULTS, FAULTS, REPEATED
from searches import Losses, Run, Tool, tools

RESULTS: Final = Path(__file__).with_name("results.csv")
COLUMNS: Final = ("tool", "version", "fault", "trials", *(field.name for field in fields(Losses)))
DISK_BYTES: Final = 32_000_000
TRIALS_PER_STRIKE: Final = 5  # The number of trials of a run for each kill
SHOWN: Final = ("lost", "wrong", "blamed", "restarts", "hangs", "left")
"""The columns that the table shows unless they are 0."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chosen tools under the chosen faults, except those that the results already contain."""
    options = parse(arguments)
    if options.table:
        print_table(read_rows(options.output))
        return
    for tool in tools(options.peers):
        if options.tools and tool.name not in options.tools:
            continue
        version = tool.version()
        if not version:
            print(f"{tool.name} is not installed: {tool.python}")
            continue
        for fault in options.faults or FAULTS:
            known = {(row["tool"], row["fault"]) for row in read_rows(options.output)}
            if (tool.name, fault) not in known and (row := torture(tool, version, fault, options)) is not None:
                print("  ".join(map(str, row.values())), flush=True)
                add_row(options.output, row)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1_000, help="the number of kills of spacelang, of each kind")
    parser.add_argument("--peer-kills", type=int, default=20, help="the number of kills of each peer, of each kind")
    parser.add_argument("--trials", type=int, help="the number of trials of a run that is not struck so often")
    parser.add_argument(
        "--slowness", type=float, default=1, help="a factor of the patience with commands, if others use the machine"
    )
    parser.add_argument("--tools", nargs="+", help="names of tools; by default all")
    parser.add_argument("--faults", nargs="+", choices=FAULTS, help="names of faults; by default all")
    parser.add_argument("--peers", type=Path, default=Path("peers"), help="the folder with the peers' environments")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file of results")
    parser.add_argument("--table", action="store_true", help="print the results as a table in Markdown")
    return parser.parse_args(arguments)


def torture(tool: Tool, version: str, fault: str, options: argparse.Namespace) -> dict[str, object] | None:
    """Return the row of a tool and a fault; None, with the reason printed, if the fault is not possible here."""
    if fault in CLUSTER_FAULTS and not tool.has_clusters:
        return None
    strikes, trials = 1, options.trials or tool.trials * (5 if fault == "two runs on one store" else 1)
    if fault in REPEATED:
        strikes = options.kills if tool.name == "spacelang" else options.peer_kills
        trials = TRIALS_PER_STRIKE * strikes
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    try:
        with small_disk(folder / "run", is_wanted=fault == "full disk"):
            clock = compile_clock(folder) if fault == "clock jumps" else None
            losses = Run(tool, fault, strikes, trials, folder, clock, options.slowness).perform()
    except NotPossibleError as error:
        print(f"{fault}: {error}")
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"tool": tool.name, "version": version, "fault": fault, "trials": trials, **asdict(losses)}


class NotPossibleError(Exception):
    """A fault that is not possible on this machine, with the reason."""


def compile_clock(folder: Path) -> Path:
    """Return a library that lets the time of day of a process jump."""
    library, source = folder / "clock.so", Path(__file__).with_name("clock.c")
    if shutil.which("cc") is None:
        raise NotPossibleError("there is no C compiler")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(source)], check=True)
    return library


@contextmanager
def small_disk(place: Path, *, is_wanted: bool) -> Iterator[None]:
    """Mount a disk of `DISK_BYTES` in memory at the place, if the fault needs one."""
    if not is_wanted:
        yield
        return
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        raise NotPossibleError("a small disk cannot be mounted")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return all rows of the results; none without a file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def add_row(path: Path, row: Mapping[str, object]) -> None:
    """Append a row to the results."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def print_table(rows: Sequence[Mapping[str, str]]) -> None:
    """Print a Markdown table with a line for each fault and a column for each tool."""
    names = list(dict.fromkeys(row["tool"] for row in rows))
    print("| fault | " + " | ".join(names) + " |\n|" + " --- |" * (1 + len(names)))
    for fault in FAULTS:
        found = {row["tool"]: row for row in rows if row["fault"] == fault}
        print(f"| {fault} | " + " | ".join(describe(found.get(name)) for name in names) + " |")


def describe(row: Mapping[str, str] | None) -> str:
    """Return what a run has lost, after the number of kills or misbehaving trials; a dash without a row."""
    if row is None:
        return "-"
    found = ", ".join(f"{row[column]} {column}" for column in SHOWN if row[column] != "0") or "nothing"
    strikes = f"{row['struck']}: " if int(row["struck"]) > 1 else ""
    return strikes + found + (f"; {row['note']}" if row["note"] else "")


if __name__ == "__main__":
    main()
