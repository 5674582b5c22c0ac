"""The picture of any workflow: nothing overlaps, no edge passes behind a card, arrows meet their ports."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conductor.layout import Card, Layout, Point, graph_height, layout
from conductor.strands import Strands, ordered
from conductor.workflow import Step, Workflow

DIRECTIONS = ("down", "right")
REVIEW = [(), (0,), (0,), (0, 2), (1, 2, 3), (1, 4)]


def plan(access: list[tuple[int, ...]]) -> Workflow:
    return Workflow.of(Step(instruction="Work.", worker="w", access=reads) for reads in access)


def chain(steps: int) -> list[tuple[int, ...]]:
    return [(i - 1,) if i else () for i in range(steps)]


def fan(steps: int) -> list[tuple[int, ...]]:
    return [()] * (steps - 1) + [tuple(range(steps - 1))]


def dense(steps: int) -> list[tuple[int, ...]]:
    return [tuple(range(i)) for i in range(steps)]


@st.composite
def accesses(draw: st.DrawFn) -> list[tuple[int, ...]]:
    steps = draw(st.integers(1, 30))
    sparse = draw(st.booleans())
    return [
        tuple(draw(st.sets(st.integers(0, i - 1), max_size=3 if sparse else i))) if i else ()
        for i in range(steps)
    ]


def curve(start: Point, end: Point, *, down: bool) -> Iterator[Point]:
    """Points of the cubic that the page draws from `start` to `end`."""
    (x0, y0), (x3, y3) = start, end
    (x1, y1), (x2, y2) = (
        ((x0, (y0 + y3) / 2), (x3, (y0 + y3) / 2)) if down else (((x0 + x3) / 2, y0), ((x0 + x3) / 2, y3))
    )
    for k in range(13):
        t, s = k / 12, 1 - k / 12
        yield (
            s**3 * x0 + 3 * s * s * t * x1 + 3 * s * t * t * x2 + t**3 * x3,
            s**3 * y0 + 3 * s * s * t * y1 + 3 * s * t * t * y2 + t**3 * y3,
        )


def drawn(route: tuple[Point, ...], *, down: bool) -> Iterator[Point]:
    for i in range(0, len(route), 2):
        yield from curve(route[i], route[i + 1], down=down)
        if i + 2 < len(route):
            (x0, y0), (x1, y1) = route[i + 1], route[i + 2]
            yield from ((x0 + (x1 - x0) * k / 4, y0 + (y1 - y0) * k / 4) for k in range(5))


def inside(card: Card, point: Point) -> bool:
    return card.left < point[0] < card.right and card.top < point[1] < card.bottom


def assert_clear(picture: Layout) -> None:
    down = picture.direction == "down"
    for a, b in combinations(picture.cards, 2):
        assert a.right < b.left or b.right < a.left or a.bottom < b.top or b.bottom < a.top
    for edge, route in picture.routes.items():
        for point in drawn(route, down=down):
            assert not any(inside(card, point) for card in picture.cards), edge


def assert_ports_met(workflow: Workflow, picture: Layout) -> None:
    down = picture.direction == "down"
    assert set(picture.routes) == set(workflow.graph.edges)
    for (read, reader), route in picture.routes.items():
        source, target = picture.cards[read], picture.cards[reader]
        assert len(route) % 2 == 0
        assert route[0] == ((source.x, source.bottom) if down else (source.right, source.y))
        if down:
            assert route[-1][1] == target.top
            assert target.left + 10 <= route[-1][0] <= target.right - 10
        else:
            assert route[-1][0] == target.left
            assert target.top + 10 <= route[-1][1] <= target.bottom - 10
    arrivals = [route[-1] for route in picture.routes.values()]
    assert len(set(arrivals)) == len(arrivals)


@pytest.mark.parametrize("direction", DIRECTIONS)
@settings(max_examples=40, deadline=None)
@given(access=accesses())
def test_no_edge_of_any_plan_passes_behind_a_card_and_all_arrows_meet_their_ports(direction, access):
    workflow = plan(access)
    picture = layout(workflow, direction=direction)
    assert_clear(picture)
    assert_ports_met(workflow, picture)
    for card in picture.cards:
        assert card.left >= 0
        assert card.right <= picture.width
        assert card.top >= 0
        assert card.bottom <= picture.height


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("access", [REVIEW, chain(30), fan(30), dense(12), chain(100)])
def test_plans_of_known_shapes_are_clear_too(direction, access):
    assert_clear(layout(plan(access), direction=direction))


def test_a_hundred_steps_that_all_read_all_earlier_ones_get_one_lane_a_step():
    picture = layout(plan(dense(100)))
    assert len(picture.routes) == 4950
    assert picture.width < 3000


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_steps_stand_after_what_they_read(direction):
    picture = layout(plan(REVIEW), direction=direction)
    for read, reader in picture.routes:
        before, after = picture.cards[read], picture.cards[reader]
        assert before.bottom < after.top if direction == "down" else before.right < after.left


def test_a_chain_is_a_straight_line():
    picture = layout(plan(chain(5)))
    assert len({card.x for card in picture.cards}) == 1
    assert all(len({x for x, _ in route}) == 1 for route in picture.routes.values())


def test_the_reader_of_a_fan_stands_below_its_middle():
    picture = layout(plan(fan(4)))
    assert picture.cards[3].x == picture.cards[1].x


def test_crossings_that_can_be_avoided_are_avoided():
    access = [(), (), (), (2,), (1,), (0,), (3, 4, 5)]
    picture = layout(plan(access))
    assert [picture.cards[i].x < picture.cards[j].x for i, j in ((5, 4), (4, 3))] in (
        [True, True],
        [False, False],
    )
    cards = [
        sorted(range(3), key=lambda i: picture.cards[i].x),
        sorted((5, 4, 3), key=lambda i: picture.cards[i].x),
    ]
    assert cards[1] == [5 - i for i in cards[0]]


def test_ordering_keeps_every_node_in_its_row():
    strands = Strands.of([[0], [1, 2], [3]], ((), (0,), (0,), (0, 1)))
    assert [sorted(row) for row in ordered(strands).rows] == [sorted(row) for row in strands.rows]


@pytest.mark.parametrize(
    ("access", "density"),
    [
        (chain(8), "full"),
        (chain(9), "compact"),
        (fan(14), "full"),
        (fan(15), "compact"),
        ([()], "full"),
        (REVIEW, "full"),
    ],
)
def test_long_plans_get_flat_cards(access, density):
    assert layout(plan(access)).density == density


@pytest.mark.parametrize("density", ["full", "compact"])
def test_a_wished_density_is_kept(density):
    assert layout(plan(chain(10)), density=density).density == density


@pytest.mark.parametrize("access", [chain(30), dense(30)])
def test_thirty_steps_one_below_the_other_leave_room_for_readable_letters(access):
    picture = layout(plan(access))
    scale = (graph_height(picture, 1000) - 48) / picture.height
    card = picture.cards[0]
    assert card.height * scale * 0.68 >= 8.5
    assert card.width * scale >= 120


@pytest.mark.parametrize(
    ("access", "width", "height"),
    [([()], 1000, 200), (REVIEW, 1000, 663), (chain(30), 1000, 820), (fan(30), 600, 200), (REVIEW, 300, 369)],
)
def test_the_height_follows_the_plan(access, width, height):
    assert graph_height(layout(plan(access)), width) == pytest.approx(height, abs=60)


def test_the_same_shape_is_laid_out_once():
    one, other = plan(REVIEW), plan(REVIEW).with_instruction(0, "Something else.")
    assert layout(one) is layout(other)
