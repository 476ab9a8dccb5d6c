"""What every scenario model has in common."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.fields import FieldInfo
from pydantic_core import core_schema


class Model(BaseModel):
    """Frozen, hashable by content, and closed: an unknown key is an error, not a comment.

    Pydantic builds the validator of a model when the model is first used: most runs use few of the models.
    The modules with models do without ``from __future__ import annotations``, because pydantic compiles every
    annotation that is text when it is imported.
    """

    model_config = ConfigDict(
        defer_build=True,
        frozen=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        validate_default=True,
        serialize_by_alias=True,
    )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        """The JSON schema with the text below each field as its description."""
        from ackclock.scenario.values.docstrings import field_docstrings

        found = handler(schema)
        properties = handler.resolve_ref_schema(found)["properties"]
        for owner in (owner for owner in reversed(cls.__mro__) if issubclass(owner, Model)):
            for name, text in field_docstrings(owner).items():
                field = properties[cls.model_fields[name].alias or name]
                if handler.resolve_ref_schema(field).get("description") != text:
                    field["description"] = text
        return found


class _Deferred:
    """Keeps the validator of a model out of the validator of the model that has it as a field."""

    def __get_pydantic_core_schema__(self, model: type[Model], _: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def validate(value: Any, info: ValidationInfo) -> Model:
            return model.model_validate(value, context=info.context)

        return core_schema.with_info_plain_validator_function(validate, metadata={"deferred": model})

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        model: type[Model] = schema["metadata"]["deferred"]
        model.model_rebuild()
        # The handler writes a reference only for what is inside of the schema that it is given.
        return handler(core_schema.definitions_schema(model.__pydantic_core_schema__, []))


class Written:
    """How a value is read, how it is written again, and what a file may have in its place.

    It does what ``BeforeValidator``, ``PlainSerializer`` and ``WithJsonSchema`` do together. Those inspect the
    signature of each function again for every field, and that is most of the time in which validators are built.
    """

    def __init__(self, read: Callable[[Any], Any], write: Callable[[Any], Any] | None, schema: dict[str, Any]) -> None:
        self._read, self._write, self._schema = read, write, schema

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        written = None if self._write is None else core_schema.plain_serializer_function_ser_schema(self._write)
        return core_schema.no_info_before_validator_function(self._read, handler(source), serialization=written)

    def __get_pydantic_json_schema__(self, _: core_schema.CoreSchema, __: GetJsonSchemaHandler) -> Any:
        return dict(self._schema)


M = TypeVar("M", bound=Model)

Deferred = Annotated[M, _Deferred()]
"""A model whose validator is built when a scenario has a value for it."""


def shared_default(model: type[M]) -> Callable[[], M]:
    """What makes the default of a field: an instance of `model`, the same one each time."""

    @functools.cache
    def made() -> M:
        return model()

    return made


def fields(model: type[Model]) -> dict[str, FieldInfo]:
    """The fields of `model` by the keys they are written with: `from` is no name in Python."""
    return {info.alias or name: info for name, info in model.model_fields.items()}
