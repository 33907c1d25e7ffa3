"""Typed JSON is read only if every field has its type."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import pytest

from model.typed_json import MAX_DEPTH, MAX_INTEGER, dump, read


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: float
    y: float


@dataclass(frozen=True)
class Shape:
    name: str
    sides: int
    is_closed: bool = False
    colour: Colour | None = None
    centre: Point | None = None
    points: tuple[Point, ...] = ()
    pair: tuple[str, int] = ("", 0)
    marks: Mapping[str, Any] | None = None


FULL = Shape(
    "box",
    4,
    is_closed=True,
    colour=Colour.RED,
    centre=Point(0.5, 1),
    points=(Point(0, 0), Point(1.25, -1.0)),
    pair=("a", 1),
    marks={"deep": [{"a": None}]},
)


@pytest.mark.parametrize("shape", [FULL, Shape("line", 1)])
def test_value_survives_a_round_trip(shape):
    assert read(Shape, json.loads(json.dumps(asdict(shape)))) == shape


def build_nested(depth):
    value = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"name": 1}, "Shape.name holds 1"),
        ({"name": None}, "Shape.name holds None"),
        ({"sides": "4"}, "Shape.sides holds '4'"),
        ({"sides": 4.0}, "Shape.sides holds 4.0"),
        ({"sides": True}, "Shape.sides holds True"),
        ({"sides": MAX_INTEGER + 1}, "Shape.sides holds"),
        ({"is_closed": 0}, "Shape.is_closed holds 0"),
        ({"colour": "blue"}, "'blue' is not a valid Colour"),
        ({"colour": ["red"]}, "Shape.colour holds list"),
        ({"centre": {"x": 1}}, "'y'"),
        ({"centre": {"x": "1", "y": 2}}, "Point.x holds '1'"),
        ({"centre": {"x": float("nan"), "y": 2}}, "Point.x holds nan"),
        ({"centre": {"x": float("inf"), "y": 2}}, "Point.x holds inf"),
        ({"centre": {"x": 10**400, "y": 2}}, "Point.x holds 1000"),
        ({"centre": {"x": False, "y": 2}}, "Point.x holds False"),
        ({"centre": []}, "Point is list, not an object"),
        ({"points": {}}, "Shape.points holds dict"),
        ({"points": [None]}, "Point is None, not an object"),
        ({"pair": ["a"]}, "Shape.pair holds list"),
        ({"pair": ["a", "b"]}, "Shape.pair holds 'b'"),
        ({"marks": []}, "Shape.marks holds list"),
        ({"marks": {"a": build_nested(MAX_DEPTH + 1)}}, "Shape.marks holds list"),
        ({"more": 1}, "Shape has no field 'more'"),
        ({"m" * 200: 1}, "Shape has no field 'm{78}…"),
    ],
)
def test_refuses_a_field_of_the_wrong_type(changes, why):
    with pytest.raises((TypeError, ValueError), match=why):
        read(Shape, asdict(FULL) | {"points": [], "pair": ["a", 1]} | changes)


def test_refuses_a_missing_field():
    with pytest.raises(TypeError, match="sides"):
        read(Shape, {"name": "box"})


def test_reads_json_up_to_the_depth_limit():
    assert read(Shape, {"name": "", "sides": 0, "marks": {"a": build_nested(MAX_DEPTH)}}).marks


@dataclass(frozen=True)
class Step:
    total: int = field(metadata={"key": "of"})
    parts: tuple[Point, ...] = ()


def test_a_field_may_have_another_key_in_the_file():
    step = Step(3, (Point(0.0, 1.0),))
    document = dump(step)
    assert document == {"of": 3, "parts": [{"x": 0.0, "y": 1.0}]}
    assert read(Step, document) == step
    with pytest.raises(ValueError, match="has no field 'total'"):
        read(Step, {"total": 3})
