"""What the service refuses in a JSON schema that it must enforce: structured output, strict tools.

Objects must be closed; bounds on numbers, strings and lists are not supported (vendor's
documentation of structured outputs, and the 400s that users report).
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["check_output_config", "check_schema"]

_UNSUPPORTED = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    *("patternProperties", "oneOf", "not", "if", "then", "else"),
)
_NAMED = ("properties", "$defs", "definitions")
_LISTED = ("anyOf", "allOf", "prefixItems")
_EFFORTS = (None, "low", "medium", "high", "xhigh", "max")


def check_output_config(config: object) -> Iterator[str]:
    """Why an `output_config` is refused."""
    if config is None:
        return
    if not isinstance(config, dict):
        yield "output_config: Input should be a valid dictionary or object"
        return
    for name in set(config) - {"effort", "format"}:
        yield f"output_config.{name}: Extra inputs are not permitted"
    if config.get("effort") not in _EFFORTS:
        yield "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"
    form = config.get("format")
    if form is None:
        return
    if not isinstance(form, dict) or form.get("type") != "json_schema":
        yield "output_config.format.type: Input should be 'json_schema'"
    elif not isinstance(form.get("schema"), dict):
        yield "output_config.format.schema: Field required"
    else:
        yield from check_schema("output_config.format.schema", form["schema"])


def check_schema(where: str, schema: object) -> Iterator[str]:
    """Why a schema cannot be enforced, sub-schemas included."""
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if kind == "object" and schema.get("additionalProperties") is not False:
        yield f"{where}: For 'object' type, 'additionalProperties' must be explicitly set to false"
    strange = [name for name in _UNSUPPORTED if name in schema]
    if strange:
        yield f"{where}: For '{kind}' type, property '{strange[0]}' is not supported"
    for part in _parts(schema):
        yield from check_schema(where, part)


def _parts(schema: dict[str, object]) -> Iterator[object]:
    yield schema.get("items")
    for name in _NAMED:
        named = schema.get(name)
        yield from named.values() if isinstance(named, dict) else ()
    for name in _LISTED:
        listed = schema.get(name)
        yield from listed if isinstance(listed, list) else ()
