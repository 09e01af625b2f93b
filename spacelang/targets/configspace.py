"""The target `configspace`: a `ConfigSpace.ConfigurationSpace` with exactly the members of a space, and its JSON."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from spacelang.errors import import_optional
from spacelang.ir import domain as domains
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, SimpleDomain, parts
from spacelang.ir.expr import references
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Choice, Hyperparameter
from spacelang.ir.value import Value, are_same_value, to_python_scalar
from spacelang.ir.walk import Assignment, expressions_of
from spacelang.plugins import option
from spacelang.reductions.domain_reductions import MemberIndexReduction, MemberRenamingReduction, ScaledRangeReduction
from spacelang.reductions.quantile_reduction import QuantileReduction
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import member_nearest_to_default
from spacelang.targets import _lowering, _reduction_chain
from spacelang.targets._configspace import documents
from spacelang.targets._configspace import encoded_domains as cs
from spacelang.targets._configspace.documents import Document
from spacelang.targets._configspace.space_plan import (
    MAX_CONDITION_TERMS,
    ConfigSpacePlan,
    UnsupportedHyperparameterError,
)
from spacelang.targets._configspace.space_planner import RefusedConstraintsError, make_plan
from spacelang.targets._lowering import Construct, PreservationTable, Verdict, approximated, exact, refused, rewritten
from spacelang.targets._random_draws import (
    ACTIVITY_FIRST,
    REPEATED_REASON,
    DeviationReason,
    RandomDrawDeclaration,
    keys_of_constrained_variables,
    keys_of_hyperparameters_with,
)
from spacelang.targets._relations import (
    RELATIONS_DOC,
    Lowering,
    RelationsOption,
    lower_by_relations,
    quantile_decoder_source,
    refuse_other_relations,
    translate_report_to_original,
    with_quantile_verdicts,
)

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace
    from numpy.random import Generator

Encoding: TypeAlias = Mapping[str, cs.FlatValue]
"""The values of the active ConfigSpace hyperparameters by name; a ConfigSpace configuration also qualifies."""

AS_STRINGS = rewritten("values of mixed types, `none` and tuples are written as strings and decoded back")
SCALED = rewritten("a range of very small or large numbers is scaled by a power of two")
LOG_WEIGHTS = rewritten("the values of a short stepped range are weighted on the log scale")
CUT_AT_LIMITS = rewritten(
    "an integer range is cut where only nested choices express a comparison, or if it is logarithmic beyond "
    "10,000,000; parts are weighted by size"
)
UNIFORM_INDICES = approximated("the indices of a long stepped range are drawn uniformly, not on the log scale")
UNFOLDED = rewritten("built into categorical hyperparameters, so that excluded configurations do not exist")
NO_PRIOR = approximated("ConfigSpace has no such distribution for these values; they are drawn uniformly")
TOO_WIDE = refused("ConfigSpace cannot hold a logarithmic range over more than 280 powers of ten")
INEXPRESSIBLE = refused(
    "ConfigSpace cannot express arithmetic over ranges, or equality of ranges, in conditions or clauses"
)
TOO_LONG = refused(
    f"ConfigSpace would take minutes to read a condition of more than {MAX_CONDITION_TERMS} cases: "
    "ask about fewer values"
)


DECODE_QUANTILES: Final = '''\
def decode(configuration):
    """Return the configuration of the search space for one of ConfigSpace."""
    return values_of(decode_numbers(configuration))'''


def accepts(part: SimpleDomain) -> bool:
    """Return True for domains that ConfigSpace has itself: closed ranges, and consecutive integers."""
    return part.is_consecutive if isinstance(part, Grid) else not (isinstance(part, Real) and part.is_open)


def _is_log_grid(part: SimpleDomain) -> bool:
    return isinstance(part, Grid) and part.log


@dataclass(frozen=True, slots=True)
class Configspace:
    """A ConfigSpace object and its JSON: decisions are categoricals, variables below an alternative are conditional.

    The JSON document contains that of ConfigSpace under `configuration_space`. Saved in a file of its own,
    `ConfigurationSpace.from_json(path)` reads it (`jq .configuration_space compiled.json > space.json`).
    """

    choices: bool = option(
        False, "name decisions `NAME:__choice__`, as auto-sklearn does; `spacelang import` recognizes them by this name"
    )

    random_draws: ClassVar[RandomDrawDeclaration] = RandomDrawDeclaration(
        "`ConfigurationSpace.sample_configuration`",
        (
            DeviationReason(REPEATED_REASON, lambda form: keys_of_constrained_variables(form.structures)),
            ACTIVITY_FIRST,
            DeviationReason(
                "small integers of logarithmic ranges are drawn less often",
                lambda form: keys_of_hyperparameters_with(form.space, _is_log_grid),
            ),
        ),
    )

    default_relations: ClassVar[tuple[Lowering, ...]] = ("native", "quantiles")

    preserves: ClassVar[PreservationTable] = with_quantile_verdicts(
        {
            **_reduction_chain.preserved_by_reductions(accepts, "a categorical"),
            Construct.FLOATS: (exact("a float, which ConfigSpace rounds to 13 decimals"), SCALED, TOO_WIDE),
            Construct.INTEGERS: (exact("an integer"), CUT_AT_LIMITS, _lowering.OVERSIZED),
            Construct.LOG: (
                exact("`log` of a float or integer hyperparameter"),
                LOG_WEIGHTS,
                CUT_AT_LIMITS,
                UNIFORM_INDICES,
            ),
            Construct.STEPS: (
                rewritten("an ordinal of the values for a short range, an integer index of the value for a long range"),
                _lowering.OVERSIZED,
            ),
            Construct.SETS: (exact("a categorical"), AS_STRINGS),
            Construct.ORDERED: (exact("an ordinal"), AS_STRINGS),
            Construct.CONDITIONS: (exact("a condition"), UNFOLDED, INEXPRESSIBLE, TOO_LONG),
            **dict.fromkeys(
                _reduction_chain.CONSTRAINT_CONSTRUCTS, (exact("forbidden clauses"), UNFOLDED, INEXPRESSIBLE, TOO_LONG)
            ),
            Construct.DEFAULTS: (exact("the default configuration of the space"),),
            Construct.WEIGHTS: (exact("the weights of a categorical hyperparameter"),),
            Construct.PRIORS: (exact("a normal or uniform distribution"), NO_PRIOR),
        }
    )

    relations: RelationsOption = option("auto", RELATIONS_DOC)

    def lower(self, structures: Structures) -> _lowering.LoweringResult["ConfigSpaceForm", Encoding]:
        """Return the ConfigSpace form of the space of the structures; its object is built when it is first used."""
        return lower_by_relations(self, structures, self._lower, self._lower)

    def _lower(self, reduction: QuantileReduction) -> _lowering.LoweringResult["ConfigSpaceForm", Encoding]:
        structures = reduction.reduced_structures
        space = structures.space
        _lowering.refuse_oversized_integers(space, self.preserves)
        try:
            plan = make_plan(structures, ":__choice__" if self.choices else "")
        except UnsupportedHyperparameterError as error:
            too_wide = _lowering.Finding(Construct.FLOATS, TOO_WIDE, error.node.span)
            _lowering.make_report(space, self.preserves, [too_wide])
            raise
        except RefusedConstraintsError as error:
            _lowering.make_report(space, self.preserves, _refusals(error))
            raise
        if self.relations == "native":
            cut = {rule for network in plan.unfolded for rule in network.constraints}
            refuse_other_relations(space, {*space.constraints} - cut, self.preserves, INEXPRESSIBLE)
        form = ConfigSpaceForm(structures, plan, reduction)
        report = translate_report_to_original(reduction, _lowering.make_report(space, self.preserves, _findings(plan)))
        return _lowering.LoweringResult(form, form.encode, form.decode, form.accepts, form.sample, report)


class ConfigSpaceForm(_lowering.FormWithTextRepr):
    """A planned space: its ConfigSpace object, JSON and source, and the conversion of configurations."""

    def __init__(self, structures: Structures, plan: ConfigSpacePlan, reduction: QuantileReduction) -> None:
        """Store the structures of the reduced space, its plan, and the reduction."""
        self.structures, self.space, self.plan, self.reduction = structures, structures.space, plan, reduction

    @cached_property
    def native(self) -> "ConfigurationSpace":
        """The space as a `ConfigSpace.ConfigurationSpace`; ConfigSpace is imported when it is first used."""
        theirs = import_optional("ConfigSpace").ConfigurationSpace
        space: ConfigurationSpace = theirs.from_json(StringIO(json.dumps(self.configuration_space_document)))
        return space

    @cached_property
    def configuration_space_document(self) -> Document:
        """The document that `ConfigurationSpace.to_json` writes, made without ConfigSpace."""
        return documents.to_configspace_document(self.plan, self.space.name, self._defaults)

    def encode(self, configuration: Configuration) -> dict[str, cs.FlatValue]:
        """Return the values of the ConfigSpace hyperparameters for a member."""
        return self._encode_reduced(self.reduction.encode(configuration))

    def _encode_reduced(self, configuration: Configuration) -> dict[str, cs.FlatValue]:
        lookup, values = Assignment.from_configuration(self.space, configuration), dict[str, cs.FlatValue]()
        for write in self.plan.writers:
            write(lookup, values)
        return {name: value for name, value in values.items() if name not in self.plan.constants}

    def decode(self, encoding: Encoding) -> Configuration:
        """Return the configuration of values; raise ValueError for names and values that ConfigSpace does not have.

        Hyperparameters that are left out because they are always the same may have their value: spacelang 0.2 wrote it.
        """
        return self.reduction.decode(self._decode_reduced(encoding))

    def _decode_reduced(self, encoding: Encoding) -> Configuration:
        values = {name: to_python_scalar(value) for name, value in dict(encoding).items()}
        for name, value in values.items():
            if name in self.plan.constants:
                if not are_same_value(value, constant := self.plan.constants[name]):
                    raise ValueError(f"`{name}` is always {domains.literal(constant)}, not {value}")
            elif name not in self.plan.parameters:
                raise ValueError(f"unknown hyperparameter `{name}`")
        values = {name: value for name, value in values.items() if name not in self.plan.constants}
        found: dict[str, Value] = {**self.plan.fixed}
        for name, value in values.items():
            if name in self.plan.readers:
                try:
                    read = self.plan.readers[name](values)
                except LookupError as error:
                    raise ValueError(f"`{value}` is not a value of `{name}`") from error
                found.update([read] if read is not None else [])
        return Configuration(found)

    def accepts(self, encoding: Encoding) -> bool:
        """Return True if ConfigSpace accepts the values as a configuration."""
        try:
            import_optional("ConfigSpace").Configuration(self.native, values=dict(encoding))
        except ValueError:
            return False
        return True

    def sample(self, count: int, rng: "Generator") -> list[dict[str, cs.FlatValue]]:
        """Draw with ConfigSpace until `count` draws are members of the space.

        ConfigSpace rounds floats, so that some of its draws violate constraints.
        """
        space = self.native
        space.seed(int(rng.integers(2**31)))
        found: list[dict[str, cs.FlatValue]] = []
        while len(found) < count:
            left = count - len(found)
            drawn = space.sample_configuration(left) if left > 1 else [space.sample_configuration()]
            values = [{name: to_python_scalar(value) for name, value in dict(each).items()} for each in drawn]
            found.extend(each for each in values if first_exclusion(self.space, self._decode_reduced(each)) is None)
        return found

    def to_json(self) -> Document:
        """Return the document of ConfigSpace, and which hyperparameters encode a variable in another way."""
        constants = self.plan.constants
        codes = [entry for node, coded in self.plan.coded for entry in _codes(node, coded, constants)]
        return {"configuration_space": self.configuration_space_document, "codes": codes}

    def to_text(self) -> str:
        """Return a listing of the hyperparameters with their conditions, and of the forbidden clauses."""
        fixed = [f"  {key} = {domains.literal(value)}, which is not a choice" for key, value in self.plan.fixed.items()]
        return "\n".join([documents.text_listing(self.configuration_space_document), *fixed])

    def to_dot(self) -> str:
        """Return a graph of the dependencies between hyperparameters, in the DOT language."""
        return documents.dot_graph(self.configuration_space_document)

    def to_python(self) -> str:
        """Return a module that builds the space with ConfigSpace alone, and has `decode(configuration)`."""
        decode = documents.decoder_source(self.plan)
        if restored := quantile_decoder_source(self.reduction):
            inner = decode.replace("def decode(", "def decode_numbers(")
            decode = "\n\n\n".join([*restored, inner, DECODE_QUANTILES])
        built, theirs = documents.space_source(self.configuration_space_document), "import ConfigSpace as cs"
        if "math." in decode:
            built = built.replace(theirs, f"import math\n\n{theirs}", 1)
        return f"{built}\n\n\n{decode}"

    @cached_property
    def _defaults(self) -> dict[str, cs.FlatValue]:
        """The values of the default configuration, or of the valid one nearest to it, by ConfigSpace hyperparameter.

        Hyperparameters that are inactive in it have values, too.
        """
        found: dict[str, cs.FlatValue] = {}
        for node, coded in self.plan.coded:
            if isinstance(coded, cs.EncodedDomain):
                for part in parts(coded.domain):
                    found |= coded.encode(part.representative)
                if isinstance(node, Hyperparameter) and domains.contains(coded.domain, node.default):
                    found |= coded.encode(node.default)
        return {**found, **self._encode_reduced(member_nearest_to_default(self.structures)[1])}


def _codes(
    node: Choice | Hyperparameter,
    coded: cs.EncodedDomain | cs.FlatHyperparameter,
    constants: Mapping[str, cs.FlatValue],
) -> Iterator[Document]:
    """Yield an entry for a variable unless one ConfigSpace hyperparameter has its key and its values.

    The entry of one that no hyperparameter encodes, because it has one value only, has no names.
    """
    parameters = (coded,) if isinstance(coded, cs.FlatHyperparameter) else coded.parameters
    names = [each.name for each in parameters if each.name not in constants]
    if isinstance(coded, cs.EncodedDomain):
        if names != [node.key] or not _is_unchanged(coded):
            yield {"names": names, "key": node.key, "domain": domains.describe(coded.domain)}
    elif not names:
        yield {"names": names, "key": node.key, "domain": f"{{{coded.choices[0]}}}"}
    elif names != [node.key]:
        yield {"names": names, "key": node.key}


def _is_unchanged(coded: cs.EncodedDomain) -> bool:
    match coded.pieces[0]:
        case cs.HyperparameterPiece(reduction=MemberRenamingReduction(part=part)):
            return not cs.needs_literals([*domains.members(part)])
        case cs.HyperparameterPiece(reduction=ScaledRangeReduction(exponent=0) | cs.UnchangedIntegerReduction()):
            return True
        case _:
            return False


def _findings(plan: ConfigSpacePlan) -> Iterator[_lowering.Finding]:
    for node, coded in plan.coded:
        if isinstance(node, Hyperparameter):
            if not cs.has_expressible_prior(node):
                yield _lowering.Finding(Construct.PRIORS, NO_PRIOR, node.span)
            if isinstance(coded, cs.EncodedDomain) and len(parts(coded.domain)) > len(parts(node.domain)):
                yield _lowering.Finding(
                    Construct.LOG if _is_log(node.domain) else Construct.INTEGERS, CUT_AT_LIMITS, node.span
                )
    own = ((n, each) for n, each in plan.coded if isinstance(n, Hyperparameter) and isinstance(each, cs.EncodedDomain))
    pieces = ((node, piece) for node, each in own for piece in each.pieces)
    yield from _reduction_chain.worst_finding_per_place(pieces, _piece_verdicts)
    for network in plan.unfolded:
        for member in network.members:
            if member.condition is not None:
                yield _lowering.Finding(Construct.CONDITIONS, UNFOLDED, member.condition.span)
        yield from _reduction_chain.constraint_findings(network.constraints, UNFOLDED)


def _piece_verdicts(_: Hyperparameter, piece: cs.Piece) -> Iterator[tuple[Construct, Verdict]]:
    match piece:
        case cs.HyperparameterPiece(reduction=MemberRenamingReduction(), part=Categorical() as part):
            if cs.needs_literals(part.values):
                yield Construct.ORDERED if isinstance(part, Ordinal) else Construct.SETS, AS_STRINGS
        case cs.HyperparameterPiece(
            reduction=MemberRenamingReduction(), parameter=cs.FlatHyperparameter(weights=tuple())
        ):
            yield Construct.LOG, LOG_WEIGHTS
        case cs.HyperparameterPiece(reduction=ScaledRangeReduction(exponent=exponent)) if exponent:
            yield Construct.FLOATS, SCALED
        case cs.HyperparameterPiece(reduction=MemberIndexReduction()) if _is_log(piece.part):
            yield Construct.LOG, UNIFORM_INDICES
        case _:
            pass


def _is_log(domain: Domain) -> bool:
    return Construct.LOG in _lowering.constructs_in(domain)


def _refusals(error: RefusedConstraintsError) -> Iterator[_lowering.Finding]:
    """Yield a refusal for each constraint and condition of a network that compares ranges; for all if none does."""
    network = error.network
    compared = {address for atom in network.ranges.values() for address in references(atom)}
    rules = [rule for rule in network.constraints if len(compared & set(rule.scope)) > 1 or not compared]
    tied = expressions_of(network.members, ())
    conditions = [each for each in tied if len(compared & set(references(each))) > 1 or not (compared or rules)]
    verdict = TOO_LONG if error.is_too_long else INEXPRESSIBLE
    yield from _reduction_chain.constraint_findings(rules, verdict)
    yield from (_lowering.Finding(Construct.CONDITIONS, verdict, condition.span) for condition in conditions)
