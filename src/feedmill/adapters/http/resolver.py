"""DNS resolvers: c-ares on the event loop, or the system's own in threads; with a bounded cache.

Whatever comes out of here is shown to the guard and pinned: libcurl itself never resolves a name.

`AddressCheck` checks where a request may go: the guard on the URL, then on every address of its host.
"""

import asyncio
import contextlib
import socket
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple, Protocol
from weakref import WeakValueDictionary

import aiodns
import msgspec

from feedmill.adapters.http.response_buffer import BufferedResponse
from feedmill.canonicalise.policies import registrable_domain
from feedmill.engine.ports.io import Clock
from feedmill.fetch.guard import check_address, check_url, is_listed_host
from feedmill.model.fetch import Allowed, Refused

LookupHost = Callable[[str], tuple[str, ...]]

_SLOTS = 512  # questions under way
# of them about names of one registrable domain: its name server may be silent
_SLOTS_PER_DOMAIN = 16
_SLOT_WAIT_SEC = 2.0  # for one of them; who polls other hosts must not wait for a silent server
_SILENT_AFTER = 8  # questions in a row that got no answer at all: names of the domain fail at once
_THREADS = 32
_FAILURE_SEC = 10.0  # a name that failed is not asked for again at once
_LEAST_TTL_SEC = 5.0  # some servers say 0
_STALE_SEC = 3_600.0  # how long an old answer may stand in
_STALE_WAIT_SEC = 0.5  # before it does


# The guard is pure: what it said about a feed's URL it will say at the next poll.
_verdict = lru_cache(maxsize=16_384)(check_url)

_refusal = lru_cache(maxsize=4_096)(check_address)


class Resolver(Protocol):
    """The addresses of a host, best first; nothing when it has none or they are unknown."""

    async def resolve(self, host: str) -> tuple[str, ...]: ...
    async def close(self) -> None: ...


class AddressCheck:
    """The guard and the resolver together."""

    def __init__(
        self, resolver: Resolver, allow_cidrs: tuple[str, ...], only_hosts: tuple[str, ...] = ()
    ) -> None:
        self._resolver = resolver
        self._only_hosts = only_hosts
        self._allow_cidrs = allow_cidrs

    async def check(
        self, url: str, *, within_sec: float, by_proxy: bool
    ) -> Allowed | BufferedResponse:
        """The URL with the addresses that may be dialled for it, or why not."""
        verdict = _verdict(url, allow_cidrs=self._allow_cidrs)
        if isinstance(verdict, Allowed) and not self._is_listed(verdict.host):
            detail = f"{verdict.host} is not among [fetch] only_hosts"
            return BufferedResponse(error="host-not-listed", detail=detail)
        # Behind a proxy the name is the proxy's to resolve; literal addresses were checked.
        if isinstance(verdict, Allowed) and verdict.needs_addresses and not by_proxy:
            addresses = await self.resolve(verdict.host, within_sec=within_sec)
            if not addresses:
                return BufferedResponse(
                    error="dns-failure", detail=f"no address for {verdict.host}"
                )
            verdict = self._with_addresses(verdict, addresses)
        if isinstance(verdict, Refused):
            return BufferedResponse(error=verdict.reason, detail=verdict.detail)
        return verdict

    async def resolve(self, host: str, *, within_sec: float) -> tuple[str, ...]:
        """All addresses of the host; nothing when it takes too long to learn them."""
        try:
            async with asyncio.timeout(within_sec):
                return await self._resolver.resolve(host)
        except TimeoutError:
            return ()

    def _is_listed(self, host: str) -> bool:
        return not self._only_hosts or is_listed_host(host, self._only_hosts)

    def _with_addresses(self, verdict: Allowed, addresses: tuple[str, ...]) -> Allowed | Refused:
        if self._allow_cidrs:  # names and ports may be open because of where they lead
            return check_url(verdict.url, addresses, allow_cidrs=self._allow_cidrs)
        # What check_url says about the URL does not change; only the addresses are new. Reading
        # the URL a second time would cost as much as the rest of a fetch in Python.
        refusals = (refusal for a in addresses if (refusal := _refusal(a)) is not None)
        return next(refusals, None) or msgspec.structs.replace(verdict, addresses=addresses)


class Found(NamedTuple):
    """What a name server said: addresses, best first, and how long they hold; None: it does not say."""

    addresses: tuple[str, ...]
    ttl_sec: float | None = None
    is_silent: bool = False  # there was no answer, not even that there are no addresses


class CachedResolver(ABC):
    """Asks for a host once per lifetime, however many callers wait; limits what one domain can hold up.

    An answer that is too old is asked for again; if that takes long, the old one serves meanwhile.
    """

    def __init__(
        self, clock: Clock, *, timeout_sec: float, cache_sec: float, cache_hosts: int
    ) -> None:
        self._clock = clock
        self._timeout_sec = timeout_sec
        self._cache_sec = cache_sec
        self._cache_hosts = cache_hosts
        self._known: OrderedDict[str, tuple[float, tuple[str, ...]]] = OrderedDict()
        self._asked: dict[str, asyncio.Task[tuple[str, ...]]] = {}
        self._slots = asyncio.Semaphore(_SLOTS)
        self._domains: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._silent: dict[str, tuple[int, float]] = {}  # of a domain: in a row, and until when

    async def resolve(self, host: str) -> tuple[str, ...]:
        if (literal := _as_literal(host)) is not None:
            return (literal,)
        until, addresses = self._known.get(host, (0.0, ()))
        now = self._clock.monotonic()
        if host in self._known and until > now:
            return addresses
        if now >= until + _STALE_SEC:
            addresses = ()
        if self._is_silent(host, now):
            return addresses
        wait_sec = min(self._timeout_sec, _STALE_WAIT_SEC) if addresses else self._timeout_sec
        try:
            # Shielded: a caller that gives up leaves the lookup to the others that wait for it.
            return await asyncio.wait_for(asyncio.shield(self._ask(host)), wait_sec) or addresses
        except TimeoutError:
            return addresses

    async def close(self) -> None:
        """End the open questions."""
        asked = list(self._asked.values())
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    def _ask(self, host: str) -> asyncio.Task[tuple[str, ...]]:
        asked = self._asked.get(host)
        if asked is None:
            asked = asyncio.get_running_loop().create_task(self._look_up(host))
            self._asked[host] = asked
        return asked

    async def _look_up(self, host: str) -> tuple[str, ...]:
        try:
            return await self._look_up_in_turn(host)
        finally:
            self._asked.pop(host, None)

    async def _look_up_in_turn(self, host: str) -> tuple[str, ...]:
        domain = registrable_domain(host)
        slot = self._domains.setdefault(domain, asyncio.Semaphore(_SLOTS_PER_DOMAIN))
        try:
            async with asyncio.timeout(_SLOT_WAIT_SEC):
                await slot.acquire()
        except TimeoutError:
            return ()
        try:
            async with self._slots:
                found = await self._query(host)
        finally:
            slot.release()
        self._note_silence(domain, found)
        self._remember(host, found)
        return found.addresses

    def _is_silent(self, host: str, now: float) -> bool:
        """True while the name server of the host's domain says nothing; then it is tried again."""
        if not self._silent:
            return False
        count, until = self._silent.get(registrable_domain(host), (0, 0.0))
        return count >= _SILENT_AFTER and now < until

    def _note_silence(self, domain: str, found: Found) -> None:
        count, _ = self._silent.pop(domain, (0, 0.0))
        if found.is_silent:
            self._silent[domain] = (count + 1, self._clock.monotonic() + _FAILURE_SEC)
        while len(self._silent) > self._cache_hosts:
            del self._silent[next(iter(self._silent))]

    @abstractmethod
    async def _query(self, host: str) -> Found:
        """Ask a name server, within `timeout_sec`; no addresses when there is no answer."""

    def _remember(self, host: str, found: Found) -> None:
        now, known = self._clock.monotonic(), self._known.get(host)
        if found.addresses:
            ttl_sec = self._cache_sec if found.ttl_sec is None else found.ttl_sec
            until = now + min(max(ttl_sec, _LEAST_TTL_SEC), self._cache_sec)
        elif known is not None and known[1] and now < known[0] + _STALE_SEC:
            return  # what was true an hour ago is a better guess than nothing
        else:
            until = now + min(self._cache_sec, _FAILURE_SEC)
        self._known[host] = (until, found.addresses)
        self._known.move_to_end(host)
        while len(self._known) > self._cache_hosts:
            self._known.popitem(last=False)


class AsyncResolver(CachedResolver):
    """c-ares: no thread waits for a silent name server, and its answers say how long they hold.

    It reads /etc/resolv.conf and /etc/hosts, and no other source of nsswitch.conf.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        timeout_sec: float,
        cache_sec: float,
        cache_hosts: int,
        servers: Sequence[str] | None = None,
    ) -> None:
        """`servers` are asked instead of those of the machine: 192.0.2.1 or 192.0.2.1:5353."""
        super().__init__(
            clock, timeout_sec=timeout_sec, cache_sec=cache_sec, cache_hosts=cache_hosts
        )
        self._servers = servers
        self._channel: aiodns.DNSResolver | None = None

    async def close(self) -> None:
        """End the open questions and the channel."""
        await super().close()
        if self._channel is not None:
            await self._channel.close()

    async def _query(self, host: str) -> Found:
        if self._channel is None:
            self._channel = aiodns.DNSResolver(
                self._servers, timeout=self._timeout_sec / 2, tries=2
            )
        try:
            async with asyncio.timeout(self._timeout_sec):
                found = await self._channel.getaddrinfo(host, type=socket.SOCK_STREAM)
        except TimeoutError:
            return Found((), is_silent=True)
        except aiodns.error.DNSError as problem:
            return Found((), is_silent=problem.args[:1] == (aiodns.error.ARES_ETIMEOUT,))
        except (UnicodeError, ValueError):
            return Found(())
        addresses = tuple(dict.fromkeys(_text_of(node.addr[0]) for node in found.nodes))
        return Found(addresses, min((float(node.ttl) for node in found.nodes), default=None))


class SystemResolver(CachedResolver):
    """The machine's own resolver, in threads; it does not tell how long an answer holds."""

    def __init__(
        self,
        clock: Clock,
        *,
        timeout_sec: float,
        cache_sec: float,
        cache_hosts: int,
        lookup: LookupHost | None = None,
    ) -> None:
        super().__init__(
            clock, timeout_sec=timeout_sec, cache_sec=cache_sec, cache_hosts=cache_hosts
        )
        self._slots = asyncio.Semaphore(_THREADS)
        self._lookup = lookup or look_up_host

    async def _query(self, host: str) -> Found:
        return Found(await _in_thread(self._lookup, host))


def _text_of(address: bytes | str) -> str:
    return address.decode("ascii") if isinstance(address, bytes) else address


def look_up_host(host: str) -> tuple[str, ...]:
    """Every address the system knows for the name, in its order of preference; blocks."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # a gaierror is an OSError; an impossible name is the other
        return ()
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def _as_literal(host: str) -> str | None:
    try:
        return str(ip_address(host))
    except ValueError:
        return None


async def _in_thread(lookup: LookupHost, host: str) -> tuple[str, ...]:
    # A daemon of its own instead of a pool: a pool is waited for when the program ends, and a
    # silent name server would hold it up for half a minute.
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[str, ...]] = loop.create_future()
    threading.Thread(target=_work, args=(loop, answer, lookup, host), daemon=True).start()
    return await answer


def _work(
    loop: asyncio.AbstractEventLoop,
    answer: asyncio.Future[tuple[str, ...]],
    lookup: LookupHost,
    host: str,
) -> None:
    try:
        addresses = lookup(host)
    except Exception:  # noqa: BLE001  # the edge of a thread: a lookup that breaks has no answer
        addresses = ()
    # The loop may have closed meanwhile: then no task waits.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, answer, addresses)


def _settle(answer: asyncio.Future[tuple[str, ...]], addresses: tuple[str, ...]) -> None:
    if not answer.done():
        answer.set_result(addresses)
