"""The oracle against small examples that were worked out by hand."""

import math

import pytest

from tests.oracle.semantics import Oracle

PLANE = {"op": "configure", "space": {"plane": [0, 0, 3, 4]}}
"""A plane whose diagonal, and so its max_distance, is 5."""


def lines(*events):
    """The deltas, each as (position, subscription, sign + message) or with its score or distance behind."""
    oracle, found = Oracle(), []
    for position, event in enumerate(events):
        for delta in oracle.apply(position, event):
            values = [value for key, value in delta.items() if key in ("score", "distance")]
            found.append((delta["position"], delta["subscription"], delta["op"] + delta["message"], *values))
    return found


def short(*events):
    return [line[:3] for line in lines(*events)]


def publish(id_, at=(0, 0), text="flood", **fields):
    place = {} if "box" in fields else {"at": list(at)}
    return {"op": "publish", "id": id_, "text": text} | place | fields


def register(id_, kind, op="register", **fields):
    return {"op": op, "id": id_, "kind": kind} | fields


def within(id_, when=None, where="everywhere", **fields):
    return register(id_, "within", when=when, where=where, **fields)


def around(id_, at=(0, 0), radius=1, when="flood", **fields):
    return register(id_, "around", when=when, at=list(at), shape={"radius_m": radius}, **fields)


def best(id_, at=(0, 0), k=1, alpha=0.5, words=("flood",), **fields):
    return register(id_, "best", at=list(at), k=k, alpha=alpha, words=list(words), **fields)


def nearest(id_, at=(0, 0), k=1, words=("flood",), **fields):
    return register(id_, "nearest", at=list(at), k=k, words=list(words), **fields)


def plane(**fields):
    return PLANE | fields


def tick(ts):
    return {"op": "tick", "ts": ts}


def test_within_matches_words_and_place_at_publication():
    box = {"box": [0, 0, 1, 1]}
    log = [PLANE, within("b", "flood AND NOT fire", box), within("a"), publish("1", (1, 1)), publish("2", (1, 2))]
    log += [publish("3", (0, 0), "flood, fire")]
    assert lines(*log) == [(3, "a", "+1"), (3, "b", "+1"), (4, "a", "+2"), (5, "a", "+3")]


def test_within_says_nothing_at_register_remove_retract_or_expiry():
    log = [publish("1", expires=5), within("a"), {"op": "retract", "id": "1"}, tick(9), {"op": "remove", "id": "a"}]
    assert lines(*log, publish("2")) == []


def test_within_does_not_ask_whether_the_message_was_ever_live():
    assert short(within("a"), around("b"), tick(100), publish("1", ts=1, expires=50)) == [(3, "a", "+1")]


def test_around_follows_register_move_and_retract():
    log = [PLANE, publish("1", (0, 0)), publish("2", (2, 0)), around("s"), {"op": "move", "id": "s", "at": [2, 1]}]
    log += [{"op": "retract", "id": "2"}, {"op": "move", "id": "s", "at": [0, 1]}, {"op": "remove", "id": "s"}]
    assert short(*log) == [(3, "s", "+1"), (4, "s", "-1"), (4, "s", "+2"), (5, "s", "-2"), (6, "s", "+1")]


def test_a_move_within_reach_says_nothing():
    log = [PLANE, publish("1", (1, 0)), around("s"), {"op": "move", "id": "s", "at": [2, 0]}]
    assert short(*log) == [(2, "s", "+1")]


def test_the_boundary_of_a_disc_belongs_to_it():
    log = [PLANE, around("s", (0, 0), 5), publish("1", (3, 4)), around("t", (0, 0), 4.999999)]
    assert short(*log) == [(2, "s", "+1")]


def test_a_rectangle_is_centred_and_closed():
    shape = {"width": 2, "height": 1}
    log = [PLANE, register("s", "around", at=[1, 1], shape=shape), publish("1", (2, 1.5)), publish("2", (1, 1.75))]
    assert short(*log) == [(2, "s", "+1")]


def test_a_count_window_of_one():
    log = [plane(window={"messages": 1}), around("s"), publish("1"), publish("2"), publish("3", text="fire")]
    assert short(*log) == [(2, "s", "+1"), (3, "s", "-1"), (3, "s", "+2"), (4, "s", "-2")]


def test_a_count_window_of_two_counts_dead_messages_too():
    log = [plane(window={"messages": 2}), around("s"), publish("1"), publish("2", expires=0), publish("3")]
    assert short(*log) == [(2, "s", "+1"), (4, "s", "-1"), (4, "s", "+3")]


def test_a_time_window_ends_when_the_age_is_reached():
    log = [plane(window={"ms": 10}), around("s"), publish("1", ts=5), tick(14), tick(15)]
    assert short(*log) == [(2, "s", "+1"), (4, "s", "-1")]


def test_with_both_windows_the_first_to_end_counts():
    log = [plane(window={"ms": 10, "messages": 2}), around("s"), publish("1", ts=0), publish("2", ts=9)]
    log += [publish("3", ts=9, text="fire"), tick(10), publish("4", ts=11, text="fire")]
    assert short(*log) == [(2, "s", "+1"), (3, "s", "+2"), (4, "s", "-1"), (6, "s", "-2")]


def test_a_time_window_alone_has_no_count():
    log = [plane(window={"ms": 10}), *(publish(str(i), ts=0) for i in range(50)), around("s")]
    assert len(short(*log)) == 50


def test_a_late_message_may_be_dead_on_arrival_but_takes_its_number():
    log = [plane(window={"ms": 10, "messages": 2}), around("s"), publish("1", ts=100), publish("2", ts=90)]
    log += [publish("3", ts=91)]
    assert short(*log) == [(2, "s", "+1"), (4, "s", "-1"), (4, "s", "+3")]


def test_expires_is_the_first_moment_of_death():
    log = [PLANE, around("s"), publish("1", ts=0, expires=7), tick(6), publish("2", ts=7, text="fire")]
    assert short(*log) == [(2, "s", "+1"), (4, "s", "-1")]


def test_time_never_runs_back():
    log = [PLANE, around("s"), publish("1", ts=10, expires=12), tick(3), publish("2", ts=1), tick(11), tick(12)]
    assert short(*log) == [(2, "s", "+1"), (4, "s", "+2"), (6, "s", "-1")]


def test_without_ts_a_message_takes_the_largest_so_far_or_zero():
    log = [plane(window={"ms": 10}), around("s"), publish("1"), tick(9), publish("2"), tick(10), tick(18), tick(19)]
    assert short(*log) == [(2, "s", "+1"), (4, "s", "+2"), (5, "s", "-1"), (7, "s", "-2")]


def test_an_id_comes_back_when_its_message_dies_at_the_same_position():
    log = [plane(window={"ms": 10}), around("s"), publish("1", ts=0), publish("1", ts=10)]
    assert short(*log) == [(2, "s", "+1"), (3, "s", "-1"), (3, "s", "+1")]


def test_a_live_id_is_taken():
    with pytest.raises(ValueError, match="live"):
        lines(plane(window={"messages": 1}), publish("1"), publish("1"))


def test_ids_are_the_same_after_nfkc():
    assert short(publish("ﬁ"), around("s"), {"op": "retract", "id": "fi"}) == [(1, "s", "+fi"), (2, "s", "-fi")]


def test_a_score_worked_out_by_hand():
    # Distance 3 of 5: near = 0.4. The message is flood 2, road 1, of length sqrt 5; the subscription flood 1,
    # bridge 1, of length sqrt 2. similar = 2/sqrt 5 * 1/sqrt 2 = 2/sqrt 10 = 0.6324555.
    log = [PLANE, best("s", alpha=0.25, words=("flood", "bridge")), publish("1", (3, 0), "flood road FLOOD")]
    [(position, subscription, what, score)] = lines(*log)
    assert (position, subscription, what) == (2, "s", "+1")
    assert score == pytest.approx(0.25 * 0.4 + 0.75 * 0.632455532, abs=1e-9)


def test_a_score_with_weights_and_its_change():
    # idf flood 3, road 4: the message is (3, 4) of length 5, the subscription flood of length 3: similar = 0.6.
    weights = {"idf": {"flood": 3, "road": 4}}
    log = [plane(weights=weights), best("s", alpha=0), publish("1", text="flood road"), {"op": "weights", "idf": {}}]
    log += [{"op": "retract", "id": "1"}]
    assert lines(*log) == [(2, "s", "+1", 0.6), (4, "s", "-1", pytest.approx(1 / math.sqrt(2)))]


def test_new_weights_change_the_order():
    log = [PLANE, best("s", alpha=0, words=("fire", "flood")), publish("1", text="flood"), publish("2", text="fire")]
    log += [{"op": "weights", "idf": {"flood": 2}, "default": 1}]
    # Both have 1/sqrt 2 at first, so the newer one goes first; then flood has 2/sqrt 5 and fire 1/sqrt 5.
    root = pytest.approx(1 / math.sqrt(2))
    expected = [(2, "s", "+1", root), (3, "s", "-1", root), (3, "s", "+2", root)]
    expected += [(4, "s", "-2", root), (4, "s", "+1", pytest.approx(2 / math.sqrt(5)))]
    assert lines(*log) == expected


def test_a_left_message_carries_its_old_score():
    log = [PLANE, best("s", alpha=1), publish("1", (3, 0)), publish("2", (0, 2))]
    assert lines(*log) == [(2, "s", "+1", 0.4), (3, "s", "-1", 0.4), (3, "s", "+2", 0.6)]


def test_zero_weights_still_share_a_word():
    weights = {"idf": {}, "default": 0}
    assert lines(plane(weights=weights), best("s"), publish("1"), publish("2", text="fire")) == [(2, "s", "+1", 0.5)]


def test_words_count_once_and_are_not_analysed():
    log = [PLANE, best("s", alpha=0, words=("Flood", "Flood")), publish("1", text="Flood")]
    message = {"op": "publish", "id": "2", "at": [0, 0], "words": ["Flood", "road", "Flood"]}
    assert lines(*log, message) == [(3, "s", "+2", pytest.approx(1 / math.sqrt(2)))]


def test_near_is_never_negative():
    log = [plane(max_distance=1), best("s", alpha=1, k=5), publish("1", (3, 0)), publish("2", (0.5, 0))]
    assert lines(*log) == [(2, "s", "+1", 0.0), (3, "s", "+2", 0.5)]


def test_best_takes_the_newer_of_equal_scores_and_refills():
    log = [PLANE, best("s", k=2), publish("1"), publish("2"), publish("3"), {"op": "retract", "id": "3"}]
    assert short(*log) == [
        (2, "s", "+1"),
        (3, "s", "+2"),
        (4, "s", "-1"),
        (4, "s", "+3"),
        (5, "s", "-3"),
        (5, "s", "+1"),
    ]


def test_best_has_a_first_result_set():
    assert short(publish("2"), publish("1"), best("s", k=9)) == [(2, "s", "+1"), (2, "s", "+2")]


def test_nearest_takes_the_older_of_equal_distances_and_only_later_messages():
    log = [PLANE, publish("0"), nearest("s"), publish("1", (1, 0)), publish("2", (0, 1)), publish("3", (0, 0.5))]
    log += [{"op": "retract", "id": "3"}, publish("4", text="fire")]
    expected = [(3, "s", "+1", 1.0), (5, "s", "-1", 1.0), (5, "s", "+3", 0.5), (6, "s", "-3", 0.5), (6, "s", "+1", 1.0)]
    assert lines(*log) == expected


def test_nearest_to_a_box_is_to_its_nearest_point():
    log = [PLANE, nearest("s", k=3), publish("1", box=[3, 4, 3, 4]), publish("2", box=[0, 1, 3, 4])]
    assert lines(*log, publish("3", box=[0, 0, 1, 1])) == [
        (2, "s", "+1", 5.0),
        (3, "s", "+2", 1.0),
        (4, "s", "+3", 0.0),
    ]


def test_nearest_starts_anew_when_replaced():
    log = [PLANE, nearest("s", k=2), publish("1"), nearest("s", k=2, op="replace"), publish("2")]
    assert short(*log) == [(2, "s", "+1"), (3, "s", "-1"), (4, "s", "+2")]


def test_replace_gives_the_difference_across_kinds():
    log = [PLANE, around("s", radius=2), publish("1"), publish("2", (2, 0)), best("s", k=1, alpha=1, op="replace")]
    log += [within("s", op="replace"), around("s", op="replace")]
    expected = [(2, "s", "+1"), (3, "s", "+2"), (4, "s", "-2"), (5, "s", "-1", 1.0), (6, "s", "+1")]
    assert lines(*log) == expected


def test_remove_says_nothing_and_frees_the_id():
    log = [PLANE, publish("1"), around("s"), {"op": "remove", "id": "s"}, around("s")]
    assert short(*log) == [(2, "s", "+1"), (4, "s", "+1")]
    with pytest.raises(ValueError, match="register"):
        lines(*log, around("s"))


def test_the_order_within_a_position():
    log = [plane(window={"messages": 2}), around("b"), around("a"), publish("z"), publish("y"), publish("x")]
    expected = [(5, "a", "-z"), (5, "a", "+x"), (5, "b", "-z"), (5, "b", "+x")]
    assert short(*log)[-4:] == expected


def test_the_antimeridian():
    box = {"box": [179, 0, -179, 1]}
    log = [within("a", where=box), within("b", where={"box": [170, 0, 180, 1]}), publish("1", (180, 0))]
    log += [publish("2", (-180, 1)), publish("3", (-179.5, 1)), publish("4", (178, 1)), publish("5", (0, 1))]
    assert short(*log) == [
        (2, "a", "+1"),
        (2, "b", "+1"),
        (3, "a", "+2"),
        (3, "b", "+2"),
        (4, "a", "+3"),
        (5, "b", "+4"),
    ]


def test_the_poles():
    log = [within("a", where={"box": [10, 80, 20, 90]}), publish("1", (-100, 90)), publish("2", (-100, 89))]
    triangle = [[0, 80], [10, 80], [5, 90], [0, 80]]
    log += [within("b", where={"type": "Polygon", "coordinates": [triangle]}), publish("3", (99, 90))]
    log += [publish("4", box=[-50, 85, -40, 90])]
    assert short(*log) == [(1, "a", "+1"), (4, "a", "+3"), (4, "b", "+3"), (5, "a", "+4"), (5, "b", "+4")]


def test_an_around_rectangle_across_the_antimeridian_and_the_pole():
    shape = {"width": 20, "height": 10}
    log = [register("s", "around", at=[175, 88], shape=shape), publish("1", (-175, 83)), publish("2", (-174, 84))]
    log += [publish("3", (0, 90)), publish("4", (165, 90)), {"op": "move", "id": "s", "at": [175, 85]}]
    log += [{"op": "move", "id": "s", "at": [175, 84]}]
    assert short(*log) == [(1, "s", "+1"), (3, "s", "+3"), (4, "s", "+4"), (6, "s", "-3"), (6, "s", "-4")]


def test_the_default_window_and_max_distance_of_the_globe():
    [(_, _, _, score)] = lines(best("s", alpha=1), publish("1", (90, 0)))
    assert score == pytest.approx(0.5)
