"""The public interface for plug-in authors: targets, optimizers, selectors, minimizers, executors and objectives.

This module only re-exports names that are defined elsewhere in the package. The names listed here are public and
stable.

A plug-in is a class that is a frozen dataclass. Its options are the fields declared with `option`; a plug-in raises
`OptionError` for an option value out of range. A package publishes a plug-in as an entry point in the group
`spacelang.targets`, `spacelang.optimizers`, `spacelang.minimizers` or `spacelang.executors`, under the name that users
give it. The registries `TARGETS`, `OPTIMIZERS`, `MINIMIZERS` and `EXECUTORS` find it there. An option whose value is
again a plug-in is a `NestedPlugin`; declare it with `nested_plugin`.

**Space.** A `Space` is a tree of decisions with hyperparameters and constraints. A structure is one choice of an
alternative for every decision that is reached. A `Configuration` maps keys to values. `first_exclusion(space,
configuration)` returns why a configuration is not a member, or None if it is one. `Structures` counts the structures
and configurations of a space; `expressions_tested_on_draws` are those that it cannot decide and each draw is tested
with. Spaces with such expressions raised `UndecidableError` in earlier versions. `Sampler(structures)` draws
configurations; it raises `SamplingFailedError` if values that satisfy the constraints are too rare. A
`DiscrepancyTree` has the pipelines of a space as its leaves; each leaf is a `Pipeline`.
`UniqueConfigurations` yields every configuration once, in random order.

**Target.** A `Target` compiles a space for another tool. Its class attribute `preserves`, a `PreservationTable`, says
for each `Construct` of the language how well the target preserves it. The verdicts are made by `exact`, `rewritten`,
`approximated` and `refused`. `lower(structures)` returns a `LoweringResult`. It holds the compiled space (a `Form`; a
`SourceForm` can also be written as Python source), the functions `encode` and `decode`, the functions `accepts` and
`sample` of the form, and the report. `make_report(space, preserves, findings)` makes the report; a `Finding` marks a
place where the verdict differs from the usual one. It raises `RefusedError` if a construct is refused. A target that
represents values as floats calls `refuse_oversized_integers(space, preserves)` first.

A target without conditions and constraints can use the ready-made chain of reductions. It only says which
`SimpleDomain` domains it accepts: `Real`, `Grid`, `Categorical` or `Ordinal`. `build_questions(structures, accepts,
preserves)` returns `Questions`: unconditional variables with these domains, by name, and the functions between
configurations and the values of the variables. Continuous ranges that are not accepted become grids of `points`
values, and log scales become ranges of logarithms. `preserved_by_reductions(accepts)` returns the matching preservation
table, and `build_report(chain, preserves)` the report.

**Optimizer.** An `Optimizer` has the method `search(problem)`. The `Problem` holds the space, the size of the data, the
random state, the `TotalBudget` of the run and the initial configurations. A `Search` is a generator: it yields an `Ask`
and is sent a `SearchEvent`, again and again. A `SearchCoroutine` is the same with a return value. An `Ask` contains
objects of type `Request`, or of type `LazyRequest`, which make their request when a worker starts it. A `SearchEvent`
reports a finished `Trial`, with its `Status`, a `Measurement` for every bound, and its `LossScale`, which normalizes
losses to [0, 1]. Three helpers combine requests and trials: `ask_all(requests)` runs a batch and waits for all of it,
`gather(parts)` runs several coroutines concurrently, and `sort_key(trial)` returns the `SortKey` that orders trials
from best to worst. An optimizer with an option `hyperparameters` treats hyperparameters as `HyperparameterMode`
describes. A `NoveltyTracker` finds the parts of a search that no longer propose anything new.

**Selector.** A `Selector` searches for the best `Pipeline` with the method `select(selection, iterations, start,
seconds)`, which returns a `SearchCoroutine`. An optimizer whose `selector()` returns one can be nested in other
optimizers. The `SelectionProblem` holds the tree, the present configuration of each pipeline, and the value by which
trials are compared. Most selectors derive from `MemorySelector`, which remembers all trials: the author only writes the
loop of one `SelectorCall`.

**Minimizer.** A `Minimizer` has the method `minimise(value, box, calls, start, seconds)`, a `SearchCoroutine` that
returns the best `Point` of a `Box`. A box is a product of `Dimension` objects; each is the interval [0, 1] or a finite
subset of it. `value` is a `MinimizationProblem`. `minimize_with_proposals` implements everything except the proposal
function, of type `ProposalFunction`, which returns the next point given the `Observations` so far.

**Executor.** An `Executor` runs jobs on workers. The `work` of each `Job`, such as a `Request`, is passed to the
function of type `Evaluate`, within its `Limits`; a `FinishedJob` has the result, such as a `Trial`. The result of
`Work` that failed outside of its evaluation is `job.work.make_failed(status, reason, cost)`. `create(evaluate, workers,
forks=False)` of the class makes an executor for the given `WorkerSettings`.

**Objective.** An `Objective` is minimised by a search: `sl.search(space, objective=...)`. It combines an
`ObjectiveInfo`, which describes the trials, and an `Evaluator`, which evaluates a request. A `LossName` names the loss,
and `DataFacts` describe the data. `BlackBoxObjective` implements the description for objectives without data; a
`FunctionBound` is a bound on something that it measures. If runs with different settings of the objective must not be
mixed, its attribute `identifying_settings` has these settings as text by name.

The suites in `spacelang.testing` check whether a plug-in fulfils its contract. spacelang/testing/README.md contains a
short example of each kind.
"""

from spacelang.deprecation import make_module_getattr
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, SimpleDomain
from spacelang.ir.membership import first_exclusion
from spacelang.ir.search_protocol import (
    Ask,
    LazyRequest,
    Problem,
    Search,
    SearchCoroutine,
    SearchEvent,
    TotalBudget,
    ask_all,
    gather,
)
from spacelang.ir.space import Space
from spacelang.ir.task import FunctionBound, Limits
from spacelang.ir.trial import LossName, LossScale, Measurement, Request, SortKey, Status, Trial, Work, sort_key
from spacelang.minimizers import (
    MINIMIZERS,
    Box,
    Dimension,
    MinimizationProblem,
    Minimizer,
    Observations,
    Point,
    ProposalFunction,
    minimize_with_proposals,
)
from spacelang.optimizers import OPTIMIZERS, HyperparameterMode, Optimizer
from spacelang.optimizers._draws import NoveltyTracker, UniqueConfigurations
from spacelang.optimizers._selection import MemorySelector, SelectionProblem, Selector, SelectorCall
from spacelang.plugins import NestedPlugin, OptionError, nested_plugin, option
from spacelang.reductions.space_questions import Questions
from spacelang.runtime.black_box import BlackBoxObjective
from spacelang.runtime.executors import EXECUTORS, Evaluate, Executor, FinishedJob, Job, WorkerSettings
from spacelang.runtime.objective import Evaluator, Objective, ObjectiveInfo
from spacelang.runtime.storage.run_header import DataFacts
from spacelang.sampling.sampler import Sampler
from spacelang.solver.constraint_network import SamplingFailedError, UndecidableError
from spacelang.solver.counting import Structures
from spacelang.targets import TARGETS
from spacelang.targets._lowering import (
    Construct,
    Finding,
    Form,
    LoweringResult,
    PreservationTable,
    RefusedError,
    SourceForm,
    Target,
    approximated,
    exact,
    make_report,
    refuse_oversized_integers,
    refused,
    rewritten,
)
from spacelang.targets._reduction_chain import build_questions, build_report, preserved_by_reductions
from spacelang.targets.blds import DiscrepancyTree, Pipeline

__all__ = [
    "EXECUTORS", "MINIMIZERS", "OPTIMIZERS", "TARGETS", "Ask", "BlackBoxObjective", "Box", "Categorical",
    "Configuration", "Construct", "DataFacts", "Dimension", "DiscrepancyTree", "Evaluate", "Evaluator", "Executor",
    "Finding", "FinishedJob", "Form", "FunctionBound", "Grid", "HyperparameterMode", "Job", "LazyRequest", "Limits",
    "LossName", "LossScale", "LoweringResult", "Measurement", "MemorySelector", "MinimizationProblem", "Minimizer",
    "NestedPlugin", "NoveltyTracker", "Objective", "ObjectiveInfo", "Observations", "Optimizer", "OptionError",
    "Ordinal", "Pipeline", "Point", "PreservationTable", "Problem", "ProposalFunction", "Questions", "Real",
    "RefusedError", "Request", "Sampler", "SamplingFailedError", "Search", "SearchCoroutine", "SearchEvent",
    "SelectionProblem", "Selector", "SelectorCall", "SimpleDomain", "SortKey", "SourceForm", "Space", "Status",
    "Structures", "Target", "TotalBudget", "Trial", "UndecidableError", "UniqueConfigurations", "Work",
    "WorkerSettings", "approximated", "ask_all", "build_questions", "build_report", "exact", "first_exclusion",
    "gather", "make_report", "minimize_with_proposals", "nested_plugin", "option", "preserved_by_reductions",
    "refuse_oversized_integers", "refused", "rewritten", "sort_key",
]  # fmt: skip

__getattr__ = make_module_getattr(
    __name__,
    {
        "Aim": "ObjectiveInfo",
        "Allowance": "TotalBudget",
        "Asking": "SearchCoroutine",
        "BlackBox": "BlackBoxObjective",
        "Configurations": "UniqueConfigurations",
        "Evaluating": "Evaluator",
        "Finished": "FinishedJob",
        "Hyperparameters": "HyperparameterMode",
        "Keeps": "PreservationTable",
        "Later": "LazyRequest",
        "Lowered": "LoweringResult",
        "Novelty": "NoveltyTracker",
        "Order": "SortKey",
        "Part": "NestedPlugin",
        "PointObjective": "MinimizationProblem",
        "Propose": "ProposalFunction",
        "Remembering": "MemorySelector",
        "Scale": "LossScale",
        "Seen": "Observations",
        "Selection": "SelectionProblem",
        "Simple": "SimpleDomain",
        "Told": "SearchEvent",
        "Turn": "SelectorCall",
        "UnlikelyError": "SamplingFailedError",
        "Value": "MinimizationProblem",
        "WithSource": "SourceForm",
        "Workers": "WorkerSettings",
        "exclusion": "first_exclusion",
        "keeps_of": "preserved_by_reductions",
        "minimised": "minimize_with_proposals",
        "order_of": "sort_key",
        "part": "nested_plugin",
        "questions": "build_questions",
        "refuse_giants": "refuse_oversized_integers",
        "report_of": "make_report",
        "reported": "build_report",
        "side_by_side": "gather",
        "together": "ask_all",
    },
)
