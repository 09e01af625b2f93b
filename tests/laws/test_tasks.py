"""Laws of the task block: what is printed is read as the same task, and nothing that can be written makes it raise."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from spacelang.analysis import tasks
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.catalog.snapshot import load_catalogue
from spacelang.ir.task import (
    BYTES,
    SECONDS,
    Bound,
    BoundedMeasure,
    Cost,
    CostGoal,
    FidelitySchedule,
    FunctionBound,
    FunctionGoal,
    Limits,
    ScorerGoal,
    Task,
    describe_bound,
    format_quantity,
    function_goal_problem,
    parse_bound,
    task_lines,
    to_base_unit,
)
from spacelang.ir.validation import (
    CrossValidation,
    DeclaredValidation,
    Holdout,
    TimeSeriesSplits,
    describe_validation,
    parse_validation,
)
from spacelang.syntax import ast
from spacelang.syntax.inline_printer import spell_file
from spacelang.syntax.parser import parse
from spacelang.text import NO_SPAN, Source
from tests.laws import trees
from tests.laws.settings import LAW

SCORERS = load_catalogue().scorers


def read(text: str) -> tuple[Task | None, DiagnosticCollector]:
    parsed = parse(Source("law.space", text))
    assert parsed.diagnostics == ()
    (written,) = parsed.file.items
    assert isinstance(written, ast.Task)
    report = DiagnosticCollector()
    return tasks.read_task(written, load_catalogue(), report), report


def scorers(kind: str) -> st.SearchStrategy[str]:
    return st.sampled_from(sorted(name for name, suits in SCORERS.items() if suits == kind))


numbers = st.integers(1, 10**6).map(float) | st.floats(1e-3, 1e6)
durations = st.one_of(st.floats(1e-12, 1e9), st.builds(to_base_unit, numbers, st.sampled_from([*SECONDS.values()])))
sizes = st.integers(1, 10**15).map(float)
columns = st.text(st.characters(codec="utf-8"), max_size=12) | trees.identifiers


@st.composite
def bounds(draw: st.DrawFn, kind: str) -> Bound:
    measure, strict = draw(st.sampled_from(list(BoundedMeasure))), draw(st.booleans())
    if measure is BoundedMeasure.DISPARITY:
        limit = draw(st.floats(1e-9, 1e3))
        return Bound(measure, limit, strict, draw(scorers(kind)), draw(columns))
    return Bound(measure, draw(durations if measure is BoundedMeasure.LATENCY else sizes), strict)


shares = st.floats(0, 1, exclude_min=True, exclude_max=True)
folds = st.integers(2, 10**6)
validations = st.one_of(
    st.builds(Holdout, shares, st.none() | columns),
    st.builds(Holdout, shares, st.none(), columns, st.booleans()),
    st.builds(CrossValidation, folds, st.none() | columns),
    st.builds(TimeSeriesSplits, folds, columns, st.booleans()),
)


@LAW
@given(validations)
def test_an_option_is_read_as_the_language_is(validation: DeclaredValidation) -> None:
    assert parse_validation(describe_validation(validation)) == validation


goal_names = st.text(st.characters(codec="utf-8"), min_size=1).filter(
    lambda name: function_goal_problem(named := FunctionGoal("minimize", name), (named, named)) is None
)


@st.composite
def made(draw: st.DrawFn) -> Task:
    kind = draw(st.sampled_from(tasks.KINDS))
    growth = st.floats(1, 100, exclude_min=True)
    direction = draw(st.sampled_from(["minimize", "maximize"]))
    scores = st.builds(ScorerGoal, st.just(direction), scorers(kind), st.booleans())
    goals = scores if direction == "maximize" else scores | st.builds(CostGoal, st.sampled_from(Cost))
    goal = draw(st.none() | scores)
    others = [] if goal is None else draw(st.lists(goals.filter(lambda each: each != goal), max_size=3, unique=True))
    if goal is None and (names := draw(st.lists(goal_names, max_size=3, unique=True))):
        signs = [draw(st.booleans()) and len(names) > 1 for _ in names]
        goal, *others = map(partial(FunctionGoal, direction), names, signs)
    return Task(
        kind,  # type: ignore[arg-type]
        goal,
        tuple({bound.name: bound for bound in draw(st.lists(bounds(kind), max_size=4))}.values()),
        draw(st.none() | validations),
        draw(st.none() | st.builds(FidelitySchedule, st.integers(1, 10**9), growth)),
        draw(st.builds(Limits, st.none() | durations, st.none() | sizes, st.none() | durations)),
        tuple(others),
    )


@LAW
@given(made())
def test_what_is_printed_is_read_as_the_same_task(task: Task) -> None:
    text = "\n".join([f"task {task.kind} {{", *task_lines(task), "}"])
    found, report = read(text)
    assert found == task
    assert not report.has_errors


@LAW
@given(durations, sizes)
def test_quantities_have_a_unit_in_which_nothing_is_lost(seconds: float, size: float) -> None:
    for value, units in ((seconds, SECONDS), (size, BYTES)):
        text = format_quantity(value, units)
        unit = max((name for name in units if text.endswith(name)), key=len)
        assert to_base_unit(float(text.removesuffix(unit)), units[unit]) == value


kinds = st.builds(ast.Word, st.sampled_from([*tasks.KINDS, "clustering"]), st.just(NO_SPAN))
written = st.builds(ast.Task, kinds, trees.tuples(trees.settings), st.just(NO_SPAN))


@LAW
@given(written)
def test_no_task_that_can_be_written_raises_and_every_problem_lies_in_it(task: ast.Task) -> None:
    text = spell_file(ast.File((task,), NO_SPAN))
    _, report = read(text)
    for diagnostic in report.found:
        for span in (diagnostic.primary, *(related.span for related in diagnostic.related)):
            assert 0 <= span.start < span.end <= len(text)
        assert diagnostic.message
        assert "\n" not in f"{diagnostic.label} {diagnostic.help}"


LIMITS = st.floats(0, 2**53, allow_subnormal=False).map(abs)
READ = st.one_of(
    st.builds(Bound, st.sampled_from([BoundedMeasure.LATENCY, BoundedMeasure.SIZE]), LIMITS, st.booleans()),
    st.builds(
        Bound,
        st.just(BoundedMeasure.DISPARITY),
        LIMITS,
        st.booleans(),
        st.sampled_from(sorted(SCORERS)),
        st.text(min_size=1),
    ),
    st.builds(FunctionBound, st.from_regex(r"[a-z_]\w*", fullmatch=True), st.floats(0, allow_infinity=False).map(abs)),
)


@LAW
@given(READ)
def test_a_bound_is_read_as_it_was_described(bound: Bound | FunctionBound) -> None:
    assert parse_bound(describe_bound(bound)) == bound
