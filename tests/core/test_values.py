"""A value like another: what `notbefore.core.values.replace` promises."""

import dataclasses
import importlib
import pkgutil

import pytest

import notbefore.core
from notbefore.core.model import Scope, Vm
from notbefore.core.requests import Request
from notbefore.core.values import replace


def values_of_the_core():
    """Every kind of value in core/, but for requests: nobody decides another request than the one that came."""
    names = [found.name for found in pkgutil.walk_packages(notbefore.core.__path__, "notbefore.core.")]
    kinds = [kind for name in names for kind in vars(importlib.import_module(name)).values()]
    return {kind for kind in kinds if dataclasses.is_dataclass(kind) and isinstance(kind, type)}


@pytest.mark.parametrize("kind", sorted(values_of_the_core(), key=lambda kind: kind.__qualname__))
def test_every_value_takes_its_fields_in_their_order(kind):
    """So another one can be made of the values of the first; what is made by name alone is no such value."""
    fields = dataclasses.fields(kind)
    if issubclass(kind, Request):
        assert all(field.kw_only for field in fields)
        return
    assert len(fields) > 1
    assert all(field.init and not field.kw_only for field in fields)


def test_the_other_value_differs_in_what_was_named_and_in_nothing_else():
    """As `dataclasses.replace` would make it."""
    scope = Scope("web", vms=(Vm("web-0"),), incarnation=7)

    other = replace(scope, incarnation=8, removed=True)

    assert other == dataclasses.replace(scope, incarnation=8, removed=True)
    assert other.vms is scope.vms
    assert scope.incarnation == 7


def test_a_field_that_is_not_there_is_no_field():
    """A slip is told, not taken for something else."""
    with pytest.raises(KeyError, match="colour"):
        replace(Scope("web"), colour="red")
