"""Boxes: the rules of the antimeridian and the poles against sets of named places."""

import random

from tests.unit.space.references import place, places_of_box

from tidings.space.boxes import boxes_meet, in_box, lon_in_range

LONS = [-180.0 + 30.0 * i for i in range(13)]
LATS = [-90.0, -60.0, 0.0, 30.0, 90.0]


def globe_boxes():
    return [(x0, y0, x1, y1) for x0 in LONS for x1 in LONS for y0 in LATS for y1 in LATS if y0 <= y1]


def test_a_point_lies_in_a_box_when_one_of_its_names_does():
    seen = set()
    for box in random.Random(1).sample(globe_boxes(), 300):
        places = places_of_box(*box, 30.0)
        for lon in LONS:
            for lat in LATS:
                expected = place(lon, lat) in places
                assert in_box(True, lon, lat, *box) == expected, (lon, lat, box)
                seen.add(expected)
    assert seen == {True, False}


def test_boxes_meet_when_they_share_a_place(seed):
    rng = random.Random(seed)
    boxes = [(box, places_of_box(*box, 30.0)) for box in globe_boxes()]
    n_meetings = 0
    for _ in range(30_000):
        (a, in_a), (b, in_b) = rng.choice(boxes), rng.choice(boxes)
        expected = not in_a.isdisjoint(in_b)
        assert boxes_meet(True, *a, *b) == expected, (a, b)
        assert boxes_meet(True, *b, *a) == expected, (b, a)
        n_meetings += expected
    assert 1000 < n_meetings < 29_000


def test_turning_the_globe_changes_nothing(seed):
    def turned(lon, by):
        return (lon + by + 180.0) % 360.0 - 180.0

    rng = random.Random(seed)
    answers = set()
    for _ in range(5000):
        a = [rng.randrange(-1440, 1440) / 8 for _ in range(2)]
        b = [rng.randrange(-1440, 1440) / 8 for _ in range(2)]
        by = rng.randrange(-1440, 1440) / 8
        answer = boxes_meet(True, a[0], 0.0, a[1], 1.0, b[0], 1.0, b[1], 2.0)
        c, d = [turned(lon, by) for lon in a], [turned(lon, by) for lon in b]
        assert boxes_meet(True, c[0], 0.0, c[1], 1.0, d[0], 1.0, d[1], 2.0) == answer, (a, b, by)
        answers.add(answer)
    assert answers == {True, False}


def test_the_antimeridian():
    assert in_box(True, 180.0, 0.0, -180.0, -1.0, -170.0, 1.0)
    assert in_box(True, -180.0, 0.0, 170.0, -1.0, 180.0, 1.0)
    assert in_box(True, 175.0, 0.0, 170.0, -1.0, -170.0, 1.0)
    assert not in_box(True, 165.0, 0.0, 170.0, -1.0, -170.0, 1.0)
    assert all(lon_in_range(lon, -180.0, 180.0) for lon in LONS)
    assert lon_in_range(180.0, 180.0, -180.0)
    assert not lon_in_range(0.0, 180.0, -180.0)
    assert boxes_meet(True, 170.0, 0.0, 180.0, 1.0, -180.0, 0.0, -170.0, 1.0)


def test_the_poles():
    assert in_box(True, 100.0, 90.0, 0.0, 80.0, 10.0, 90.0)
    assert not in_box(True, 100.0, 89.0, 0.0, 80.0, 10.0, 90.0)
    assert boxes_meet(True, 0.0, -90.0, 10.0, -80.0, 50.0, -90.0, 60.0, -85.0)


def test_a_plane_has_neither_rule():
    assert not in_box(False, 180.0, 0.0, -180.0, -1.0, -170.0, 1.0)
    assert not in_box(False, 100.0, 90.0, 0.0, 80.0, 10.0, 90.0)
    assert not boxes_meet(False, 170.0, 0.0, 180.0, 1.0, -180.0, 0.0, -170.0, 1.0)
    assert not boxes_meet(False, 0.0, 80.0, 10.0, 90.0, 20.0, 80.0, 30.0, 90.0)
    assert boxes_meet(False, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0)
