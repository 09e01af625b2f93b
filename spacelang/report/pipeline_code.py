"""Write the pipelines of a space as code, with one function per decision.

Operators become constructor calls whose arguments are values of a configuration. The code does what
`runtime/pipelines/build.py` does when it walks the space.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from spacelang.catalog.catalogue import Parameter
from spacelang.ir.domain import Categorical, Domain, Grid, Real, parts
from spacelang.ir.space import (
    NOTHING,
    Branch,
    Choice,
    ColumnSelector,
    Fixed,
    Hyperparameter,
    Kind,
    Named,
    Node,
    Operator,
    Product,
    Space,
    subtree,
)
from spacelang.ir.value import Value
from spacelang.report.code import CodeWriter
from spacelang.report.functions import PIPELINE, RESAMPLING, THERE, UNKNOWN, USES
from spacelang.runtime.data.content import TEXT_VALUES, is_mostly_different, is_text
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines import chain, columns
from spacelang.runtime.pipelines.columns import DTYPES, READERS, STRINGS
from spacelang.runtime.pipelines.library import class_of, entry, object_of, set_by_runtime
from spacelang.targets._exports.python import (
    Called,
    Code,
    Item,
    Keyed,
    Listed,
    Literal,
    Name,
    Paired,
    call,
    expression,
    infix,
    text,
)

GIVEN: Final = "given"
SEED: Final = "random_state"
STRINGS_OF: Final = columns.Strings.__name__
TRANSFORMER_OF: Final = columns.transformer_of.__name__
"""The class that finds columns of text when it is fitted, and the function that reads them one by one."""


@dataclass(frozen=True, slots=True)
class PipelineCode:
    """A writer of expressions and of the functions of decisions, which collects their imports and helpers."""

    writer: CodeWriter = field(default_factory=lambda: CodeWriter([]))
    functions: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    @property
    def imports(self) -> str:
        """The import statements."""
        first = ["from collections.abc import Iterable, Mapping, Sequence"]
        first += ["from dataclasses import dataclass"] if self.finds_text else []
        first += ["from itertools import permutations"] if "ordered" in self.used else []
        return "\n".join([*first, "from typing import Any", "", self.writer.imports])

    @property
    def finds_text(self) -> bool:
        """True if the code finds columns of text when a pipeline is fitted."""
        return bool(self.used & {STRINGS_OF, TRANSFORMER_OF})

    def helpers(self, space: Space) -> Iterator[str]:
        """Yield the helper functions that the code needs, which do not depend on the space."""
        operators = [each for each in subtree(space.root) if isinstance(each, Operator)]
        resamples = any(hasattr(class_of(each), "fit_resample") for each in operators)
        self.writer.imported("Pipeline", Pipeline)
        if "union" in self.used:
            self.writer.imported("FeatureUnion", FeatureUnion)
        yield f"Step = tuple[str, Any]\nTAKEN = {{{', '.join(map(text, sorted(chain.TAKEN)))}}}"
        wanted: list[Any] = [chain.named_apart]
        if resamples:
            wanted = [chain.pipeline_class, chain.flattened, chain.named_apart, chain.dissolved, chain.resamples]
        yield from map(inspect.getsource, wanted)
        yield THERE
        yield UNKNOWN
        yield RESAMPLING if resamples else PIPELINE
        yield from (found for name, found in USES.items() if name in self.used)
        if self.finds_text:
            yield from self.text_readers()

    def text_readers(self) -> Iterator[str]:
        """Yield the source of the classes and functions that find columns of text, copied from `columns.py`."""
        self.writer.imported("FeatureUnion", FeatureUnion)
        for each in (BaseEstimator, TransformerMixin, clone, make_column_selector):
            self.writer.imported(each.__name__, each)
        yield f"TEXT_VALUES = {TEXT_VALUES}\nSTRINGS = {STRINGS}\nREADERS = {text(READERS)}"
        for each in (is_mostly_different, is_text, columns.Strings, columns.texts_of, columns.EachColumn):
            yield source(each)
        yield from map(source, (columns.reads_text, columns.transformer_of))

    def call(self, helper: str, *arguments: Code) -> Called:
        """Return a call of a helper function, which is then written into the module."""
        self.used.add(helper)
        return Called(helper, arguments)

    def steps(self, node: Node) -> Iterator[Code]:
        """Yield the steps that a node adds to the pipeline: pairs of a name or None, and a step or None."""
        match node:
            case Product(kind=Kind.SEQUENCE):
                for child in node.children:
                    yield from self.steps(child)
            case Product(kind=Kind.PERMUTATION):
                yield self.permuted(node)
            case _:
                yield self.side(node)

    def side(self, node: Node) -> Code:
        """Return the node as a single step, with its name, whatever it contains."""
        name = Literal(node.name) if isinstance(node, Choice) else Literal(None)
        return Paired((name, self.part(node)))

    def permuted(self, node: Product) -> Code:
        """Return the steps of a permutation, to be unpacked into the surrounding list."""
        order, *steps = node.children
        assert isinstance(order, Choice)
        several = ((label, Listed(tuple(self.steps(step)))) for label, step in zip(node.labels, steps, strict=True))
        found = self.call("ordered", _given(order.key), Keyed(tuple(several)))
        return Name(f"*{expression(found, 4)}")

    def part(self, node: Node) -> Code:
        """Return the expression for the object that a node stands for, or for None if it is left out.

        Raises BuildError for a hyperparameter in the place of a step.
        """
        match node:
            case Operator():
                return self.estimator(node)
            case Choice():
                return Called(self.function(node), (Name(GIVEN), Name(SEED)))
            case Hyperparameter():
                raise BuildError(f"`{node.address}` is a hyperparameter where a step should be")
            case Product(kind=Kind.PARALLEL):
                return self.call("union", Listed(tuple(map(self.side, node.children))))
            case Product(kind=Kind.COLUMNS):
                return self.columns(node)
            case Product():
                return self.call("chain", Listed(tuple(self.steps(node)))) if node != NOTHING else Literal(None)

    def columns(self, node: Product) -> Code:
        """Return the `ColumnTransformer` that applies each part to the columns of its selector."""
        named: list[chain.Step] = []
        remainder: Code = Literal("drop")
        for selector, child in zip(node.selectors, node.children, strict=True):
            taken = self.call(TRANSFORMER_OF if _reads_text(child) else "passed", self.part(child))
            if selector.kind == "rest":
                remainder = taken
            else:
                named.append((selector.kind, Paired((taken, self.selected(selector, node.selectors)))))
        entries = (Paired((Literal(name), *pair.items)) for name, pair in chain.named_apart(named))
        transformer = self.writer.imported(ColumnTransformer.__name__, ColumnTransformer)
        return Called(transformer, (Listed(tuple(entries)),), (("remainder", remainder),))

    def selected(self, selector: ColumnSelector, others: tuple[ColumnSelector, ...]) -> Code:
        """Return the expression that selects columns when the pipeline is fitted."""
        if selector.kind == "all":
            return Name("slice(None)")
        if selector.kind == "text" or (selector.kind == "categorical" and any(each.kind == "text" for each in others)):
            self.used.add(STRINGS_OF)
            return call(STRINGS_OF, text=selector.kind == "text")
        name = self.writer.imported("make_column_selector", make_column_selector)
        if selector.kind == "pattern":
            return call(name, pattern=selector.pattern)
        return call(name, dtype_include=Listed(tuple(map(Literal, DTYPES[selector.kind]))))

    def function(self, decision: Choice, operator: Operator | None = None) -> str:
        """Return the name of the function of a decision, which is written at the first use.

        With an `operator`, the decision is about the value of one of its parameters.
        """
        if id(decision) not in self.names:
            word = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in decision.key)
            name, number = f"build_{word}", 1
            while name in self.names.values():
                number += 1
                name = f"build_{word}_{number}"
            self.names[id(decision)] = name
            self.functions.append(self._written(name, decision, operator))
        return self.names[id(decision)]

    def _written(self, name: str, decision: Choice, operator: Operator | None) -> str:
        lines = [
            f"def {name}({GIVEN}: Mapping[str, Any], {SEED}: int | None) -> Any:",
            f"    match {GIVEN}[{text(decision.key)}]:",
        ]
        for branch in decision.branches:
            found = self.part(branch.node) if operator is None else self.alternative(operator, decision, branch)
            lines += [f"        case {text(branch.name)}:", f"            return {expression(found, 12, 7)}"]
        raised = f"            raise unknown(other, {text(decision.key)})"
        return "\n".join([*lines, "        case other:", raised])

    def alternative(self, operator: Operator, decision: Choice, branch: Branch) -> Code:
        """Return the value of a parameter for one alternative: an operator, a sequence of them, or a plain value."""
        node = branch.node
        known = entry(operator).parameters.get(decision.name)
        if node == NOTHING:
            is_object = known is not None and isinstance(branch.value, str) and branch.value in known.named
            said = self.object if is_object else self.plain
            return said(operator, decision.name, branch.value)  # type: ignore[arg-type]
        if isinstance(node, Hyperparameter):
            return self.value(operator, node)
        if known is not None and known.several and isinstance(node, Product):
            sides = Listed(tuple(map(self.side, node.children)))
            return call("named_apart", call("there", sides))
        return self.part(node)

    def estimator(self, operator: Operator) -> Code:
        """Return the call of an operator's class."""
        found = class_of(operator)
        usual = set_by_runtime(operator, n_jobs=1, random_state=0)
        arguments: dict[str, Code] = {n: _seed(found) if n == SEED else Literal(v) for n, v in usual.items()}
        arguments |= {name: self.fixed(operator, name, value) for name, value in operator.fixed}
        conditional: list[Code] = []
        for child in operator.children:
            if isinstance(child, Choice):
                arguments[child.name] = Called(self.function(child, operator), (Name(GIVEN), Name(SEED)))
            elif child.condition is None or _part_of(operator, child.name) is not None:
                arguments[child.name] = self.value(operator, child)
            else:
                conditional.append(self.conditional(operator, child, arguments.pop(child.name, None)))
        whole = _composed(operator, arguments)
        return Called(self.writer.imported(found.__name__, found), tuple(conditional), tuple(whole.items()))

    def conditional(self, operator: Operator, child: Hyperparameter, usual: Code | None) -> Code:
        """Return a keyword argument that is given if the configuration has it; otherwise `usual`, if any, is given."""
        said = expression(Keyed(((child.name, self.value(operator, child)),)))
        other = expression(Keyed(() if usual is None else ((child.name, usual),)))
        return Name(f"**({said} if {text(child.key)} in {GIVEN} else {other})")

    def fixed(self, operator: Operator, parameter: str, value: Fixed) -> Code:
        """Return the value of a fixed parameter."""
        match value:
            case Operator():
                return self.estimator(value)
            case Named():
                return self.object(operator, parameter, value.name)
            case _:
                return self.plain(operator, parameter, value)

    def object(self, operator: Operator, parameter: str, name: str) -> Code:
        """Return the named function or object as an argument, and import it."""
        return Name(self.writer.flat(object_of(operator, parameter, name)))

    def plain(self, operator: Operator, parameter: str, value: Value) -> Code:
        """Return a value of the language as the value that the library takes."""
        known = entry(operator).parameters.get(parameter)
        return Name(self.writer.flat(value if known is None else known.argument(value)))

    def value(self, operator: Operator, node: Hyperparameter) -> Code:
        """Return the value of a hyperparameter in the configuration, converted to what the library takes."""
        found = _given(node.key)
        part = _part_of(operator, node.name)
        if part is not None and node.condition is not None:
            found = Called(f"{GIVEN}.get", (Literal(node.key), Literal(part.default)))
        match node.domain:
            case Real() | Grid(is_integral=False):
                return Called("float", (found,))
            case Grid():
                return Called("int", (found,))
            case _:
                return self.told(operator, node, found)

    def told(self, operator: Operator, node: Hyperparameter, found: Code) -> Code:
        """Return the value of a hyperparameter, with a lookup for values that the library takes in another form."""
        others = {each: code for each in _listed(node.domain) if (code := self.other(operator, node, each)) is not None}
        if not others:
            return found
        items = ", ".join(f"{self.writer.flat(each)}: {expression(code)}" for each, code in others.items())
        told = expression(found)
        return Name(f"{{{items}}}.get({told}, {told})")

    def other(self, operator: Operator, node: Hyperparameter, value: Value) -> Code | None:
        """Return the replacement of a value that the library does not take as it is; None if it needs none."""
        if isinstance(value, str) and value in node.named:
            return self.object(operator, node.name, value)
        known = entry(operator).parameters.get(node.name)
        if known is None or type(known.argument(value)) is type(value):
            return None
        return self.plain(operator, node.name, value)


def _reads_text(node: Node) -> bool:
    """Return True if the node may contain an operator that takes a single column of text instead of a table."""
    return any(entry(each).module == READERS for each in subtree(node) if isinstance(each, Operator))


def source(found: Any) -> str:
    """Return the source code of a function or class, without comments for type checkers."""
    return re.sub("  # type: ignore.*", "", inspect.getsource(found))


def _seed(found: type) -> Code:
    """Return the `random_state` argument: the given seed, or the library's default if that is not None."""
    usual = inspect.signature(found).parameters.get(SEED)
    default = None if usual is None or usual.default is usual.empty else usual.default
    return Name(SEED if default is None else f"{default!r} if {SEED} is None else {SEED}")


def _given(key: str) -> Code:
    return Item(Name(GIVEN), Literal(key))


def _listed(domain: Domain) -> Iterator[Value]:
    """Yield the values of the finite sets in a domain."""
    for part in parts(domain):
        if isinstance(part, Categorical):
            yield from part.values


def _part_of(operator: Operator, parameter: str) -> Parameter | None:
    """Return the catalogue entry of a parameter that is an element of a tuple parameter; otherwise None."""
    known = entry(operator).parameters.get(parameter)
    return known if known is not None and known.part is not None else None


def _composed(operator: Operator, arguments: dict[str, Code]) -> dict[str, Code]:
    """Return the arguments with each tuple parameter assembled from its elements (`catalog/composed.py`)."""
    known = entry(operator)
    for whole in known.wholes:
        several = known.parts(whole)
        if not arguments.keys().isdisjoint(each.name for each in several):
            members = (_member(each, arguments.pop(each.name, Literal(each.default))) for each in several)
            arguments[whole] = Paired(tuple(members))
    return arguments


def _member(parameter: Parameter, value: Code) -> Code:
    assert parameter.part is not None
    return infix(parameter.part.factor, "*", value)
