"""What every scenario model has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo


class Model(BaseModel):
    """Frozen, hashable by content, and closed: an unknown key is an error, not a comment."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        arbitrary_types_allowed=True,
        validate_default=True,
        serialize_by_alias=True,
    )


def fields(model: type[Model]) -> dict[str, FieldInfo]:
    """The fields of `model` by the keys they are written with: `from` is no name in Python."""
    return {info.alias or name: info for name, info in model.model_fields.items()}
