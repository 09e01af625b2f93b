"""Contracts: what another package needs for a target, an optimizer, a part of one, an executor or an objective.

Everything is defined where it is at home; what is named here is public and stays as it says. A plug-in is a frozen
dataclass whose options are the fields that `option` declares; one with a value that cannot be raises `OptionError`. A
package offers it by an entry point in the group `spacelang.targets`, `spacelang.optimizers` or `spacelang.minimizers`,
under the name that users give it; `TARGETS`, `OPTIMIZERS` and `MINIMIZERS` find it there. An option that is a plug-in
with options of its own is a `Part`, and `part` declares it.

**A space** is a `Space`: a tree of decisions with hyperparameters and constraints. A `Configuration` of it maps keys to
values; `exclusion(space, configuration)` says why one is not a member, None where it is. `Structures` counts what there
is, and a `Sampler` of them draws from it; where constraints cannot be decided, or values that satisfy them are not
found, that raises `UndecidableError` or `UnlikelyError`. A `DiscrepancyTree` has the pipelines of a space as its
leaves, each a `Pipeline`; `Configurations` gives each configuration once, in random order.

**A target** is a `Target`: its `keeps`, a `Keeps`, declare what it makes of each `Construct`, as verdicts that are
`exact`, `rewritten`, `approximated` or `refused`. `lower(structures)` is a `Lowered`: a `Form`, which may be one
`WithSource`, the way down to the form's encoding and back, what the form reaches and draws, and the report, which is
`report_of(space, keeps, findings)` with a `Finding` for each place where the target does not make the usual of it. That
raises `RefusedError` for what is refused. A target whose values are floats says `refuse_giants(space, keeps)` first.
One that knows neither conditions nor constraints only says which `Simple` domains it accepts, a `Real`, a `Grid`, a
`Categorical` or an `Ordinal`: `questions(structures, accepts, keeps)` are `Questions` of these, each by its name, with
the way from configurations to answers and back, `keeps_of(accepts)` is what becomes of each construct on the way, and
`reported(chain, keeps)` the report.

**An optimizer** is an `Optimizer`: `search(problem)` is told a `Problem`, with the `Allowance` of the run and the
configurations that it begins with, and is a `Search`, which is an `Asking` without a result: a generator that yields an
`Ask` and is sent a `Told`. It asks for a `Request`, or for a `Later` that makes one, and is told a `Trial` with its
`Status`, a `Measurement` by each bound and its standing on a `Scale`. `together(requests)` is a round,
`side_by_side(parts)` are parts that go on at once; `order_of(trial)` sorts trials by their `Order`. One that has an
option `hyperparameters` does with it what `Hyperparameters` says. `Novelty` counts which parts of a search run dry.

**A selector** is a `Selector`, and an optimizer can be a part of others where its `selector()` makes one:
`select(selection, iterations, start)` is an `Asking` of the best `Pipeline`. A `Selection` has the tree, says how each
pipeline is configured at present and by what trials are compared. `Remembering` is all of it but for what it does in a
`Turn`, in which what is known is recalled.

**A minimizer** is a `Minimizer`: `minimise(value, box, calls, start)` is an `Asking` of the best `Point` of a `Box`,
each `Dimension` of which is all of [0, 1] or some members of it. What is minimised is a `Value`. `minimised` is all of
it but for what it is told to `Propose` after what was `Seen`.

**An executor** is an `Executor`: its workers take a `Job` each, do what `Evaluate` says within its `Limits`, and what
came of it is `Finished`. An entry point in the group `spacelang.executors` names one, which `EXECUTORS` finds; its
`hired(evaluate, workers, forks=False)` makes it with so many `Workers`.

**An objective** is an `Objective`: an `Aim`, which is what is to be known of its trials, and `Evaluating`, which makes
one of a request. What it calls its loss is a `LossName`, what it is evaluated on `DataFacts`. A `BlackBox` is the aim
of one without data; what that bounds is a `FunctionBound`. `sl.search(space, objective=...)` takes it.

`spacelang.testing` has the suites that tell whether one does what it must, CONTRIBUTING.md a short one of each.
"""

from spacelang.draws.joint import UnlikelyError
from spacelang.draws.sampling import Sampler
from spacelang.ir.asking import Ask, Asking, Later, Search, Told, side_by_side, together
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, Simple
from spacelang.ir.membership import exclusion
from spacelang.ir.problem import Allowance, Problem
from spacelang.ir.scale import Scale
from spacelang.ir.space import Space
from spacelang.ir.task import FunctionBound, Limits
from spacelang.ir.trial import Measurement, Order, Request, Status, Trial, order_of
from spacelang.minimizers import MINIMIZERS, Box, Dimension, Minimizer, Point, Propose, Seen, Value, minimised
from spacelang.optimizers import OPTIMIZERS, Hyperparameters, Optimizer
from spacelang.optimizers._configurations import Configurations
from spacelang.optimizers._novelty import Novelty
from spacelang.optimizers._selection import Selection, Selector
from spacelang.optimizers._turn import Remembering, Turn
from spacelang.plugins import OptionError, Part, option, part
from spacelang.reductions.questions import Questions
from spacelang.runtime.boxes import BlackBox
from spacelang.runtime.executors import EXECUTORS, Evaluate, Executor, Finished, Job, Workers
from spacelang.runtime.loss_name import LossName
from spacelang.runtime.objective import Aim, Evaluating, Objective
from spacelang.runtime.storing.header import DataFacts
from spacelang.solver.counting import Structures
from spacelang.solver.network import UndecidableError
from spacelang.targets import TARGETS
from spacelang.targets._chain import keeps_of, questions, reported
from spacelang.targets._constructs import Construct
from spacelang.targets._lowered import (
    Finding,
    Form,
    Keeps,
    Lowered,
    RefusedError,
    Target,
    WithSource,
    approximated,
    exact,
    refuse_giants,
    refused,
    report_of,
    rewritten,
)
from spacelang.targets.blds import DiscrepancyTree, Pipeline

__all__ = [
    "EXECUTORS",
    "MINIMIZERS",
    "OPTIMIZERS",
    "TARGETS",
    "Aim",
    "Allowance",
    "Ask",
    "Asking",
    "BlackBox",
    "Box",
    "Categorical",
    "Configuration",
    "Configurations",
    "Construct",
    "DataFacts",
    "Dimension",
    "DiscrepancyTree",
    "Evaluate",
    "Evaluating",
    "Executor",
    "Finding",
    "Finished",
    "Form",
    "FunctionBound",
    "Grid",
    "Hyperparameters",
    "Job",
    "Keeps",
    "Later",
    "Limits",
    "LossName",
    "Lowered",
    "Measurement",
    "Minimizer",
    "Novelty",
    "Objective",
    "Optimizer",
    "OptionError",
    "Order",
    "Ordinal",
    "Part",
    "Pipeline",
    "Point",
    "Problem",
    "Propose",
    "Questions",
    "Real",
    "RefusedError",
    "Remembering",
    "Request",
    "Sampler",
    "Scale",
    "Search",
    "Seen",
    "Selection",
    "Selector",
    "Simple",
    "Space",
    "Status",
    "Structures",
    "Target",
    "Told",
    "Trial",
    "Turn",
    "UndecidableError",
    "UnlikelyError",
    "Value",
    "WithSource",
    "Workers",
    "approximated",
    "exact",
    "exclusion",
    "keeps_of",
    "minimised",
    "option",
    "order_of",
    "part",
    "questions",
    "refuse_giants",
    "refused",
    "report_of",
    "reported",
    "rewritten",
    "side_by_side",
    "together",
]
