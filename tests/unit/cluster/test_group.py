"""Groups: union by evidence, veto inside one feed, names that stay, the entry that stands for a story."""

from feedmill.cluster.group import Edge, Group, Member, group, representative


def member(entry_id: int, feed_no: int | None = None, **more: int) -> Member:
    fields = {"first_seen": entry_id, "length": 100, **more}
    return Member(entry_id, feed_no or entry_id, **fields)


def groups(
    members: list[Member], *edges: tuple[int, int, float], most: int = 99
) -> list[tuple[int, ...]]:
    return [one.entry_ids for one in group(members, [Edge(*edge) for edge in edges], most)]


def test_entries_with_evidence_become_one_group() -> None:
    members = [member(n) for n in (1, 2, 3, 4)]

    assert groups(members, (2, 1, 1.0), (3, 2, 0.8)) == [(1, 2, 3)]


def test_group_falls_apart_without_its_evidence() -> None:
    members = [member(n, cluster_no=1) for n in (1, 2, 3)]

    assert groups(members, (2, 1, 1.0)) == [(1, 2)]
    assert groups(members) == []


def test_two_entries_of_one_feed_are_never_in_one_group_and_the_stronger_evidence_wins() -> None:
    members = [member(1, 10), member(2, 20), member(3, 10)]

    assert groups(members, (2, 1, 0.8), (3, 2, 0.9)) == [(2, 3)]


def test_evidence_inside_a_group_and_of_unknown_entries_changes_nothing() -> None:
    members = [member(n) for n in (1, 2, 3)]

    assert groups(members, (2, 1, 1.0), (3, 1, 1.0), (3, 2, 1.0), (9, 1, 1.0)) == [(1, 2, 3)]


def test_group_does_not_grow_beyond_the_limit() -> None:
    members = [member(n) for n in (1, 2, 3)]

    assert groups(members, (2, 1, 1.0), (3, 1, 0.9), most=2) == [(1, 2)]


def test_name_stays_while_its_entry_is_in_the_group() -> None:
    late = [member(1), member(2, cluster_no=2), member(3, cluster_no=2)]
    left = [member(1, cluster_no=2), member(3, cluster_no=2)]

    joined = group(late, [Edge(2, 1, 1.0), Edge(3, 2, 1.0)], 9)
    without = group(left, [Edge(3, 1, 1.0)], 9)

    assert joined == (Group(2, (1, 2, 3), 1),)
    assert without == (Group(1, (1, 3), 1),)


def test_first_seen_stands_for_the_story_unless_another_has_twice_the_text() -> None:
    first, same, full = member(2, first_seen=1), member(1, first_seen=5), member(3, length=500)

    assert representative([first, same]) == 2
    assert representative([first, same, full]) == 3
    assert representative([member(4, length=0), member(5, length=0)]) == 4
