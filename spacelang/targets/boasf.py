"""The target `boasf`: the arms of a bandit, each of which is a space.

With `arms=models`, there is one arm for each alternative of a stage, with everything else inside. With
`arms=subspaces`, there is one arm for each combination of pieces of the hyperparameters. Arms are disjoint and cover
the space; each is built when it is first used. A hyperparameter under a condition is split where it is active. Where it
is reached but inactive, a configuration belongs to the arm of the first piece. See spacelang/optimizers/README.md,
section "BOASF: arms".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final, Literal, TypeAlias

from numpy.random import Generator

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain, describe
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.plugins import OptionError, option
from spacelang.reductions.space_restriction import restrict_space
from spacelang.sampling.sampler import Sampler
from spacelang.serialization.definition import space_to_json as definition_of
from spacelang.serialization.space_text import UnwritableSpaceError, space_to_text
from spacelang.solver.counting import Structures
from spacelang.spelling_suggestions import format_suggestion
from spacelang.targets import _boasf
from spacelang.targets._boasf import ArmKey, Partition, Subspace
from spacelang.targets._lowering import (
    ALWAYS,
    Construct,
    FormWithTextRepr,
    LoweringResult,
    PreservationTable,
    exact,
    make_report,
    rewritten,
)
from spacelang.targets._reduction_chain import CONSTRAINT_CONSTRUCTS, DOMAIN_CONSTRUCTS
from spacelang.targets._text_and_dot import quote_dot
from spacelang.text import count_with_noun, pad_table_columns

Pull: TypeAlias = tuple[int, Configuration]  # The index of an arm, counted from 0, and a configuration of that arm

MAX_SHOWN_ARMS: Final = 64  # The maximum number of arms in text and graphs; JSON lists all of them

CANDIDATE_FACTOR: Final = 16
"""Up to `CANDIDATE_FACTOR * cap` candidate arms are generated in order to find and drop the empty ones."""

_UNCHANGED = exact("unchanged in every arm")
_CONSTRAINED = exact("every arm has the constraints that apply to it; empty arms are dropped")
_MOVED = rewritten("a default outside an arm becomes the middle of the piece, or the nearest member")
_CUT = exact(
    "every arm has one piece of each hyperparameter that is cut; the pieces are disjoint and cover the domain, "
    "cut on the log scale under `log`"
)


@dataclass(frozen=True, slots=True)
class Boasf:
    """The arms of a bandit, each a part of the space: one per model, or one per combination of pieces."""

    paper: ClassVar[str] = "Zhu et al., BOASF: A Unified Framework for Speeding up Automatic Machine Learning, 2022"

    preserves: ClassVar[PreservationTable] = {
        Construct.DECISIONS: (exact("one arm for each alternative of one stage; every arm has all other decisions"),),
        Construct.NESTED: (exact("nested decisions are unchanged in every arm"),),
        **dict.fromkeys(DOMAIN_CONSTRUCTS, (_UNCHANGED, _CUT)),
        **dict.fromkeys((Construct.ORDERS, Construct.FIRST, Construct.WEIGHTS, Construct.PRIORS), (_UNCHANGED,)),
        Construct.CONDITIONS: (exact("an inactive hyperparameter counts as a value of its first piece"),),
        **dict.fromkeys(CONSTRAINT_CONSTRUCTS, (_CONSTRAINED,)),
        Construct.TESTED: (exact("every draw is tested with the constraints"), *ALWAYS[Construct.TESTED]),
        Construct.DEFAULTS: (_MOVED,),
        Construct.SPLITS: (exact("`arms=subspaces` cuts the hyperparameter into the given number of pieces"),),
        Construct.BOUNDS: (_UNCHANGED,),
    }

    arms: Literal["models", "subspaces"] = option(
        "models", "what an arm is: an alternative of one stage (`models`) or a piece of the space (`subspaces`)"
    )
    k: int = option(2, "number of pieces of each hyperparameter without `@split`, for `arms=subspaces`")
    stage: str = option("", "the stage whose alternatives are the models; by default the last stage")
    cap: int = option(1024, "maximum number of arms")

    def __post_init__(self) -> None:
        for name, value in (("k", self.k), ("cap", self.cap)):
            if value < 1:
                raise OptionError(f"`{name}` cannot be {value}", f"set `{name}` to 1 or more")
        if self.arms == "subspaces" and self.stage:
            raise OptionError("`stage` has no effect with `arms=subspaces`", "omit `stage`, or set `arms=models`")

    def lower(self, structures: Structures) -> LoweringResult["ArmSpaces", Pull]:
        """Return the arms of the space of the structures; raise OptionError if there are too many."""
        space = structures.space
        arms = self._model_arms(structures) if self.arms == "models" else self._subspace_arms(space)
        # With `subspaces`, an arm has a piece of a domain: the report must not call the domain unchanged.
        cut = {**dict.fromkeys(DOMAIN_CONSTRUCTS, (_CUT,)), Construct.TESTED: ALWAYS[Construct.TESTED]}
        report = make_report(space, {**self.preserves, **(cut if self.arms == "subspaces" else {})})
        return LoweringResult(arms, arms.encode, arms.decode, arms.accepts, arms.sample, report)

    def _model_arms(self, structures: Structures) -> "ArmSpaces":
        space = structures.space
        stage = self._stage(space)
        if stage is None:
            return ArmSpaces(space, (Arm(space, 1, space.title or space.name, Subspace()),), "the space as a whole")
        alive = structures.existence_solver.supported_branches()[stage.address]
        names = [branch.name for place, branch in enumerate(stage.branches) if place in alive]
        if len(names) > self.cap:
            self._raise_too_many_arms(len(names), "choose another stage with `--set stage=…`")
        parts = (Subspace({stage.address: frozenset({name})}) for name in names)
        arms = tuple(Arm(space, n, name, part) for n, (name, part) in enumerate(zip(names, parts, strict=True), 1))
        return ArmSpaces(space, arms, f"the alternatives of `{stage.key}`", stage=stage)

    def _stage(self, space: Space) -> Choice | None:
        if not self.stage:
            return next((stage for stage in reversed(space.stages) if stage.address not in space.permutations), None)
        stages = {stage.key: stage for stage in space.stages}
        if self.stage not in stages:
            told = "the stages are " + ", ".join(f"`{name}`" for name in stages)
            listed = told if stages else "the space has no stages"
            raise OptionError(
                f"unknown stage `{self.stage}`", f"{format_suggestion(self.stage, stages)} {listed}".lstrip()
            )
        return stages[self.stage]

    def _subspace_arms(self, space: Space) -> "ArmSpaces":
        partition = Partition(space, self._pieces)
        most = _boasf.max_arm_count(partition.slots)
        if most > CANDIDATE_FACTOR * self.cap:
            self._raise_too_many_pieces(partition, most)
        parts = ((key, partition.subspace_of(key)) for key in _boasf.iter_arm_keys(partition.slots))
        found = [(key, part) for key, part in parts if part is not None]
        if len(found) > self.cap:
            self._raise_too_many_pieces(partition, len(found))
        arms: list[Arm] = []
        kept: list[ArmKey] = []
        for arm_key, part in found:
            arm = Arm(space, len(arms) + 1, partition.arm_name(arm_key, part) or "all of it", part)
            # Without constraints, only conditions can make an arm empty, and `Partition.subspace_of` has found those.
            if not (space.constraints or part.rules) or arm.space_or_none is not None:
                arms.append(arm)
                kept.append(arm_key)
        title = f"pieces of {count_with_noun(len(partition.split_hyperparameters), 'hyperparameter')}"
        return ArmSpaces(space, tuple(arms), title, partition=partition, iter_arm_keys=tuple(kept))

    def _pieces(self, node: Hyperparameter) -> tuple[Domain, ...]:
        number = self.k if node.split is None else node.split
        if _boasf.is_left_in_one_piece(node.domain, number):
            return (node.domain,)
        if min(number, node.domain.size or number) > CANDIDATE_FACTOR * self.cap:
            self._raise_too_many_arms(min(number, node.domain.size or number), f"cut `{node.key}` into fewer pieces")
        return _boasf.split_into_pieces(node.domain, number)

    def _raise_too_many_pieces(self, partition: Partition, number: int) -> None:
        cuts = len(partition.split_hyperparameters)
        remedy = ""
        if self.k > 1:
            remedy = "`--set k=1` cuts only where `@split(n)` is given, "
        if self.k > 2:
            remedy = f"`--set k={self.k - 1}` cuts into fewer pieces, "
        self._raise_too_many_arms(number, f"{remedy}`@split(1)` keeps one of the {cuts:,} hyperparameters whole")

    def _raise_too_many_arms(self, number: int, remedy: str) -> None:
        raise OptionError(
            f"the space would have {number:,} arms, more than the maximum of {self.cap:,} (`cap`)",
            f"{remedy}, or allow more arms with `--set cap=…`",
        )


class Arm:
    """A part of a space, built as a space when it is first used."""

    def __init__(self, whole: Space, number: int, name: str, takes: Subspace) -> None:
        """Make the arm; `number` is counted from 1, and `takes` is the restriction of the whole space to it."""
        self.name, self.number, self.subspace, self._whole = name, number, takes, whole

    @cached_property
    def space_or_none(self) -> Space | None:
        """The arm as a space, or None if it is empty; the arms of `ArmSpaces` are never empty."""
        whole, rules = self._whole, self.subspace.rules
        limited = replace(whole, constraints=(*whole.constraints, *rules)) if rules else whole
        found = restrict_space(limited, self.subspace.branches, self.subspace.domains)
        return found and replace(found, name=f"{whole.name}_arm_{self.number}", title=self.name)

    @property
    def space(self) -> Space:
        """The arm as a space, with the name of the arm as its title."""
        assert self.space_or_none is not None, "an empty arm must have been dropped"
        return self.space_or_none

    @cached_property
    def structures(self) -> Structures:
        """The structures of the arm."""
        return Structures(self.space)

    @cached_property
    def sampler(self) -> Sampler:
        """The sampler of configurations of the arm."""
        return Sampler(self.structures, advised=True)


class ArmSpaces(FormWithTextRepr):
    """The arms of a space: disjoint and nonempty, and together they cover the space."""

    def __init__(
        self,
        space: Space,
        arms: tuple[Arm, ...],
        title: str,
        *,
        stage: Choice | None = None,
        partition: Partition | None = None,
        iter_arm_keys: Sequence[ArmKey] = (),
    ) -> None:
        """Store the arms, and what finds the arm of a configuration.

        This is `stage`, whose alternatives have the names of the arms, or `partition`, with `iter_arm_keys` as the keys
        of the arms. A single arm needs neither.
        """
        self.space, self.arms = space, arms
        self._title, self._stage, self._partition = title, stage, partition
        self._indices = {arm_key: index for index, arm_key in enumerate(iter_arm_keys)}
        self._index_by_name = {arm.name: index for index, arm in enumerate(arms)}

    def index_of(self, configuration: Configuration) -> int:
        """Return the index of the arm to which a member of the space belongs."""
        if self._partition is not None:
            return self._indices[self._partition.arm_key_of(configuration)]
        return 0 if self._stage is None else self._index_by_name[str(configuration[self._stage.key])]

    def encode(self, configuration: Configuration) -> Pull:
        """Return the index of the arm of a member, and the member."""
        return self.index_of(configuration), configuration

    def decode(self, pull: Pull) -> Configuration:
        """Return the configuration, which is a configuration of the arm and also of the space."""
        return pull[1]

    def accepts(self, pull: Pull) -> bool:
        """Return True if the arm with the index contains the configuration."""
        index, configuration = pull
        return 0 <= index < len(self.arms) and first_exclusion(self.arms[index].space, configuration) is None

    def sample(self, count: int, rng: Generator) -> list[Pull]:
        """Draw `count` configurations: an arm uniformly, then one of its configurations."""
        indices = rng.integers(len(self.arms), size=count).tolist()
        return [(index, self.arms[index].sampler.configuration(rng)) for index in indices]

    def to_json(self) -> dict[str, object]:
        """Return the name and text of every arm; one that cannot be written as text has its definition instead."""
        return {"arms": [{"name": arm.name, **_space_to_json(arm.space)} for arm in self.arms]}

    def to_text(self) -> str:
        """Return a listing of the arms, each with its number of structures and its hyperparameters."""
        lines = [f"{self.space.name}: {count_with_noun(len(self.arms), 'arm')}, {self._title}"]
        for arm in self.arms[:MAX_SHOWN_ARMS]:
            lines += ["", f"{arm.number:>4}  {arm.name}", f"      {count_with_noun(arm.structures.count, 'structure')}"]
            lines += [f"      {name}  {said}" for name, said in pad_table_columns([*self._hyperparameters(arm)])]
        if len(self.arms) > MAX_SHOWN_ARMS:
            lines += ["", f"and {len(self.arms) - MAX_SHOWN_ARMS:,} more"]
        return "\n".join(lines)

    def to_dot(self) -> str:
        """Return a graph of the space with a node for each arm, in the DOT language."""
        title = f"{self.space.name}: {count_with_noun(len(self.arms), 'arm')}"
        lines = [f'  "{arm.number}" [label={quote_dot(arm.name)}];' for arm in self.arms[:MAX_SHOWN_ARMS]]
        lines += [f'  "space" -> "{arm.number}";' for arm in self.arms[:MAX_SHOWN_ARMS]]
        if len(self.arms) > MAX_SHOWN_ARMS:
            lines.append(f'  "more" [label="and {len(self.arms) - MAX_SHOWN_ARMS:,} more", style=dashed];')
            lines.append('  "space" -> "more";')
        head = ["  rankdir=LR;", "  node [shape=box, style=rounded];", f'  "space" [label={quote_dot(title)}];']
        return "\n".join([f"digraph {quote_dot(self.space.name)} {{", *head, *lines, "}"])

    def _hyperparameters(self, arm: Arm) -> Iterator[tuple[str, str]]:
        """Yield the key and the domain of hyperparameters of an arm: the split ones, or those of its alternative."""
        nodes = {node.address: node for node in arm.space.hyperparameters}
        if self._partition is not None:
            for cut in self._partition.split_hyperparameters:
                if cut.node.address in nodes:
                    yield cut.node.key, _boasf.describe_piece(nodes[cut.node.address].domain)
            return
        for address, node in nodes.items():
            if self._stage is None or (self._stage.address, arm.name) in self.space.variables[address].owners:
                yield node.key, describe(node.domain)


def _space_to_json(space: Space) -> dict[str, object]:
    try:
        return {"space": space_to_text(space)}
    except UnwritableSpaceError:
        return {"space": "", "definition": definition_of(space)}
