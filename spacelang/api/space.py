"""Spaces as programs hold them: from text, from a file, from another tool's file; what can be asked of them."""

import os.path
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Final

from spacelang.analysis import Checked, Surroundings, check
from spacelang.analysis.surroundings import ALONE, check_bindings
from spacelang.api.compiling import RefusalError, compiled, document_of
from spacelang.api.kinds import must_be_of_kind, shown, whole
from spacelang.carried import Carried
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.terminal import render
from spacelang.facts import Computing
from spacelang.ir import space as ir
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import Exclusion, admit, exclusion
from spacelang.ir.task import Task
from spacelang.ir.value import from_json
from spacelang.ir.walk import structure_of
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import default
from spacelang.solver.statistics import Statistics, statistics
from spacelang.syntax.sources import is_text, read_source
from spacelang.text import Source

if TYPE_CHECKING:
    from spacelang.api.nearness import Nearest
    from spacelang.api.verifying import Verified
    from spacelang.draws.batch import Batch
    from spacelang.draws.neighbours import Neighbourhood
    from spacelang.solver.numbering import ConfigurationNumbers
    from spacelang.targets._lowered import Lowered

TEXT: Final = "<text>"
"""What a text is called that came of no file."""


class SpaceError(Carried):
    """A space has errors; `diagnostics` holds all that was found, and the message shows them."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(render(diagnostics, color=False))
        self.diagnostics = diagnostics


@dataclass(frozen=True, eq=False, repr=False)
class Space(Computing):
    """A checked space; `warnings` are diagnostics that do not keep it from being used.

    `symbols` are those of the data that its text mentions, each with the number that it is bound to (None: with none,
    it stands for an arbitrarily large number). `vast` are those that a compiled space has no numbers for, which nothing
    can bind any more. A space that a program made has no `source`. One that `is_provisional` waits for data.

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
    surroundings: Surroundings = ALONE
    is_provisional: bool = False

    def __repr__(self) -> str:
        from spacelang.report.glance import space_text

        return space_text(self.checked, self.structures, self.configurations)

    def _repr_html_(self) -> str:
        from spacelang.report.glance import space_html

        return space_html(self.checked, self.structures, self.configurations)

    def __deepcopy__(self, _: dict[int, object]) -> "Space":
        """The space itself, which nobody changes: scikit-learn copies the parameters of estimators."""
        return self

    def bind(self, **numbers: int) -> "Space":
        """The space for data of this size: `bind(n_features=20)`; what was bound before and is not given stays.

        Raises SpaceError where it has errors for this data, and ValueError for what is no symbol or no number above 0.
        """
        bindings = {**self.surroundings.bindings, **check_bindings(numbers)}
        if self.source is None:
            return self
        return _read(self.source, replace(self.surroundings, bindings=bindings))

    @property
    def bound(self) -> dict[str, int | None]:
        """All symbols that its text mentions, with the numbers that its bounds are for; None for any."""
        return {**self.symbols, **dict.fromkeys(self.vast)}

    @property
    def name(self) -> str:
        """The name in the header of the file."""
        return self.checked.name

    @property
    def task(self) -> Task | None:
        """What the task block says; None without one."""
        return self.checked.task

    @property
    def structures(self) -> int:
        """The exact number of admissible combinations of decisions."""
        return self.counted.count

    @property
    def configurations(self) -> int | None:
        """The exact number of configurations; None where a hyperparameter is continuous."""
        return self.counted.configurations

    @cached_property
    def statistics(self) -> Statistics:
        """What is in the space, in numbers."""
        return statistics(self.counted)

    def default(self) -> Configuration:
        """The default configuration."""
        return default(self.checked)

    def sample(self, count: int = 1, *, seed: int = 0) -> list[Configuration]:
        """`count` configurations: structures uniform, values uniform or log-uniform; equal for equal seeds.

        They are the rows of `columns`. Raises ValueError for an empty space and a negative count, and UnlikelyError
        where values that satisfy the constraints over ranges are too rare to be drawn.
        """
        return self.columns(count, seed=seed).configurations()

    def columns(self, count: int, *, seed: int = 0) -> "Batch":
        """`count` configurations as arrays, one for each decision and hyperparameter: millions take seconds.

        Raises as `sample` does.
        """
        from numpy.random import default_rng

        from spacelang.draws.sampling import Sampler

        must_be_of_kind(count=count)
        if count < 0:
            raise ValueError(f"{count} configurations cannot be drawn")
        return Sampler(self.counted).columns(whole(count), default_rng(seed))

    def configuration(self, number: int) -> Configuration:
        """The configuration with a number from 0 to `configurations` - 1, in the order of `solver/numbering.py`.

        Raises IndexError for another number, and ValueError, with the reason, where configurations are not counted.
        """
        must_be_of_kind(number=number)
        return self._numbers.at(whole(number))

    def rank(self, configuration: Mapping[str, Any]) -> int:
        """The number of a configuration, `configuration(rank(c)) == c`.

        Raises ValueError, with the reason, for what is no member and where configurations are not counted.
        """
        return self._numbers.of(self._member(configuration))

    @cached_property
    def _numbers(self) -> "ConfigurationNumbers":
        from spacelang.solver.numbering import ConfigurationNumbers

        return ConfigurationNumbers(self.counted)

    def structure(self, number: int) -> dict[str, str]:
        """The decisions, by key, of the structure with a number from 0 to `structures` - 1.

        Raises IndexError for another number.
        """
        from spacelang.solver.numbering import structure_at

        found = structure_at(self.counted, number)
        return {self.checked.variables[address].key: branch for address, branch in found.items()}

    def rank_structure(self, configuration: Mapping[str, Any]) -> int:
        """The number of a configuration's structure; raises ValueError, with the reason, for what is no member."""
        from spacelang.solver.numbering import number_of_structure

        return number_of_structure(self.counted, structure_of(self.checked, self._member(configuration)))

    def neighbours(self, configuration: Mapping[str, Any], *, seed: int = 0) -> list[Configuration]:
        """The members that differ in one decision, all else at its default, or in one hyperparameter.

        Each other value of a set, four draws near a number. Raises ValueError, with the reason, for what is no member.
        """
        from numpy.random import default_rng

        return self._neighbourhood.of(self._member(configuration), default_rng(seed))

    @cached_property
    def _neighbourhood(self) -> "Neighbourhood":
        from spacelang.draws.neighbours import Neighbourhood

        return Neighbourhood(self.counted)

    def _member(self, configuration: Mapping[str, Any]) -> Configuration:
        member = admit(self.checked, configuration_of(configuration))
        if isinstance(member, Configuration):
            return member
        raise ValueError(member.reason)

    def __contains__(self, configuration: Mapping[str, Any]) -> bool:
        return self.exclusion(configuration) is None

    def exclusion(self, configuration: Mapping[str, Any]) -> Exclusion | None:
        """Why a configuration is no member, with the line that keeps it out; None for a member.

        Raises TypeError for a value that no configuration can have, such as a dictionary.
        """
        return exclusion(self.checked, configuration_of(configuration))

    def nearest(self, configuration: Mapping[str, Any]) -> "Nearest":
        """The nearest member to a configuration, why that is none, and in which keys the two differ.

        As few decisions as possible take another alternative, and then as few hyperparameters as possible another
        value. Raises ValueError for an empty space, and TypeError as `exclusion` does.
        """
        from spacelang.api.nearness import nearest

        return nearest(self.counted, configuration_of(configuration))

    def compile(self, target: str, *, strict: bool = False, **options: Any) -> "Lowered[Any, Any]":
        """The space in the form of a target; with `strict` only where the form keeps all of it.

        Raises SpaceError for what the form cannot hold, UnknownPluginError and OptionError for what does not exist.
        """
        settings = {name: str(value) for name, value in options.items()}
        try:
            return compiled(target, self.counted, settings, strict=strict)
        except RefusalError as error:
            raise SpaceError(error.diagnostics) from error

    def document(self, target: str, *, strict: bool = False, **options: Any) -> dict[str, object]:
        """The same as the JSON document of `spacelang compile --format json`, of which `load` reads the space again."""
        settings = {name: str(value) for name, value in options.items()}
        try:
            return document_of(target, self.counted, settings, self.bound, strict=strict)
        except RefusalError as error:
            raise SpaceError(error.diagnostics) from error

    def verify(self, target: str, *, count: int = 200, seed: int = 0, **options: Any) -> "Verified":
        """The laws of meaning, tried on this space in the form of a target: on all configurations if there are so few.

        Raises as `compile` does, ValueError for a count below 1, and UnlikelyError as `sample` does.
        """
        from spacelang.api.verifying import verify

        return verify(self.compile(target, **options), self.counted, count=count, seed=seed)

    def estimator(self, *, random_state: int | None = None) -> Any:
        """An estimator of scikit-learn whose parameters are configurations, for its searches over the target `sklearn`.

        `RandomizedSearchCV(space.estimator(), space.compile("sklearn").form.native)` draws members only.
        """
        from spacelang.runtime.pipelines.estimator import SpaceEstimator

        return SpaceEstimator(self.checked, random_state=random_state)

    def build(self, configuration: Mapping[str, Any], *, random_state: int | None = None) -> Any:
        """An unfitted scikit-learn Pipeline; raises ValueError, with the reason, for what is no member."""
        from spacelang.runtime.pipelines.build import build

        return build(self.checked, self._member(configuration), random_state=random_state)


def load(reference: str | PathLike[str], *, allow: Iterable[str] = (), bind: Mapping[str, int] | None = None) -> Space:
    """The space of a `.space` file, of a compiled one (JSON), of a bundled name or of a text; raises SpaceError.

    >>> import spacelang as sl
    >>> space = sl.load("boasf_models")
    >>> space.name, space.structures
    ('boasf_models', 16)
    >>> sl.load("stage estimator = GaussianNB | Perceptron").structures
    2
    >>> sl.load("credit.spce")
    Traceback (most recent call last):
    spacelang.api.space.SpaceError: error[SL001]: cannot read `credit.spce`: there is no such file
    ...

    A text is what has a stage or several lines. `allow` names the packages that it may `use`: they are trusted to be
    imported. `bind` says how large the data is, as in `{"n_features": 30}`; raises ValueError for what is no symbol or
    no number above 0, and TypeError for either of another kind.
    """
    return _read(_source(reference), _surroundings(allow, bind))


def load_for_data(
    reference: str | PathLike[str], *, allow: Iterable[str] = (), bind: Mapping[str, int] | None = None
) -> Space:
    """The space that `load` gives, also where bounds have no limit as long as the data is not known.

    It is provisional then (see `analysis.Checked`): only what its data makes of it may be searched.
    """
    return made_for_data(_source(reference), allow, bind)


def made_for_data(source: Source, allow: Iterable[str], bind: Mapping[str, int] | None) -> Space:
    """The same of a text."""
    surroundings = _surroundings(allow, bind)
    checked = check(source, surroundings)
    if checked.provisional is None:
        return _space(checked, source, surroundings)
    counted = Structures(checked.provisional)
    symbols = checked.symbols
    return Space(counted.space, counted, symbols=symbols, source=source, surroundings=surroundings, is_provisional=True)


def opened(space: Space | str | PathLike[str], allow: Iterable[str], bind: Mapping[str, int] | None) -> Space:
    """The space that is given with more of its symbols bound, or the one that `load_for_data` gives."""
    if not isinstance(space, Space):
        return load_for_data(space, allow=allow, bind=bind)
    return space.bind(**bind) if bind else space


def parse(text: str, name: str = TEXT, *, allow: Iterable[str] = (), bind: Mapping[str, int] | None = None) -> Space:
    """The space of a text; `allow` and `bind` are as for `load`. Raises SpaceError, and ValueError for a path.

    >>> import spacelang as sl
    >>> space = sl.parse("stage scaler = none | StandardScaler stage estimator = GaussianNB | Perceptron")
    >>> space.structures, space.default()["estimator"]
    (4, 'GaussianNB')
    """
    must_be_of_kind(text=text)
    if text.endswith(".space") and len(text.split()) == 1:
        raise ValueError(f"`{text}` is the path of a file, and no text of a space: read it by `load`")
    return _read(Source(name, text), _surroundings(allow, bind))


@dataclass(frozen=True, eq=False)
class ImportedSpace:
    """A search space of another tool; `text` is its `.space` file, `warnings` say what was not carried over.

    `encode` gives the other tool's configuration of one of ours, a dictionary of exactly what is active there, and
    `decode` ours of such a dictionary; both raise ValueError for what the space does not have.
    """

    space: Space
    text: str = field(repr=False)
    encode: Callable[[Mapping[str, Any]], dict[str, Any]] = field(repr=False)
    decode: Callable[[Mapping[str, Any]], Configuration] = field(repr=False)
    warnings: tuple[Diagnostic, ...] = ()


def import_space(reference: str | PathLike[str]) -> ImportedSpace:
    """The space of a PCS or JSON file of ConfigSpace; raises SpaceError where a `.space` file cannot say it exactly.

    >>> import spacelang as sl
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "solver.pcs").write_text("alpha real [0.1, 10] [1.0] log")
    ...     imported = sl.import_space(Path(folder, "solver.pcs"))
    >>> [key for key in imported.space.default()]
    ['solver.alpha']
    """
    from spacelang.importers._importing import to_space

    imported, diagnostics = to_space(_of_file(reference))
    if imported is None:
        raise SpaceError(diagnostics)
    return ImportedSpace(parse(imported.text), imported.text, imported.encode, imported.decode, diagnostics)


def _source(reference: str | PathLike[str]) -> Source:
    """What a path, a bundled name or a text stands for; raises SpaceError, and TypeError for anything else."""
    must_be_of_kind(space=reference)
    if isinstance(reference, str) and is_text(reference):
        is_file = os.path.exists(reference)  # noqa: PTH110 - `Path.exists` raises for what is too long for a name
        return _of_file(reference) if is_file else Source(TEXT, reference)
    return _of_file(reference)


def _of_file(reference: str | PathLike[str]) -> Source:
    source = read_source(fspath(reference))
    if isinstance(source, Diagnostic):
        raise SpaceError((source,))
    return source


def _surroundings(allow: Iterable[str], bind: Mapping[str, int] | None) -> Surroundings:
    must_be_of_kind(allow=allow, bind=bind)
    return Surroundings(check_bindings(bind or {}), frozenset(allow))


def configuration_of(given: Mapping[str, Any]) -> Configuration:
    """A configuration of what a program holds: lists are tuples, NumPy's numbers are numbers."""
    if isinstance(given, Configuration):
        return given
    if not hasattr(given, "items"):
        raise TypeError(f"a configuration is a mapping of keys to values, not {shown(given)}")
    return Configuration(
        {key: from_json(value.item() if hasattr(value, "item") else value) for key, value in given.items()}
    )


def _read(source: Source, surroundings: Surroundings) -> Space:
    return _space(check(source, surroundings), source, surroundings)


def _space(checked: Checked, source: Source, surroundings: Surroundings) -> Space:
    if checked.space is None or checked.structures is None:
        raise SpaceError(checked.diagnostics)
    found, symbols, vast = checked.diagnostics, checked.symbols, checked.vast
    return Space(checked.space, checked.structures, found, symbols, vast, source, surroundings)
