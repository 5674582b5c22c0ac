"""The pictures of any workflow: nothing overlaps, no edge passes behind a card, arrows meet their ports,
and there is one that can be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.drawing.columns import Point
from conductor.drawing.layered_layout import generations_of
from conductor.drawing.layout import MARGIN, Direction, Earlier, Layout, layouts, pane_layouts
from conductor.workflow.model import Step, Workflow
from tests.support.cases.property_cases import cases

DIRECTIONS = ("down", "right")

NARROW = 640
"""Pixels the graph has at least in a window of 1280."""

REVIEW = [(), (0,), (0,), (0, 2), (1, 2, 3), (1, 4)]


def plan(access: list[tuple[int, ...]]) -> Workflow:
    return Workflow.of(Step(instruction="Work.", worker="w", access=reads) for reads in access)


def layout(access: list[tuple[int, ...]], width: int = 1600, direction: Direction = "down") -> Layout:
    """The picture that is shown where the graph is `width` pixels wide."""
    pictures = layouts(plan(access), direction=direction)
    return next((picture for picture in pictures if picture.least_width <= width), pictures[-1])


def zoom(picture: Layout, width: int) -> float:
    """How large a picture is shown at most."""
    return min(1, (width - 2 * MARGIN) / picture.width, picture.most_height / picture.height)


def chain(steps: int) -> list[tuple[int, ...]]:
    return [(i - 1,) if i else () for i in range(steps)]


def fan(steps: int) -> list[tuple[int, ...]]:
    return [()] * (steps - 1) + [tuple(range(steps - 1))]


def dense(steps: int) -> list[tuple[int, ...]]:
    return [tuple(range(i)) for i in range(steps)]


@st.composite
def accesses(draw: st.DrawFn, most: int = 30) -> list[tuple[int, ...]]:
    steps = draw(st.integers(1, most))
    sparse = draw(st.booleans())
    return [
        tuple(draw(st.sets(st.integers(0, i - 1), max_size=3 if sparse else i))) if i else ()
        for i in range(steps)
    ]


def stretches(route: tuple[Point, ...]) -> Iterator[tuple[Point, Point]]:
    """A line's straight parts, each from its lower to its higher end."""
    for one, other in pairwise(route):
        yield min(one, other), max(one, other)


def assert_clear(picture: Layout) -> None:
    for a, b in combinations(picture.cards, 2):
        assert a.right < b.left or b.right < a.left or a.bottom < b.top or b.bottom < a.top
    boxes = [(card.left, card.right, card.top, card.bottom) for card in picture.cards]
    for edge, route in picture.routes.items():
        behind = [
            (start, end)
            for start, end in stretches(route)
            for left, right, top, bottom in boxes
            if start[0] < right and left < end[0] and start[1] < bottom and top < end[1]
        ]
        assert not behind, edge
        assert all(one[0] == other[0] or one[1] == other[1] for one, other in pairwise(route)), edge


def assert_apart(picture: Layout) -> None:
    """No edge lies on another one that leads to another step, but for a little of the space between rows."""
    lines: dict[tuple[bool, float], set[tuple[float, float, int]]] = {}
    for (_, reader), route in picture.routes.items():
        for (x0, y0), (x1, y1) in stretches(route):
            lines.setdefault((x0 == x1, x0 if x0 == x1 else y0), set()).add(
                (y0, y1, reader) if x0 == x1 else (x0, x1, reader)
            )
    down = picture.direction == "down"
    for (upright, _), line in lines.items():
        shared = 70 if upright == down else 1
        ends: dict[int, float] = {}
        for start, end, reader in sorted(line):
            assert all(start >= other - shared for beside, other in ends.items() if beside != reader)
            ends[reader] = max(end, ends.get(reader, end))


def assert_ports_met(workflow: Workflow, picture: Layout) -> None:
    down = picture.direction == "down"
    assert set(picture.routes) == set(workflow.graph.edges)
    for (read, reader), route in picture.routes.items():
        source, target = picture.cards[read], picture.cards[reader]
        assert len(route) % 2 == 0
        if down:
            assert route[0][1] == source.bottom
            assert source.left + 10 <= route[0][0] <= source.right - 10
            assert route[-1][1] == target.top
            assert target.left + 10 <= route[-1][0] <= target.right - 10
        else:
            assert route[0][0] == source.right
            assert source.top + 10 <= route[0][1] <= source.bottom - 10
            assert route[-1][0] == target.left
            assert target.top + 10 <= route[-1][1] <= target.bottom - 10
    starts = [route[0] for route in picture.routes.values()]
    assert len(set(starts)) == len(starts)


@pytest.mark.thorough
@pytest.mark.parametrize("direction", DIRECTIONS)
@cases(12)
@given(access=accesses())
def test_no_edge_of_any_plan_passes_behind_a_card_and_all_arrows_meet_their_ports(direction, access):
    workflow = plan(access)
    for picture in layouts(workflow, direction=direction):
        assert_clear(picture)
        assert_apart(picture)
        assert_ports_met(workflow, picture)
        for card in picture.cards:
            assert card.left >= 0
            assert card.right <= picture.width
            assert card.top >= 0
            assert card.bottom <= picture.height


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("access", [REVIEW, chain(30), fan(30), dense(12), chain(100)])
def test_plans_of_known_shapes_are_clear_too(direction, access):
    for picture in layouts(plan(access), direction=direction):
        assert_clear(picture)
        assert_apart(picture)


@pytest.mark.parametrize(
    ("access", "most"),
    [(REVIEW, 1), (fan(14), 2), (dense(4), 1), (dense(8), 2), (dense(12), 2), (dense(20), 2), (dense(30), 8)],
    ids=["review", "fan of 14", *(f"all of {steps}" for steps in (4, 8, 12, 20, 30))],
)
def test_as_few_edges_share_a_line_as_there_is_room_for(access, most):
    pictures = pane_layouts(plan(access)) + (layouts(plan(access)) if len(access) <= 14 else ())
    for picture in pictures:
        ends = Counter(route[-1] for route in picture.routes.values())
        assert max(ends.values()) <= most


@pytest.mark.thorough
@pytest.mark.slow
def test_a_hundred_steps_that_all_read_all_earlier_ones_get_one_lane_a_step():
    picture = layout(dense(100))
    assert len(picture.routes) == 4950
    assert picture.width < 3000


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_steps_stand_after_what_they_read(direction):
    picture = layout(REVIEW, direction=direction)
    for read, reader in picture.routes:
        before, after = picture.cards[read], picture.cards[reader]
        assert before.bottom < after.top if direction == "down" else before.right < after.left


def test_a_chain_is_a_straight_line():
    picture = layout(chain(5))
    assert len({card.x for card in picture.cards}) == 1
    assert all(len({x for x, _ in route}) == 1 for route in picture.routes.values())


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_chain_is_straight_also_where_others_read_across_it(direction):
    access = [(), (0,), (0, 1), (2,), (0, 3), (1, 2, 4)]
    picture = layout(access, direction=direction)
    for step in range(1, 6):
        assert len(picture.routes[step - 1, step]) == 2, "no corners"


def test_the_reader_of_a_fan_stands_below_its_middle():
    picture = layout(fan(4))
    assert picture.cards[3].x == picture.cards[1].x


@pytest.mark.thorough
@pytest.mark.parametrize("direction", DIRECTIONS)
@cases(12)
@given(access=accesses())
def test_every_plan_of_thirty_steps_can_be_read_in_a_narrow_window(direction, access):
    picture = layout(access, NARROW, direction)
    assert zoom(picture, NARROW) >= picture.readable - 0.01


@pytest.mark.parametrize("near", [2, 4])
def test_a_plan_whose_steps_read_all_but_the_nearest_can_be_read_there_too(near):
    picture = layout([tuple(range(max(0, i - near))) for i in range(30)], NARROW)
    assert zoom(picture, NARROW) >= picture.readable - 0.01


@pytest.mark.parametrize(
    ("access", "width", "kind", "direction"),
    [
        ([()], 640, "full", "right"),
        (REVIEW, 640, "brief", "right"),
        (REVIEW, 1200, "full", "right"),
        (chain(6), 640, "brief", "right"),
        (chain(7), 640, "brief", "down"),
        (chain(14), 640, "flat", "down"),
        (chain(14), 1500, "brief", "right"),
        (fan(14), 640, "brief", "right"),
        (chain(30), 1500, "flat", "down"),
    ],
)
def test_what_is_too_long_for_the_width_is_drawn_with_smaller_cards_and_in_the_end_downwards(
    access, width, kind, direction
):
    picture = layout(access, width, "right")
    assert (picture.kind, picture.direction) == (kind, direction)


@pytest.mark.parametrize(
    ("access", "width", "kind", "widest"),
    [
        (chain(5), 640, "full", 1),
        (chain(7), 640, "brief", 1),
        (chain(9), 640, "brief", 1),
        (chain(14), 640, "flat", 1),
        (fan(4), 640, "full", 3),
        (fan(5), 640, "full", 2),
        (fan(5), 1100, "full", 4),
        (fan(14), 1500, "full", 5),
        (fan(14), 640, "brief", 3),
        (fan(26), 1500, "brief", 4),
        (fan(30), 1500, "flat", 4),
    ],
)
def test_rows_and_cards_follow_the_width(access, width, kind, widest):
    picture = layout(access, width)
    tops = [card.top for card in picture.cards]
    assert (picture.kind, max(map(tops.count, tops))) == (kind, widest)


@pytest.mark.thorough
@pytest.mark.slow
@cases(12)
@given(access=accesses(), direction=st.sampled_from(DIRECTIONS))
def test_pictures_come_in_order_of_what_they_need(access, direction):
    pictures = layouts(plan(access), direction=direction)
    needed = [picture.least_width for picture in pictures]
    assert needed == sorted(needed, reverse=True)
    assert len(set(needed)) == len(needed)
    assert len(pictures) <= 8


@pytest.mark.slow
@pytest.mark.parametrize("access", [chain(30), dense(30)])
def test_thirty_steps_one_below_the_other_leave_room_for_readable_letters(access):
    picture = layout(access, 1000)
    scale = zoom(picture, 1000)
    assert picture.cards[0].height * scale * 0.68 >= 10
    assert picture.cards[0].width * scale >= 186


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_edges_across_to_different_readers_are_seen_as_two_in_thirty_irregular_steps(seed):
    chance = Random(seed)
    access = [tuple(chance.sample(range(max(0, at - 6), at), min(at, 1 + at % 3))) for at in range(30)]
    for picture in pane_layouts(plan(access)):
        across = [
            (reader, here[1], sorted((here[0], there[0])))
            for (_, reader), route in picture.routes.items()
            for here, there in pairwise(route)
            if here[1] == there[1]
        ]
        for (one, at, (low, high)), (other, beside, (least, most)) in combinations(across, 2):
            if one != other and abs(at - beside) < 2:
                assert min(high, most) <= max(low, least), f"steps {one + 1} and {other + 1}"


def test_the_same_shape_is_laid_out_once():
    one, other = plan(REVIEW), plan(REVIEW).with_instruction(0, "Something else.")
    assert layouts(one) is layouts(other)


@pytest.mark.slow
@pytest.mark.parametrize("access", [REVIEW, chain(5), chain(12), fan(14), dense(12)])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_pane_of_usual_size_has_a_picture_that_can_be_read_whole(access, direction):
    pictures = pane_layouts(plan(access), direction=direction)
    assert any(picture.least_width <= 712 and picture.least_height <= 604 for picture in pictures)
    for before, after in combinations(pictures, 2):
        assert after.least_width < before.least_width or after.least_height < before.least_height


# -- after an edit ------------------------------------------------------------------------------------


def edited(
    data: st.DataObject, access: list[tuple[int, ...]]
) -> tuple[list[tuple[int, ...]], dict[int, int]]:
    """The access after a step is added or removed or reads others, and the earlier positions of its steps."""
    at = data.draw(st.integers(0, len(access) - 1), label="at")
    kind = data.draw(st.sampled_from(["add", "remove", "reconnect"]), label="kind")
    if kind == "add":
        places = [step if step <= at else step + 1 for step in range(len(access))]
        moved = [tuple(places[read] for read in reads) for reads in access]
        new = [*moved[: at + 1], data.draw(st.sampled_from([(), (at,)]), label="reads"), *moved[at + 1 :]]
        return new, {place: step for step, place in enumerate(places)}
    if kind == "remove" and len(access) > 1:
        left = [step for step in range(len(access)) if step != at]
        new = [tuple(left.index(read) for read in access[step] if read != at) for step in left]
        return new, dict(enumerate(left))
    reads = tuple(sorted(data.draw(st.sets(st.integers(0, at - 1)), label="reads"))) if at else ()
    return [*access[:at], reads, *access[at + 1 :]], {step: step for step in range(len(access))}


def spots(picture: Layout) -> list[tuple[int, float]]:
    """Each card's row, counted from 0, and its place across."""
    down = picture.direction == "down"
    places = [(card.top, card.x) if down else (card.left, card.y) for card in picture.cards]
    starts = sorted({start for start, _ in places})
    return [(starts.index(start), across) for start, across in places]


def without_lanes(picture: Layout) -> bool:
    rows = [row for row, _ in spots(picture)]
    return all(rows[reader] - rows[read] == 1 for read, reader in picture.routes)


@pytest.mark.slow
@cases(60)
@given(data=st.data(), access=accesses(6), direction=st.sampled_from(DIRECTIONS))
def test_an_edit_moves_only_what_changes_its_row_or_makes_room(data, access, direction):
    before = pane_layouts(plan(access), direction=direction)
    new, positions = edited(data, access)
    for picture in pane_layouts(plan(new), direction=direction, earlier=Earlier(before, positions)):
        places = spots(picture)
        rows = [row for row, _ in places]
        alike = [
            {to: spots(old)[at][1] for to, at in positions.items() if spots(old)[at][0] == rows[to]}
            for old in before
            if (old.direction, old.kind) == (picture.direction, picture.kind)
            and old.cards[0].width == picture.cards[0].width
        ]
        staying = [stay for stay in alike if len(stay) == max(map(len, alike))]
        makes_room = any(
            rows[step] in rows[step + 1 :]
            for stay in staying
            for step in range(len(rows))
            if step not in stay
        )
        if staying and without_lanes(picture) and not makes_room:
            assert any(all(places[step][1] == at for step, at in stay.items()) for stay in staying)


@pytest.mark.slow
@cases(25)
@given(data=st.data(), access=accesses(12), direction=st.sampled_from(DIRECTIONS))
def test_the_pictures_after_an_edit_are_as_sound_as_others(data, access, direction):
    new, positions = edited(data, access)
    earlier = Earlier(pane_layouts(plan(access), direction=direction), positions)
    for picture in pane_layouts(plan(new), direction=direction, earlier=earlier):
        assert_clear(picture)
        assert_apart(picture)
        assert_ports_met(plan(new), picture)
        first, last = min(card.left for card in picture.cards), max(card.right for card in picture.cards)
        assert last - first <= picture.width


def test_a_step_beside_a_chain_leaves_the_chain_where_it_is():
    before = pane_layouts(plan(chain(3)))
    earlier = Earlier(before, {0: 0, 1: 1, 3: 2})
    (first, second, beside, last), *_ = (
        picture.cards for picture in pane_layouts(plan([(), (0,), (0,), (1, 2)]), earlier=earlier)
    )
    assert first.x == second.x == last.x < beside.left
    assert [first.top, second.top, last.top] == [card.top for card in before[0].cards]


def test_the_same_shape_after_the_same_picture_is_laid_out_once():
    earlier = Earlier(pane_layouts(plan(REVIEW)), {step: step for step in range(len(REVIEW))})
    assert pane_layouts(plan(REVIEW), earlier=earlier) is pane_layouts(plan(REVIEW), earlier=earlier)


@pytest.mark.slow
@pytest.mark.parametrize("narrow", [False, True])
def test_a_plan_of_a_thousand_readers_has_one_picture_that_is_no_strip(narrow: bool) -> None:
    steps = [
        Step(instruction="do", worker="w", access=(0,) if at and not narrow else ()) for at in range(999)
    ]
    last = Step(instruction="do", worker="w", access=tuple(range(999)) if narrow else (0,))
    pictures = (*pane_layouts(workflow := Workflow.of([*steps, last])), *layouts(workflow))
    assert [picture.kind for picture in pictures] == ["flat"] * 2
    assert all(0.2 < picture.width / picture.height < 5 for picture in pictures)
    assert len({(card.x, card.y) for card in pictures[0].cards}) == 1_000


@pytest.mark.parametrize(("steps", "skips"), [(95, ()), (150, ()), (150, (17,)), (150, (5, 60, 101))])
def test_a_long_chain_stands_in_columns_as_clear_as_others(steps: int, skips: tuple[int, ...]) -> None:
    workflow = plan([tuple(at - back for back in (1, *skips) if back <= at) for at in range(steps)])
    (picture,) = pane_layouts(workflow)
    assert 0.4 < picture.width / picture.height < 2.5
    assert_clear(picture)
    assert_ports_met(workflow, picture)
    assert_apart(picture)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_pane_gets_no_picture_of_so_many_rows_that_no_window_shows_them(direction: Direction) -> None:
    chance = Random(3)
    access = [tuple(chance.sample(range(max(0, at - 40), at), min(at, 2))) for at in range(100)]
    rows = [len({card.top for card in picture.cards}) for picture in pane_layouts(plan(access))]
    assert 0 < len(rows) < 5
    assert max(rows) < 60


def layers(count: int, breadth: int) -> list[tuple[int, ...]]:
    """Layers of so many steps; each reads two of the layer before, the last one step 1 as well."""
    access = [
        tuple(sorted({(at // breadth - 1) * breadth + (at * back) % breadth for back in (3, 7)}))
        if at >= breadth
        else ()
        for at in range(count * breadth)
    ]
    return [*access[:-1], (0, *access[-1])]


@pytest.mark.parametrize("access", [layers(4, 30), fan(130), [(), *[(0,)] * 128, tuple(range(1, 129))]])
def test_wide_layers_of_a_large_plan_are_blocks_as_clear_as_others(access: list[tuple[int, ...]]) -> None:
    (picture,) = pane_layouts(plan(access))
    assert 0.5 < picture.width / picture.height < 4
    assert_clear(picture)
    assert set(picture.routes) == {(read, at) for at, reads in enumerate(access) for read in reads}
    for (read, reader), route in picture.routes.items():
        source, target = picture.cards[read], picture.cards[reader]
        assert (route[0][1], route[-1]) == (source.bottom, (target.x, target.top))
        assert (route[0][0], route[-2][0], len(route) % 2) == (route[1][0], target.x, 0)
        assert all(0 <= x <= picture.width and 0 <= y <= picture.height for x, y in route)
    generations = generations_of(access)
    for before, after in pairwise(generations):
        lowest = max(picture.cards[step].bottom for step in before)
        assert lowest + 20 < min(picture.cards[step].top for step in after), "layers are seen as such"


def test_so_many_edges_into_one_step_are_narrower_than_a_card() -> None:
    (picture,) = pane_layouts(plan(fan(1_000)))
    lefts = sorted({card.left for card in picture.cards})
    between = {after - before - picture.cards[0].width for before, after in pairwise(lefts)}
    assert len(lefts) > 10
    assert max(between) < picture.cards[0].width / 2
