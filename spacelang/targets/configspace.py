"""The target `configspace`: a `ConfigSpace.ConfigurationSpace` with exactly the members of a space, and its JSON."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Simple, contains, describe, members, parts
from spacelang.ir.expr import references
from spacelang.ir.membership import exclusion
from spacelang.ir.space import Choice, Hyperparameter, said
from spacelang.ir.value import Value, plain
from spacelang.ir.walk import Assignment
from spacelang.optional import library
from spacelang.plugins import option
from spacelang.reductions.domains import Indices, Renamed
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import nearest_admissible
from spacelang.targets._chain import RULES, keeps_of, of_links, of_rules
from spacelang.targets._configspace.codes import is_rewritten
from spacelang.targets._configspace.json_form import Document, document, source
from spacelang.targets._configspace.pieces import Coded, ExactIntegers, FlatHyperparameter, Held, Piece, Scaled
from spacelang.targets._configspace.plan import Plan, UnholdableRangeError
from spacelang.targets._configspace.planning import RefusedConstraintsError, plan_of
from spacelang.targets._configspace.priors import is_sayable
from spacelang.targets._configspace.reading import reading
from spacelang.targets._configspace.text import graph, listing
from spacelang.targets._configspace.ways import FlatValue
from spacelang.targets._constructs import Construct, constructs_in
from spacelang.targets._lowered import (
    GIANT,
    Finding,
    Keeps,
    Lowered,
    Verdict,
    approximated,
    exact,
    refuse_giants,
    refused,
    report_of,
    rewritten,
)

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace
    from numpy.random import Generator

Encoding: TypeAlias = Mapping[str, FlatValue]
"""The values of the active ConfigSpace hyperparameters by name; a ConfigSpace configuration also qualifies."""

WORDS = rewritten("values of mixed types, `none` and tuples are written as strings and decoded back")
SCALED = rewritten("a range of very small or large numbers is scaled by a power of two")
WEIGHED = rewritten("the values of a short stepped range are weighted on the log scale")
CUT = rewritten("an integer range is cut where conditions or constraints compare it; parts are weighted by size")
EVEN = approximated("the indices of a long stepped range are drawn uniformly, not on the log scale")
UNFOLDED = rewritten("built into categoricals, so that excluded configurations do not exist")
NO_PRIOR = approximated("ConfigSpace has no such distribution for these values; they are drawn uniformly")
WIDE = refused("ConfigSpace cannot hold a logarithmic range over more than 280 powers of ten")
TANGLED = refused("ConfigSpace cannot express arithmetic over ranges, or equality of ranges, in conditions or clauses")


def accepts(part: Simple) -> bool:
    """Return True if ConfigSpace has such a range or set: closed ranges, and consecutive integers."""
    return part.is_consecutive if isinstance(part, Grid) else not (isinstance(part, Real) and part.is_open)


@dataclass(frozen=True, slots=True)
class Configspace:
    """A ConfigSpace object and its JSON: decisions are categoricals, what is below an alternative is conditional.

    The JSON document contains that of ConfigSpace under `configuration_space`. Saved in a file of its own,
    `ConfigurationSpace.from_json(path)` reads it (`jq .configuration_space compiled.json > space.json`).
    """

    choices: bool = option(
        False, "name decisions `NAME:__choice__`, as auto-sklearn does; `spacelang import` recognizes them by this name"
    )

    keeps: ClassVar[Keeps] = {
        **keeps_of(accepts, "a categorical"),
        Construct.FLOATS: (exact("a float, which ConfigSpace rounds to 13 decimals"), SCALED, WIDE),
        Construct.INTEGERS: (exact("an integer"), CUT, GIANT),
        Construct.LOG: (exact("`log` of a float or integer"), WEIGHED, CUT, EVEN),
        Construct.STEPS: (
            rewritten("an ordinal of the values of a short range, an integer index for a long range"),
            GIANT,
        ),
        Construct.SETS: (exact("a categorical"), WORDS),
        Construct.ORDERED: (exact("an ordinal"), WORDS),
        Construct.CONDITIONS: (exact("a condition"), UNFOLDED, TANGLED),
        **dict.fromkeys(RULES, (exact("forbidden clauses"), UNFOLDED, TANGLED)),
        Construct.DEFAULTS: (exact("the default configuration of the space"),),
        Construct.WEIGHTS: (exact("weights of a categorical"),),
        Construct.PRIORS: (exact("a normal or uniform distribution"), NO_PRIOR),
    }

    def lower(self, structures: Structures) -> Lowered["ConfigSpaceForm", Encoding]:
        """Return the ConfigSpace form of the space of the structures; its object is built when it is first used."""
        space = structures.space
        refuse_giants(space, self.keeps)
        try:
            plan = plan_of(structures, ":__choice__" if self.choices else "")
        except UnholdableRangeError as error:
            report_of(space, self.keeps, [Finding(Construct.FLOATS, WIDE, error.node.span)])
            raise
        except RefusedConstraintsError as error:
            report_of(space, self.keeps, _refusals(error))
            raise
        form = ConfigSpaceForm(structures, plan)
        report = report_of(space, self.keeps, _findings(plan))
        return Lowered(form, form.encode, form.decode, form.reaches, form.sample, report)


class ConfigSpaceForm:
    """A planned space: its ConfigSpace object, JSON and source, and the conversion of configurations."""

    def __init__(self, structures: Structures, plan: Plan) -> None:
        """Take the structures and a plan; ConfigSpace is imported when `native` is first used."""
        self.structures = structures
        self.space = structures.space
        self.plan = plan

    @cached_property
    def native(self) -> "ConfigurationSpace":
        """The space as a `ConfigSpace.ConfigurationSpace`."""
        theirs = library("ConfigSpace").ConfigurationSpace
        space: ConfigurationSpace = theirs.from_json(StringIO(json.dumps(self.configuration_space)))
        return space

    @cached_property
    def configuration_space(self) -> Document:
        """The document that `ConfigurationSpace.to_json` writes, made without ConfigSpace."""
        return document(self.plan, self.space.name, self._defaults)

    def encode(self, configuration: Configuration) -> dict[str, FlatValue]:
        """Return the values of the ConfigSpace hyperparameters for a member."""
        lookup, values = Assignment.of(self.space, configuration), dict[str, FlatValue]()
        for write in self.plan.writers:
            write(lookup, values)
        return values

    def decode(self, encoding: Encoding) -> Configuration:
        """Return the configuration of values; raise ValueError for names and values that ConfigSpace does not have."""
        values = {name: plain(value) for name, value in dict(encoding).items()}
        unknown = next((name for name in values if name not in self.plan.parameters), None)
        if unknown is not None:
            raise ValueError(f"unknown hyperparameter `{unknown}`")
        found: dict[str, Value] = {}
        for name, value in values.items():
            if name in self.plan.readers:
                try:
                    read = self.plan.readers[name](values)
                except LookupError as error:
                    raise ValueError(f"`{value}` is not a value of `{name}`") from error
                found.update([read] if read is not None else [])
        return Configuration(found)

    def reaches(self, encoding: Encoding) -> bool:
        """Return True if ConfigSpace accepts the values as a configuration."""
        try:
            library("ConfigSpace").Configuration(self.native, values=dict(encoding))
        except ValueError:
            return False
        return True

    def sample(self, count: int, rng: "Generator") -> list[dict[str, FlatValue]]:
        """Draw `count` configurations with ConfigSpace.

        ConfigSpace rounds after drawing, so that a float next to the limit of a constraint may violate it. Such draws
        are dropped.
        """
        space = self.native
        space.seed(int(rng.integers(2**31)))
        found: list[dict[str, FlatValue]] = []
        while len(found) < count:
            left = count - len(found)
            drawn = space.sample_configuration(left) if left > 1 else [space.sample_configuration()]
            values = [{name: plain(value) for name, value in dict(each).items()} for each in drawn]
            found.extend(each for each in values if exclusion(self.space, self.decode(each)) is None)
        return found

    def to_json(self) -> Document:
        """Return the document of ConfigSpace, and how its hyperparameters encode those of the space."""
        return {
            "configuration_space": self.configuration_space,
            "codes": [entry for node, coded in self.plan.coded for entry in _codes(node, coded)],
        }

    def to_text(self) -> str:
        """Return a listing of the hyperparameters with their conditions, and of the forbidden clauses."""
        return listing(self.configuration_space)

    def to_dot(self) -> str:
        """Return a graph of the dependencies between hyperparameters, in the DOT language."""
        return graph(self.configuration_space)

    def to_python(self) -> str:
        """Return a module that builds the space with ConfigSpace alone, and has `decode(configuration)`."""
        decode = reading(self.plan)
        built, theirs = source(self.configuration_space), "import ConfigSpace as cs"
        if "math." in decode:
            built = built.replace(theirs, f"import math\n\n{theirs}", 1)
        return f"{built}\n\n\n{decode}"

    @cached_property
    def _defaults(self) -> dict[str, FlatValue]:
        """Defaults that make the default configuration of ConfigSpace that of the space.

        If constraints exclude the default configuration, it is the member nearest to it.
        """
        found: dict[str, FlatValue] = {}
        for node, coded in self.plan.coded:
            if isinstance(coded, Coded):
                for part in parts(coded.domain):
                    found |= coded.encode(part.middle)
                if isinstance(node, Hyperparameter) and contains(coded.domain, node.default):
                    found |= coded.encode(node.default)
        return {**found, **self.encode(nearest_admissible(self.structures)[1])}


def _codes(node: Choice | Hyperparameter, coded: Coded | FlatHyperparameter) -> Iterator[Document]:
    """Yield how hyperparameters encode values, where these differ from the values of the space."""
    if isinstance(coded, FlatHyperparameter):
        if coded.name != node.key:
            yield {"names": [coded.name], "key": node.key}
        return
    names = [parameter.name for parameter in coded.parameters]
    if names != [node.key] or not _is_same(coded):
        yield {"names": names, "key": node.key, "domain": describe(coded.domain)}


def _is_same(coded: Coded) -> bool:
    match coded.pieces[0]:
        case Held(reduction=Renamed(part=part)):
            return not is_rewritten([*members(part)])
        case Held(reduction=Scaled(exponent=0) | ExactIntegers()):
            return True
        case _:
            return False


def _findings(plan: Plan) -> Iterator[Finding]:
    for node, coded in plan.coded:
        if isinstance(node, Hyperparameter):
            if not is_sayable(node):
                yield Finding(Construct.PRIORS, NO_PRIOR, node.span)
            if isinstance(coded, Coded) and len(parts(coded.domain)) > len(parts(node.domain)):
                yield Finding(Construct.LOG if _is_log(node.domain) else Construct.INTEGERS, CUT, node.span)
    coded_nodes = [(n, each) for n, each in plan.coded if isinstance(n, Hyperparameter) and isinstance(each, Coded)]
    yield from of_links(((node, piece) for node, each in coded_nodes for piece in each.pieces), _made)
    for network in plan.unfolded:
        for member in network.members:
            if member.condition is not None:
                yield Finding(Construct.CONDITIONS, UNFOLDED, member.condition.span)
        yield from of_rules(network.constraints, UNFOLDED)


def _made(_: Hyperparameter, piece: Piece) -> Iterator[tuple[Construct, Verdict]]:
    """Yield the verdicts on a piece of a domain."""
    match piece:
        case Held(reduction=Renamed(), part=Categorical() as part) if is_rewritten(part.values):
            yield Construct.ORDERED if isinstance(part, Ordinal) else Construct.SETS, WORDS
        case Held(reduction=Renamed(), parameter=FlatHyperparameter(weights=tuple())):
            yield Construct.LOG, WEIGHED
        case Held(reduction=Scaled(exponent=exponent)) if exponent:
            yield Construct.FLOATS, SCALED
        case Held(reduction=Indices()) if _is_log(piece.part):
            yield Construct.LOG, EVEN
        case _:
            pass


def _is_log(domain: Domain) -> bool:
    return Construct.LOG in constructs_in(domain)


def _refusals(error: RefusedConstraintsError) -> Iterator[Finding]:
    """Yield findings for the constraints and conditions of a network that compare ranges.

    If none does, these are all of them.
    """
    network = error.network
    compared = {address for atom in network.ranges.values() for address in references(atom)}
    rules = [rule for rule in network.constraints if len(compared & set(rule.scope)) > 1 or not compared]
    tied = said(network.members, ())
    conditions = [each for each in tied if len(compared & set(references(each))) > 1 or not (compared or rules)]
    yield from of_rules(rules, TANGLED)
    yield from (Finding(Construct.CONDITIONS, TANGLED, condition.span) for condition in conditions)
