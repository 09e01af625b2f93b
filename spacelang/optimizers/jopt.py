"""Joint optimization, JOPT: one Gaussian process over structure and hyperparameters.

See spacelang/optimizers/README.md, section "JOPT".
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np
from numpy.random import Generator

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import LazyRequest, Problem, Search
from spacelang.ir.trial import Request, Trial
from spacelang.minimizers import latin_hypercube
from spacelang.optimizers._admm import lower_for_admm
from spacelang.optimizers._common_options import check_option
from spacelang.optimizers._draws import UniqueConfigurations
from spacelang.optimizers._scheduling import make_lazy_request, run_requests
from spacelang.plugins import option
from spacelang.sampling.value_codes import Array
from spacelang.solver.counting import Structures
from spacelang.surrogates import POINTS_WHEN_FITTED, SUBSAMPLING_NOTE, limit_to_one_thread
from spacelang.targets.admm import Admm, AdmmForm, AdmmPoints
from spacelang.targets.blds import DiscrepancyTree

if TYPE_CHECKING:
    from spacelang.surrogates.gaussian_process import IncrementalGaussianProcess


CHUNK: Final = 10  # How many random points replace a repeated point of the initial design, and are decoded at a time


@dataclass(frozen=True, slots=True)
class Jopt:
    """Joint optimization: one Gaussian process over structure and all hyperparameters, and expected improvement."""

    paper: ClassVar[str] = "Liu et al., An ADMM Based Framework for AutoML Pipeline Configuration, AAAI 2020"

    initial: int = option(
        10, "the number of Latin hypercube configurations before the first model; initial configurations count"
    )
    inactive: Literal["proposed", "default", "incumbent"] = option(
        "proposed",
        "what the model gets for inactive hyperparameters: the proposed values, the defaults, or the incumbent's",
    )

    def __post_init__(self) -> None:
        check_option(self, "initial", self.initial >= 2, "must be at least 2: a model needs 2 configurations")

    def search(self, problem: Problem) -> Search:
        """Evaluate the points with the largest expected improvement, without end; a finite space is exhausted.

        A point that violates a constraint is decoded to the nearest member. If there are more than 500 trials, the best
        and the latest enter the model. If no proposal is new, configurations are drawn. For further idle workers the
        model assumes that running trials get the median value. Raises OptionError for a space that the target `admm`
        refuses.
        """
        structures = Structures(problem.space)
        if structures.count:
            yield from _Run(self, problem, structures).run()


class _Run:
    def __init__(self, options: Jopt, problem: Problem, structures: Structures) -> None:
        self._options, self._initial, self._remark = options, problem.initial, problem.remark
        self._joint = JointCube(structures)
        self._design = self._joint.apply_weights_and_priors(
            latin_hypercube(options.initial, self._joint.variable_count, problem.rng)
        )
        self._drawn = UniqueConfigurations(DiscrepancyTree(structures), problem.rng).each_once_in_random_order()
        self._seen: set[Configuration] = set()
        self._points: list[Array] = []
        self._values: list[float] = []
        self._pending: dict[Request | LazyRequest, Array] = {}
        self._is_exhausted = False
        """True once a proposal was not new."""

    def run(self) -> Search:
        yield from run_requests(self._requests(), self._record)

    def _requests(self) -> Iterator[Request | LazyRequest]:
        yield from map(self._start_request, self._initial)
        while not self._is_exhausted:
            yield make_lazy_request(self._propose, self._record_start)
        yield from (self._start_request(each) for each in self._drawn if each not in self._seen)

    def _start_request(self, configuration: Configuration) -> Request:
        request = Request(configuration)
        self._seen.add(configuration)
        self._pending[request] = self._joint.encode(configuration)
        return request

    def _record_start(self, asked: LazyRequest, request: Request) -> None:
        self._pending[asked] = _from_memo(request)
        self._is_exhausted |= request.configuration in self._seen
        self._seen.add(request.configuration)

    def _record(self, asked: Request | LazyRequest, trial: Trial) -> None:
        """Record the value of a trial; a failure counts as the worst value so far, and at least 1."""
        worst = max(self._values, default=1.0)
        self._points.append(self._pending.pop(asked))
        self._values.append(max(worst, 1.0) if trial.loss is None else trial.normalized_loss)
        if len(self._values) > POINTS_WHEN_FITTED:
            self._remark(SUBSAMPLING_NOTE)

    def _propose(self, rng: Generator) -> Request:
        with limit_to_one_thread():
            place = self._with_inactive(_to_float32(self._propose_point(rng)))
        (configuration,) = self._joint.decode(place[None])
        return Request(configuration, memo=(b64encode(place.astype("<f4").tobytes()).decode(),))

    def _propose_point(self, rng: Generator) -> Array:
        count = len(self._points) + len(self._pending)
        if not self._values or count < self._options.initial:
            return self._design_point(count, rng)
        from spacelang.surrogates.gaussian_process import maximise_expected_improvement

        numbers = np.array(self._values)
        pending = np.array([*self._pending.values()], float).reshape(-1, self._joint.variable_count)
        model = self._model_process.fit(np.array(self._points, float), numbers, pending)
        best = float(model.standardise(numbers.min()))
        return maximise_expected_improvement(model.process, best, self._best, rng, self._are_seen)

    def _design_point(self, count: int, rng: Generator) -> Array:
        """Return point number `count`, from 0, of the initial design, or a random point after its end.

        If the member of this point was already started, return a random point whose member is new, if one is found.
        """
        place: Array = self._design[count] if count < len(self._design) else self._draw(1, rng)[0]
        if not self._are_seen(_to_float32(place)[None])[0]:
            return place
        others = _to_float32(self._draw(CHUNK, rng))
        return np.asarray(others[int(self._are_seen(others).argmin())])

    def _draw(self, count: int, rng: Generator) -> Array:
        return self._joint.apply_weights_and_priors(rng.random((count, self._joint.variable_count)))

    def _with_inactive(self, place: Array) -> Array:
        match self._options.inactive:
            case "proposed":
                return place
            case "default":
                return self._joint.replace_inactive(place, _to_float32(self._joint.default_point))
            case "incumbent":
                return self._joint.replace_inactive(place, self._best) if self._values else place

    def _are_seen(self, places: Array) -> Array:
        """Return a boolean for each of n points, shape (n, width): True if its member was already started.

        Points after the first chunk with a new member are not decoded: they are reported as started.
        """
        found: Array = np.ones(len(places), bool)
        for start in range(0, len(places), CHUNK):
            seen = [each in self._seen for each in self._joint.decode(places[start : start + CHUNK])]
            found[start : start + CHUNK] = seen
            if not all(seen):
                break
        return found

    @property
    def _best(self) -> Array:
        return self._points[int(np.argmin(self._values))]

    @cached_property
    def _model_process(self) -> "IncrementalGaussianProcess":
        from spacelang.surrogates.gaussian_process import IncrementalGaussianProcess

        return IncrementalGaussianProcess()


def _to_float32(place: Array) -> Array:
    """Return the point in single precision, since a run stores thousands; evaluated points have this precision."""
    return np.asarray(place, np.float32)


def _from_memo(request: Request) -> Array:
    (text,) = request.memo
    assert isinstance(text, str), "the memo of a request must be an encoded point"
    return np.frombuffer(b64decode(text), "<f4")


class JointCube:
    """The unit cube of a space.

    It has one variable per stage and per order of steps, then theta_c and theta_d of all algorithms. The alternatives
    of a stage divide [0, 1] into intervals of equal width. Integers are relaxed to continuous values. A point is
    decoded to the nearest member of the space, so every point stands for a member. Coordinates that are inactive in the
    member stay part of the point.
    """

    def __init__(self, structures: Structures) -> None:
        """Compile the structures of a space that has at least one structure."""
        self._form: AdmmForm = lower_for_admm(Admm(), structures)

    @property
    def variable_count(self) -> int:
        """The number of variables."""
        return self._decisions + len(self._form.theta_c) + len(self._form.theta_d)

    def decode(self, places: Array) -> list[Configuration]:
        """Decode points, of shape (n, width), to configurations."""
        return self._form.decode_all(self._project(places))

    def encode(self, configuration: Configuration) -> Array:
        """Encode a configuration, shape (width,): mid-interval decisions, and defaults of inactive hyperparameters."""
        point = self._form.encode(configuration)
        chosen = [int(point.z[block.columns].argmax()) for block in self._form.blocks]
        orders = zip(self._form.orders, point.orders, strict=True)
        chosen += [int((order.matrices == matrix).all(axis=(1, 2)).argmax()) for order, matrix in orders]
        parts = (np.array(chosen) + 0.5) / self._sizes
        theta = self._form.theta_c.to_unit(point.theta_c), self._form.theta_d.to_unit(point.theta_d)
        return np.concatenate([parts, *theta])

    def apply_weights_and_priors(self, shares: Array) -> Array:
        """Return the points for uniform shares in [0, 1], shape (n, width), so that they follow weights and priors."""
        form, found = self._form, np.array(shares, float)
        for column, block in enumerate(form.blocks):
            weights = form.weights_of(block)
            if weights is not None:
                sums = np.concatenate([[0.0], np.cumsum(weights)])
                found[:, column] = np.interp(found[:, column], sums, np.linspace(0, 1, len(sums)))
        functions = (
            *form.theta_c.prior_quantile_functions(form.space),
            *form.theta_d.prior_quantile_functions(form.space),
        )
        for column, function in enumerate(functions, self._decisions):
            if function is not None:
                found[:, column] = function(found[:, column])
        return found

    def replace_inactive(self, place: Array, others: Array) -> Array:
        """Return the point `place` with its inactive coordinates taken from `others`; both have shape (width,)."""
        active = self._form.active_mask(self._project(place[None])[0])
        return np.where(np.concatenate([np.ones(self._decisions, bool), active.theta_c, active.theta_d]), place, others)

    @cached_property
    def default_point(self) -> Array:
        """The point of the default values of all algorithms, of shape (width,)."""
        return self.encode(self._form.decode(self._form.default))

    @cached_property
    def _sizes(self) -> Array:
        stages = [len(block.alternatives) for block in self._form.blocks]
        return np.array([*stages, *(len(order.branches) for order in self._form.orders)], int)

    @property
    def _decisions(self) -> int:
        return len(self._form.blocks) + len(self._form.orders)

    def _project(self, places: Array) -> AdmmPoints:
        """Project points, of shape (n, width), to the nearest members of the space."""
        ends = [self._decisions, self._decisions + len(self._form.theta_c)]
        chosen, theta_c, theta_d = np.split(np.asarray(places, float), ends, axis=1)
        alternatives = np.minimum(np.floor(chosen * self._sizes), self._sizes - 1).astype(int)
        blank, rows = self._form.points_with_default_theta(len(places)), np.arange(len(places))
        for block, column in zip(self._form.blocks, alternatives.T, strict=False):
            blank.z[rows, block.start + column] = 1
        columns = alternatives.T[len(self._form.blocks) :]
        for order, matrices, column in zip(self._form.orders, blank.orders, columns, strict=True):
            matrices[...] = order.matrices[column]
        theta = self._form.theta_c.from_unit(theta_c), self._form.theta_d.from_unit(theta_d)
        return self._form.project_all(AdmmPoints(blank.z, *theta, blank.orders))
