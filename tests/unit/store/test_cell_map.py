"""Which database has which hosts, and what is wrong with a map that does not say it."""

import pytest

from feedmill.adapters.store.cell_map import CellMap, read_cells
from feedmill.adapters.store.claims import SHARDS, lane_key_of, shard_of
from feedmill.errors import ConfigError

ONE, TWO = "postgresql://mill:secret@one/feedmill", "postgres://two,three/feedmill"


def test_the_cells_are_read_in_the_order_given() -> None:
    home, other = read_cells((f"512-1023={ONE}", f"0-511={TWO}"))

    assert (home.first, home.last, home.url) == (512, 1023, ONE)
    assert (other.first, other.last, other.url) == (0, 511, TWO)


@pytest.mark.parametrize(
    "texts",
    [
        (f"0-511={ONE}\n512-1023={TWO}\n",),  # a file, one entry a line
        (f"0-511={ONE}", "512-1023=postgres://two", "three/feedmill"),  # a variable cut at commas
        (f" 0-511={ONE} , 512-1023={TWO} ",),
    ],
)
def test_a_list_may_be_cut_wherever_files_and_variables_cut_it(texts: tuple[str, ...]) -> None:
    assert [span.url for span in read_cells(texts)] == [ONE, TWO]


def test_a_name_never_tells_a_password() -> None:
    (cell,) = read_cells((f"0-1023={ONE}",))

    assert "secret" not in cell.name
    assert cell.name.startswith("0-1023=postgresql://")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ((), "nobody has 0-1023"),
        ((f"0-511={ONE}",), "nobody has 512-1023"),
        ((f"1-1023={ONE}",), "nobody has 0-0"),
        ((f"0-100={ONE}", f"102-1023={TWO}"), "nobody has 101-101"),
        ((f"0-600={ONE}", f"512-1023={TWO}"), "512-600 is there twice"),
        ((f"0-1024={ONE}",), "0-1024 is no range within 0-1023"),
        ((f"9-0={ONE}", f"0-1023={TWO}"), "9-0 is no range"),
        ((f"0-511={ONE}", f"512-1023={ONE}"), "two ranges name one database"),
        ((f"0-1023:{ONE}",), "entry 1 will not do"),
        (("0-1023=mysql://one/feedmill",), "entry 1 will not do"),
    ],
)
def test_a_map_that_leaves_a_shard_in_doubt_is_refused(texts: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError) as problem:
        read_cells(texts)

    assert said in str(problem.value)
    assert "secret" not in str(problem.value)


def test_a_host_and_all_its_lanes_are_in_one_cell() -> None:
    cells = CellMap(read_cells((f"0-99={ONE}", f"100-1023={TWO}")))

    for number in range(200):
        url = f"https://host{number}.example:8080/feed"
        host = lane_key_of(url)
        cell = cells.of_url(url)
        assert cell == (shard_of(host) >= 100)
        assert {cells.of_lane(host), cells.of_lane(f"{host}#3")} == {cell}


def test_every_shard_has_a_cell() -> None:
    spans = read_cells((f"0-0={ONE}", f"1-{SHARDS - 1}={TWO}"))

    cells = {CellMap(spans).of_url(f"https://h{n}.example/") for n in range(5_000)}

    assert cells == {0, 1}
