"""What people write who come from elsewhere, and how the same is said here.

Each idiom is a pattern over the text around a mistake. It is looked for only where the parser has found something
that does not fit, so that nothing that is right is ever taken for one.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

_Told: TypeAlias = str | Callable[[re.Match[str]], str]
"""A template of the pattern's groups, or what makes a text of a match."""

_MOST: Final = 400
"""So many characters around a mistake are looked at."""

_STRING: Final = r'"(?:[^"\\\r\n]|\\[^\r\n])*"'


@dataclass(frozen=True, slots=True)
class Idiom:
    """A custom of other languages.

    What is pointed at is the group `at` of the pattern, where it has one, else all of it; `behind` is what stands
    before it on its line. `instead` stands for the same here: where that is no longer than what is written, the text
    is read on as if it said so. What is `everywhere` is a habit, of which one message for an item is enough.
    """

    pattern: re.Pattern[str]
    remedy: _Told
    instead: str | None = None
    everywhere: bool = False
    behind: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """An idiom in a text, from `start` to `end`."""

    idiom: Idiom
    match: re.Match[str]
    start: int
    end: int

    @property
    def instead(self) -> str | None:
        """What an editor may put in its place."""
        if self.idiom.instead is None or self.idiom.everywhere:
            return None
        return self.match.expand(self.idiom.instead) or None

    @property
    def remedy(self) -> str:
        """How it is said here."""
        return _filled(self.idiom.remedy, self.match)

    def rewritten(self, text: str) -> str | None:
        """The text, as long as before, as it is read on; None where it cannot be."""
        if self.idiom.instead is None:
            return None
        if self.idiom.everywhere:
            pattern = f"{_STRING}|(?P<whole>{self.idiom.pattern.pattern})|`[^`\n]*`"
            return re.sub(pattern, self._other, text, flags=re.MULTILINE)
        instead = self.match.expand(self.idiom.instead)
        if len(instead) > self.end - self.start:
            return None
        return text[: self.start] + instead.ljust(self.end - self.start) + text[self.end :]

    def _other(self, found: re.Match[str]) -> str:
        own = self.idiom.pattern.fullmatch(found[0]) if found["whole"] is not None else None
        return found[0] if own is None else own.expand(self.idiom.instead or "").ljust(len(found[0]))


def idiom_at(text: str, place: int) -> Said | None:
    """The idiom that a place belongs to, the first of the list; None where it belongs to none."""
    start = text.rfind("\n", 0, place) + 1
    for idiom in IDIOMS:
        for match in idiom.pattern.finditer(text, max(start, place - _MOST), place + _MOST):
            if match.start() > place:
                break
            begin, end = match.span("at" if "at" in idiom.pattern.groupindex else 0)
            fits = idiom.behind is None or idiom.behind.search(text, start, begin)
            if begin <= place < end and fits:
                return Said(idiom, match, begin, end)
    return None


def _filled(told: _Told, match: re.Match[str]) -> str:
    return match.expand(told) if isinstance(told, str) else told(match)


def _idiom(
    pattern: str, remedy: _Told = "", instead: str | None = None, *, everywhere: bool = False, behind: str | None = None
) -> Idiom:
    """An idiom whose remedy is, where nothing else is said, to write what it stands for."""
    before = None if behind is None else re.compile(behind, re.MULTILINE)
    return Idiom(re.compile(pattern, re.MULTILINE), remedy or f"write `{instead}`", instead, everywhere, before)


def _listed(text: str, sign: str) -> str:
    """The names of a list joined by a sign, or three dots where it holds more than names."""
    parts = [part.strip().strip("\"'") for part in text.strip("[] ").split(",") if part.strip()]
    return sign.join(parts) if parts and all(re.fullmatch(r"[\w.]+", part) for part in parts) else f"…{sign}…"


def _as_alternatives(match: re.Match[str]) -> str:
    return f"alternatives are separated by `|`: write `{_listed(match['list'], ' | ')}`"


def _as_steps(match: re.Match[str]) -> str:
    return f"steps are joined by `->`: write `{_listed(match['list'], ' -> ')}`"


def _as_set(match: re.Match[str]) -> str:
    return f"write `{{{match['list'].strip()}}}`"


def _as_rule(match: re.Match[str]) -> str:
    """A clause that forbids values together."""
    said = re.sub(r"\s*(?<![=!<>])=(?!=)\s*(?=[A-Z])", " is ", match["list"].strip())
    said = re.sub(r"\s*(?<![=!<>])=(?!=)\s*", " == ", said)
    return f"write `forbid {re.sub(r' *, *', ' and ', said)}`"


def _as_share(match: re.Match[str]) -> str:
    return f"there is no sign for a share: write `{float(match[1]) / 100:.6g}`, or `{match[1]}` for a percentile"


def _as_name(match: re.Match[str]) -> str:
    """A name with signs in it as one without."""
    return f"names are words: write `{re.sub(r'[-. ]+', '_', match['at'].strip())}`"


def _as_one_or_several(match: re.Match[str]) -> str:
    """Alternatives behind the sign that fixes a value: operators by themselves, other values as a set."""
    name, parts = match["name"], [part.strip() for part in match["list"].split("|")]
    is_of_operators = any(part[:1].isupper() for part in parts)
    several = " | ".join(parts) if is_of_operators else f"{{{', '.join(parts)}}}"
    return f"`=` fixes one value: write `{name} : {several}`"


def _with_unit(number: str, unit: str) -> str:
    """A quantity with its unit in short."""
    short = {"h": "h", "m": "min", "s": "s"}.get(unit[0])
    return f"{number}{short or unit.replace('i', '')}"


def _range_of(match: re.Match[str]) -> str:
    """A range between two numbers: of integers where both are."""
    low, high = match["low"], match["high"]
    is_whole = all(re.fullmatch(r"-?\d+", end) for end in (low, high))
    return f"{'int' if is_whole else 'float'}[{low}, {high}]"


def _as_range(match: re.Match[str]) -> str:
    return f"write `{_range_of(match)}`"


def _as_range_or_set(match: re.Match[str]) -> str:
    """Two numbers in brackets without a word before them, which may be a tuple."""
    ends = f"{match['low']}, {match['high']}"
    or_tuple = f", `{{({ends})}}` for a tuple" if match["at"].startswith("(") else ""
    return f"{_as_range(match)} for a range, `{{{ends}}}` for two values{or_tuple}"


def _as_declared(match: re.Match[str]) -> str:
    """A hyperparameter of ConfigSpace, with its bounds."""
    kind = "int" if match["kind"].startswith("Int") else "float"
    return f"write `{kind}[{match['low']}, {match['high']}]{' log' if match['log'] else ''}`"


def _beside_range(match: re.Match[str]) -> str:
    """A set with a range in it."""
    others = [part.strip() for part in f"{match['before']},{match['after']}".split(",") if part.strip()]
    ordinary = f"{{{', '.join(others)}}} | " if others else ""
    return f"ranges stand beside sets: write `{ordinary}{match['range']}`"


_TICKED: Final = "names of parameters that are no words stand in backticks"


def _as_parameter(match: re.Match[str]) -> str:
    return f"{_as_name(match)}; {_TICKED}"


_NUMBER: Final = r"-?\.?\d[\w.]*(?:(?<=[eE])[-+]\d+)?"
_BOUND: Final = r"[^\s,()\[\]{}:=|]+"
_ENDS: Final = r"\[[^\[\](){}\n]*\]"
_FIRST: Final = r"(?:^|(?<=[{,]))[ \t]*"
"""Where a member of a body may begin."""

_COMMENTS: Final = (
    _idiom(
        r"(?P<at>(?P<one>\b[\w.]+|\([^()\n]*\))[ \t]*//[ \t]*(?P<two>\d[\d.]*))(?=[ \t]*(?:[,}\])]|$))",
        r"write `floor(\g<one> / \g<two>)`; comments begin with `#`",
    ),
    _idiom(r"//[^\n]*", "comments begin with `#`", "", everywhere=True),
    _idiom(r"/\*(?:[^*]|\*(?!/))*\*/", "comments begin with `#`, and end with their line", "", everywhere=True),
    _idiom(r"(?:^[ \t]*|(?<=[ \t]))--(?!>)[^\n]*", "comments begin with `#`", "", everywhere=True),
    _idiom(r'^[ \t]*(?:%|;|"""|REM\b)[^\n]*', "comments begin with `#`", "", everywhere=True),
)
_QUOTES: Final = (
    _idiom(
        r"['‘’‚“”„‟«»]([^'‘’‚“”„‟«»`\"\n]*)['‘’“”„‟«»`]",
        'write strings in double quotes: `"…"`',
        r'"\1"',
        everywhere=True,
    ),
    _idiom(
        r"(?:(?<=[{,=])|(?<=[{,=] ))`([^`\"\n]*)`(?=[ \t]*(?:[,}]|$))",
        'write strings in double quotes: `"…"`',
        r'"\1"',
        everywhere=True,
    ),
    _idiom(
        r"`[^`\"\n]*`",
        "only names of parameters stand in backticks: write a word, or for an alternative a string in double quotes",
    ),
)

_GOAL: Final = r"metric|scoring|score|scorer|objective|goal|optimi[sz]e|target"
_ITEMS: Final = (
    _idiom(r"^(?P<at>steps?|stages|Stage|STAGE|component|node|choice|decision)(?=[ \t]+\w+[ \t]*=)", "", "stage"),
    _idiom(r"^stages[ \t]*[{:=]", "each decision is an item of its own: `stage name = … | …`"),
    _idiom(
        r"^(?:let|var|const|define|set|val)[ \t]+\w+[ \t]*:?=",
        "there are no variables: write the value where it is needed, or a group, `params name { … }`",
    ),
    _idiom(r"^from[ \t]+sklearn\b[^\n]*", "leave it out: the operators of scikit-learn are known", ""),
    _idiom(r"^from[ \t]+([A-Za-z_]\w*)[^\n]*", r"write `use \1`"),
    _idiom(
        r"^import[ \t]+(?P<path>[\w./-]+\.space)\b(?P<rest>[^\n]*)",
        r'the path is a string: write `import "\g<path>"\g<rest>`',
    ),
    _idiom(r"^import[ \t]+sklearn\b[^\n]*", "leave it out: the operators of scikit-learn are known", ""),
    _idiom(r"^import[ \t]+(?P<package>[A-Za-z_][\w.]*)[^\n]*", r"write `use \g<package>`"),
    _idiom(
        r"^(?P<word>params|abstract)[ \t]+(?P<name>\w+)[ \t]*(?P<at>[=:])(?=[ \t]*\{)",
        r"write `\g<word> \g<name> { … }`",
        "",
    ),
    _idiom(r"^space[ \t]+(?P<at>\w+(?:[-. ]+\w+)+)[ \t]*$", _as_name),
    _idiom(r"^space[ \t]*[:=][ \t]*(\w+)", "", r"space \1"),
    _idiom(r"^stage[ \t]+(?P<at>\w+(?:-\w+)+)", _as_name),
    _idiom(r"^stage[ \t]+(?P<at>\d\w*)", "names begin with a letter or `_`"),
    _idiom(r"^stage\b[^{}\n]*[A-Z]\w*[ \t]*(?P<at>:)[ \t]*$", "hyperparameters stand in braces: `Operator { … }`"),
    _idiom(r"^stage[ \t]+(\w+)[ \t]*(?P<at>:=?)", r"write `stage \1 = …`", "="),
    _idiom(r"^stage[ \t]+(\w+)[ \t]*(?P<at>\{|\[)", r"write `stage \1 = …`"),
    _idiom(r"^stage[ \t]+(\w+)(?P<at>\?)", r"what may be left out has `none` among its alternatives: `none | …`", ""),
    _idiom(r"^task[ \t]*\{", "say of which kind: `task classification { … }`"),
    _idiom(r"^task[ \t]*[:=][ \t]*(\w+)", r"write `task \1 { … }`"),
    _idiom(
        r"^(?:maximi[sz]e|minimi[sz]e|subject|validate)\b[^\n]*", "goals stand in a task: `task classification { … }`"
    ),
    _idiom(
        r"^(?:" + _GOAL + r")[ \t]*[:=][ \t]*\"?(?P<what>[a-z]\w*)\"?[ \t]*$",
        r"goals stand in a task: `task classification { maximize \g<what> }`",
    ),
    _idiom(r"^(?P<name>[a-z]\w*)[ \t]*=(?!=)", r"write `stage \g<name> = …`"),
    _idiom(r"^if\b[ \t]*(.+?)[ \t]*(?:\bthen\b|:)[ \t]*([^\n]+)", r"write `require not (\1) or \2`"),
    _idiom(
        r"\bforbid\b[ \t]*(?P<one>[^\n]+?)[ \t]+(?P<at>when|if)[ \t]+(?P<other>[^\n}]+)",
        r"write `forbid (\g<one>) and (\g<other>)`",
    ),
    _idiom(
        r"\brequire\b[ \t]*(?P<one>[^\n]+?)[ \t]+(?P<at>when|if)[ \t]+(?P<other>[^\n}]+)",
        r"write `require not (\g<other>) or \g<one>`",
    ),
    _idiom(r"\bforbid[ \t]*(?P<at>\{(?P<list>[ \t]*\w[\w.]*[ \t]*=[^{}\n]*)\})", _as_rule),
    _idiom(r"^(?P<at>forbidden|prohibit|exclude|disallow|never|deny)\b", "", "forbid"),
    _idiom(r"^(?P<at>assert|constraint|ensure|assume|must)\b", "write `require`"),
)
_PIPELINE: Final = r"^pipeline[ \t]*[:=]"
_STAGE: Final = r"^stage[ \t]+\w+[ \t]*=[^{}\n]*$"
_STRUCTURE: Final = r"^(?:pipeline|stage[ \t]+\w+)[ \t]*=[^{}\n]*$"
_ONE_OF: Final = r"one_?of|OneOf|choice|choose|select|any_?of|either|alternatives?"
_STRUCTURES: Final = (
    _idiom(r"=>|>>|\|>|[-–—][–—-]?>", "write `->`", "->", behind=_PIPELINE),
    _idiom(r"(?<!-)[>→⇒+,/–—]", "steps are joined by `->`", behind=_PIPELINE),
    _idiom(r'"([A-Za-z_]\w*)"', r"names of operators and stages have no quotes: write `\1`", r"\1", behind=_STRUCTURE),
    _idiom(r"^pipeline[ \t]*=[ \t]*(?P<at>\[(?P<list>[^\]\n]*)\])", _as_steps),
    _idiom(r"^pipeline[ \t]*=[ \t]*(?P<at>(?:make_pipeline|Pipeline)[ \t]*\((?P<list>[^\n]*)\))", _as_steps),
    _idiom(
        r"^stage[ \t]+\w+[ \t]*=[ \t]*(?P<at>(?:" + _ONE_OF + r")?[ \t]*[\[({](?P<list>[^\[\](){}\n]*)[\])}])",
        _as_alternatives,
    ),
    _idiom(r",|/|\bor\b|\|\|", "alternatives are separated by `|`", "|", behind=_STAGE),
    _idiom(r"^stage[ \t]+\w+[ \t]*=[ \t]*(?P<at>optional[ \t]+(\w+))", r"write `none | \2`", r"none | \2"),
    _idiom(r"(?<=\})[ \t]*(?P<at>,)[ \t]*\n?[ \t]*(?=[A-Z]\w*)", "alternatives are separated by `|`", "|"),
    _idiom(r"^[ \t]*(?P<at>-)[ \t]+(?=[A-Z])", "alternatives are separated by `|`", "|"),
    _idiom(r"\bwith\b[ \t]+(?=\w+[ \t]*[:=])", "hyperparameters stand in braces: `Operator { … }`"),
    _idiom(
        r"(?<=\w)[ \t]*(?P<at>\[[ \t]*(\d*\.?\d+)[ \t]*\])",
        r"write `@weight(\2)`: how promising it is",
        behind=_STAGE,
    ),
    _idiom(r"@(?P<name>\w+)[ \t]*[=:][ \t]*(?P<value>[\w.+-]+)", r"write `@\g<name>(\g<value>)`"),
    _idiom(r"(?<=\w)[ \t]*\[(?=[ \t]*\w+[ \t]*[:=])", "hyperparameters stand in braces: `Operator { … }`"),
)

_LOG: Final = (
    r"(?:log10|log2|ln|log_?scale|logarithmic|scale[ \t]*=?[ \t]*\"?log\"?|log[ \t]*=[ \t]*[Tt]rue|log[ \t]*\(\))"
)
_INTEGER: Final = r"(?:integer|Integer|Int|INT|long|UniformInteger\w*)"
_FLOAT: Final = r"(?:real|Real|double|number|numeric|continuous|Float|FLOAT|decimal|UniformFloat\w*)"
_CHOICE: Final = r"(?:[\w.]*categorical|Categorical\w*|[\w.]*choice|choose|one_?of|OneOf|enum|select|any_?of|set|list)"
_DOMAINS: Final = (
    _idiom(
        r"\b(?:Uniform)?(?P<kind>Float|Real|Integer|Int)\w*\([^\n()]*[(\[][ \t]*(?P<low>"
        + _BOUND
        + r"),[ \t]*(?P<high>"
        + _BOUND
        + r")[ \t]*[)\]](?P<log>[^\n()]*log[ \t]*=[ \t]*True)?[^\n()]*\)",
        _as_declared,
    ),
    _idiom(
        r":[ \t]*(?P<at>\{[ \t]*\"?(?:type|kind|low(?:er)?|min|bounds?|values|choices|range)\"?[ \t]*:[^{}\n]*\})",
        "write a range, such as `float[0.1, 10] log`, or a set of values, `{…}`",
    ),
    _idiom(r"(?P<at>\b(?:log|ln|log10)[ \t]+(float|int)[ \t]*(" + _ENDS + r"))", r"write `\2\3 log`", r"\2\3 log"),
    _idiom(
        r"\{(?P<before>[^{}:=\n]*?),?[ \t]*"
        r"(?P<range>\b(?:int|float)[ \t]*[\[(][^\[\](){}\n]*[\])](?:[ \t]*log\b)?)(?P<after>[^{}:=\n]*)\}",
        _beside_range,
    ),
    _idiom(
        r":[ \t]*(?P<at>[\[(][ \t]*(?P<low>" + _NUMBER + r")[ \t]*,[ \t]*(?P<high>" + _NUMBER + r")[ \t]*[\])])",
        _as_range_or_set,
    ),
    _idiom(
        r"\b[A-Za-z_]\w*\.shape[ \t]*\[[ \t]*(?P<axis>[01])[ \t]*\]",
        lambda match: f"write `{('n_samples', 'n_features')[int(match['axis'])]}`",
    ),
    _idiom(
        r"\b(?P<number>\d+\.?\d*)[fFdDlL]\b", r"numbers have no letters behind them: write `\g<number>`", r"\g<number>"
    ),
    _idiom(
        r"\blog[ \t]*(?P<at>[(_]?[ \t]*base[ \t]*=?[ \t]*(?:\d+|e)[ \t]*\)?)",
        "leave it out: the scale is the same by any base",
        "",
    ),
    _idiom(r":[ \t]*(?P<at>True|False)\b", "`: bool` lets it vary, `= true` and `= false` fix it", "bool"),
    _idiom(r"(?<=[\])])[ \t]*(?P<at>\([ \t]*log[ \t]*\))", "write `log`", " log"),
    _idiom(r"\b(?:log_?(float|int)|(float|int)_?log)[ \t]*(" + _ENDS + ")", r"write `\1\2\3 log`", r"\1\2\3 log"),
    _idiom(
        r"\b(?:trial\.)?suggest_(?P<kind>float|int)\([^\n,]*,[ \t]*(?P<low>"
        + _BOUND
        + r"),[ \t]*(?P<high>"
        + _BOUND
        + r"),[ \t]*log[ \t]*=[ \t]*True[ \t]*\)",
        r"write `\g<kind>[\g<low>, \g<high>] log`",
    ),
    _idiom(
        r"\b(?:trial\.)?suggest_(?P<kind>float|int)\((?:\"\w*\",)?[ \t]*(?P<low>"
        + _BOUND
        + r"),[ \t]*(?P<high>"
        + _BOUND
        + r")(?P<log>,[ \t]*log[ \t]*=[ \t]*True)?[ \t]*\)",
        lambda match: f"write `{match['kind']}[{match['low']}, {match['high']}]{' log' if match['log'] else ''}`",
    ),
    _idiom(
        r"\bhp\.(?:q?log(?:uniform|normal))\([^\n]*\)", "write `float[…, …] log`; bounds are values, not logarithms"
    ),
    _idiom(
        r"\b(?:[a-z]\w*\.)*(?:log_?uniform|reciprocal|suggest_loguniform)\((?:\"\w*\",)?[ \t]*(?P<low>"
        + _BOUND
        + r")[ \t]*,[ \t]*(?P<high>"
        + _BOUND
        + r")[ \t]*\)",
        r"write `float[\g<low>, \g<high>] log`",
        r"float[\g<low>,\g<high>]log",
    ),
    _idiom(
        r"\b(?:[a-z]\w*\.)*(?:suggest_)?q?uniform\([^\n()]*\)",
        "write `float[…, …]` with the bounds of its values",
    ),
    _idiom(
        r"\b(?:[a-z]\w*\.)*(?:randint|uniform_?int|int_?uniform|quniform|range|arange)\([^\n()]*\)",
        "write `int[…, …]`; both bounds belong to it",
    ),
    _idiom(
        r"\b(?:np|numpy)\.(?:log|geom)space\([^\n()]*\)",
        "write a range, such as `float[1e-3, 1e3] log`, or a set of values, `{…}`",
    ),
    _idiom(
        r"\b(?:np|numpy)\.linspace\([^\n()]*\)",
        "write a range, such as `float[0, 1] step 0.1`, or a set of values, `{…}`",
    ),
    _idiom(
        r"(?P<at>\b(float|int)[ \t]*[\[(][ \t]*("
        + _BOUND
        + r")[ \t]*,[ \t]*("
        + _BOUND
        + r")[ \t]*,[ \t]*"
        + r"\"?log[\w-]*\"?(?:[ \t]*=[ \t]*[Tt]rue)?[ \t]*[\])])",
        r"write `\2[\3, \4] log`",
        r"\2[\3,\4] log",
    ),
    _idiom(
        r"(?P<at>\b(float|int)[ \t]*[\[(][ \t]*("
        + _BOUND
        + r")[ \t]*,[ \t]*("
        + _BOUND
        + r")[ \t]*,[ \t]*("
        + _NUMBER
        + r")[ \t]*[\])])",
        r"write `\2[\3, \4] step \5`",
    ),
    _idiom(r"(?<=[\])])[ \t]+(?P<at>" + _LOG + r")(?!\w)", "write `log`", "log"),
    _idiom(
        r"(?P<kind>\bfloat|\bint)[ \t]*[\[({]?[ \t]*(?P<low>-?\.?\d[\w]*(?:\.\d+)?)[ \t]*"
        r"(?:\.\.+|:|–|—|\bto\b|-|[ \t])[ \t]*(?P<high>-?\.?\d[\w.]*)[ \t]*(?:[\])]|(?=[ \t]*(?:[,}\n]|$)))",
        r"write `\g<kind>[\g<low>, \g<high>]`",
    ),
    _idiom(r"\b(?P<kind>float|int)[ \t]*\{(?P<list>[^{}\n]*)\}", r"write `\g<kind>[\g<list>]`", r"\g<kind>[\g<list>]"),
    _idiom(
        r":[ \t]*(?P<at>(?P<set>\{[ \t]*)?(?P<low>-?\d*\.?\d+)[ \t]*(?:\.\.+|–)[ \t]*"
        r"(?P<high>-?\d*\.?\d+)(?(set)[ \t]*\}))",
        _as_range,
    ),
    _idiom(r"\{[^{}\n]*?(?P<at>\.\.\.|…)[^{}\n]*\}", "write all values, or a range: `int[…, …]`"),
    _idiom(r"\b" + _INTEGER + r"[ \t]*(?P<ends>[\[(][^\[\](){}\n]*[\])])", r"write `int\g<ends>`", r"int\g<ends>"),
    _idiom(r"\b" + _FLOAT + r"[ \t]*(?P<ends>[\[(][^\[\](){}\n]*[\])])", r"write `float\g<ends>`"),
    _idiom(
        r":[ \t]*(?P<at>" + _CHOICE + r"[ \t]*[\[({]+[ \t]*(?:\"\w*\",[ \t]*\[)?(?P<list>[^\[\](){}\n]*?)[\])}]+)",
        _as_set,
    ),
    _idiom(r":[ \t]*(?P<at><(?P<list>[^<>\n]*)>)", _as_set, r"{\g<list>}"),
    _idiom(r":[ \t]*(?P<at>log[ \t]*(?P<ends>" + _ENDS + "))", r"write `float\g<ends> log`"),
    _idiom(r"\bbool[ \t]*(?P<at>[\[({][^\n\])}]*[\])}])", "write `bool`", ""),
    _idiom(r"\b(?:float|int)[ \t]*(?:[},=\n]|$)", "a range has bounds: `float[…, …]`, `int[…, …]`"),
    _idiom(
        r":[ \t]*(?P<at>" + _NUMBER + r"(?:[ \t]*\|[ \t]*" + _NUMBER + r")+)",
        lambda match: f"write `{{{', '.join(part.strip() for part in match['at'].split('|'))}}}`",
    ),
    _idiom(r"(?<=[\])])[ \t]*(?P<at>(?:by|every|q[ \t]*=)[ \t]*(" + _NUMBER + r"))", r"write `step \2`"),
    _idiom(
        r"(?P<at>=?[ \t]*\bdefault(?:[ \t]*(?:=|:|is)?[ \t]*|[ \t]*\([ \t]*)(?P<value>[^\s,(){}=:]+)\)?)",
        r"write `= \g<value>`",
        r"= \g<value>",
    ),
    _idiom(
        r"(?<=[\])}])[ \t]*(?P<at>[\[(][ \t]*([^\[\](){},\n]+?)[ \t]*[\])])", r"a default follows `=`: write `= \2`"
    ),
    _idiom(r"(?<=[\])])[ \t]*,[ \t]*log[ \t]*[},\n]", "`log` stands right behind its range, without a comma"),
    _idiom(r"(?<=[\])])[ \t]+" + _LOG + r"[ \t]*[},\n]", "write `log`"),
    _idiom(r"(?<==)[ \t]*(?P<at>(\d+),(\d+))(?=[ \t]*(?:[}\n]|$))", r"a decimal has a point: write `\2.\3`"),
    _idiom(r":=", "write `=`", "="),
)
_MEMBERS: Final = (
    _idiom(
        _FIRST
        + r"(?P<at>(?:\*\*?|\.\.\.|<<[ \t]*:?[ \t]*\*?|(?:use|extends|import|inherit)[ \t]+)(\w+))(?=[ \t]*(?:[,}]|$))",
        r"a group of hyperparameters is brought in by `include \2`",
    ),
    _idiom(
        _FIRST
        + r"(?P<at>(\w+)[ \t]+(?:in[ \t]+)?"
        + r"(?:real|double|number|continuous|float|int|integer|categorical|bool|ordinal)\b)",
        r"write `\2 : …`; a domain follows `:`",
    ),
    _idiom(_FIRST + r"(?P<at>(\w+)[ \t]+in\b)[ \t]*[\[({]", r"write `\2 : …`; a domain follows `:`"),
    _idiom(_FIRST + r"(?P<at>when\b[ \t]*\w+)", "a condition stands behind its hyperparameter: `name : domain when …`"),
    _idiom(
        r"(?P<at>\|[ \t]*(\w+[ \t]*(?:==|!=|<=?|>=?|in\b)(?:[^,{}\n]|\{[^{}\n]*\})*?))(?=[ \t]*(?:[,}]|$))",
        r"a condition follows `when`: write `when \2`",
    ),
    _idiom(r"^[ \t]*(?P<at>\{(?P<list>[ \t]*\w+[ \t]*=[^{}\n]*)\})", _as_rule),
    _idiom(_FIRST + r"\w+[ \t]*(?P<at>::|: :)", "write `:`", ":"),
    _idiom(_FIRST + r'(?P<at>"(\w+)")[ \t]*(?=:)', r"write `\2`: names have no quotes", r"\2"),
    _idiom(_FIRST + r'(?P<at>"([^"`\\\n]+)")[ \t]*(?=:)', _TICKED, r"`\2`"),
    _idiom(_FIRST + r"(?P<at>\w+(?:-\w+)+)[ \t]*(?=[:=])", _as_parameter),
    _idiom(r"(?P<at>\bunless[ \t]+([^,{}\n]+?))[ \t]*(?=[,}\n]|$)", r"write `when not (\2)`"),
    _idiom(
        _FIRST + r"(?!pipeline\b)(?P<name>\w+)[ \t]*(?P<at>=[ \t]*(?P<group>\([^()\n]*->[^()\n]*\)))",
        r"a structure follows `:`: write `\g<name> : \g<group>`",
    ),
    _idiom(
        _FIRST + r"(?!pipeline\b)(?P<name>\w+)[ \t]*(?P<at>=[ \t]*(?P<list>[\w.]+(?:[ \t]*\|[ \t]*[\w.]+)+))",
        _as_one_or_several,
    ),
    _idiom(
        r"\bwhen\b(?P<condition>[^,{}=\n]*(?:[=!<>]=|\bin[ \t]*\{[^{}\n]*\})?[^,{}=\n]*?)[ \t]*"
        r"(?P<at>(?<![=!<>])=(?!=)[ \t]*(?P<value>[\w.+-]+))(?=[ \t]*(?:[,}@]|$))",
        r"a default stands before the condition: write `= \g<value> when\g<condition>`",
        behind=r"(?:[=!<>]=|[<>]|\bin[ \t]*\{[^{}\n]*\})[^=]*$",
    ),
    _idiom(r"(?P<at>\bonly[ \t]+(?:when|if)[ \t]+([^,{}\n]+?))[ \t]*(?=[,}\n]|$)", r"write `when \2`", r"when \2"),
    _idiom(
        r"(?P<at>\b(?:if|where|provided|given)[ \t]+([^,{}\n]+?))[ \t]*(?=[,}\n]|$)", r"write `when \2`", r"when \2"
    ),
)
_KEPT: Final = r"(?!subject|validate|limit|fidelity|maximi|minimi)"
"""What a line of a task does not begin with."""

_RULE: Final = r"\b(?:forbid|require|when)\b"
_EXPRESSIONS: Final = (
    _idiom(r"<>|≠|=/=|=!=|!==", "write `!=`", "!="),
    _idiom(r"≤|=<", "write `<=`"),
    _idiom(r"≥", "write `>=`"),
    _idiom(r"===", "write `==`", "=="),
    _idiom(r"\b10[ \t]*(?:\^|\*\*)[ \t]*(-?\d+)", "", r"1e\1"),
    _idiom(r"\b([A-Za-z_][\w.]*)[ \t]*(?:\^|\*\*)[ \t]*2\b", r"there are no powers: write `\1 * \1`"),
    _idiom(r"[\w.)]+[ \t]*(?:\^|\*\*)[ \t]*[\w.(]+", "there are no powers: multiply"),
    _idiom(r"\b(\d+(?:\.\d+)?)[ \t]*%(?![ \t]*[\w(])", _as_share),
    _idiom(
        r"\brequire\b[ \t]*(?P<one>[^\n]+?)[ \t]*(?P<at>=>|⇒|→|\bimplies\b)[ \t]*(?P<other>[^\n}]+)",
        r"there is no implication: write `require not (\g<one>) or \g<other>`",
    ),
    _idiom(r"&&?", "write `and`", behind=_RULE),
    _idiom(r"\|\|?", "write `or`", behind=_RULE),
    _idiom(
        r",(?=[ \t]*[\w.]+[ \t]*(?:[=<>!]|is\b|in\b))", "join comparisons with `and`", behind=r"^(?:forbid|require)\b"
    ),
    _idiom(
        r"(?P<one>[\w.]+)[ \t]*=(?!=)[ \t]*(?P<other>[A-Z]\w*|none\b)",
        r"write `\g<one> is \g<other>`",
        behind=_RULE,
    ),
    _idiom(r"\bin[ \t]*(?P<at>[\[(](?P<list>[^\[\](){}\n]*)[\])])", _as_set, r"{\g<list>}"),
)
_TASKS: Final = (
    _idiom(
        r"\b(?:" + _GOAL + r")[ \t]*[:=]?[ \t]*\"?(?P<what>[a-z]\w*)\"?",
        r"write `maximize \g<what>`",
        r"maximize \g<what>",
    ),
    _idiom(
        r"\b(?P<way>maximi[sz]e|minimi[sz]e)[ \t]*[:=][ \t]*(?P<what>\w+)",
        lambda match: f"write `{match['way'][:-2]}ze {match['what']}`",
    ),
    _idiom(
        r"\b(?:validate[ \t]*[:=]?[ \t]*)?(?:cv|kfold|folds|k_fold)[ \t]*[:=(]?[ \t]*(?P<folds>\d+)\)?",
        r"write `validate cv(\g<folds>)`",
    ),
    _idiom(r"\bholdout[ \t]*\([ \t]*(?P<at>(\d\d)[ \t]*%)", r"write a share: `0.\2`", r".\2"),
    _idiom(
        r"\b(?P<way>maximize|minimize)[ \t]+(?P<at>(?P<one>[a-z]\w*)[ \t]+" + _KEPT + r"(?P<two>[a-z]\w*))",
        r"write `\g<way> \g<one>_\g<two>`",
        r"\g<one>_\g<two>",
    ),
    _idiom(
        r"(?<=[\w)])[ \t]*(?P<at>,)(?=[ \t]*(?:maximi|minimi|subject|validate|limit|fidelity))",
        "the lines of a task have no commas between them",
        " ",
    ),
    _idiom(
        r"\blimit[ \t]+\w+[ \t]+(?P<at>(?P<number>\d[\d.]*)[ \t]*"
        r"(?P<unit>hours?|minutes?|mins?|seconds?|secs?|[GMk]i?B))(?=[ \t]*(?:[},\n]|$))",
        lambda match: f"write a unit right behind its number: `{_with_unit(match['number'], match['unit'])}`",
    ),
    _idiom(r"\bvalidate[ \t]*[:=]", "write `validate cv(5)` or `validate holdout(0.3)`", "validate"),
    _idiom(r"\blimit[ \t]+(?P<what>[A-Za-z_]\w*)[ \t]*(?P<at>[:=])", r"write `limit \g<what> …`", ""),
    _idiom(r"\blimit[ \t]+(?P<at>[\d.]+[A-Za-z]+)", r"say of what: `limit trial \g<at>`"),
)

IDIOMS: Final[Sequence[Idiom]] = (
    *_COMMENTS,
    *_QUOTES,
    *_ITEMS,
    *_STRUCTURES,
    *_MEMBERS,
    *_TASKS,
    *_EXPRESSIONS,
    *_DOMAINS,
)
"""Those that are looked for, what is more certain first."""
