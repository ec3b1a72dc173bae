"""Two small topics, and how tests make texts and scores."""

from feedmill.model.screening import Method, Score, ScreenText, Topic, TopicSet
from feedmill.screen.topics import with_digest

BEES = Topic(
    id="bees",
    name="养蜂 (Beekeeping)",
    description="Keeping bees for honey. 养蜂采蜜。",
    examples=(
        "Beekeepers harvest honey from their hives.",
        "A swarm of honeybees moved into a new hive.",
        "The apiary lost colonies to mites this winter.",
        "养蜂人从蜂箱中采收蜂蜜。",
    ),
    not_examples=("The spelling bee was won by a pupil.",),
    keywords=("honey", "hive", "apiary", "beekeeper", "蜂蜜", "swarm"),
)
TRAINS = Topic(
    id="night-trains",
    name="Night trains",
    description="Sleeper trains between cities.",
    examples=(
        "A sleeper train connects the two capitals overnight.",
        "The railway orders new couchette cars for its night service.",
        "Passengers sleep in berths while the train crosses the border.",
    ),
    keywords=("sleeper", "couchette", "night train"),
)
TOPICS = with_digest(
    TopicSet(
        name="little",
        topics=(BEES, TRAINS),
        background=("The bank raised its rates.", "球队赢得了比赛。"),
    )
)
REFERENCE = (
    ScreenText(ref=0, title="The mayor opened a school.", summary="Children sang."),
    ScreenText(ref=0, title="Share prices fell.", summary="Traders sold train makers."),
    ScreenText(ref=0, title="A recipe for soup.", summary="Add honey at the end."),
    ScreenText(ref=0, title="市长为学校揭幕。"),
    ScreenText(ref=0, title="股价下跌。", summary="交易员抛售。"),
    ScreenText(ref=0, title="一道汤的做法。", summary="最后加蜂蜜。"),
)
HONEY = ScreenText(
    ref=1, title="Honey harvest", summary="Beekeepers opened the hives of their apiary."
)


def score(
    topic: str, method: Method, *, z: float = 0.0, value: float = 0.0, **more: object
) -> Score:
    """What one method said."""
    return Score(ref=1, topic=topic, method=method, score=value, z=z, **more)  # type: ignore[arg-type]  # a shorthand
