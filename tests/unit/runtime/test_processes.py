"""What the executor `processes` promises beyond what every executor does."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from threadpoolctl import threadpool_limits
from trying import IS_FULL

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import UNLIMITED, Limits
from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Evaluate, FinishedJob, Job, processes
from spacelang.runtime.executors._processes.zygote_connection import MARKER_VARIABLE
from spacelang.runtime.executors.processes import Processes
from spacelang.testing.executors import MarkedProcesses, evaluate_all, mark_processes
from spacelang.testing.faults import LIMITS, MAX_SECONDS, evaluate, make_request, run_in_child, successful_trial

Make = Callable[..., Processes]


@pytest.fixture
def marked() -> Iterator[MarkedProcesses]:
    with mark_processes() as found:
        yield found


@pytest.fixture
def make(marked: MarkedProcesses) -> Iterator[Make]:
    made: list[Processes] = []

    def new(evaluate: Evaluate, workers: int = 1, limits: Limits = UNLIMITED, **options: Any) -> Processes:
        made.append(Processes(evaluate, workers=workers, limits=limits, **options))
        return made[-1]

    yield new
    for executor in made:
        executor.close()
    assert not marked()


def run(executor: Processes, *requests: Request) -> list[FinishedJob]:
    """One after the other, by the first worker."""
    finished: list[FinishedJob] = []
    for number, request in enumerate(requests, 1):
        executor.start("1", Job(number, request))
        finished.extend(executor.wait(60))
    assert len(finished) == len(requests)
    return finished


def tell_process(request: Request) -> Trial:
    return Trial(request, 0.0, predictions=os.getpid())


def reaper_of(marked: MarkedProcesses) -> psutil.Process:
    (reaper,) = [process for process in marked() if process.ppid() == os.getpid()]
    return reaper


def zygote_of(marked: MarkedProcesses) -> psutil.Process:
    (zygote,) = reaper_of(marked).children()
    return zygote


def test_a_worker_stays_for_the_next_trial(make: Make) -> None:
    executor = make(tell_process, limits=LIMITS)
    assert len({each.result.predictions for each in run(executor, *map(make_request, range(5)))}) == 1


def test_a_worker_that_was_killed_while_idle_is_replaced(make: Make) -> None:
    executor = make(tell_process)
    (first,) = run(executor, make_request(1))
    os.kill(first.result.predictions, signal.SIGKILL)
    (second,) = run(executor, make_request(2))
    assert second.result.status is Status.SUCCESS
    assert second.result.predictions != first.result.predictions
    assert executor.wait(0) == ()


def test_jobs_begin_again_when_the_zygote_is_killed(make: Make, marked: MarkedProcesses) -> None:
    def slow(request: Request) -> Trial:
        time.sleep(0.4)
        return successful_trial(request)

    executor = make(slow, workers=2)
    executor.wait_until_ready()
    for name in executor.free:
        executor.start(name, Job(int(name), make_request(int(name))))
    assert executor.wait(0.1) == ()
    zygote_of(marked).kill()
    finished = [*executor.wait(60)]
    while len(finished) < 2:
        finished.extend(executor.wait(60))
    assert {each.result.loss for each in finished} == {1, 2}
    assert {each.attempts for each in finished} == {2}


def test_an_idle_executor_outlives_its_zygote(make: Make, marked: MarkedProcesses) -> None:
    executor = make(tell_process)
    (first,) = run(executor, make_request(1))
    zygote_of(marked).kill()
    assert marked.wait_until_gone(), "workers end with their zygote"
    (second,) = run(executor, make_request(2))
    assert second.result.status is Status.SUCCESS
    assert second.result.predictions != first.result.predictions


def test_what_a_killed_zygote_leaves_is_found(make: Make, marked: MarkedProcesses) -> None:
    def father(request: Request) -> Trial:
        if request.configuration["number"] == 1:
            run_in_child(lambda: os.setsid() or time.sleep(MAX_SECONDS))
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(MAX_SECONDS)
        return successful_trial(request)

    executor = make(father)
    (failed, second) = run(executor, make_request(1), make_request(2))
    assert failed.result.status is Status.CRASH
    assert "the process that starts the workers was ended by signal 9 (SIGKILL)" in failed.result.reason
    assert failed.attempts == 3
    assert second.result.status is Status.SUCCESS
    assert len(marked()) == 3


def spawn_unmarked_daemon() -> None:
    """Leave a program running in its own session, without the environment of its parents, which have ended."""

    def detach() -> None:
        os.setsid()
        run_in_child(lambda: os.execve(sys.executable, ["python", "-c", DAEMON], {}))

    os.waitpid(run_in_child(detach), 0)


DAEMON = "import time; time.sleep(30)  # a daemon of a trial"


def daemons() -> list[int]:
    found = psutil.process_iter(["cmdline"])
    return [each.pid for each in found if DAEMON in (each.info["cmdline"] or ()) and each.status() != "zombie"]


def test_only_a_job_that_ran_alone_is_blamed_for_a_killed_zygote(make: Make, tmp_path: Path) -> None:
    def act(request: Request) -> Trial:
        number = request.configuration["number"]
        started = tmp_path / f"{number}"
        is_first_attempt = not started.exists()
        started.touch()
        if number == 2:
            spawn_unmarked_daemon()
            while not all((tmp_path / f"{each}").exists() for each in (1, 3)):
                time.sleep(0.01)
            os.kill(os.getppid(), signal.SIGKILL)
        if (number in (1, 3) and is_first_attempt) or number == 2:
            time.sleep(MAX_SECONDS)  # until the reaper kills this worker
        return successful_trial(request)

    executor = make(act, workers=3)
    finished = {each.job.number: each for each in evaluate_all(executor, [make_request(1 + n) for n in range(5)])}
    assert {number: each.result.status for number, each in finished.items()} == {
        number: Status.CRASH if number == 2 else Status.SUCCESS for number in range(1, 6)
    }
    assert [finished[number].attempts for number in (1, 2, 3)] == [2, 3, 2]
    assert not daemons()


def test_a_job_that_others_kill_twice_has_its_last_attempt_alone(make: Make) -> None:
    def act(request: Request) -> Trial:
        time.sleep(0.2)
        if request.configuration["number"] != 1:
            for worker in psutil.Process(os.getppid()).children():
                worker.kill()
        return successful_trial(request)

    executor = make(act, workers=4)
    finished = {each.job.number: each for each in evaluate_all(executor, [make_request(1 + n) for n in range(4)])}
    assert {number for number, each in finished.items() if each.result.status is Status.SUCCESS} == {1}
    assert all(each.attempts <= 3 for each in finished.values())


def test_a_zygote_ends_its_workers_when_its_reaper_is_killed(make: Make, marked: MarkedProcesses) -> None:
    executor = make(tell_process)
    (first,) = run(executor, make_request(1))
    reaper_of(marked).kill()
    assert marked.wait_until_gone(3)
    (second,) = run(executor, make_request(2))
    assert second.result.status is Status.SUCCESS
    assert second.result.predictions != first.result.predictions


def test_a_zygote_that_cannot_be_replaced_ends_the_run(
    make: Make, marked: MarkedProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = make(evaluate)
    executor.wait_until_ready()
    executor.start("1", Job(1, make_request(1, "sleep")))
    monkeypatch.setattr(sys, "executable", "/no/such/interpreter")
    zygote_of(marked).kill()
    for _ in range(2):
        with pytest.raises(InputError, match="no process can be started: FileNotFoundError"):
            executor.wait(60)


def test_a_search_that_blocks_signals_is_served_as_well(make: Make) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGINT])
    try:
        failed, finished = run(make(evaluate), make_request(1, "segfault"), make_request(2))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert (failed.result.status, finished.result.status) == (Status.CRASH, Status.SUCCESS)


def test_many_crashes_leave_no_files_open(make: Make, marked: MarkedProcesses) -> None:
    executor = make(evaluate, limits=LIMITS)

    def files() -> tuple[int, ...]:
        return psutil.Process().num_fds(), zygote_of(marked).num_fds()

    run(executor, make_request(0, "segfault"))
    before = files()
    run(
        executor,
        *[make_request(number, deed) for number in range(10) for deed in ("segfault", "well", "leave_a_child")],
    )
    run(executor, make_request(0, "segfault"))
    assert files() == before


def test_a_zygote_that_hangs_is_replaced(make: Make, marked: MarkedProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "RESPONSE_TIMEOUT", 0.3)
    monkeypatch.setattr(processes, "CHECK_INTERVAL", 0.1)
    executor = make(evaluate, limits=Limits(trial_seconds=0.3))
    executor.wait_until_ready()
    executor.start("1", Job(1, make_request(1, "sleep")))
    assert executor.wait(0.1) == ()
    zygote_of(marked).suspend()
    (finished,) = executor.wait(60)
    assert finished.result.status is Status.TIMEOUT
    assert finished.attempts == 2


def test_trials_are_bounded_while_the_search_is_busy(make: Make) -> None:
    executor = make(evaluate, limits=LIMITS)
    executor.wait_until_ready()
    executor.start("1", Job(1, make_request(1, "sleep")))
    time.sleep(1)
    (finished,) = executor.wait(0.1)
    assert finished.result.status is Status.TIMEOUT
    assert 0.5 <= finished.result.cost < 1, "it went on for as long as the search was busy"


def test_a_result_that_waits_for_the_search_is_not_too_late(make: Make) -> None:
    executor = make(evaluate, limits=Limits(trial_seconds=0.8))
    executor.wait_until_ready()
    executor.start("1", Job(1, make_request(1, "return_large_trial")))
    time.sleep(1.2)
    (finished,) = executor.wait(5)
    assert finished.result.status is Status.SUCCESS
    assert len(finished.result.predictions) == 20_000_000


class Keeping:
    """It keeps memory from one trial to the next, and may say so."""

    def __init__(self, *, says_so: bool) -> None:
        self.says_so = says_so
        self.kept: list[bytearray] = []

    @property
    def cached_bytes(self) -> int:
        return sum(map(len, self.kept)) if self.says_so else 0

    def evaluate(self, request: Request) -> Trial:
        self.kept.append(bytearray(b"x") * 70_000_000)
        return Trial(request, float(len(self.kept)), predictions=os.getpid())

    def __call__(self, request: Request) -> Trial:
        return self.evaluate(request)


@pytest.mark.parametrize("method", [False, True])
def test_what_a_worker_means_to_keep_is_no_part_of_a_trial(make: Make, method: bool) -> None:
    keeping = Keeping(says_so=True)
    executor = make(keeping.evaluate if method else keeping, limits=Limits(trial_bytes=250e6))
    finished = run(executor, *map(make_request, range(6)))
    assert [each.result.loss for each in finished] == [1, 2, 3, 4, 5, 6]


def test_what_a_worker_keeps_without_saying_so_has_it_replaced(make: Make) -> None:
    executor = make(Keeping(says_so=False), limits=Limits(trial_bytes=250e6))
    finished = run(executor, *map(make_request, range(6)))
    assert all(each.result.status is Status.SUCCESS and each.attempts == 1 for each in finished)
    assert max(each.result.loss for each in finished) <= 3
    assert len({each.result.predictions for each in finished}) >= 2


@pytest.mark.parametrize(("taken", "status"), [(237e6, Status.MEMORY), (120e6, Status.CRASH)])
def test_who_is_killed_near_the_limit_is_out_of_memory(make: Make, taken: float, status: Status) -> None:
    def fill(request: Request) -> Trial:
        held = []
        while psutil.Process().memory_info().rss < taken:
            held.append(bytearray(b"x") * 2_000_000)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError(held)

    (finished,) = run(make(fill, limits=Limits(trial_bytes=250e6)), make_request(1))
    assert (finished.result.status, finished.attempts) == (status, 3)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_trial_whose_worker_somebody_ends_is_begun_again(make: Make, number: signal.Signals) -> None:
    def slow(request: Request) -> Trial:
        if request != make_request(1):
            time.sleep(0.4)
        return tell_process(request)

    executor = make(slow)
    (first,) = run(executor, make_request(1))
    executor.start("1", Job(2, make_request(2)))
    assert executor.wait(0.1) == ()
    os.kill(first.result.predictions, number)
    (finished,) = executor.wait(60)
    assert (finished.result.status, finished.attempts) == (Status.SUCCESS, 2)
    assert finished.result.predictions != first.result.predictions


def test_a_zygote_outlives_what_stops_all_processes(make: Make, marked: MarkedProcesses) -> None:
    executor = make(tell_process)
    executor.wait_until_ready()
    zygote = zygote_of(marked)
    for number in (signal.SIGTERM, signal.SIGINT):
        zygote.send_signal(number)
    (finished,) = run(executor, make_request(1))
    assert finished.attempts == 1
    assert zygote_of(marked) == zygote


def test_too_small_a_limit_is_refused_with_the_figure(make: Make) -> None:
    executor = make(evaluate, limits=Limits(trial_bytes=20e6))
    for _ in range(2):
        with pytest.raises(InputError, match=r"^a limit of 20MB leaves too little .* takes \d+MB") as caught:
            executor.wait_until_ready()
        assert "set the limit to " in caught.value.help
    executor.start("1", Job(1, make_request(1)))
    with pytest.raises(InputError, match="20MB"):
        executor.wait(60)


def test_a_mistake_is_raised_however_late_it_is_asked_for(make: Make) -> None:
    def mistaken(request: Request) -> Trial:
        raise InputError("no such thing")

    executor = make(mistaken)
    executor.start("1", Job(1, make_request(1)))
    time.sleep(1)
    with pytest.raises(InputError, match="no such thing"):
        executor.wait()


def test_what_cannot_be_sent_is_refused(marked: MarkedProcesses) -> None:
    lock = threading.Lock()

    def locked(request: Request) -> Trial:
        with lock:
            return successful_trial(request)

    with pytest.raises(InputError, match=r"the evaluation cannot be sent to another process: TypeError: .*lock"):
        Processes(locked)
    assert not marked()


class Unloaded:
    """An evaluation that does something where it is loaded."""

    def __init__(self, act: Callable[[], Evaluate]) -> None:
        self._act = act

    def __reduce__(self) -> Any:
        return (self._act, ())

    def __call__(self, request: Request) -> Trial:
        raise NotImplementedError


def test_what_cannot_be_loaded_is_refused(make: Make) -> None:
    def missing() -> Evaluate:
        raise ModuleNotFoundError("No module named `elsewhere`")

    executor = make(Unloaded(missing))
    executor.start("1", Job(1, make_request(1)))
    with pytest.raises(InputError, match="cannot be loaded by another process: ModuleNotFoundError: No module named"):
        executor.wait(60)
    with pytest.raises(InputError):
        executor.wait_until_ready()


def test_loading_that_ends_the_zygote_is_tried_a_few_times(make: Make) -> None:
    def leave() -> Evaluate:
        os._exit(5)

    executor = make(Unloaded(leave))
    with pytest.raises(InputError, match="exited with code 5 before it had loaded the evaluation"):
        executor.wait_until_ready()


def test_a_machine_without_room_for_processes_fails_trials(make: Make) -> None:
    def sabotage() -> Evaluate:
        def refuse() -> int:
            raise BlockingIOError("Resource temporarily unavailable")

        os.fork = refuse
        return successful_trial

    (finished,) = run(make(Unloaded(sabotage)), make_request(1))
    assert finished.result.status is Status.CRASH
    assert finished.result.reason == ("no process could be started: BlockingIOError: Resource temporarily unavailable")
    assert finished.attempts == 3


def test_closing_while_it_loads_is_quick(marked: MarkedProcesses) -> None:
    def slow() -> Evaluate:
        time.sleep(MAX_SECONDS)
        return successful_trial

    executor = Processes(Unloaded(slow))
    executor.start("1", Job(1, make_request(1)))
    assert executor.wait(0.3) == ()
    started = time.monotonic()
    executor.close()
    assert time.monotonic() - started < MAX_SECONDS / 3
    assert not marked()


def test_data_is_sent_once_and_shared(make: Make, marked: MarkedProcesses) -> None:
    data = np.random.default_rng(0).random(6_000_000)

    def total(request: Request) -> Trial:
        return Trial(request, float(data.sum()), predictions=os.getpid())

    executor = make(total, workers=2)
    for name in executor.free:
        executor.start(name, Job(int(name), make_request(1)))
    finished = [*executor.wait()]
    finished.extend([] if len(finished) == 2 else executor.wait())
    assert {each.result.loss for each in finished} == {float(data.sum())}
    for each in finished:
        assert psutil.Process(each.result.predictions).memory_full_info().uss < data.nbytes / 2


def test_evaluations_do_not_draw_the_same_numbers(make: Make) -> None:
    def draw(request: Request) -> Trial:
        if request.configuration["action"] == "segfault":
            evaluate(request)
        return Trial(request, float(np.random.random()))

    finished = run(make(draw), *[make_request(number, deed) for number in range(3) for deed in ("well", "segfault")])
    assert len({each.result.loss for each in finished[::2]}) == 3


def test_a_worker_uses_one_thread(make: Make) -> None:
    def threads(request: Request) -> Trial:
        from joblib import cpu_count
        from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
        from threadpoolctl import threadpool_info

        most = max((pool["num_threads"] for pool in threadpool_info()), default=1)
        return Trial(request, float(max(most, _openmp_effective_n_threads(), cpu_count())))

    (finished,) = run(make(threads), make_request(1))
    assert finished.result.loss == 1, finished.result.reason


def fit(request: Request) -> Trial:
    """The score of an estimator that uses threads in one way or another."""
    import warnings

    from lightgbm import LGBMClassifier
    from sklearn.datasets import load_iris
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from xgboost import XGBClassifier

    if request.configuration["action"] == "segfault":
        evaluate(request)
    known = {
        "forest": RandomForestClassifier(10, n_jobs=2, random_state=0),
        "histogram": HistGradientBoostingClassifier(max_iter=5, random_state=0),
        "xgboost": XGBClassifier(n_estimators=5, n_jobs=2, random_state=0),
        "lightgbm": LGBMClassifier(n_estimators=5, n_jobs=2, random_state=0, verbose=-1),
    }
    features, labels = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = known[str(request.configuration["action"])].fit(features[::2], labels[::2])
        probabilities = estimator.predict_proba(features[1::2])
    return Trial(request, float(probabilities[:, 0].sum()), predictions=probabilities.tolist())


def test_libraries_with_threads_work_in_workers_however_often_they_are_forked(make: Make) -> None:
    def loaded() -> Evaluate:
        for name in ("sklearn.ensemble", "sklearn.datasets", "xgboost", "lightgbm"):
            import_module(name)
        return fit

    with threadpool_limits(1):
        expected = {name: fit(make_request(0, name)) for name in ("forest", "histogram", "xgboost", "lightgbm")}
    executor = make(Unloaded(loaded), limits=Limits(trial_seconds=30))
    for _ in range(3 if IS_FULL else 2):
        for name, here in expected.items():
            crashed, finished = run(executor, make_request(0, "segfault"), make_request(0, name))
            assert crashed.result.status is Status.CRASH
            assert finished.result.status is Status.SUCCESS, finished.result.reason
            assert finished.result.predictions == here.predictions


def test_an_objective_gives_in_workers_what_it_gives_here(make: Make) -> None:
    # Imported here: what this module imports is in every idle worker of its tests.
    from handmade import space, stage

    from spacelang.runtime.data.labels import check_and_encode_labels
    from spacelang.runtime.data.loading import load_dataset
    from spacelang.runtime.evaluation.objective import DataObjective

    made = space(stage("estimator", "LogisticRegression", "RandomForestClassifier", "GaussianNB"))
    objective = DataObjective(made, check_and_encode_labels(load_dataset("sklearn:wine"), "classification"))
    names = ["LogisticRegression", "RandomForestClassifier", "GaussianNB"]
    requests = [Request(Configuration({"estimator": name}), fidelity) for name in names for fidelity in (60, None)]
    executor = make(objective.evaluate, limits=Limits(trial_seconds=60, trial_bytes=2e9))
    for each in run(executor, *requests):
        assert each.result.status is Status.SUCCESS, each.result.reason
        assert each.result.loss == objective.evaluate(each.job.work).loss


def test_an_interrupt_while_it_waits_loses_no_process(make: Make, marked: MarkedProcesses) -> None:
    executor = make(evaluate)
    executor.wait_until_ready()
    executor.start("1", Job(1, make_request(1, "sleep")))
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        executor.wait()
    timer.join()
    assert len(marked()) == 3, "the interrupt is not for workers"
    executor.close()
    assert not marked()


def test_an_interrupted_close_can_be_done_again(
    make: Make, marked: MarkedProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = make(evaluate)
    executor.wait_until_ready()
    with monkeypatch.context() as patched:
        patched.setattr(subprocess.Popen, "wait", lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            executor.close()
    executor.close()
    assert not marked()


def test_a_forgotten_executor_ends(marked: MarkedProcesses) -> None:
    executor = Processes(evaluate)
    executor.wait_until_ready()
    executor.start("1", Job(1, make_request(1, "hang_in_a_child")))
    assert executor.wait(0.2) == ()
    del executor
    gc.collect()
    assert not marked()


def test_a_fork_of_the_search_ends_nothing(make: Make) -> None:
    executor = make(tell_process)
    (first,) = run(executor, make_request(1))
    child = os.fork()
    if child == 0:
        executor.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    (second,) = run(executor, make_request(2))
    assert second.result.predictions == first.result.predictions


SCRIPT = """
import os, sys, time
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.executors import Job
from spacelang.runtime.executors.processes import Processes
from spacelang.testing.faults import make_request, leave_a_daemon

class Doubled:
    def __init__(self, number):
        self.number = 2 * number

def evaluate(request):
    number = request.configuration["number"]
    if number == 9:
        leave_a_daemon(request)
        time.sleep(30)
    return Trial(request, float(Doubled(number).number))

executor = Processes(evaluate, workers=2)
executor.start("1", Job(1, make_request(4)))
(finished,) = executor.wait(30)
print(finished.result.loss, flush=True)
executor.start("1", Job(2, make_request(9)))
assert executor.wait(0.5) == ()
"""


def script(folder: Path, end: str) -> "subprocess.Popen[str]":
    """A program of a user's, without a guard for its `__main__`."""
    file = folder / "script.py"
    file.write_text(textwrap.dedent(SCRIPT + end))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-W", "error", str(file)], env=environment, text=True, **pipes)


@pytest.mark.parametrize("end", ["", "raise SystemExit(0)", "executor.close()"])
def test_a_script_without_a_guard_leaves_nothing(tmp_path: Path, marked: MarkedProcesses, end: str) -> None:
    with script(tmp_path, end) as program:
        output, errors = program.communicate(timeout=60)
    assert (output, errors, program.returncode) == ("8.0\n", "", 0)
    assert not marked()


def test_a_killed_search_leaves_nothing(tmp_path: Path, marked: MarkedProcesses) -> None:
    with script(tmp_path, "print('now', flush=True); time.sleep(30)") as program:
        assert program.stdout is not None
        assert [program.stdout.readline() for _ in range(2)] == ["8.0\n", "now\n"]
        assert len(marked()) >= 5
        program.kill()
        program.wait()
        assert marked.wait_until_gone(2)


def test_a_search_that_is_killed_while_it_loads_leaves_nothing(tmp_path: Path, marked: MarkedProcesses) -> None:
    text = """
    import ctypes, pathlib, sys, time
    from spacelang.runtime.executors.processes import Processes

    class Slow:
        def __reduce__(self):
            return (hang, (sys.argv[1],))

    def hang(path):
        pathlib.Path(path).touch()
        ctypes.PyDLL(None).sleep(30)

    executor = Processes(Slow())
    while not pathlib.Path(sys.argv[1]).exists():
        time.sleep(0.01)
    print("now", flush=True)
    time.sleep(30)
    """
    command = [sys.executable, "-c", textwrap.dedent(text), str(tmp_path / "loading")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "now\n"
        assert len(marked()) == 3
        program.kill()
        program.wait()
        assert marked.wait_until_gone(2)


def in_a_daemon(connection: Any) -> None:
    executor = Processes(evaluate)
    executor.start("1", Job(1, make_request(3)))
    (finished,) = executor.wait(30)
    executor.close()
    connection.send(finished.result.loss)


def test_it_works_where_multiprocessing_does_not() -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=in_a_daemon, args=[theirs], daemon=True)
    process.start()
    assert ours.poll(60)
    assert ours.recv() == 3
    process.join()
    process.close()
    for end in (ours, theirs):
        end.close()


def test_it_works_in_a_thread_that_ends(make: Make) -> None:
    made: list[Processes] = []
    thread = threading.Thread(target=lambda: made.append(make(tell_process)))
    thread.start()
    thread.join()
    (executor,) = made
    assert [each.result.status for each in run(executor, make_request(1), make_request(2))] == [Status.SUCCESS] * 2


def test_a_system_without_such_processes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        with pytest.raises(InputError) as caught:
            Processes(evaluate)
    assert "--workers 0" in caught.value.help


def test_no_workers_are_none() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        Processes(evaluate, workers=0)


def test_nested_executors_have_marks_of_their_own(make: Make, marked: MarkedProcesses) -> None:
    def nested(request: Request) -> Trial:
        inner = Processes(tell_process)
        inner.start("1", Job(1, request))
        (finished,) = inner.wait(30)
        inner.close()
        return finished.result

    (finished,) = run(make(nested), make_request(1))
    assert finished.result.status is Status.SUCCESS, finished.result.reason
    assert (
        len({process.environ()[MARKER_VARIABLE] for process in marked() if MARKER_VARIABLE in process.environ()}) == 1
    )
