"""The features of the language server, called without a process; `tests/end_to_end/test_editor_session.py` has one."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from language_clients import place
from lsprotocol import types

from spacelang.analysis import check
from spacelang.files import resource_folder
from spacelang.ir.expr import Reference, nodes
from spacelang.language_server import completions, diagnostics_and_fixes, hovers, navigation, whole_document
from spacelang.language_server.cursor import find_cursor_context
from spacelang.language_server.documents import Document, OpenDocuments, PositionEncoding
from spacelang.language_server.name_index import SymbolKind
from spacelang.solver.counting import Structures
from spacelang.syntax.builder import SyntaxTreeBuilder
from spacelang.syntax.parser_tables import LrDriver, load
from spacelang.syntax.sources import bundled_names
from spacelang.text import Source

UTF16 = PositionEncoding()
BUNDLED = {name: (resource_folder("spaces") / f"{name}.space").read_text(encoding="utf-8") for name in bundled_names()}
SPACE = """\
# Numbers are scaled.
stage scaler = none | StandardScaler

params forest {
  max_depth : int[2, 9] = 3
}

stage estimator =
  | SVC as svm {
      C      : float[0.1, 10] log = 1.0
      kernel : {rbf, poly} = rbf
      degree : int[2, 4] = 3 when kernel == poly
    }
  | RandomForestClassifier { include forest }

forbid scaler is none and estimator.svm.kernel == poly
"""


def opened(text: str, folder: Path | None = None) -> tuple[OpenDocuments, Document]:
    documents = OpenDocuments(folders=() if folder is None else (folder,))
    uri = "untitled:a.space" if folder is None else (folder / "a.space").as_uri()
    return documents, documents.open(uri, 1, text)


def labels(text: str) -> list[str]:
    """Return the completions at the sign `¦`, after a check of the text without the line before the sign."""
    before, _, after = text.partition("¦")
    documents, document = opened(before.rpartition("\n")[0] + "\n" + after.lstrip("\n"))
    assert document.names is not None
    document = documents.change(document.uri, 2, before + after)
    position = types.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)
    return [item.label for item in completions.complete(document, position, UTF16)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_and_offsets_are_inverse(encoding: str) -> None:
    source, units = Source("a", 'x é\r\n"😀y" ü\n\n😀'), PositionEncoding(encoding)
    for offset in range(len(source.text) + 1):
        if source.text[offset - 1 : offset] != "\r":
            assert units.to_offset(source, units.to_position(source, offset)) == offset


@pytest.mark.parametrize("name", BUNDLED)
def test_references_in_expressions_lead_to_the_declarations_of_the_checked_space(name: str) -> None:
    _, document = opened(BUNDLED[name])
    space = document.check_result.space
    assert space is not None
    conditions = [*space.conditions.values(), *(each.expression for each in space.constraints)]
    references = [n for each in conditions for n in nodes(each) if isinstance(n, Reference)]
    for node in references:
        found = {each.symbol.definition for each in document.name_index.occurrences_at(node.span.source, node.span.end)}
        assert space.variables[node.address].node.span in found
    for each in document.name_index.occurrences:
        if each.symbol.kind is not SymbolKind.IMPORT:
            assert each.span.text.strip('`"').endswith(each.symbol.name)


@pytest.mark.parametrize("name", BUNDLED)
def test_decorations_of_bundled_spaces_are_within_their_text(name: str) -> None:
    _, document = opened(BUNDLED[name])
    assert not diagnostics_and_fixes.diagnostics(document, UTF16)
    assert not whole_document.formatting(document)
    data = whole_document.semantic_tokens(document, UTF16)
    assert len(data) % 5 == 0
    assert all(data[place + 3] < len(whole_document.LEGEND.token_types) for place in range(0, len(data), 5))
    last = document.source.text.count("\n")
    assert all(fold.start_line < fold.end_line <= last for fold in whole_document.folding_ranges(document))
    for symbol in whole_document.document_symbols(document, UTF16):
        assert symbol.range.start <= symbol.selection_range.start <= symbol.selection_range.end <= symbol.range.end


def test_the_path_of_an_import_is_one_token(tmp_path: Path) -> None:
    (tmp_path / "shared.space").write_text("stage s = PCA\n", encoding="utf-8")
    _, document = opened('import "shared.space" as x\n', tmp_path)
    data = whole_document.semantic_tokens(document, UTF16)
    assert data[2::5][:2] == [len("import"), len('"shared.space"')]


def test_counts_of_branches_add_up_to_all_structures() -> None:
    for name in ("mosaic", "blds_table1", "admm_table_a2"):
        structures = check(Source(name, BUNDLED[name])).structures
        assert isinstance(structures, Structures)
        for stage in structures.space.stages:
            assert sum(structures.count_by_branch(stage).values()) == structures.count


def test_no_text_makes_a_feature_fail() -> None:
    random_state = random.Random(1)
    documents, document = opened(SPACE)
    for version in range(2, 60):
        start = random_state.randrange(len(SPACE))
        text = SPACE[:start] + random_state.choice(["", "}", "{", " : ", "|", '"', "é", "@", "."])
        text += SPACE[start + random_state.randrange(20) :]
        document = documents.change(document.uri, version, text)
        at = UTF16.to_position(document.source, min(start + 1, len(text)))
        whole = types.Range(types.Position(0, 0), types.Position(99, 0))
        if version % 2:
            diagnostics_and_fixes.diagnostics(document, UTF16)
        completions.complete(document, at, UTF16)
        hovers.hover(document, at, UTF16)
        navigation.definitions(document, at, UTF16)
        navigation.highlights(document, at, UTF16)
        diagnostics_and_fixes.quick_fixes(document, whole, UTF16)
        hovers.inlay_hints(document, whole, UTF16)
        whole_document.document_symbols(document, UTF16)
        whole_document.folding_ranges(document)
        whole_document.semantic_tokens(document, UTF16)
        whole_document.formatting(document)


@pytest.mark.parametrize("name", ["mosaic", "tabular_classification"])
def test_keywords_are_offered_where_a_space_has_them(name: str) -> None:
    text, keywords = BUNDLED[name], {*load().keywords.values()}
    tokens, _, mistake = LrDriver(load(), SyntaxTreeBuilder()).read_beginning(text)
    assert mistake is None
    first = {token.type: token.start_pos for token in reversed(tokens) if token.type in keywords}
    assert len(first) > 10
    for terminal, start in first.items():
        assert terminal in find_cursor_context(Source(name, text), start).expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "¦",
            {"space", "stage", "pipeline", "import", "use", "params", "abstract", "task", "forbid", "require", "var"},
        ),
        ("stage e = ¦", {"columns", "permute", "none"}),
        ("stage e = A { x : ¦", {"float", "int", "bool", "ordered"}),
        ("stage e = A { x : int[1, 2] ¦", {"log", "step", "when", "include", "let"}),
        ("task classification { ¦", {"minimize", "maximize", "subject to", "validate", "fidelity", "limit"}),
        ("forbid a ¦", {"and", "or", "implies", "in", "is"}),
    ],
)
def test_keywords_that_the_grammar_accepts_are_offered(text: str, words: set[str]) -> None:
    assert words <= {*labels(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SPACE + "stage more = Ran¦", {"RandomForestClassifier", "scaler", "columns"}),
        (SPACE + "stage more = SVC { ¦", {"C", "kernel", "gamma", "include", "forbid"}),
        (SPACE + "stage more = SVC { C = 1,\n  ¦", {"kernel", "gamma"}),
        (SPACE + "stage more = SVC { shrinking : ¦", {"bool = true", "float"}),
        (SPACE + "stage more = SVC { kernel : ¦", {"{linear, poly, precomputed, rbf, sigmoid} = rbf"}),
        (SPACE + "stage more = SVC { kernel = ¦", {"rbf", "poly", "linear"}),
        (SPACE + "stage more = SVC { kernel : {¦", {"rbf", "poly", "linear"}),
        (SPACE + "stage more = RandomForestClassifier { include ¦", {"forest"}),
        (SPACE + "forbid ¦", {"scaler", "estimator", "estimator.svm.kernel", "n_features", "not"}),
        (SPACE + "forbid estimator.svm.¦", {"C", "kernel", "degree"}),
        (SPACE + "forbid estimator is ¦", {"svm", "RandomForestClassifier"}),
        (SPACE + "forbid estimator.svm.kernel == ¦", {"rbf", "poly"}),
        (SPACE + "forbid estimator.svm.kernel in {rbf, ¦", {"rbf", "poly"}),
        (SPACE + "task ¦", {"classification", "regression"}),
        (SPACE + "task classification { maximize ¦", {"roc_auc", "accuracy"}),
        (SPACE + "use ¦", {"xgboost"}),
        (SPACE + "stage more = SVC @¦", {"@default", "@weight"}),
        (SPACE + 'import "¦', {"mosaic"}),
        (SPACE + "task classification { validate ¦", {"cv", "holdout", "time"}),
        (SPACE + "stage more = VotingClassifier { estimators : (SVC? & ¦", {"GaussianNB", "scaler"}),
    ],
)
def test_completion(text: str, expected: set[str]) -> None:
    found = set(labels(text))
    assert expected <= found, expected - found
    assert "C = 1,\n" not in text or "C" not in found, "parameters that the body has already are not offered"


LISTS = """\
stage estimator =
  | VotingClassifier { estimators : (SVC { C : float[1, 9] }? & GaussianNB?), require count(estimators) >= 1 }
  | PCA { n_components := 2, require ¦ }
"""


def test_members_of_lists_are_named_as_short_as_expressions_may_name_them() -> None:
    space = LISTS.replace(" ¦ }", " true }")
    inside = "estimator.VotingClassifier.estimators"
    whole = {item for item in labels(f"{space}forbid ¦") if item.startswith(inside)}
    assert whole == {inside, f"{inside}.SVC", f"{inside}.SVC.C", f"{inside}.GaussianNB"}
    assert set(labels(f"{space}forbid {inside}.¦")) == {"SVC", "GaussianNB"}
    body = "estimators : (SVC? & GaussianNB?)\n  forbid estimators.¦"
    assert set(labels(f"stage e = VotingClassifier {{\n  {body}\n}}\n")) == {"SVC", "GaussianNB"}
    for name in whole - {inside}:
        text = f"{space}forbid {name} {'> 2' if name.endswith('C') and '.C' in name else 'is none'}\n"
        assert not [each for each in check(Source("a", text)).diagnostics if each.code.startswith("SL3")], name


def test_legal_operators_come_first_and_a_member_does_not_name_itself() -> None:
    _, document = opened("stage e = VotingClassifier { estimators : (SVC & ")
    assert document.names is not None
    end = UTF16.to_position(document.source, len(document.source.text))
    ranks = {item.label: item.sort_text or "" for item in completions.complete(document, end, UTF16)}
    assert ranks["GaussianNB"] < ranks["ARDRegression"]
    assert ranks["SVR"] > ranks["SVC"]
    assert "n_components" not in labels(LISTS.replace(":= 2, require ¦", ":= ¦"))


def test_files_and_groups_are_offered_where_they_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "shared.space").write_text("params knn { p = 2 }\nstage s = PCA\n", encoding="utf-8")

    def completed(text: str) -> list[str]:
        _, document = opened(text, tmp_path)
        end = UTF16.to_position(document.source, len(text))
        return [item.label for item in completions.complete(document, end, UTF16)]

    assert {"shared.space", "mosaic"} <= {*completed('import "')}
    beginning = 'import "shared.space" as shared\n'
    assert completed(f"{beginning}stage e = SVC {{ include shared.") == ["knn"]
    assert completed(f"{beginning}pipeline = shared.") == ["s"]


def test_shares_of_a_simplex_are_members_of_their_body() -> None:
    mix = "abstract mix { simplex a, b = (0.5, 0.5)\n c : bool }\n"
    assert {"a", "b", "c"} <= set(labels(f"{mix}stage e = mix {{\n ¦\n}}\n"))
    found = labels(f"{mix}stage e = mix {{\n simplex a, b\n ¦\n}}\n")
    assert "c" in found
    assert not {"a", "b"} & set(found)


def test_nothing_is_completed_in_comments_and_strings() -> None:
    assert labels("# sta¦") == []
    assert labels('space a "sta¦') == []


def described(mark: str, shift: int = 0) -> str:
    _, document = opened(SPACE)
    found = hovers.hover(document, place(SPACE, mark, shift), UTF16)
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    return found.contents.value


def test_hover_shows_comments_ranges_defaults_and_structures() -> None:
    assert "Numbers are scaled." in described("scaler")
    assert "a decision with 2 alternatives" in described("scaler")
    assert "in 4 structures" in described("scaler")
    assert "float[0.1, 10.0] log" in described("C      :")
    assert "default `1.0`" in described("C      :")
    assert "sklearn.svm" in described("SVC")
    assert "active when `kernel == poly`" in described("degree :")
    assert "int[2, 9]" in described("max_depth")
    assert "alternative of `estimator` in 2 structures" in described("svm.kernel")


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("tuple[", "a tuple of variable length"),
        ("simplex a", "whose sum is 1"),
        ("repeat(", "times in a row"),
        ("count(", "how many members a list has"),
        ("length(", "the number of elements of a tuple"),
        ("tuple of words", None),
        ("repeat = 3", None),
        ("estimators :", "parameter of `VotingClassifier`: a list of operators; must be given"),
    ],
)
def test_hover_explains_the_forms_of_the_language(mark: str, text: str | None) -> None:
    written = """\
# a tuple of words

abstract Net { sizes : tuple[1, 3] of int[1, 9], repeat = 3, require length(sizes) > 1, simplex a, b }
stage step = PCA | FastICA
stage model = VotingClassifier { estimators : (GaussianNB? & SVC), require count(estimators) >= 1 } | Net
pipeline = repeat(step, 0, 2) -> model
"""
    _, document = opened(written)
    found = hovers.hover(document, place(written, mark), UTF16)
    shown = "" if found is None else found.contents.value  # type: ignore[union-attr]
    assert text in shown if text is not None else "tuple" not in shown and "times" not in shown


@pytest.mark.parametrize(
    ("mark", "expected", "missing"),
    [
        ("units :", "`tuple[1, 2] of int[1, 4]`, default `(2,)`", "int[1, 2]"),
        ("units[1]", "int[1, 4]", "active when"),
        ("size :=", "computed as `2 ** bits`", "default"),
        ("small :=", "computed as `3`", "default"),
        ("var bits", "for expressions only", "default"),
        ("let small", "a name for an expression", "default"),
    ],
)
def test_hover_shows_tuples_and_formulas(mark: str, expected: str, missing: str) -> None:
    _, document = opened(CHAIN)
    found = hovers.hover(document, place(CHAIN, mark), UTF16)
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    assert expected in found.contents.value
    assert missing not in found.contents.value


def test_definitions_lead_to_declarations_in_other_files(tmp_path: Path) -> None:
    (tmp_path / "shared.space").write_text(
        "params knn { n_neighbors : int[1, 9] = 3 }\nstage s = PCA\n", encoding="utf-8"
    )
    text = 'import "shared.space" as shared\nstage e = KNeighborsClassifier { include shared.knn }\n'
    text += "pipeline = shared.s -> e\n"
    documents, document = opened(text, tmp_path)
    assert not [each for each in document.check_result.diagnostics if each.severity == "error"]
    (found,) = navigation.definitions(document, place(text, "knn }"), UTF16)
    assert found.uri.endswith("shared.space")
    assert found.range.start == types.Position(0, 7)
    shared = documents.open((tmp_path / "shared.space").as_uri(), 1, (tmp_path / "shared.space").read_text())
    places = navigation.references(shared, documents, types.Position(0, 8), UTF16)
    assert sorted(each.uri.rpartition("/")[2] for each in places) == ["a.space", "shared.space"]
    edit = navigation.rename(shared, documents, types.Position(0, 8), "neighbours", UTF16)
    assert {uri.rpartition("/")[2]: len(edits) for uri, edits in (edit.changes or {}).items()} == {
        "a.space": 1,
        "shared.space": 1,
    }
    documents.close(shared.uri)
    for mark, name in (("knn }", "neighbours"), ("s -> e", "reducer")):
        edit = navigation.rename(document, documents, place(text, mark), name, UTF16)
        assert len(edit.changes or {}) == 2, "also from the importing file, whether the other one is open or not"
    with pytest.raises(navigation.RenameError, match="cannot be the new name"):
        navigation.rename(document, documents, place(text, "shared."), "e", UTF16)
    shared = documents.open(shared.uri, 1, shared.source.text)
    documents.change(shared.uri, 2, "params other { n_neighbors : int[1, 9] = 3 }\nstage s = PCA\n")
    refreshed = documents.get(document.uri)
    assert refreshed is not None
    assert any("knn" in each.message for each in refreshed.check_result.diagnostics), "the unsaved text counts"


def applied(text: str, edit: types.WorkspaceEdit) -> str:
    ((_, edits),) = (edit.changes or {}).items()
    source = Source("a", text)
    for each in sorted(edits, key=lambda each: UTF16.to_offset(source, each.range.start), reverse=True):
        start, end = UTF16.to_offset(source, each.range.start), UTF16.to_offset(source, each.range.end)
        text = text[:start] + each.new_text + text[end:]
    return text


@pytest.mark.parametrize(
    ("mark", "shift", "changed"),
    [("scaler =", 0, 2), ("svm {", 0, 2), ("forest {", 0, 2), ("RandomForest", 0, 1), ("svm.kernel", 0, 2)],
)
def test_a_renamed_space_is_the_same_but_for_the_name(mark: str, shift: int, changed: int) -> None:
    documents, document = opened(SPACE)
    renamed = applied(SPACE, navigation.rename(document, documents, place(SPACE, mark, shift), "new_name", UTF16))
    assert renamed.count("new_name") == changed
    result = check(Source("a", renamed))
    assert not result.diagnostics
    assert result.structures is not None
    assert document.structures is not None
    assert result.structures.count == document.structures.count


CHAIN = """\
abstract net { units : tuple[1, 2] of int[1, 4] = (2,), var bits : int[1, 3] = 2, size := 2 ** bits }
let small := 3
stage reduce = PCA as pca { n_components : int[1, 4] = 2 } | SelectKBest
stage tail = net | GaussianNB
stage scale = StandardScaler | MinMaxScaler
pipeline = (repeat(scale, 0, 2)) as scaling -> repeat(reduce, 0, 2) -> tail
forbid reduce[1] is pca and reduce <= 1
forbid scaling[1] is MinMaxScaler and scaling == 2
require reduce[1].pca.n_components <= small
forbid tail.net.units[1] == 3 and tail is net
"""


@pytest.mark.parametrize("text", [SPACE, CHAIN, BUNDLED["boasf_models"]], ids=["small", "chain", "bundled"])
def test_a_renaming_is_the_same_from_each_place(text: str) -> None:
    documents, document = opened(text)
    renamed: dict[tuple[str, int], set[str]] = {}
    for each in document.name_index.occurrences_in_file(document.source):
        definition = each.symbol.definition
        if each.symbol.kind in navigation.RENAMED_KINDS and definition is not None and each.span.text != "none":
            assert each.span.text.strip('"') == each.symbol.name, "another name would be changed"
            edit = navigation.rename(
                document, documents, UTF16.to_position(each.span.source, each.span.start), "new", UTF16
            )
            renamed.setdefault((each.symbol.name, definition.start), set()).add(applied(text, edit))
    assert len(renamed) > 5
    for (name, _), (changed, *others) in renamed.items():
        assert not others, name
        result = check(Source("a", changed))
        assert not result.diagnostics, name
        assert result.structures is not None
        assert document.structures is not None
        assert result.structures.count == document.structures.count


def test_names_that_clash_or_belong_to_a_library_are_not_renamed() -> None:
    documents, document = opened(SPACE)
    with pytest.raises(navigation.RenameError, match="cannot be the new name"):
        navigation.rename(document, documents, place(SPACE, "scaler ="), "estimator", UTF16)
    with pytest.raises(navigation.RenameError, match="reserved word"):
        navigation.rename(document, documents, place(SPACE, "scaler ="), "not", UTF16)
    for mark in ("degree", "none"):
        with pytest.raises(navigation.RenameError, match="cannot be renamed: only stages"):
            navigation.rename(document, documents, place(SPACE, mark), "power", UTF16)


def test_names_of_an_imported_bundled_space_are_not_renamed() -> None:
    text = 'import "mosaic" as m\nstage e = SVC { include m.balancing }\n'
    documents, document = opened(text)
    with pytest.raises(navigation.RenameError, match="the bundled space `mosaic` declares it"):
        navigation.rename(document, documents, place(text, "balancing"), "weights", UTF16)


def test_symbols_are_inside_the_parameters_that_contain_them() -> None:
    _, document = opened(LISTS.replace("¦", "true") + "abstract mix { simplex a, b }\n")

    def names(symbols: Sequence[types.DocumentSymbol] | None) -> dict[str, object]:
        return {each.name: names(each.children) for each in symbols or ()}

    assert names(whole_document.document_symbols(document, UTF16)) == {
        "estimator": {
            "VotingClassifier": {"estimators": {"SVC": {"C": {}}, "GaussianNB": {}}},
            "PCA": {"n_components": {}},
        },
        "mix": {"a": {}, "b": {}},
    }


def test_quick_fixes_solve_their_problem() -> None:
    text = SPACE.replace("when kernel == poly", "when kernal == poly")
    _, document = opened(text)
    (problem,) = diagnostics_and_fixes.diagnostics(document, UTF16)
    assert problem.severity is types.DiagnosticSeverity.Error
    fixes = diagnostics_and_fixes.quick_fixes(document, problem.range, UTF16)
    assert fixes[0].edit is not None
    assert applied(text, fixes[0].edit) == SPACE


def test_all_independent_mistakes_are_shown_in_a_text_with_syntax_errors() -> None:
    _, document = opened("stage a = = PCA\nstage b = Unknown\nstage c = PCA { whiten : 3 }\n")
    assert {each.range.start.line for each in diagnostics_and_fixes.diagnostics(document, UTF16)} == {0, 1, 2}


def test_formatting_edits_only_the_lines_that_change() -> None:
    text = SPACE.replace("forbid scaler", "forbid   scaler")
    _, document = opened(text)
    (edit,) = whole_document.formatting(document)
    assert edit.range.start.line == SPACE.count("\n", 0, SPACE.index("forbid"))
    assert applied(text, types.WorkspaceEdit({document.uri: [edit]})) == SPACE


def test_hints_show_the_structures_with_each_alternative() -> None:
    _, document = opened(SPACE)
    hints = hovers.inlay_hints(document, types.Range(types.Position(0, 0), types.Position(99, 0)), UTF16)
    assert [hint.label for hint in hints] == [" 2 structures"] * 4


USES = """\
stage step = StandardScaler | SelectPercentile { percentile : int[10, 100] = 50 }
stage estimator = MLPClassifier {
  beta_1 : float[0, 0.9]
  beta_2 : float[0.9, 0.99]
  hidden_layer_sizes : tuple[1, 2] of int[4, 8]
}
pipeline = repeat(step, 0, 2) -> estimator
"""


def test_counts_of_a_chain_are_those_of_its_uses() -> None:
    _, document = opened(USES)
    hints = hovers.inlay_hints(document, types.Range(types.Position(0, 0), types.Position(99, 0)), UTF16)
    assert sorted(hint.label for hint in hints) == [
        " 1 | 2 | 4 structures",  # no use, one use, two uses
        " 3 | 2 structures",  # with this alternative as the first use, as the second one
        " 3 | 2 structures",
        " 7 structures",
        " 7 structures",
    ]
    hovered = hovers.hover(document, place(USES, "step", 0), UTF16)
    assert hovered is not None
    assert "in 6 | 4 structures" in hovered.contents.value  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "expected", "missing"),
    [
        (f"{USES}forbid step[1] is ¦", {"StandardScaler", "SelectPercentile"}, {"estimator"}),
        (f"{USES}forbid ¦", {"estimator.MLPClassifier.hidden_layer_sizes[1]", "step[2]", "step"}, {"`step[2]`"}),
        (f"{USES.rpartition('pipeline')[0]}pipeline = repeat(¦", {"step"}, {"PCA"}),
        (USES.replace("float[0.9", "float[¦"), {"beta_1", "n_features"}, {"beta_2", "step"}),
        (USES.replace("beta_1 : float[0, 0.9]", "simplex ¦"), {"momentum"}, {"SVC"}),
    ],
)
def test_relations_are_completed(text: str, expected: set[str], missing: set[str]) -> None:
    found = {*labels(text)}
    assert expected <= found
    assert not missing & found
