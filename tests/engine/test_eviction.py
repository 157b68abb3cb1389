"""What goes at the ceiling, under each policy, and what never does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest
from budget import examples
from engine.colliding import fnv1a
from engine.conftest import Clocked
from engine.test_threads import THREADS, in_threads
from hypothesis import given
from hypothesis import strategies as st

from tellstone import Engine, OptionError, OutOfMemoryError
from tellstone._core.store.keyspace import POLICIES
from tellstone.config import POLICIES as NAMES

pytestmark = pytest.mark.core

MIB = 1 << 20
ALL_KEYS = [policy for policy in POLICIES if policy.startswith("allkeys-")]
VOLATILE = [policy for policy in POLICIES if policy.startswith("volatile-")]
VALUE = b"v" * 100


class Cache(Clocked):
    """An engine that evicts, one key for each that comes, once it is `full`."""

    def __init__(self, policy: str, shards: int = 1) -> None:
        super().__init__(shards)
        self.store.max_memory_policy = policy
        self.store.max_memory_samples = 64  # of so few keys: all
        self.store.lfu_log_factor = 0
        self.written = 0
        self.deadlines = policy in VOLATILE

    def full(self) -> None:
        self.store.upkeep()  # a table that is between two sizes would make room later
        self.store.max_memory = self.store.used_memory

    def seconds_later(self) -> None:
        self.pass_ms(1000)

    def write_another(self) -> bytes:
        """A key of the same size as any other, whose deadline counts."""
        name = b"new:%06d" % self.written
        self.written += 1
        self.engine[name] = VALUE + bytes(16 * self.deadlines)
        return name

    def missing(self, keys: Iterable[bytes]) -> list[bytes]:
        return [key for key in keys if not self.engine.exists(key)]

    @property
    def evicted(self) -> int:
        return self.store.stats()["evicted"]


def names(count: int) -> list[bytes]:
    return [b"key:%06d" % number for number in range(count)]


def test_there_is_one_list_of_policies() -> None:
    assert sorted(POLICIES) == sorted(NAMES)
    for policy in POLICIES:
        with Engine(max_memory="1MiB", max_memory_policy=policy) as engine:
            assert engine.execute("CONFIG", "GET", "maxmemory-policy") == {"maxmemory-policy": policy}
    with pytest.raises(OptionError, match=r"^max_memory_policy: 'lru' is none of noeviction, .*volatile-ttl$"):
        Engine(max_memory_policy="lru")


def test_lru_evicts_what_was_not_asked_for_longest() -> None:
    cache = Cache("allkeys-lru")
    keys = names(50)
    with cache.engine:
        for key in keys:
            cache.engine[key] = VALUE
            cache.seconds_later()
        for key in keys[::2]:
            cache.engine.get(key)
            cache.seconds_later()
        cache.full()
        for count in range(1, 26):
            cache.write_another()
            assert cache.missing(keys) == keys[1::2][:count]
        assert cache.evicted == 25


@pytest.mark.parametrize("read", ["get", "GET", "MGET", "GETEX"])
def test_every_read_counts_for_lru(read: str) -> None:
    cache = Cache("allkeys-lru")
    with cache.engine:
        for key in (b"old", b"young"):
            cache.engine[key] = VALUE
            cache.seconds_later()
        cache.full()
        assert cache.engine.get(b"old") if read == "get" else cache.engine.execute(read, "old")
        cache.write_another()
        assert cache.missing([b"old", b"young"]) == [b"young"]


def test_lfu_evicts_what_was_asked_for_least() -> None:
    cache = Cache("allkeys-lfu")
    keys = names(40)
    shuffled = random.Random(1).sample(keys, len(keys))
    with cache.engine:
        for key in shuffled:
            cache.engine[key] = VALUE
        for count, key in enumerate(keys):
            for _ in range(count + 1):
                cache.engine.get(key)
        cache.full()
        for count in range(1, 31):
            new = cache.write_another()
            for _ in range(60):
                cache.engine.get(new)
            assert cache.missing(keys) == keys[:count]


def test_lfu_forgets_with_the_minutes() -> None:
    cache = Cache("allkeys-lfu")
    with cache.engine:
        for key, reads in ((b"once popular", 30), (b"popular", 10)):
            cache.engine[key] = VALUE
            for _ in range(reads):
                cache.engine.get(key)
            assert cache.engine.execute("OBJECT", "FREQ", key) == 5 + reads
            cache.pass_ms(20 * 60_000)
        assert cache.engine.execute("OBJECT", "FREQ", "once popular") == 0
        for _ in range(10):
            cache.engine.get("popular")
        cache.full()
        cache.write_another()
        assert cache.missing([b"once popular", b"popular"]) == [b"once popular"]


def test_random_spares_nobody() -> None:
    cache = Cache("allkeys-random")
    keys = names(1000)
    with cache.engine:
        cache.engine.set_many(dict.fromkeys(keys, VALUE))
        cache.full()
        for _ in range(500):
            cache.write_another()
        gone = cache.missing(keys)
        assert 300 < len(gone) <= 500
        assert 0.3 < len([key for key in gone if key < keys[500]]) / len(gone) < 0.7


@pytest.mark.parametrize("policy", VOLATILE)
@pytest.mark.parametrize("every", [1, 2, 50], ids=["all expire", "half expire", "few expire"])
def test_volatile_policies_leave_keys_without_a_deadline(policy: str, every: int) -> None:
    cache = Cache(policy, shards=3)
    keys = names(600)
    with cache.engine:
        for number, key in enumerate(keys):
            cache.engine.set(key, VALUE, ttl=None if number % every else 1000 + number)
        stay = [key for number, key in enumerate(keys) if number % every]
        going = len(keys) - len(stay)
        cache.full()
        for count in range(going):
            cache.write_another()
            assert cache.evicted == count + 1
        assert cache.missing(keys) == keys[::every]
        for _ in range(3):
            with pytest.raises(OutOfMemoryError):
                cache.write_another()
        assert cache.missing(stay) == []
        cache.engine.expire(stay[0] if stay else b"new:000000", 1000)
        cache.write_another()
        assert cache.evicted == going + 1


@pytest.mark.parametrize("policy", ALL_KEYS)
def test_nothing_is_evicted_where_there_is_nothing(policy: str) -> None:
    cache = Cache(policy, shards=4)
    with cache.engine:
        cache.store.max_memory = 1
        assert cache.engine.delete("none") == 0
        cache.store.max_memory = 100  # less than an empty partition takes
        for _ in range(3):
            if cache.held or cache.store.used_memory >= 100:
                cache.engine.flush()
            cache.write_another()
        with pytest.raises(OutOfMemoryError):
            for _ in range(3):
                cache.write_another()


def test_ttl_evicts_the_nearest_deadline() -> None:
    cache = Cache("volatile-ttl")
    chance = random.Random(2)
    keys = names(300)
    spans = dict(zip(keys, chance.sample(range(5, 100_000), len(keys)), strict=True))
    with cache.engine:
        for key, span in spans.items():
            cache.engine.set(key, VALUE, ttl=span)
        order = sorted(keys, key=spans.__getitem__)
        cache.full()
        for count in range(1, 200):
            cache.write_another()
            if count % 20 == 0:
                assert set(cache.missing(keys)) == set(order[:count])
        assert cache.store.stats()["expired"] == 0


def test_ttl_evicts_the_nearest_as_time_goes_on() -> None:
    cache = Cache("volatile-ttl")
    chance = random.Random(3)
    deadlines: dict[bytes, int] = {}
    with cache.engine:
        for _ in range(400):
            key = b"key:%06d" % len(deadlines)
            span = chance.choice([300, 4000, 70_000, 10**6]) + chance.randrange(200)
            cache.engine.set(key, VALUE, ttl=span)
            deadlines[key] = cache.now + span * 1000
            if chance.random() < 0.2:
                cache.pass_ms(chance.randrange(20_000), upkeep=True)
        alive = [key for key in deadlines if cache.engine.exists(key)]
        order = sorted(alive, key=deadlines.__getitem__)
        cache.full()
        for count in range(1, 100):
            cache.write_another()
            assert set(cache.missing(alive)) == set(order[:count])


# allkeys-s3fifo


def test_a_scan_passes_through() -> None:
    """What has been asked for twice stays, whatever is written once; the least recently used would all be gone."""
    for policy, kept in (("allkeys-s3fifo", 200), ("allkeys-lru", 0)):
        cache = Cache(policy)
        hot, cold = names(200), [b"cold:%06d" % n for n in range(2000)]
        with cache.engine:
            for key in hot:
                cache.engine[key] = VALUE
                cache.engine.get_many([key, key])
            cache.engine.set_many(dict.fromkeys(cold[:1000], VALUE))
            cache.seconds_later()
            cache.full()
            for _ in range(5000):
                cache.write_another()
                if cache.written % 1000 == 0:
                    cache.seconds_later()
            assert len(hot) - len(cache.missing(hot)) == kept
            assert cache.held <= 1500


def test_what_comes_back_stays() -> None:
    """A key that is written again soon after it was evicted outlives a scan."""
    cache = Cache("allkeys-s3fifo")
    with cache.engine:
        cache.engine.set_many(dict.fromkeys(names(1000), VALUE))
        cache.full()
        for _ in range(2000):
            cache.write_another()
        passing = [cache.write_another() for _ in range(500)]
        back = cache.missing(passing)
        assert len(back) > 200
        for key in back:
            cache.engine[key] = VALUE
            cache.write_another()
        late = [cache.write_another() for _ in range(300)]
        for _ in range(500):
            cache.write_another()
        assert len(cache.missing(back)) < len(back) / 2
        assert len(cache.missing(late)) > len(late) / 2


def test_accesses_count_to_three() -> None:
    cache = Cache("allkeys-s3fifo")
    with cache.engine:
        cache.engine["k"] = VALUE
        for count in (0, 1, 2, 3, 3, 3):
            assert cache.engine.execute("OBJECT", "FREQ", "k") == count
            cache.engine.get("k")
        cache.engine.execute("RENAME", "k", "other")
        assert cache.engine.execute("OBJECT", "FREQ", "other") == 0  # as Redis has it: another key
        with pytest.raises(Exception, match="allkeys-s3fifo maxmemory policy is selected, idle time not tracked"):
            cache.engine.execute("OBJECT", "IDLETIME", "other")
        assert cache.engine.execute("OBJECT", "IDLETIME", "none") is None


@pytest.mark.parametrize("policy", POLICIES)
def test_bookkeeping_costs_two_bytes_a_key(policy: str) -> None:
    """Beside entries and tables, with what was there before the first key."""
    cache = Cache(policy, shards=2)
    cache.store.max_memory_samples = 5
    with cache.engine:
        cache.engine.set_many({b"first:%d" % n: b"" for n in range(50)}, ttl=100)
        before = cache.store.stats()["other_bytes"]
        names = (b"key:%012d" % n for n in range(200_000))
        cache.engine.set_many({key: b"" for _, key in zip(range(100_000), names, strict=False)}, ttl=100)
        for _ in range(2):
            keys = len(cache.engine)
            assert cache.store.stats()["other_bytes"] - before <= 2 * keys
            if policy == "noeviction":
                break
            cache.full()
            cache.engine.set_many(dict.fromkeys(names, b""), ttl=100)
        assert policy == "noeviction" or cache.evicted > 50_000


# Any policy


def churn(engine: Engine, chance: random.Random, count: int, *, long: bool = False) -> None:
    for _ in range(count):
        key = b"k%d" % chance.randrange(5000)
        match chance.randrange(6):
            case 0 | 1 | 2:
                size = chance.choice([0, 5, 50, 500, 5000, *([40_000] if long else [])])
                engine.set(key, b"v" * size, ttl=chance.choice([50, 5000, None]) if chance.random() < 0.9 else None)
            case 3:
                engine.delete(key)
            case 4:
                engine.execute("APPEND", key, b"more" * chance.randrange(20))
            case _:
                engine.get(key)


@pytest.mark.parametrize("policy", ALL_KEYS)
def test_memory_stays_at_the_ceiling(policy: str) -> None:
    with Engine(max_memory="4MiB", max_memory_policy=policy, shards=4) as engine:
        for round_ in range(40):
            churn(engine, random.Random(round_), 1000, long=True)
            assert engine._store.used_memory < 4.5 * MIB
        assert engine._store.used_memory > 3 * MIB
        assert engine._store.stats()["evicted"] > 1000


@pytest.mark.parametrize("policy", ALL_KEYS)
def test_shards_lose_alike(policy: str) -> None:
    with Engine(max_memory="2MiB", max_memory_policy=policy, shards=8) as engine:
        for first in range(0, 60_000, 1000):
            engine.set_many({b"key:%d" % n: VALUE for n in range(first, first + 1000)})
        left = [0] * 8
        for key in engine:
            left[fnv1a(key) % 8] += 1
        mean = sum(left) / 8
        assert mean > 1000
        assert all(mean * 0.8 < count < mean * 1.2 for count in left), left


def test_databases_lose_alike() -> None:
    """The one that nobody uses any more is not spared."""
    for policy in ALL_KEYS:
        cache = Cache(policy, shards=2)
        with cache.engine:
            for number in range(2000):
                if number % 1000 == 0:
                    cache.engine.execute("SELECT", number // 1000)
                cache.engine.execute("SET", f"k{number}", VALUE)
            cache.seconds_later()
            cache.full()
            for number in range(3000):
                cache.engine.execute("SET", f"new{number}", VALUE)
                if number % 100 == 0:
                    cache.seconds_later()
            (old, _), (new, _) = cache.store.sizes()[:2]
            assert old < 700 and new > 1200, policy
            cache.engine.execute("SELECT", 0)


@pytest.mark.parametrize("policy", ["allkeys-s3fifo", "allkeys-lru", "allkeys-random", "volatile-ttl"])
def test_eight_writers_lose_only_what_is_evicted(policy: str) -> None:
    each = 5000
    with Engine(max_memory="4MiB", max_memory_policy=policy, shards=8) as engine:

        def write(number: int) -> None:
            chance = random.Random(number)
            for n in range(each):
                key = b"%d:%d" % (number, n)
                engine.set(key, key * chance.randrange(1, 40), ttl=1000)
                past = b"%d:%d" % (number, chance.randrange(n + 1))
                value = engine.get(past)
                assert value is None or value == past * (len(value) // len(past))
                engine.execute("MGET", key, past)

        in_threads(write)
        # Upkeep may be evicting still, so what is counted lies between two looks.
        evicted = engine._store.stats()["evicted"]
        left = len(engine)
        assert evicted <= THREADS * each - left <= engine._store.stats()["evicted"]
        assert evicted > THREADS * each / 4
        for key in engine:
            value = engine.get(key)
            assert value is None or value == key * (len(value) // len(key))
        assert evicted <= engine.execute("INFO", "stats")["evicted_keys"] <= engine._store.stats()["evicted"]


def test_the_policy_may_change_at_any_time() -> None:
    cache = Cache("noeviction", shards=2)
    chance = random.Random(4)
    with cache.engine:
        cache.store.max_memory = MIB
        for policy in chance.sample(ALL_KEYS * 3, len(ALL_KEYS) * 3):
            cache.engine.execute("CONFIG", "SET", "maxmemory-policy", policy)
            churn(cache.engine, chance, 1500)
            cache.pass_ms(5000)
            cache.engine.execute("SWAPDB", 0, 1)
            assert cache.store.used_memory < MIB * 1.1
        cache.engine.execute("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        cache.store.upkeep()
        with_table = cache.store.stats()
        cache.engine.flush()
        cache.engine["k"] = "v"
        assert with_table["other_bytes"] < 100_000


def test_a_lower_ceiling_is_reached_without_writes() -> None:
    cache = Cache("allkeys-s3fifo", shards=2)
    with cache.engine:
        cache.engine.set_many(dict.fromkeys(names(20_000), VALUE))
        cache.engine.execute("CONFIG", "SET", "maxmemory", "1mb")
        cache.store.upkeep()
        assert cache.store.used_memory < MIB
        assert len(cache.engine) > 3000


@pytest.mark.parametrize("policy", POLICIES)
def test_the_sum_is_that_of_its_parts(policy: str) -> None:
    """Whatever has happened; and nothing is left of what has gone."""

    def parts(cache: Cache) -> int:
        stats = cache.store.stats()
        return stats["live_bytes"] + stats["table_bytes"] + stats["other_bytes"]

    operation: Callable[[], st.SearchStrategy[int]] = lambda: st.integers(0, 2**32)  # noqa: E731

    @examples(15)
    @given(st.lists(operation(), min_size=1, max_size=30), st.sampled_from([30_000, 200_000, 0]))
    def agree(seeds: list[int], ceiling: int) -> None:
        cache = Cache(policy, shards=3)
        with cache.engine:
            cache.store.max_memory = ceiling
            for seed in seeds:
                chance = random.Random(seed)
                try:
                    churn(cache.engine, chance, 20, long=True)
                except OutOfMemoryError:
                    assert policy not in ALL_KEYS or ceiling == 30_000
                cache.pass_ms(chance.randrange(20_000), upkeep=chance.random() < 0.5)
                assert cache.store.used_memory == parts(cache)
            cache.pass_ms(10**7, upkeep=True)  # what has expired is not met any more
            cache.engine.delete(*cache.engine)
            assert cache.store.stats()["live_bytes"] == 0
            assert cache.store.used_memory == parts(cache)
            cache.engine.flush()
            assert cache.store.used_memory == parts(cache) == 0

    agree()
