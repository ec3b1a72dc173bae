"""Something on every page of the console, hostile titles and content included."""

from tests.support.engine_harness import NOON, Stage
from tests.support.feed_documents import item, rss
from tests.support.two_phase_steps import answer, collect, on

from feedmill.engine.service.webhooks import add_webhook
from feedmill.engine.two_phase.sidecar_files import WindowLibrary
from feedmill.model.event import Event
from feedmill.model.running.job import NewJob
from feedmill.model.running.webhook import DeadLetter, Settlement
from feedmill.model.running.worker import Worker
from feedmill.model.screening import LiveScreen
from feedmill_demo.server.script import Answer, document

ATTACKS = (
    "<script>window.pwned=1;alert(1)</script>",
    '"><img src=x onerror="window.pwned=1;alert(2)">',
    "';window.pwned=1;alert(3)//",
    "{{ 7*7 }}${7*7}<svg onload=window.pwned=1>",
    "javascript:window.pwned=1",
    "\u202egnp.exe <b>bold</b>",
)
BODY = (
    "<p>Fine <a href='javascript:window.pwned=1'>link</a><iframe srcdoc='&lt;script&gt;parent.pwned=1"
    "&lt;/script&gt;'></iframe><form action='/console/tokens'><button>x</button></form>"
    "<img src='x' onerror='window.pwned=1'><script>window.pwned=1</script></p>"
)


async def set_scene(stage: Stage) -> None:
    """Feeds that are well, hostile, broken and failing; entries, windows, webhooks, jobs, workers."""
    hostile = [item(number, title=text, text=BODY) for number, text in enumerate(ATTACKS, 10)]
    harbour = document(rss(item(1), item(2)).replace(b"Paper", b"Harbour News"))
    feeds = [
        await stage.add("/harbour", harbour),
        await stage.add(
            "/hostile",
            document(rss(*hostile).replace(b"Paper", b"&lt;script&gt;pwned=1&lt;/script&gt;")),
        ),
        await stage.add("/broken", document(rss(item(3), end="</channel>"))),
        await stage.add("/failing", Answer(status=503, headers=(("Retry-After", "3600"),))),
        await stage.add("/page", document(b"<html><script>window.pwned=1</script>no feed</html>")),
    ]
    await stage.poll(*feeds, times=3)
    await hold_entries(stage)
    await bury_letter(stage)
    stage.publisher.script("/window", answer(on(1, 21), on(2, 22)))
    window = await collect(stage, "/window")
    await WindowLibrary(stage.services.config).save(window)
    store, now = stage.services.store, stage.clock.now()
    await store.add_job(NewJob(kind="backfill", key=ATTACKS[0]), now=now)
    await store.save_worker(
        Worker(name="worker <1>", role="run", version="1", started_at=now, seen_at=now)
    )


async def publish_feed(stage: Stage) -> str:
    """A feed that nobody has subscribed to yet; its address."""
    stage.publisher.script("/new", document(rss(item(1), item(2))))
    return stage.publisher.url("/new")


async def hold_entries(stage: Stage) -> None:
    """Let a live screen hold the entries of a feed."""
    feed = await stage.add("/held", answer(on(1, 7), on(2, 8)))
    screen = LiveScreen(id="all", created_at=stage.clock.now(), feed_id=feed.id, method="lexical")
    await stage.services.store.add_screen(screen)
    await stage.poll(feed)


async def bury_letter(stage: Stage) -> None:
    """An endpoint that works again, and a batch that was given up before."""
    stage.publisher.script("/hook", Answer(status=200))
    store = stage.services.store
    webhook = await add_webhook(stage.publisher.url("/hook"), stage.services)
    event = Event(seq=1, id="e1", type="feed.added", feed_id="f", occurred_at=NOON)
    letter = DeadLetter(
        id="letter",
        webhook_id=webhook.id,
        events=(event,),
        reason="unavailable",
        attempts=9,
        died_at=NOON,
        status=503,
    )
    settled = Settlement(
        webhook_id=webhook.id,
        after=webhook.cursor,
        upto=webhook.cursor,
        at=NOON,
        result="unavailable",
        letter=letter,
    )
    assert await store.settle_webhook(settled)
