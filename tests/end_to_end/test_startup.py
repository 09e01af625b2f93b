"""Checking starts at once, and a stranger's file makes it open and import nothing."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from commands import TOY, spacelang
from storing import stored

from spacelang.cli._app import COMMANDS

SECONDS, MEGABYTES = 20.0, 300.0
"""What a hostile file may cost; the seconds of a processor are ten times those that it takes here."""

HEAVY = {"sklearn", "pandas", "numpy", "scipy", "ConfigSpace", "hyperopt", "rich"}
LIGHT_COMMANDS = [
    ["check", "blds_table1"],
    ["check", "toy.space", "--json"],
    ["stats", "toy.space", "--json"],
    ["default", "toy.space"],
    ["explain", "SL301"],
    ["catalogue", "PCA"],
    ["spaces"],
    ["show", "run.db"],
    ["runs", "."],
    ["--version"],
    ["--help"],
    ["check", "wrong.space"],
]

SLOW = {"lark", "importlib.resources", "importlib.metadata", "email", "spacelang.diagnostics.terminal", "spacelang.api"}
"""Modules that take as long to import as a catalogue to read, and that a check of a sound file can do without."""

OF_MISTAKES = {"spacelang.syntax.recovery", "spacelang.syntax.syntax_errors", "spacelang.solver.defaults"}
"""Modules that look for mistakes, and for the default that data leaves: a sound file has neither."""

MODULES = """
import json, sys
from spacelang.cli import main
try:
    main()
except SystemExit:
    json.dump(sorted(sys.modules), sys.__stderr__)
"""

OPENED = """
import json, sys
from spacelang.cli import main
opened = []
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
try:
    main()
except SystemExit:
    json.dump(sorted({path for path in opened if path.endswith(".json")}), sys.__stderr__)
"""

AUDITED = '''
import json, os, pathlib, resource, sys, time
import spacelang
from spacelang.cli import main

def checked(*files):
    try:
        main(["check", *files])
    except SystemExit as ended:
        return ended.code

def megabytes():
    """The peak of this process: where /proc tells it, since what getrusage says begins with the peak of its parent."""
    status = pathlib.Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024

seen = []
# A first check of wrong spaces, one of them no sentence, and of a sound one loads what checking and showing need.
checked("wrong.space", "unsaid.space", "toy.space")
before = set(sys.modules)
for file in sys.argv[1:]:
    if os.fork():
        os.wait()
        continue
    started = time.process_time()
    sys.addaudithook(lambda event, arguments: seen.append((event, str(arguments[0]) if arguments else "")))
    status = checked(file)
    events = seen[:]
    found = {
        "status": status,
        "seconds": time.process_time() - started,
        "megabytes": megabytes(),
        "modules": sorted(set(sys.modules) - before),
        "opened": sorted({path for event, path in events if event == "open"}),
        "events": sorted({event for event, _ in events}),
        "package": str(pathlib.Path(spacelang.__file__).parent),
    }
    sys.stderr.write("\\n=====" + json.dumps([file, found]) + "\\n")
    sys.stderr.flush()
    os._exit(0)
'''
"""Each file has a fork of a process that has loaded what checking needs."""

HARMLESS = (
    "open",
    "os.listdir",
    "os.scandir",
    "glob.",
    "pathlib.",
    "object.",
    "builtins.id",
    "sys._getframe",
    "compile",
    "function.__new__",
    "gc.",
)
"""Beginnings of audit events that reach for nothing outside; what is opened is looked at one by one."""

HOSTILE = {
    "dotted": "stage e = os.system | sklearn.utils.os.system | subprocess.Popen\n",
    "dunder": "stage e = __import__ | eval | __builtins__ | GaussianNB.__class__\n",
    "import up": 'import "../secret.space" as s\nstage e = s.x | GaussianNB\n',
    "import absolute": 'import "/etc/passwd" as s\nstage e = GaussianNB\n',
    "import link": 'import "out.space" as s\nimport "up/secret.space" as t\nstage e = s.x | t.x | GaussianNB\n',
    "import device": 'import "zero" as s\nimport "fifo" as t\nstage e = s.x | t.x | GaussianNB\n',
    "import circle": 'import "inner/a.space" as s\nstage e = s.x | GaussianNB\n',
    "include bomb": "".join(
        f"params g{n} {{ a : x {{ include g{n + 1} }}, b : x {{ include g{n + 1} }} }}\n" for n in range(40)
    )
    + "params g40 { c : bool }\nabstract x\nstage e = x { include g0 }\n",
    "include chain": "".join(f"params g{n} {{ include g{n + 1} }}\n" for n in range(3000))
    + "stage e = SVC { include g0 }\n",
    "use": "use os\nuse antigravity\nuse evil\nstage e = evil.Boom | os.PathLike\n",
    "callables": "stage e = FunctionTransformer { func = system } -> GaussianNB\n",
    "files": 'stage v = CountVectorizer { input = "filename" }\nstage e = GaussianNB\n',
    "memory": 'stage e = HDBSCAN { memory = "cache" } | GaussianNB { memory = "/tmp/cache" }\n',
    "format": 'stage e = GaussianNB { var_smoothing = "{0.__class__}" }\nstage f = %s%n{}\n',
    "huge numbers": f"stage e = SVC {{ C : float[{'9' * 300}, {'9' * 399}] }}\n",
    "longer numbers": f"stage e = SVC {{ C : float[0, {'9' * 100_000}] }}\n",
    "huge range": "stage e = RandomForestClassifier { n_estimators : int[1, 1_000_000_000_000_000_000] }\n",
    "deep": "stage e = " + "(" * 5000 + "GaussianNB" + ")" * 5000 + "\n",
    "deep body": "stage e = " + "BaggingClassifier { estimator : " * 500 + "GaussianNB" + "}" * 500 + "\n",
    "deep expression": "stage e = GaussianNB | PCA\nforbid " + "not " * 20_000 + "e is PCA\n",
    "power": "stage e = SVC { C : float[1, 9 ** 9 ** 9 ** 9] }\n",
    "many mistakes": "stage e = " + " | ".join(f"Nothing{n}" for n in range(2000)) + "\n",
    "many stages": "".join(f"stage s{n} = none | StandardScaler | PCA\n" for n in range(60)) + "stage e = GaussianNB\n",
    "one long line": "stage e = GaussianNB" + " " * 500_000 + "?\n",
    "backtracking": "stage e = GaussianNB " + "a" * 20_000 + " " + "{" * 20_000 + "\n",
    "control characters": "stage e = GaussianNB \x1b]0;title\x07\x1b[2J\r\x08\n",
}


def modules(*arguments: str, folder: Path) -> set[str]:
    told = spacelang(*arguments, folder=folder, code=MODULES, afresh=True).stderr
    return set(json.loads(told.splitlines()[-1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("startup") / "home"
    made.mkdir()
    (made / "toy.space").write_text(TOY, encoding="utf-8")
    stored(made / "run.db")
    (made / "wrong.space").write_text("stage e = GausianNB\n", encoding="utf-8")
    (made / "unsaid.space").write_text("stage e = = GaussianNB\n", encoding="utf-8")
    (made.parent / "secret.space").write_text("stage x = GaussianNB\n", encoding="utf-8")
    (made / "out.space").symlink_to(made.parent / "secret.space")
    (made / "up").symlink_to(made.parent)
    (made / "zero").symlink_to("/dev/zero")
    os.mkfifo(made / "fifo")
    (made / "inner").mkdir()
    (made / "inner" / "a.space").write_text('import "b.space" as b\nstage x = GaussianNB\n', encoding="utf-8")
    (made / "inner" / "b.space").write_text('import "a.space" as a\nstage x = GaussianNB\n', encoding="utf-8")
    (made / "evil.py").write_text("open('was_here', 'w')\n", encoding="utf-8")
    return made


@pytest.mark.parametrize("arguments", LIGHT_COMMANDS, ids=" ".join)
def test_light_commands_import_nothing_heavy(arguments: list[str], folder: Path) -> None:
    found = {name.partition(".")[0] for name in modules(*arguments, folder=folder)}
    assert "spacelang" in found
    assert not found & HEAVY


def test_a_check_imports_nothing_slow_and_no_other_command(folder: Path) -> None:
    found = modules("check", "toy.space", folder=folder)
    assert not found & (SLOW | OF_MISTAKES)
    assert {name for name in found if name.startswith("spacelang.cli.")} == {
        f"spacelang.cli.{name}"
        for name in (
            "_app",
            "_options",
            "_output",
            "_process",
            "check_and_explain",
        )
    }


def test_only_catalogues_that_a_space_uses_are_read(folder: Path) -> None:
    ended = spacelang("check", "toy.space", folder=folder, code=OPENED, afresh=True)
    opened = json.loads(ended.stderr.splitlines()[-1])
    assert [Path(path).name for path in opened] == ["spacelang.tables.json", "sklearn.json"]


def test_every_command_is_listed_and_may_be_misspelled(folder: Path) -> None:
    listed = spacelang("--help", folder=folder).stdout
    assert [name for name in COMMANDS if f"\n  {name} " not in listed] == []
    for name in COMMANDS:
        assert spacelang(name, "--help", folder=folder).stdout.startswith(f"Usage: spacelang {name}")
    assert "did you mean `check`?" in spacelang("chek", folder=folder).stderr


def test_a_wrong_option_imports_no_scikit_learn(folder: Path) -> None:
    found = modules("run", "toy.space", "--data", "sklearn:iris", "--set", "disk=2", folder=folder)
    assert not {name.partition(".")[0] for name in found} & {"sklearn", "pandas", "scipy"}


@pytest.fixture(scope="module")
def audited(folder: Path) -> dict[str, Any]:
    """What checking each hostile file came to."""
    for name, text in HOSTILE.items():
        (folder / f"{name}.space").write_text(text, encoding="utf-8")
    told = spacelang(*(f"{name}.space" for name in HOSTILE), folder=folder, code=AUDITED, afresh=True).stderr
    return dict(json.loads(line.removeprefix("=====")) for line in told.splitlines() if line.startswith("====="))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_opens_and_imports_nothing(name: str, folder: Path, audited: dict[str, Any]) -> None:
    found = audited[f"{name}.space"]
    assert found["status"] in (0, 1)
    assert found["modules"] == []
    assert [event for event in found["events"] if not event.startswith(HARMLESS)] == []
    package = Path(found["package"])
    homes = (folder, package, package.parent / "spaces", package.parent / "grammars")
    opened = [(folder / path).resolve() for path in found["opened"]]
    assert [path for path in opened if not any(path.is_relative_to(home) for home in homes)] == []
    assert not (folder / "was_here").exists()
    assert found["seconds"] < SECONDS
    assert found["megabytes"] < MEGABYTES
