"""Spaces made by hand, so that no parser is needed."""

from spacelang.ir.domain import Categorical, Domain
from spacelang.ir.space import SKIPPED_STEP, Branch, Choice, Hyperparameter, Node, Operator, Product, ProductKind, Space


def operator(name: str, *children: Hyperparameter | Choice, **fixed: object) -> Operator:
    return Operator(name, "sklearn", children, tuple(fixed.items()))


def hyperparameter(key: str, domain: Domain, default: object = None, named: tuple[str, ...] = ()) -> Hyperparameter:
    value = domain.representative if default is None else default
    return Hyperparameter(key.rsplit(".", 1)[-1], key, key, domain, value, named=named)


def among(key: str, *values: object, named: tuple[str, ...] = ()) -> Hyperparameter:
    return hyperparameter(key, Categorical(values), named=named)


def branch(alternative: str | Node) -> Branch:
    match alternative:
        case "none":
            return Branch("none", SKIPPED_STEP)
        case str():
            return Branch(alternative, operator(alternative))
        case Operator():
            return Branch(alternative.name, alternative)
        case _:
            return Branch("structure", alternative)


def stage(name: str, *alternatives: str | Node) -> Choice:
    return Choice(name.rsplit(".", 1)[-1], name, name, tuple(map(branch, alternatives)))


def sequence(*children: Node) -> Product:
    return Product(ProductKind.SEQUENCE, children)


def side_by_side(*children: Node) -> Product:
    return Product(ProductKind.PARALLEL, children)


def space(*children: Node) -> Space:
    return Space("handmade", sequence(*children))
