"""Encoding of whole configurations as points of one unit cube (spacelang/optimizers/README.md, section "JOPT")."""

from functools import cached_property

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.sampling.value_codes import Array
from spacelang.solver.counting import Structures
from spacelang.targets.admm import Admm, AdmmForm, AdmmPoints


class JointCube:
    """The unit cube of a space.

    It has one variable per stage and per order of steps, then theta_c and theta_d of all algorithms. The alternatives
    of a stage divide [0, 1] into intervals of equal width. Integers are relaxed to continuous values. A point is
    decoded to the nearest member of the space, so every point stands for a member. Coordinates that are inactive in the
    member stay part of the point.
    """

    def __init__(self, structures: Structures) -> None:
        """Compile the structures of a space that has at least one structure."""
        self._form: AdmmForm = Admm().lower(structures).form

    @property
    def width(self) -> int:
        """The number of variables."""
        return self._decisions + len(self._form.theta_c) + len(self._form.theta_d)

    def decode(self, places: Array) -> list[Configuration]:
        """Decode points, of shape (n, width), to configurations."""
        return self._form.decode_all(self._project(places))

    def encode(self, configuration: Configuration) -> Array:
        """Encode a configuration as a point of shape (width,).

        A decision lies in the middle of its interval, and an inactive hyperparameter at its default.
        """
        point = self._form.encode(configuration)
        chosen = [int(point.z[block.columns].argmax()) for block in self._form.blocks]
        orders = zip(self._form.orders, point.orders, strict=True)
        chosen += [int((order.matrices == matrix).all(axis=(1, 2)).argmax()) for order, matrix in orders]
        parts = (np.array(chosen) + 0.5) / self._sizes
        return np.concatenate(
            [parts, self._form.theta_c.to_unit(point.theta_c), self._form.theta_d.to_unit(point.theta_d)]
        )

    def replace_inactive(self, place: Array, others: Array) -> Array:
        """Return the point `place` with its inactive coordinates taken from `others`; both have shape (width,)."""
        active = self._form.active(self._project(place[None])[0])
        kept = np.concatenate([np.ones(self._decisions, bool), active.theta_c, active.theta_d])
        return np.where(kept, place, others)

    @cached_property
    def default_point(self) -> Array:
        """The point of the default values of all algorithms, of shape (width,)."""
        return self.encode(self._form.decode(self._form.default))

    @cached_property
    def _sizes(self) -> Array:
        """The number of alternatives of each decision."""
        stages = [len(block.alternatives) for block in self._form.blocks]
        return np.array([*stages, *(len(order.branches) for order in self._form.orders)], int)

    @property
    def _decisions(self) -> int:
        """The number of decisions: stages and orders of steps."""
        return len(self._form.blocks) + len(self._form.orders)

    def _project(self, places: Array) -> AdmmPoints:
        """Project points, of shape (n, width), to the nearest members of the space."""
        chosen, theta_c, theta_d = np.split(
            np.asarray(places, float), [self._decisions, self._decisions + len(self._form.theta_c)], axis=1
        )
        alternatives = np.minimum(np.floor(chosen * self._sizes), self._sizes - 1).astype(int)
        blank, rows = self._form.points_with_default_theta(len(places)), np.arange(len(places))
        for block, column in zip(self._form.blocks, alternatives.T, strict=False):
            blank.z[rows, block.start + column] = 1
        for order, matrices, column in zip(
            self._form.orders, blank.orders, alternatives.T[len(self._form.blocks) :], strict=True
        ):
            matrices[...] = order.matrices[column]
        theta = self._form.theta_c.from_unit(theta_c), self._form.theta_d.from_unit(theta_d)
        return self._form.project_all(AdmmPoints(blank.z, *theta, blank.orders))
