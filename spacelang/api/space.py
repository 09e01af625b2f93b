"""Spaces in Python: `load`, `parse` and `import_space`, and the class `Space` with its methods."""

import os.path
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from operator import index
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Final

from spacelang.analysis import CheckResult, CheckSettings, check
from spacelang.analysis.diagnostic_collector import DEFAULT_CHECK_SETTINGS, check_bindings
from spacelang.api.compilation import CompilationError, compile_with_target
from spacelang.api.option_checks_and_signatures import check_argument_types, describe_value, make_random_generator
from spacelang.deprecation import renamed_attributes
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.terminal import render_diagnostics
from spacelang.errors import PicklableError
from spacelang.frozen import CachedPropertyMixin
from spacelang.ir import space as ir
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import ExclusionReason
from spacelang.ir.task import Task
from spacelang.ir.value import Value, from_json
from spacelang.ir.walk import products, structure_of
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import default_configuration
from spacelang.solver.statistics import CountEstimate, Statistics, statistics
from spacelang.syntax.sources import is_space_text, read_source
from spacelang.targets import TARGETS
from spacelang.text import Source

if TYPE_CHECKING:
    from spacelang.api.compilation import Verification
    from spacelang.ir.data_binding import DataColumn
    from spacelang.sampling.batch_builder import ConfigurationBatch
    from spacelang.sampling.neighbours import Neighbourhood
    from spacelang.solver.nearest_configuration import NearestMember
    from spacelang.solver.numbering import ConfigurationNumbers
    from spacelang.targets._draw_distances import DrawDistances
    from spacelang.targets._lowering import LoweringResult

TEXT_NAME: Final = "<text>"  # The name of a text that was not read from a file


class SpaceError(PicklableError):
    """A space has errors; `diagnostics` lists all of them and warnings, and the message shows them."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(render_diagnostics(diagnostics, color=False))
        self.diagnostics = diagnostics


@renamed_attributes(with_everything="with_dropped_parts")
@dataclass(frozen=True, eq=False, repr=False)
class Space(CachedPropertyMixin):
    """A checked space; `warnings` are diagnostics that do not prevent its use.

    `symbols` are the symbols of the data in its text (such as `n_features`) with their numbers. None means unbound: the
    symbol stands for an arbitrarily large number. `vast` are unbound symbols of a compiled space, which can no longer
    be bound. `source` is None if a program made the space. With `is_provisional`, the space is only complete once its
    data is known.

    >>> import spacelang as sl
    >>> space = sl.parse("stage estimator = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 9] = 5 }")
    >>> space.configurations, space.default().to_dict()
    (10, {'estimator': 'GaussianNB'})
    >>> {"estimator": "KNeighborsClassifier", "estimator.n_neighbors": 12} in space
    False
    >>> space.build({"estimator": "GaussianNB"})
    Pipeline(steps=[('estimator', GaussianNB())])
    """

    checked: ir.Space
    counted: Structures
    warnings: tuple[Diagnostic, ...] = ()
    symbols: Mapping[str, int | None] = field(default_factory=dict)
    vast: tuple[str, ...] = ()
    source: Source | None = None
    surroundings: CheckSettings = DEFAULT_CHECK_SETTINGS
    is_provisional: bool = False

    def __repr__(self) -> str:
        from spacelang.report.reprs import space_text

        return space_text(self.checked, self.structures, self.configurations)

    def _repr_html_(self) -> str:
        from spacelang.report.reprs import space_html

        return space_html(self.checked, self.structures, self.configurations)

    def __deepcopy__(self, _: dict[int, object]) -> "Space":
        """Return the space itself, which is immutable; scikit-learn copies the parameters of estimators."""
        return self

    def bind(self, **numbers: int) -> "Space":
        """Return the space bound to the size of the data, as in `bind(n_features=20)`; other bindings stay.

        Raises SpaceError if the space has errors for this size, and ValueError for an unknown symbol or a number below
        1.
        """
        return self.bind_to_data(check_bindings(numbers))

    def bind_to_data(self, numbers: Mapping[str, int], columns: "tuple[DataColumn, ...] | None" = None) -> "Space":
        """Return the space bound to numbers and, if they are known, to the columns that pipelines get.

        What has no meaning for the data is dropped; see `ir.data_binding.bind_to_columns`.
        """
        if self.source is None:
            return self
        bindings, known = {**self.surroundings.bindings, **numbers}, columns or self.surroundings.columns
        return _check_source(self.source, replace(self.surroundings, bindings=bindings, columns=known))

    @property
    def with_dropped_parts(self) -> "Space":
        """The space read again so that binding it to data drops nothing, as in spacelang 0.2."""
        surroundings = replace(self.surroundings, keeps_meaningless_parts=True)
        return self if self.source is None else _check_for_data(self.source, surroundings)

    @property
    def selects_columns(self) -> bool:
        """True if a step of the pipeline is `columns(…)`."""
        return any(product.selectors for product in products(self.checked.root))

    @property
    def bound(self) -> dict[str, int | None]:
        """All symbols of data sizes in the text of the space with their numbers; None for unbound ones."""
        return {**self.symbols, **dict.fromkeys(self.vast)}

    @property
    def name(self) -> str:
        """The name in the header of the space."""
        return self.checked.name

    @property
    def task(self) -> Task | None:
        """The task block of the space; None without one."""
        return self.checked.task

    @property
    def structures(self) -> int:
        """The exact number of structures: admissible combinations of the alternatives of all reached decisions."""
        return self.counted.count

    @property
    def configurations(self) -> int | None:
        """The exact number of configurations; None if a hyperparameter is continuous or they cannot be counted."""
        return self.counted.configuration_count

    @cached_property
    def configurations_estimate(self) -> CountEstimate | None:
        """An estimate of a finite number of configurations that is not counted exactly, with an interval, else None.

        The estimate draws at most 100,000 configurations without the constraints that are not counted, and tests them.
        It needs NumPy; without it, there is none.
        """
        is_infinite = any(each.domain.size is None for each in self.checked.hyperparameters)
        if self.configurations is not None or is_infinite or find_spec("numpy") is None:
            return None
        from spacelang.sampling.count_estimate import estimate_count

        return estimate_count(self.counted)

    @cached_property
    def statistics(self) -> Statistics:
        """Statistics of the contents of the space."""
        return replace(statistics(self.counted), configurations_estimate=self.configurations_estimate)

    def default(self) -> Configuration:
        """Return the default configuration."""
        return default_configuration(self.checked)

    def sample(self, count: int = 1, *, seed: int = 0, advised: bool = False) -> list[Configuration]:
        """Return `count` random configurations; the same seed gives the same configurations.

        Structures are drawn uniformly, values uniformly or log-uniformly; with `advised`, structures by `@weight` and
        values by `@prior` (the two laws of REFERENCE.md). They are the rows of `columns`. Raises
        ValueError for an empty space and for a negative count. Raises SamplingFailedError if values that satisfy the
        constraints are too rare to be drawn.
        """
        return self.columns(count, seed=seed, advised=advised).configurations()

    def columns(self, count: int, *, seed: int = 0, advised: bool = False) -> "ConfigurationBatch":
        """Return `count` random configurations as one array for each decision and hyperparameter.

        This takes seconds for millions of configurations. The arguments and errors are those of `sample`.
        """
        from spacelang.sampling.sampler import Sampler

        check_argument_types(count=count)
        if count < 0:
            raise ValueError(f"cannot draw {count} configurations: give 0 or more")
        return Sampler(self.counted, advised=advised).batch(index(count), make_random_generator(seed))

    def configuration(self, number: int) -> Configuration:
        """Return the configuration with a number from 0 to `configurations` - 1.

        The order is that of `solver/numbering.py`. Raises IndexError for another number, and ValueError with the reason
        if configurations cannot be numbered; some that cannot be numbered are counted.
        """
        check_argument_types(number=number)
        return self._numbers.configuration_at(index(number))

    def rank(self, configuration: Mapping[str, Any]) -> int:
        """Return the number of a configuration, the inverse of `configuration`.

        Raises ValueError with the reason if it is not a member or configurations cannot be numbered.
        """
        return self._numbers.number_of(self._member(configuration))

    @cached_property
    def _numbers(self) -> "ConfigurationNumbers":
        from spacelang.solver.numbering import ConfigurationNumbers

        return ConfigurationNumbers(self.counted)

    def structure(self, number: int) -> dict[str, str]:
        """Return the structure with a number from 0 to `structures` - 1; raises IndexError for another number.

        It maps the key of each decision that is reached to its alternative.
        """
        from spacelang.solver.numbering import structure_at

        found = structure_at(self.counted, number)
        return {self.checked.variables[address].key: branch for address, branch in found.items()}

    def rank_structure(self, configuration: Mapping[str, Any]) -> int:
        """Return the number of the structure of a configuration, the inverse of `structure`.

        Raises ValueError with the reason if the configuration is not a member.
        """
        from spacelang.solver.numbering import number_of_structure

        return number_of_structure(self.counted, structure_of(self.checked, self._member(configuration)))

    def neighbours(self, configuration: Mapping[str, Any], *, seed: int = 0) -> list[Configuration]:
        """Return the members that differ in one decision or one hyperparameter.

        A neighbour with another alternative has defaults for everything below the decision. Each other value of a
        finite set gives one neighbour; a number gives four draws near it. Raises ValueError with the reason if the
        configuration is not a member.
        """
        return self._neighbourhood.neighbours_of(self._member(configuration), make_random_generator(seed))

    @cached_property
    def _neighbourhood(self) -> "Neighbourhood":
        from spacelang.sampling.neighbours import Neighbourhood

        return Neighbourhood(self.counted)

    def _member(self, configuration: Mapping[str, Any]) -> Configuration:
        from spacelang.solver.nearest_configuration import AdaptedConfiguration, member_without_dropped_keys

        found = member_without_dropped_keys(self.checked, to_configuration(configuration))
        if isinstance(found, AdaptedConfiguration):
            return found.member
        raise ValueError(found.reason)

    def __contains__(self, configuration: Mapping[str, Any]) -> bool:
        return self.exclusion(configuration) is None

    def exclusion(self, configuration: Mapping[str, Any]) -> ExclusionReason | None:
        """Return why a configuration is not a member, with the responsible line; None if it is a member.

        A tuple may be given as a whole or by its keys (`x.length`, `x[1]`). Keys that have no meaning for the data of a
        bound space (see `keys_without_meaning`) do not count. Raises
        TypeError for a value that no configuration can have, such as a dictionary.
        """
        from spacelang.solver.nearest_configuration import member_without_dropped_keys

        found = member_without_dropped_keys(self.checked, to_configuration(configuration))
        return found if isinstance(found, ExclusionReason) else None

    def keys_without_meaning(self, configuration: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the keys of a configuration that this space lost when it was bound to its data.

        >>> import spacelang as sl
        >>> text = "pipeline = columns(numeric: PCA { n_components : int[1, 3] }, text: TfidfVectorizer) -> Ridge"
        >>> sl.parse(text, bind={"n_numeric": 0}).keys_without_meaning({"PCA.n_components": 2})
        ('PCA.n_components',)
        """
        from spacelang.solver.nearest_configuration import keys_without_meaning

        return keys_without_meaning(self.checked, to_configuration(configuration))

    def nearest(self, configuration: Mapping[str, Any]) -> "NearestMember":
        """Return the nearest member to a configuration, why it is not a member itself, and the keys that differ.

        As few decisions as possible change, and then as few hyperparameters as possible. Keys that have no meaning for
        the data of a bound space are left out. Raises ValueError for an empty space, and TypeError as `exclusion` does.
        """
        from spacelang.solver.nearest_configuration import drop_keys_without_meaning, nearest_member

        return nearest_member(self.counted, drop_keys_without_meaning(self.checked, to_configuration(configuration))[0])

    def compile(self, target: str, *, strict: bool = False, **options: Any) -> "LoweringResult[Any, Any]":
        """Compile the space for a target; with `strict`, fail if the target only approximates a part of it.

        Raises SpaceError for constructs that the target refuses, and UnknownPluginError or OptionError.
        """
        return self._compiled(target, options, strict=strict)[1]

    def document(self, target: str, *, strict: bool = False, **options: Any) -> dict[str, object]:
        """Return the JSON of `compile --format json`, which `load` reads; arguments and errors are as for `compile`."""
        from spacelang.targets._lowering import compiled_document

        chosen, form = self._compiled(target, options, strict=strict)
        return compiled_document(target, self.counted.space, form, asdict(chosen), self.bound)

    def _compiled(
        self, name: str, options: Mapping[str, Any], *, strict: bool
    ) -> "tuple[Any, LoweringResult[Any, Any]]":
        target = TARGETS.configure(TARGETS.load(name), {option: str(value) for option, value in options.items()})
        try:
            return target, compile_with_target(name, target, self.counted, strict=strict)
        except CompilationError as error:
            raise SpaceError(error.diagnostics) from error

    def verify(
        self, target: str, *, count: int = 200, seed: int = 0, draws: int = 3_000, **options: Any
    ) -> "Verification":
        """Check that a target preserves the meaning of the space.

        All configurations are tried if there are at most `count`, otherwise `count` of them. Where the library of the
        target draws at random, `draws` of its draws are compared with the distribution of the space. Raises as
        `compile` does, ValueError for a count below 1, and SamplingFailedError as `sample` does.
        """
        from spacelang.api.compilation import verify

        return verify(self.compile(target, **options), self.counted, count=count, seed=seed, draws=draws)

    def draw_distances(
        self, target: str, *, draws: int = 3_000, seed: int = 0, **options: Any
    ) -> "DrawDistances | None":
        """Compare random draws of a target's library with the distribution of the space's random draws, as `verify`.

        The result has the distance of each variable, and its limit, up to which it may be due to chance or is too small
        to matter. 3,000 draws show differences of shares above about 0.05, 100 draws above about 0.25.
        Return None if no library draws at random for the target. Raises as `compile` does, ValueError for a number of
        draws below 1, and SamplingFailedError as `sample` does.
        """
        from spacelang.api.compilation import measure_draw_distances

        return measure_draw_distances(self.compile(target, **options), draws, seed=seed)

    def estimator(self, *, random_state: int | None = None) -> Any:
        """Return a scikit-learn estimator whose parameters are configurations of the space.

        Use it in scikit-learn's searches with the target `sklearn`: `RandomizedSearchCV(space.estimator(),
        space.compile("sklearn").form.native)` draws members only.
        """
        from spacelang.runtime.pipelines.estimator import SpaceEstimator

        return SpaceEstimator(self.checked, random_state=random_state)

    def parameters(self, configuration: Mapping[str, Any]) -> dict[str, dict[str, Value]]:
        """Return the parameters of each operator of a configuration, with fixed and computed values and whole tuples.

        The keys are those of the decisions between the operators, or the names of operators that are always there. It
        also works for operators that cannot be imported or are abstract. Raises ValueError if it is not a member.

        >>> import spacelang as sl
        >>> space = sl.parse("abstract net stage model = net { loss = log, var bits : int[2, 4], units := 2 ** bits }")
        >>> space.parameters({"model": "net", "model.bits": 3})
        {'model': {'loss': 'log', 'units': 8}}
        """
        from spacelang.catalog.packages import find_entry
        from spacelang.ir.operator_parameters import parameters_of_operators

        def takes_only_integers(operator: ir.Operator, name: str) -> bool:
            entry = find_entry(operator)
            return entry is not None and entry.takes_only_integers(name)

        return parameters_of_operators(self.checked, self._member(configuration), takes_only_integers)

    def build(self, configuration: Mapping[str, Any], *, random_state: int | None = None) -> Any:
        """Return the unfitted scikit-learn Pipeline of a configuration; raises ValueError if it is not a member."""
        from spacelang.runtime.pipelines.build import build_pipeline

        return build_pipeline(self.checked, self._member(configuration), random_state=random_state)


def load(reference: str | PathLike[str], *, allow: Iterable[str] = (), bind: Mapping[str, int] | None = None) -> Space:
    """Load a space from a `.space` file, a compiled space (JSON), a bundled name or a text; raises SpaceError.

    >>> import spacelang as sl
    >>> space = sl.load("boasf_models")
    >>> space.name, space.structures
    ('boasf_models', 16)
    >>> sl.load("stage estimator = GaussianNB | Perceptron").structures
    2
    >>> sl.load("credit.spce")
    Traceback (most recent call last):
    spacelang.api.space.SpaceError: error[SL001]: cannot read `credit.spce`: the file does not exist
    ...

    A reference counts as a text if it contains a stage or several lines. `allow` names the packages that the space may
    `use`; these are imported, so they must be trusted. `bind` gives the size of the data, as in `{"n_features": 30}`.
    Raises ValueError for an unknown symbol or a number below 1, and TypeError for an argument of a wrong type.
    """
    return load_source(_resolve_source(reference), allow, bind)


def load_source(source: Source, allow: Iterable[str], bind: Mapping[str, int] | None) -> Space:
    """Return the space in a source text, as `load` does."""
    return _check_source(source, _make_context(allow, bind))


def load_for_data(
    reference: str | PathLike[str], *, allow: Iterable[str] = (), bind: Mapping[str, int] | None = None
) -> Space:
    """Return the space like `load`, but also accept ranges whose bounds are only known once the data is known.

    Such a space is provisional (see `analysis.CheckResult`): it must be bound to its data before it is searched.
    """
    return parse_for_data(_resolve_source(reference), allow, bind)


def parse_for_data(source: Source, allow: Iterable[str], bind: Mapping[str, int] | None) -> Space:
    """Return the space in a source text, as `load_for_data` does."""
    return _check_for_data(source, _make_context(allow, bind))


def _check_for_data(source: Source, surroundings: CheckSettings) -> Space:
    checked = check(source, surroundings)
    if checked.provisional is None:
        return _space_of_check(checked, source, surroundings)
    counted = Structures(checked.provisional)
    symbols = checked.symbols
    return Space(counted.space, counted, symbols=symbols, source=source, surroundings=surroundings, is_provisional=True)


def load_or_bind_space(
    space: Space | str | PathLike[str], allow: Iterable[str], bind: Mapping[str, int] | None
) -> Space:
    """Return a `Space` with the symbols in `bind` bound as well; load anything else as `load_for_data` does."""
    if not isinstance(space, Space):
        return load_for_data(space, allow=allow, bind=bind)
    return space.bind(**bind) if bind else space


def parse(
    text: str, name: str = TEXT_NAME, *, allow: Iterable[str] = (), bind: Mapping[str, int] | None = None
) -> Space:
    """Parse the text of a space; raises SpaceError, and ValueError for the path of a file.

    >>> import spacelang as sl
    >>> space = sl.parse("stage scaler = none | StandardScaler stage estimator = GaussianNB | Perceptron")
    >>> space.structures, space.default()["estimator"]
    (4, 'GaussianNB')

    `allow` and `bind` are as for `load`.
    """
    check_argument_types(text=text)
    if text.endswith(".space") and len(text.split()) == 1:
        raise ValueError(f"`{text}` is the path of a file, not the text of a space: use `load`")
    return load_source(Source(name, text), allow, bind)


@dataclass(frozen=True, eq=False)
class ImportedSpace:
    """A space imported from another tool; `text` is its `.space` source, `warnings` say what was not carried over.

    `encode` converts one of our configurations to the other tool's, a dictionary of its active parameters. `decode`
    does the reverse. Both raise ValueError for anything that the space does not contain.
    """

    space: Space
    text: str = field(repr=False)
    encode: Callable[[Mapping[str, Any]], dict[str, Any]] = field(repr=False)
    decode: Callable[[Mapping[str, Any]], Configuration] = field(repr=False)
    warnings: tuple[Diagnostic, ...] = ()


def import_space(reference: str | PathLike[str]) -> ImportedSpace:
    """Import a PCS or JSON file of ConfigSpace; raises SpaceError if a `.space` file cannot express it exactly.

    >>> import spacelang as sl
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "solver.pcs").write_text("alpha real [0.1, 10] [1.0] log")
    ...     imported = sl.import_space(Path(folder, "solver.pcs"))
    >>> [key for key in imported.space.default()]
    ['solver.alpha']
    """
    from spacelang.importers._import_steps import import_space

    imported, diagnostics = import_space(_read_source(reference))
    if imported is None:
        raise SpaceError(diagnostics)
    return ImportedSpace(parse(imported.text), imported.text, imported.encode, imported.decode, diagnostics)


def _resolve_source(reference: str | PathLike[str]) -> Source:
    """Return the source that a path, a bundled name or a text refers to; raises SpaceError and TypeError."""
    check_argument_types(space=reference)
    if isinstance(reference, str) and is_space_text(reference):
        is_file = os.path.exists(reference)  # noqa: PTH110 - `Path.exists` raises for texts too long for a name
        return _read_source(reference) if is_file else Source(TEXT_NAME, reference)
    return _read_source(reference)


def _read_source(reference: str | PathLike[str]) -> Source:
    source = read_source(fspath(reference))
    if isinstance(source, Diagnostic):
        raise SpaceError((source,))
    return source


def _make_context(allow: Iterable[str], bind: Mapping[str, int] | None) -> CheckSettings:
    check_argument_types(allow=allow, bind=bind)
    return CheckSettings(check_bindings(bind or {}), frozenset(allow))


def to_configuration(given: Mapping[str, Any]) -> Configuration:
    """Return a configuration with Python's own types: lists become tuples, NumPy scalars become numbers."""
    if isinstance(given, Configuration):
        return given
    if not hasattr(given, "items"):
        raise TypeError(f"a configuration must be a mapping of keys to values, not {describe_value(given)}")
    return Configuration(
        {key: from_json(value.item() if hasattr(value, "item") else value) for key, value in given.items()}
    )


def _check_source(source: Source, surroundings: CheckSettings) -> Space:
    return _space_of_check(check(source, surroundings), source, surroundings)


def _space_of_check(checked: CheckResult, source: Source, surroundings: CheckSettings) -> Space:
    if checked.space is None or checked.structures is None:
        raise SpaceError(checked.diagnostics)
    found, symbols, vast = checked.diagnostics, checked.symbols, checked.permanently_unbound_symbols
    return Space(checked.space, checked.structures, found, symbols, vast, source, surroundings)
