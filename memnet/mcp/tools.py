"""What a tool is: its arguments and result as pydantic models, and a function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from memnet.errors import InputError
from memnet.mcp.memory import ServedMemory

_MAX_ARGUMENTS = 100


class Arguments(BaseModel):
    """Base of the arguments of all tools: unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


def argument(description: str, *names: str, default: Any = ..., **limits: Any) -> Any:
    """A field of ``Arguments``.

    Args:
        description: for the client's model.
        names: that it goes by, the one that is listed first; others are what models reach for.
        default: without one the argument is required.
        limits: as those of ``pydantic.Field``.
    """
    return Field(
        default=default,
        description=description,
        validation_alias=AliasChoices(*names) if names else None,
        **limits,
    )


_Arguments = TypeVar("_Arguments", bound=Arguments)


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[_Arguments]):
    """A tool that a client's model may call."""

    name: str
    title: str
    description: str
    arguments: type[_Arguments]
    result: type[BaseModel]
    run: Callable[[ServedMemory, _Arguments], tuple[BaseModel, str]]
    """The result, and a short text that says the same."""
    writes: bool = False
    destructive: bool = False
    """Whether it may remove something for good."""
    idempotent: bool = True
    """Whether the same call again changes nothing more."""

    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments, by their listed names."""
        return _plain(self.arguments.model_json_schema(by_alias=True))

    def output_schema(self) -> dict[str, Any]:
        """JSON schema of the result."""
        return _plain(self.result.model_json_schema(mode="serialization"))

    def call(self, memory: ServedMemory, given: Mapping[str, Any]) -> tuple[BaseModel, str]:
        """Check the arguments and run the tool.

        Raises:
            InputError: an argument is missing, unknown or of another type.
            MemnetError: the memory refuses.
        """
        if len(given) > _MAX_ARGUMENTS:  # each that is unknown would be an error of its own
            raise InputError(
                f"{self.name}: {len(given):,} arguments are given; expected {self._expected()}"
            )
        try:
            # Models send null for what they leave out.
            arguments = self.arguments.model_validate(
                {name: value for name, value in given.items() if value is not None}
            )
        except ValidationError as error:
            raise InputError(self._problem(error, given)) from error
        return self.run(memory, arguments)

    def _problem(self, error: ValidationError, given: Mapping[str, Any]) -> str:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        found = ", ".join(given) or "nothing"
        what = first["msg"][:1].lower() + first["msg"][1:]
        return f"{self.name}: {where!r}: {what}; given were {found}, expected {self._expected()}"

    def _expected(self) -> str:
        return ", ".join(self.input_schema().get("properties", {})) or "no arguments"


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without what only Python's reader needs, and open to other names of arguments."""
    schema = {key: value for key, value in schema.items() if key not in ("title", "description")}
    schema.pop("additionalProperties", None)
    schema.setdefault("properties", {})
    return schema
