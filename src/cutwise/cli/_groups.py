"""Options in groups: a command takes a dataclass as one argument, and typer sees each of its fields as an option."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

__all__ = ["flattened"]


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each field of the dataclasses that it takes, in their place.

    Parameters
    ----------
    command : callable
        Its arguments are given by name. Fields have defaults, and are annotated as typer asks for.

    Returns
    -------
    flat : callable
        Has the command's name and docstring.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[Any]] = {}
    options: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        group = hints[name]
        if isinstance(group, type) and is_dataclass(group):
            groups[name] = group
            of_field = get_type_hints(group, include_extras=True)
            options += [
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=of_field[field.name])
                for field in fields(group)
            ]
        else:
            options.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=group))

    def flat(**given: Any) -> None:
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **given)

    flat.__name__, flat.__doc__ = command.__name__, command.__doc__
    flat.__annotations__ = {option.name: option.annotation for option in options}
    flat.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return flat
