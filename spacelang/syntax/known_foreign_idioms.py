"""The known idioms of other languages: patterns that are tried only around a mistake, so never on correct text."""

from collections.abc import Sequence
from typing import Final

from spacelang.syntax.foreign_domain_idioms import DOMAIN_IDIOMS, OPERATOR_LIST_IDIOMS, TUPLE_IDIOMS
from spacelang.syntax.foreign_idiom import (
    BACKTICK_REMEDY,
    ForeignIdiom,
    ForeignIdiomMatch,
    make_idiom,
    shorten_unit,
    suggest_alternatives,
    suggest_alternatives_or_set,
    suggest_chain,
    suggest_constraint,
    suggest_fraction,
    suggest_implication,
    suggest_parameter_name,
    suggest_set,
    suggest_steps,
    suggest_valid_name,
)

_SEARCHED_CHARACTERS: Final = 400


def idiom_at(text: str, place: int) -> ForeignIdiomMatch | None:
    """Return the first known idiom whose match in the text covers the offset `place`, or None."""
    start = text.rfind("\n", 0, place) + 1
    for idiom in IDIOMS:
        for match in idiom.pattern.finditer(
            text, max(start, place - _SEARCHED_CHARACTERS), place + _SEARCHED_CHARACTERS
        ):
            if match.start() > place:
                break
            begin, end = match.span("at" if "at" in idiom.pattern.groupindex else 0)
            fits = idiom.behind is None or idiom.behind.search(text, start, begin) is not None
            if "members" in match.groupdict():  # a mistake inside the body of a member is another one
                fits = fits and text.count("{", begin + 1, place) <= text.count("}", begin + 1, place)
            if begin <= place < end and fits:
                return ForeignIdiomMatch(idiom, match, begin, end)
    return None


_TEST: Final = r"(?:[^\n{}(),#]|\{[^{}\n]*\}|\([^()\n]*\))*(?<=[^\s,])"
"""A condition on one line, up to a comma or a brace that closes the body."""
_COMMENTS: Final = (
    make_idiom(
        r"(?P<at>(?P<one>\b[\w.]+|\([^()\n]*\))[ \t]*//[ \t]*(?P<two>\d[\d.]*))(?=[ \t]*(?:[,}\])]|$))",
        r"write `floor(\g<one> / \g<two>)`; comments begin with `#`",
    ),
    make_idiom(r"//[^\n]*", "comments begin with `#`", "", everywhere=True),
    make_idiom(
        r"/\*(?:[^*]|\*(?!/))*\*/", "comments begin with `#` and end at the end of the line", "", everywhere=True
    ),
    make_idiom(r"(?:^[ \t]*|(?<=[ \t]))--(?!>)[^\n]*", "comments begin with `#`", "", everywhere=True),
    make_idiom(r'^[ \t]*(?:%|;|"""|REM\b)[^\n]*', "comments begin with `#`", "", everywhere=True),
)
_QUOTES: Final = (
    make_idiom(
        r"['‘’‚“”„‟«»]([^'‘’‚“”„‟«»`\"\n]*)['‘’“”„‟«»`]",
        'write strings in double quotes: `"…"`',
        r'"\1"',
        everywhere=True,
    ),
    make_idiom(
        r"(?:(?<=[{,=])|(?<=[{,=] ))`([^`\"\n]*)`(?=[ \t]*(?:[,}]|$))",
        'write strings in double quotes: `"…"`',
        r'"\1"',
        everywhere=True,
    ),
    make_idiom(
        r"`[^`\"\n]*`",
        "backticks are for names of parameters: write a plain word, or for an alternative a string in double quotes",
    ),
)
_MEMBER_START: Final = r"(?:^|(?<=[{,]))[ \t]*"
_GOAL: Final = r"metric|scoring|score|scorer|objective|goal|optimi[sz]e|target"
_ITEMS: Final = (
    make_idiom(r"^(?P<at>steps?|stages|Stage|STAGE|component|node|choice|decision)(?=[ \t]+\w+[ \t]*=)", "", "stage"),
    make_idiom(r"^stages[ \t]*[{:=]", "declare each decision on its own: `stage name = … | …`"),
    make_idiom(
        rf"{_MEMBER_START}(?P<at>(?:let|var|const|define|set|val)[ \t]+(?P<name>\w+)[ \t]*(?<!:)=)(?!=)",
        r"write `let \g<name> := …`; `var \g<name> : …` declares a hyperparameter",
    ),
    make_idiom(r"^from[ \t]+sklearn\b[^\n]*", "remove this: the operators of scikit-learn are always available", ""),
    make_idiom(r"^from[ \t]+([A-Za-z_]\w*)[^\n]*", r"write `use \1`"),
    make_idiom(
        r"^import[ \t]+(?P<path>[\w./-]+\.space)\b(?P<rest>[^\n]*)",
        r'the path is a string: write `import "\g<path>"\g<rest>`',
    ),
    make_idiom(r"^import[ \t]+sklearn\b[^\n]*", "remove this: the operators of scikit-learn are always available", ""),
    make_idiom(r"^import[ \t]+(?P<package>[A-Za-z_][\w.]*)[^\n]*", r"write `use \g<package>`"),
    make_idiom(
        r"^(?P<at>(?:operator|estimator|class)[ \t]+(?P<name>\w+))(?=[ \t]*(?:\{|$))",
        r"write `abstract \g<name>`",
        r"abstract \g<name>",
    ),
    make_idiom(r"^abstract[ \t]+(?P<at>operator[ \t]+(?P<name>\w+))", r"write `abstract \g<name>`", r"\g<name>"),
    make_idiom(
        r"^(?P<word>params|abstract)[ \t]+(?P<name>\w+)[ \t]*(?P<at>[=:])(?=[ \t]*\{)",
        r"write `\g<word> \g<name> { … }`",
        "",
    ),
    make_idiom(r"^space[ \t]+(?P<at>\w+(?:[-. ]+\w+)+)[ \t]*$", suggest_valid_name),
    make_idiom(r"^space[ \t]*[:=][ \t]*(\w+)", "", r"space \1"),
    make_idiom(r"^stage[ \t]+(?P<at>\w+(?:-\w+)+)", suggest_valid_name),
    make_idiom(r"^stage[ \t]+(?P<at>\d\w*)", "names begin with a letter or `_`"),
    make_idiom(r"^stage\b[^{}\n]*[A-Z]\w*[ \t]*(?P<at>:)[ \t]*$", "write hyperparameters in braces: `Operator { … }`"),
    make_idiom(r"^stage[ \t]+(\w+)[ \t]*(?P<at>:=?)", r"write `stage \1 = …`", "="),
    make_idiom(r"^stage[ \t]+(\w+)[ \t]*(?P<at>\{|\[)", r"write `stage \1 = …`"),
    make_idiom(
        r"^stage[ \t]+(\w+)(?P<at>\?)", r"to make a stage optional, add `none` to its alternatives: `none | …`", ""
    ),
    make_idiom(r"^task[ \t]*\{", "give the kind of task: `task classification { … }`"),
    make_idiom(r"^task[ \t]*[:=][ \t]*(\w+)", r"write `task \1 { … }`"),
    *(
        make_idiom(
            before + r"(?P<next>maximi[sz]e|minimi[sz]e|subject|validate|limit|fidelity)\b[ \t]*\w*)",
            "lines of a task are not separated by commas",
        )
        for before in (r"(?<=[\w)])[ \t]*(?P<at>,[ \t]*", r"(?<=,\n)[ \t]*(?P<at>")
    ),
    make_idiom(
        r"^(?:maximi[sz]e|minimi[sz]e|subject|validate)\b[^\n]*",
        "write goals in a task block: `task classification { … }`",
    ),
    make_idiom(
        rf"^(?:{_GOAL})[ \t]*[:=][ \t]*\"?(?P<what>[a-z]\w*)\"?[ \t]*$",
        r"write goals in a task block: `task classification { maximize \g<what> }`",
    ),
    make_idiom(r"^(?P<name>[a-z]\w*)[ \t]*=(?!=)", r"write `stage \g<name> = …`"),
    make_idiom(r"^if\b[ \t]*(.+?)[ \t]*(?:\bthen\b|:)[ \t]*forbid\b[ \t]*([^\n]+)", r"write `forbid (\1) and (\2)`"),
    make_idiom(
        r"^if\b[ \t]*(.+?)[ \t]*(?:\bthen\b|:)[ \t]*(?:require\b[ \t]*)?([^\n]+)", r"write `require \1 implies \2`"
    ),
    make_idiom(
        rf"\brequire\b[ \t]*(?P<at>if\b[ \t]*(?P<one>[^\n]+?)[ \t]*(?:\bthen\b|:)[ \t]*(?P<other>{_TEST}))",
        r"write `require \g<one> implies \g<other>`",
        r"\g<one> implies \g<other>",
    ),
    make_idiom(
        r"\bforbid\b[ \t]*(?P<one>[^\n]+?)[ \t]+(?P<at>when|if)[ \t]+(?P<other>[^\n}]+)",
        r"write `forbid (\g<one>) and (\g<other>)`",
    ),
    make_idiom(
        r"\brequire\b[ \t]*(?P<one>[^\n]+?)[ \t]+(?P<at>when|if)[ \t]+(?P<other>[^\n}]+)",
        r"write `require \g<other> implies \g<one>`",
    ),
    make_idiom(r"\bforbid[ \t]*(?P<at>\{(?P<list>[ \t]*\w[\w.]*[ \t]*=[^{}\n]*)\})", suggest_constraint),
    make_idiom(r"^(?P<at>forbidden|prohibit|exclude|disallow|never|deny)\b", "", "forbid"),
    make_idiom(r"^(?P<at>assert|constraint|ensure|assume|must)\b", "write `require`"),
)
_PIPELINE: Final = r"^pipeline[ \t]*[:=]"
_STAGE: Final = r"^stage[ \t]+\w+[ \t]*=[^{}\n]*$"
_STRUCTURE: Final = r"^(?:pipeline|stage[ \t]+\w+)[ \t]*=[^{}\n]*$"
_ALTERNATIVES: Final = r"^(?:stage[ \t]+\w+[^=\n]*=|[ \t]*\|)(?:[^{}\n]|\{[^{}\n]*\})*$"
_ONE_OF: Final = r"one_?of|OneOf|choice|choose|select|any_?of|either|alternatives?"
_STRUCTURES: Final = (
    make_idiom(
        r"(?<=[\w)])[ \t]*(?P<at>\{[ \t]*0?[ \t]*,[ \t]*1[ \t]*\})",
        "write `?` after an optional step",
        "?",
        behind=_PIPELINE,
    ),
    make_idiom(
        r"(?:\b(?P<stage>[A-Za-z_][\w.]*)|(?<=\)))[ \t]*(?P<at>\{[ \t]*(?:(?P<least>\d+)[ \t]*"
        r"(?P<range>(?:,|\.{2,3})[ \t]*(?P<most>\d*))?"
        r"|,[ \t]*(?P<upto>\d+))[ \t]*\}|\*[ \t]*(?P<times>\d*)(?![ \t]*\w)|\+(?=[ \t]*(?:->|$)))",
        suggest_chain,
        behind=_PIPELINE,
    ),
    make_idiom(
        r"\brepeat[ \t]*\([ \t]*(?P<stage>[\w.]+)[ \t]*,[ \t]*(?P<at>(?P<least>\d+)[ \t]*\.{2,3}[ \t]*(?P<most>\d+))",
        r"write `repeat(\g<stage>, \g<least>, \g<most>)`",
        r"\g<least>, \g<most>",
    ),
    make_idiom(r"\brepeat[ \t]+(?P<stage>[A-Za-z_][\w.]*)", r"write `repeat(\g<stage>, 0, 3)`", behind=_PIPELINE),
    make_idiom(
        r"(?P<value>\b[A-Za-z_][\w.]*)[ \t]+(?P<at>=[ \t]*(?P=value)(?![\w.]))(?![ \t]*\{)",
        r"mark the default alternative: write `\g<value> @default`",
        "@default",
        behind=_ALTERNATIVES,
    ),
    make_idiom(
        r"(?<![=!<>])=(?!=)[ \t]*(?P<value>[A-Za-z_][\w.]*)",
        r"mark the default alternative where it stands: write `\g<value> @default`",
        behind=_ALTERNATIVES,
    ),
    make_idiom(r"=>|>>|\|>|[-–—][–—-]?>", "write `->`", "->", behind=_PIPELINE),
    make_idiom(r"(?<!-)[>→⇒+,/–—]", "join steps with `->`", behind=_PIPELINE),
    make_idiom(
        r'"([A-Za-z_]\w*)"', r"write names of operators and stages without quotes: `\1`", r"\1", behind=_STRUCTURE
    ),
    make_idiom(r"^pipeline[ \t]*=[ \t]*(?P<at>\[(?P<list>[^\]\n]*)\])", suggest_steps),
    make_idiom(r"^pipeline[ \t]*=[ \t]*(?P<at>(?:make_pipeline|Pipeline)[ \t]*\((?P<list>[^\n]*)\))", suggest_steps),
    make_idiom(
        rf"^stage[ \t]+\w+[ \t]*=[ \t]*(?P<at>(?:{_ONE_OF}"
        r")?[ \t]*[\[({](?P<list>[^\[\](){}\n]*)[\])}])",
        suggest_alternatives,
    ),
    make_idiom(r",|/|\bor\b|\|\|", "separate alternatives with `|`", "|", behind=_STAGE),
    make_idiom(r"^stage[ \t]+\w+[ \t]*=[ \t]*(?P<at>optional[ \t]+(\w+))", r"write `none | \2`", r"none | \2"),
    make_idiom(r"(?<=\})[ \t]*(?P<at>,)[ \t]*\n?[ \t]*(?=[A-Z]\w*)", "separate alternatives with `|`", "|"),
    make_idiom(r"^[ \t]*(?P<at>-)[ \t]+(?=[A-Z])", "separate alternatives with `|`", "|"),
    make_idiom(r"\bwith\b[ \t]+(?=\w+[ \t]*[:=])", "write hyperparameters in braces: `Operator { … }`"),
    make_idiom(
        r"(?<=\w)[ \t]*(?P<at>\[[ \t]*(\d*\.?\d+)[ \t]*\])",
        r"write `@weight(\2)` to say how promising it is",
        behind=_STAGE,
    ),
    make_idiom(r"@(?P<name>\w+)[ \t]*[=:][ \t]*(?P<value>[\w.+-]+)", r"write `@\g<name>(\g<value>)`"),
    make_idiom(r"(?<=\w)[ \t]*\[(?=[ \t]*\w+[ \t]*[:=])", "write hyperparameters in braces: `Operator { … }`"),
)
_MEMBERS: Final = (
    make_idiom(
        rf"{_MEMBER_START}"
        r"(?P<at>(?:\*\*?|\.\.\.|<<[ \t]*:?[ \t]*\*?|(?:use|extends|import|inherit)[ \t]+)(\w+))(?=[ \t]*(?:[,}]|$))",
        r"include a group of hyperparameters with `include \2`",
    ),
    make_idiom(
        rf"{_MEMBER_START}(?P<at>(\w+)[ \t]+(?:in[ \t]+)?"
        r"(?:real|double|number|continuous|float|int|integer|categorical|bool|ordinal)\b)",
        r"write `\2 : …`; a domain follows `:`",
    ),
    make_idiom(
        rf"{_MEMBER_START}"
        r"(?P<at>(\w+)[ \t]+in\b)[ \t]*[\[({]",
        r"write `\2 : …`; a domain follows `:`",
    ),
    make_idiom(
        rf"{_MEMBER_START}(?P<at>when\b[ \t]*\w+)", "write a condition after its hyperparameter: `name : domain when …`"
    ),
    make_idiom(
        r"(?P<at>\|[ \t]*(\w+[ \t]*(?:==|!=|<=?|>=?|in\b)(?:[^,{}\n]|\{[^{}\n]*\})*?))(?=[ \t]*(?:[,}]|$))",
        r"a condition follows `when`: write `when \2`",
    ),
    make_idiom(r"^[ \t]*(?P<at>\{(?P<list>[ \t]*\w+[ \t]*=[^{}\n]*)\})", suggest_constraint),
    make_idiom(rf"{_MEMBER_START}\w+[ \t]*(?P<at>::|: :)", "write `:`", ":"),
    make_idiom(_MEMBER_START + r'(?P<at>"(\w+)")[ \t]*(?=:)', r"write `\2`: names have no quotes", r"\2"),
    make_idiom(_MEMBER_START + r'(?P<at>"([^"`\\\n]+)")[ \t]*(?=:)', BACKTICK_REMEDY, r"`\2`"),
    make_idiom(rf"{_MEMBER_START}(?P<at>\w+(?:-\w+)+)[ \t]*(?=[:=])", suggest_parameter_name),
    make_idiom(r"(?P<at>\bunless[ \t]+([^,{}\n]+?))[ \t]*(?=[,}\n]|$)", r"write `when not (\2)`"),
    make_idiom(
        rf"{_MEMBER_START}(?!pipeline\b)(?P<name>\w+)[ \t]*(?P<at>=[ \t]*(?P<group>\([^()\n]*->[^()\n]*\)))",
        r"a structure follows `:`: write `\g<name> : \g<group>`",
    ),
    make_idiom(
        rf"{_MEMBER_START}(?!pipeline\b)(?P<name>\w+)[ \t]*(?P<at>=[ \t]*(?P<list>[\w.]+(?:[ \t]*\|[ \t]*[\w.]+)+))",
        suggest_alternatives_or_set,
    ),
    make_idiom(
        r"\bwhen\b(?P<condition>[^,{}=\n]*(?:[=!<>]=|\bin[ \t]*\{[^{}\n]*\})?[^,{}=\n]*?)[ \t]*"
        r"(?P<at>(?<![=!<>])=(?!=)[ \t]*(?P<value>[\w.+-]+))(?=[ \t]*(?:[,}@]|$))",
        r"a default comes before the condition: write `= \g<value> when\g<condition>`",
        behind=r"(?:[=!<>]=|[<>]|\bin[ \t]*\{[^{}\n]*\})[^=]*$",
    ),
    make_idiom(r"(?P<at>\bonly[ \t]+(?:when|if)[ \t]+([^,{}\n]+?))[ \t]*(?=[,}\n]|$)", r"write `when \2`", r"when \2"),
    make_idiom(
        r"(?P<at>\b(?:if|where|provided|given)[ \t]+([^,{}\n]+?))[ \t]*(?=[,}\n]|$)", r"write `when \2`", r"when \2"
    ),
)
_BOUND_TEXT: Final = r"[^\[\]{}:=|,\n]*?[\w)]"
_RELATIONS: Final = (
    make_idiom(
        rf"\b(?P<kind>int|float)(?P<open>[\[(])(?P<low>{_BOUND_TEXT}"
        rf")[ \t]*(?P<at>\.\.+)[ \t]*(?P<high>{_BOUND_TEXT})(?P<close>[\])])",
        r"separate the bounds by a comma: write `\g<kind>\g<open>\g<low>, \g<high>\g<close>`",
        ",",
    ),
    make_idiom(
        rf"\b(?P<kind>int|float)\[(?P<low>{_BOUND_TEXT})[ \t]*(?P<at>\])",
        r"a range has two bounds: write `\g<kind>[\g<low>, …]`",
    ),
    make_idiom(
        rf"{_MEMBER_START}"
        r"(?P<at>(?P<test>[a-z][\w.]*[ \t]*(?:<=?|>=?|!=)(?!=)[^,{}:\n]*?))(?=[ \t]*(?:[,}#]|$))",
        r"write `require \g<test>`",
    ),
)
_NOT_NEXT_SETTING: Final = r"(?!subject|validate|limit|fidelity|maximi|minimi)"
"""A lookahead that excludes the keywords at which the next line of a task begins."""
_CONSTRAINT_KEYWORD: Final = r"\b(?:forbid|require|when)\b"
_EXPRESSIONS: Final = (
    make_idiom(r"<>|≠|=/=|=!=|!==", "write `!=`", "!="),
    make_idiom(
        r"(?P<left>[A-Za-z_][\w.]*)[ \t]+is[ \t]+not[ \t]+(?P<right>[A-Za-z_][\w.]*|\"[^\"\n]*\")",
        r"write `not \g<left> is \g<right>`",
        r"not \g<left> is \g<right>",
    ),
    make_idiom(r"≤|=<", "write `<=`"),
    make_idiom(r"≥", "write `>=`"),
    make_idiom(r"===", "write `==`", "=="),
    make_idiom(r"\b10[ \t]*(?:\^|\*\*)[ \t]*(-?\d+)", "", r"1e\1"),
    make_idiom(r"\b([\w.]+)[ \t]*\^[ \t]*(-?[\w.]+)", r"write `\1 ** \2`", r"\1**\2"),
    make_idiom(r"\b(\d+(?:\.\d+)?)[ \t]*%(?![ \t]*[\w(])", suggest_fraction),
    make_idiom(
        rf"\brequire\b[ \t]*(?P<one>[^\n]+?)[ \t]*(?P<at>=>|->|⇒|→)[ \t]*(?P<other>{_TEST})", suggest_implication
    ),
    make_idiom(r"&&?", "write `and`", behind=_CONSTRAINT_KEYWORD),
    make_idiom(r"\|\|?", "write `or`", behind=_CONSTRAINT_KEYWORD),
    make_idiom(
        r",(?=[ \t]*[\w.]+[ \t]*(?:[=<>!]|is\b|in\b))", "join comparisons with `and`", behind=r"^(?:forbid|require)\b"
    ),
    make_idiom(
        r"(?P<one>[\w.]+)[ \t]*=(?!=)[ \t]*(?P<other>[A-Z]\w*|none\b)",
        r"write `\g<one> is \g<other>`",
        behind=_CONSTRAINT_KEYWORD,
    ),
    make_idiom(r"\bin[ \t]*(?P<at>[\[(](?P<list>[^\[\](){}\n]*)[\])])", suggest_set, r"{\g<list>}"),
)
_TASKS: Final = (
    make_idiom(
        rf"\b(?:{_GOAL})[ \t]*[:=]?[ \t]*\"?(?P<what>[a-z]\w*)\"?", r"write `maximize \g<what>`", r"maximize \g<what>"
    ),
    make_idiom(
        r"\b(?P<way>maximi[sz]e|minimi[sz]e)[ \t]*[:=][ \t]*(?P<what>\w+)",
        lambda match: f"write `{match['way'][:-2]}ze {match['what']}`",
    ),
    make_idiom(
        r"\b(?:validate[ \t]*[:=]?[ \t]*)?(?:cv|kfold|folds|k_fold)[ \t]*[:=(]?[ \t]*(?P<folds>\d+)\)?",
        r"write `validate cv(\g<folds>)`",
    ),
    make_idiom(r"\bholdout[ \t]*\([ \t]*(?P<at>(\d\d)[ \t]*%)", r"write a share: `0.\2`", r".\2"),
    make_idiom(
        rf"\b(?P<way>maximize|minimize)[ \t]+(?P<at>(?P<one>[a-z]\w*)[ \t]+{_NOT_NEXT_SETTING}(?P<two>[a-z]\w*))",
        r"write `\g<way> \g<one>_\g<two>`",
        r"\g<one>_\g<two>",
    ),
    make_idiom(
        r"\blimit[ \t]+\w+[ \t]+(?P<at>(?P<number>\d[\d.]*)[ \t]*"
        r"(?P<unit>hours?|minutes?|mins?|seconds?|secs?|[GMk]i?B))(?=[ \t]*(?:[},\n]|$))",
        lambda match: f"write the unit directly after the number: `{shorten_unit(match['number'], match['unit'])}`",
    ),
    make_idiom(r"\bvalidate[ \t]*[:=]", "write `validate cv(5)` or `validate holdout(0.3)`", "validate"),
    make_idiom(r"\blimit[ \t]+(?P<what>[A-Za-z_]\w*)[ \t]*(?P<at>[:=])", r"write `limit \g<what> …`", ""),
    make_idiom(r"\blimit[ \t]+(?P<at>[\d.]+[A-Za-z]+)", r"name what is limited: `limit trial \g<at>`"),
)
IDIOMS: Final[Sequence[ForeignIdiom]] = (
    *_COMMENTS, *_QUOTES, *_ITEMS, *TUPLE_IDIOMS, *OPERATOR_LIST_IDIOMS, *_STRUCTURES, *_MEMBERS, *_TASKS,
    *_EXPRESSIONS, *DOMAIN_IDIOMS, *_RELATIONS,
)  # fmt: skip
"""All idioms, the most certain ones first."""
