"""The known idioms around domains, tuples of variable length and lists of operators."""

import re
from typing import Final

from spacelang.syntax.foreign_idiom import (
    make_idiom,
    suggest_range,
    suggest_range_for_configspace,
    suggest_range_or_set,
    suggest_set,
    suggest_union_with_range,
    suggest_union_with_ranges,
)

_NUMBER: Final = r"-?\.?\d[\w.]*(?:(?<=[eE])[-+]\d+)?"
_BOUND: Final = r"[^\s,()\[\]{}:=|]+"
_LOW_AND_HIGH: Final = rf"(?P<low>{_BOUND}),[ \t]*(?P<high>{_BOUND})"
_BRACKETED_BOUNDS: Final = r"\[[^\[\](){}\n]*\]"
_LOG: Final = (
    r"(?:log10|log2|ln|log_?scale|logarithmic|scale[ \t]*=?[ \t]*\"?log\"?|log[ \t]*=[ \t]*[Tt]rue|log[ \t]*\(\))"
)
_INTEGER: Final = r"(?:integer|Integer|Int|INT|long|UniformInteger\w*)"
_FLOAT: Final = r"(?:real|Real|double|number|numeric|continuous|Float|FLOAT|decimal|UniformFloat\w*)"
_CHOICE: Final = r"(?:[\w.]*categorical|Categorical\w*|[\w.]*choice|choose|one_?of|OneOf|enum|select|any_?of|set|list)"
DOMAIN_IDIOMS: Final = (
    make_idiom(
        rf"\b(?:Uniform)?(?P<kind>Float|Real|Integer|Int)\w*\([^\n()]*[(\[][ \t]*{_LOW_AND_HIGH}"
        r"[ \t]*[)\]](?P<log>[^\n()]*log[ \t]*=[ \t]*True)?[^\n()]*\)",
        suggest_range_for_configspace,
    ),
    make_idiom(
        r":[ \t]*(?P<at>\{[ \t]*\"?(?:type|kind|low(?:er)?|min|bounds?|values|choices|range)\"?[ \t]*:[^{}\n]*\})",
        "write a range, such as `float[0.1, 10] log`, or a set of values, `{…}`",
    ),
    make_idiom(
        rf"(?P<at>\b(?:log|ln|log10)[ \t]+(float|int)[ \t]*({_BRACKETED_BOUNDS}))", r"write `\2\3 log`", r"\2\3 log"
    ),
    make_idiom(
        r"\{(?P<before>[^{}:=\n]*?),?[ \t]*"
        r"(?P<range>\b(?:int|float)[ \t]*[\[(][^\[\](){}\n]*[\])](?:[ \t]*log\b)?)(?P<after>[^{}:=\n]*)\}",
        suggest_union_with_range,
    ),
    make_idiom(
        rf":[ \t]*(?P<at>[\[(][ \t]*(?P<low>{_NUMBER})[ \t]*,[ \t]*(?P<high>{_NUMBER})[ \t]*[\])])",
        suggest_range_or_set,
    ),
    make_idiom(r"\b(?P<number>\d+\.?\d*)[fFdDlL]\b", r"write numbers without a letter: `\g<number>`", r"\g<number>"),
    make_idiom(
        r"\blog[ \t]*(?P<at>[(_]?[ \t]*base[ \t]*=?[ \t]*(?:\d+|e)[ \t]*\)?)",
        "remove the base: a logarithmic range is the same for any base",
        "",
    ),
    make_idiom(r":[ \t]*(?P<at>True|False)\b", "`: bool` lets the value vary, `= true` and `= false` fix it", "bool"),
    make_idiom(r"(?<=[\])])[ \t]*(?P<at>\([ \t]*log[ \t]*\))", "write `log`", " log"),
    make_idiom(
        r"\b(?:log_?(float|int)|(float|int)_?log)[ \t]*(" + _BRACKETED_BOUNDS + ")",
        r"write `\1\2\3 log`",
        r"\1\2\3 log",
    ),
    make_idiom(
        rf"\b(?:trial\.)?suggest_(?P<kind>float|int)\([^\n,]*,[ \t]*{_LOW_AND_HIGH}"
        r",[ \t]*log[ \t]*=[ \t]*True[ \t]*\)",
        r"write `\g<kind>[\g<low>, \g<high>] log`",
    ),
    make_idiom(
        rf"\b(?:trial\.)?suggest_(?P<kind>float|int)\((?:\"\w*\",)?[ \t]*{_LOW_AND_HIGH}"
        r"(?P<log>,[ \t]*log[ \t]*=[ \t]*True)?[ \t]*\)",
        lambda match: f"write `{match['kind']}[{match['low']}, {match['high']}]{' log' if match['log'] else ''}`",
    ),
    make_idiom(
        r"\bhp\.(?:q?log(?:uniform|normal))\([^\n]*\)", "write `float[…, …] log`; bounds are values, not logarithms"
    ),
    make_idiom(
        rf"\b(?:[a-z]\w*\.)*(?:log_?uniform|reciprocal|suggest_loguniform)\((?:\"\w*\",)?[ \t]*(?P<low>{_BOUND}"
        rf")[ \t]*,[ \t]*(?P<high>{_BOUND})[ \t]*\)",
        r"write `float[\g<low>, \g<high>] log`",
        r"float[\g<low>,\g<high>]log",
    ),
    make_idiom(
        r"\b(?:[a-z]\w*\.)*(?:suggest_)?q?uniform\([^\n()]*\)", "write `float[…, …]` with the bounds of its values"
    ),
    make_idiom(
        r"\b(?:[a-z]\w*\.)*(?:randint|uniform_?int|int_?uniform|quniform|range|arange)\([^\n()]*\)",
        "write `int[…, …]`; both bounds are included",
    ),
    make_idiom(
        r"\b(?:np|numpy)\.(?:log|geom)space\([^\n()]*\)",
        "write a range, such as `float[1e-3, 1e3] log`, or a set of values, `{…}`",
    ),
    make_idiom(
        r"\b(?:np|numpy)\.linspace\([^\n()]*\)",
        "write a range, such as `float[0, 1] step 0.1`, or a set of values, `{…}`",
    ),
    make_idiom(
        rf"(?P<at>\b(float|int)[ \t]*[\[(][ \t]*({_BOUND})[ \t]*,[ \t]*({_BOUND})[ \t]*,[ \t]*"
        + r"\"?log[\w-]*\"?(?:[ \t]*=[ \t]*[Tt]rue)?[ \t]*[\])])",
        r"write `\2[\3, \4] log`",
        r"\2[\3,\4] log",
    ),
    make_idiom(
        rf"(?P<at>\b(float|int)[ \t]*[\[(][ \t]*({_BOUND})[ \t]*,[ \t]*({_BOUND})[ \t]*,[ \t]*({_NUMBER})[ \t]*[\])])",
        r"write `\2[\3, \4] step \5`",
    ),
    make_idiom(rf"(?<=[\])])[ \t]+(?P<at>{_LOG})(?!\w)", "write `log`", "log"),
    make_idiom(
        r"(?P<kind>\bfloat|\bint)[ \t]*[\[({]?[ \t]*(?P<low>-?\.?\d[\w]*(?:\.\d+)?)[ \t]*"
        r"(?:\.\.+|:|–|—|\bto\b|-|[ \t])[ \t]*(?P<high>-?\.?\d[\w.]*)[ \t]*(?:[\])]|(?=[ \t]*(?:[,}\n]|$)))",
        r"write `\g<kind>[\g<low>, \g<high>]`",
    ),
    make_idiom(
        r"\b(?P<kind>float|int)[ \t]*\{(?P<list>[^{}\n]*)\}", r"write `\g<kind>[\g<list>]`", r"\g<kind>[\g<list>]"
    ),
    make_idiom(
        r":[ \t]*(?P<at>(?P<set>\{[ \t]*)?(?P<low>-?\d*\.?\d+)[ \t]*(?:\.\.+|–)[ \t]*"
        r"(?P<high>-?\d*\.?\d+)(?(set)[ \t]*\}))",
        suggest_range,
    ),
    make_idiom(
        r"\{[ \t]*(?P<values>(?:(?!\.\.)[^{}:=\[\]\n])+?)[ \t]*,[ \t]*"
        r"(?P<low>-?\d+)[ \t]*\.\.+[ \t]*(?P<high>-?\d+)[ \t]*\}",
        r"a set cannot contain a range: write `{\g<values>} | int[\g<low>, \g<high>]`",
        r"{\g<values>} | int[\g<low>, \g<high>]",
    ),
    make_idiom(r"\{(?P<list>[^{}:=\[\]\n]*\d[ \t]*\.\.+[ \t]*[-.\d][^{}:=\[\]\n]*)\}", suggest_union_with_ranges),
    make_idiom(r"\{[^{}:=\[\]\n]*?(?P<at>\.\.\.|…)[^{}\n]*\}", "write all values, or a range: `int[…, …]`"),
    make_idiom(
        rf"\b{_INTEGER}"
        r"[ \t]*(?P<ends>[\[(][^\[\](){}\n]*[\])])",
        r"write `int\g<ends>`",
        r"int\g<ends>",
    ),
    make_idiom(
        rf"\b{_FLOAT}"
        r"[ \t]*(?P<ends>[\[(][^\[\](){}\n]*[\])])",
        r"write `float\g<ends>`",
    ),
    make_idiom(
        rf":[ \t]*(?P<at>{_CHOICE}"
        r"[ \t]*[\[({]+[ \t]*(?:\"\w*\",[ \t]*\[)?(?P<list>[^\[\](){}\n]*?)[\])}]+)",
        suggest_set,
    ),
    make_idiom(r":[ \t]*(?P<at><(?P<list>[^<>\n]*)>)", suggest_set, r"{\g<list>}"),
    make_idiom(r":[ \t]*(?P<at>log[ \t]*(?P<ends>" + _BRACKETED_BOUNDS + "))", r"write `float\g<ends> log`"),
    make_idiom(r"\bbool[ \t]*(?P<at>[\[({][^\n\])}]*[\])}])", "write `bool`", ""),
    make_idiom(r"\b(?:float|int)[ \t]*(?:[},=\n]|$)", "give the range bounds: `float[…, …]`, `int[…, …]`"),
    make_idiom(
        rf":[ \t]*(?P<at>{_NUMBER}(?:[ \t]*\|[ \t]*{_NUMBER})+)",
        lambda match: f"write `{{{', '.join(part.strip() for part in match['at'].split('|'))}}}`",
    ),
    make_idiom(rf"(?<=[\])])[ \t]*(?P<at>(?:by|every|q[ \t]*=)[ \t]*({_NUMBER}))", r"write `step \2`"),
    make_idiom(
        r"(?P<at>=?[ \t]*\bdefault(?:[ \t]*(?:=|:|is)?[ \t]*|[ \t]*\([ \t]*)(?P<value>[^\s,(){}=:]+)\)?)",
        r"write `= \g<value>`",
        r"= \g<value>",
    ),
    make_idiom(
        r"(?<=[\])}])[ \t]*(?P<at>[\[(][ \t]*([^\[\](){},\n]+?)[ \t]*[\])])", r"a default follows `=`: write `= \2`"
    ),
    make_idiom(r"(?<=[\])])[ \t]*,[ \t]*log[ \t]*[},\n]", "write `log` directly after its range, without a comma"),
    make_idiom(
        rf"(?<=[\])])[ \t]+{_LOG}"
        r"[ \t]*[},\n]",
        "write `log`",
    ),
    make_idiom(r"(?<==)[ \t]*(?P<at>(\d+),(\d+))(?=[ \t]*(?:[}\n]|$))", r"use a decimal point: write `\2.\3`"),
    make_idiom(r":=", "write `=`", "="),
)
_LENGTH: Final = r"[^\s,.()\[\]{}:=|]+"
_WORD: Final = r"[tT]uples?|[lL]ist|[sS]eq(?:uence)?|[vV]ector|[aA]rray"
TUPLE_IDIOMS: Final = (
    make_idiom(
        rf"(?P<at>\b(?:{_WORD})[ \t]*[\[({{][ \t]*(?P<least>{_LENGTH})[ \t]*(?:,|\.\.+|:|\u2013)[ \t]*"
        rf"(?P<greatest>{_LENGTH})[ \t]*[\])}}])(?=[ \t]+of\b)",
        r"write `tuple[\g<least>, \g<greatest>] of …`",
        r"tuple[\g<least>,\g<greatest>]",
    ),
    make_idiom(
        rf"(?P<at>\b(?:{_WORD})[ \t]*[\[({{][ \t]*(?P<length>{_LENGTH})[ \t]*[\])}}])(?=[ \t]+of\b)",
        r"give the least and the greatest length: `tuple[1, \g<length>] of …`, "
        r"or `tuple[\g<length>, \g<length>] of …` for exactly \g<length> elements",
    ),
    make_idiom(rf"\b(?:{_WORD})[ \t]+of[ \t]+\w+", "give the least and the greatest length: `tuple[1, 3] of …`"),
    make_idiom(
        r"(?P<name>\b[a-z]\w*)(?P<at>\[[ \t]*(?:-[ \t]*\d+|[A-Za-z_]\w*)[ \t]*\])",
        r"the index of an element is a number from 1: `\g<name>[1]`",
        behind=r"\b(?:when|forbid|require|and|or|not|let|implies)\b|:=",
    ),
)
_MEMBER: Final = r"[A-Z]\w*(?:[ \t]*\{[^{}\n]*\})?\??"
_WITH_COMMAS: Final = rf"(?P<members>{_MEMBER}(?:[ \t]*,[ \t]*{_MEMBER})*)"
_WITH_AMPERSANDS: Final = rf"(?P<members>{_MEMBER}(?:[ \t]*&[ \t]*{_MEMBER})+)"
_ESTIMATORS: Final = r"(?P<name>\bestimators)[ \t]*[:=][ \t]*"
_MAX_SHOWN_CHARACTERS: Final = 60


def _suggest_list(match: re.Match[str]) -> str:
    """Return a remedy that writes a list of operators with `&`."""
    members = re.sub(r"[ \t]*,[ \t]*(?![^{}]*\})", " & ", match["members"].strip())
    shown = members if len(members) <= _MAX_SHOWN_CHARACTERS else "A? & B?" if "?" in members else "A & B"
    return f"join the operators of a list with `&` in parentheses: `{match['name']} : ({shown})`"


OPERATOR_LIST_IDIOMS: Final = (
    make_idiom(rf"{_ESTIMATORS}(?P<at>[\[({{][ \t]*{_WITH_COMMAS}[ \t]*[\])}}])", _suggest_list),
    make_idiom(
        r"(?P<name>\b[a-z]\w*)[ \t]*[:=][ \t]*"
        r"(?P<at>[\[(][ \t]*(?P<members>[A-Z][\w?]*(?:[ \t]*,[ \t]*[A-Z][\w?]*)*\?)[ \t]*[\])])",
        _suggest_list,
    ),
    make_idiom(rf"(?P<name>\b[a-z]\w*)[ \t]*:[ \t]*(?P<at>{_WITH_AMPERSANDS})", _suggest_list, r"(\g<members>)"),
    make_idiom(rf"(?P<name>\bestimators)[ \t]*=[ \t]*(?P<at>\([ \t]*{_WITH_AMPERSANDS}[ \t]*\))", _suggest_list),
    make_idiom(
        _ESTIMATORS + r"(?P<at>[\[(][ \t]*\([ \t]*[\"'][^\n\]]*\)[ \t]*[\])])",
        "join the operators of a list with `&` in parentheses: `estimators : (A as first & B as second)`",
    ),
    make_idiom(r"\b[A-Z]\w*(?P<at>\?[ \t]*\{)", "write `?` behind the body: `A { … }?`"),
    make_idiom(
        r"(?P<operator>\b[A-Z]\w*)(?P<at>\?[ \t]+as[ \t]+(?P<name>\w+))",
        r"write `\g<operator> as \g<name>?`",
        r" as \g<name>?",
    ),
)
