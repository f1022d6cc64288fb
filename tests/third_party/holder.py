#!/usr/bin/env python3
"""Another hand on the same directory.

A pool client written from the description of the on-disk format alone. It shares no code with the Rust packages and
knows none of their additions: its leases name no proof of life, it polls, and it judges the dead by their TTL only.

    holder.py acquire --store DIR --pool FILE --owner NAME   waits in the queue for a slot and prints `granted ID TOKEN`,
                                                             keeps it until its standard input ends, then gives it back
    holder.py take    --store DIR --kind KIND --owner NAME   takes one lease directly, without the queue, and keeps it likewise
    holder.py steal   --store DIR --kind KIND --owner NAME   releases a lease by force, takes it and leaves it behind
    holder.py delete  --store DIR --kind KIND                releases a lease by force
"""

import argparse
import datetime
import json
import os
import select
import shutil
import subprocess
import sys
import time
import uuid

GUARD_WAIT_S = 5.0
GUARD_STALE_S = 60.0
QUEUE_LOCK_WAIT_S = 10.0
POLL_S = 0.02


def now_ms():
    return int(time.time() * 1000)


def iso(ms):
    moment = datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (ms % 1000)


def parse_iso(text):
    try:
        return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)
    except (AttributeError, ValueError):
        return None


def pretty(value):
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def append_line(path, value):
    with open(path, "a", encoding="utf-8") as log:
        log.write(compact(value) + "\n")


def write_whole(directory, temporary, name, text):
    path = os.path.join(directory, temporary)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.rename(path, os.path.join(directory, name))


class Guard:
    """The critical section of one kind: a directory that only one process can create."""

    def __init__(self, store, kind):
        self.path = os.path.join(store, ".guard-" + kind)
        self.id = str(uuid.uuid4())

    def __enter__(self):
        deadline = time.monotonic() + GUARD_WAIT_S
        while True:
            try:
                os.mkdir(self.path)
                break
            except FileExistsError:
                self.remove_stale()
            if time.monotonic() > deadline:
                raise SystemExit("holder.py: guard is taken: " + self.path)
            time.sleep(0.005)
        with open(os.path.join(self.path, "holder.json"), "w", encoding="utf-8") as out:
            out.write(compact({"id": self.id, "pid": os.getpid()}))
        return self

    def remove_stale(self):
        try:
            age = time.time() - os.stat(self.path).st_mtime
            if age > GUARD_STALE_S:
                aside = self.path + ".reaped-" + str(uuid.uuid4())
                os.rename(self.path, aside)
                shutil.rmtree(aside)
        except FileNotFoundError:
            pass

    def __exit__(self, *_):
        aside = self.path + ".release-" + str(uuid.uuid4())
        os.rename(self.path, aside)
        with open(os.path.join(aside, "holder.json"), encoding="utf-8") as captured:
            captured_id = json.load(captured)["id"]
        if captured_id != self.id:
            os.rename(aside, self.path)
            raise SystemExit("holder.py: the guard was taken from us: " + self.path)
        shutil.rmtree(aside)


class Store:
    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)

    def path(self, kind):
        return os.path.join(self.directory, kind + ".json")

    def read(self, kind):
        """The record, None if there is none, or text that is no record."""
        try:
            with open(self.path(kind), encoding="utf-8") as lease:
                text = lease.read()
        except FileNotFoundError:
            return None
        try:
            value = json.loads(text)
        except ValueError:
            return text
        return value if isinstance(value, dict) else text

    def expired(self, record):
        if not isinstance(record, dict):
            return True
        beat, ttl = parse_iso(record.get("heartbeat")), record.get("ttlMinutes")
        if beat is None or isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or not ttl > 0:
            return True
        return now_ms() - beat > ttl * 60000

    def write(self, kind, record):
        write_whole(self.directory, ".tmp-%s-%s" % (kind, uuid.uuid4()), kind + ".json", pretty(record))

    def journal(self, event, kind, **more):
        append_line(os.path.join(self.directory, "reaped.log"), {"at": iso(now_ms()), "event": event, "kind": kind, **more})

    def acquire(self, kind, owner, ttl_minutes, payload):
        """The new record, or None if somebody holds the lease."""
        with Guard(self.directory, kind):
            previous = self.read(kind)
            if previous is not None and not self.expired(previous):
                return None
            moment = iso(now_ms())
            record = {
                "v": 1,
                "kind": kind,
                "owner": owner,
                "token": str(uuid.uuid4()),
                "heartbeat": moment,
                "ttlMinutes": ttl_minutes,
                "payload": payload,
                "acquiredAt": moment,
            }
            self.write(kind, record)
            if previous is not None:
                self.journal("takeover", kind, by=owner, previous=self.previous(kind, previous))
            return record

    def previous(self, kind, record):
        return record if isinstance(record, dict) else {"corrupt": True, "kind": kind, "raw": record}

    def heartbeat(self, kind, owner, token):
        with Guard(self.directory, kind):
            record = self.read(kind)
            ours = isinstance(record, dict) and record.get("owner") == owner and record.get("token") == token
            if not ours or self.expired(record):
                return False
            record["heartbeat"] = iso(now_ms())
            self.write(kind, record)
            return True

    def release(self, kind, owner, token):
        with Guard(self.directory, kind):
            record = self.read(kind)
            if not isinstance(record, dict) or record.get("owner") != owner or record.get("token") != token:
                return False
            os.unlink(self.path(kind))
            return True

    def force_release(self, kind):
        with Guard(self.directory, kind):
            record = self.read(kind)
            if record is not None:
                os.unlink(self.path(kind))
                self.journal("force_release", kind, previous=self.previous(kind, record))

    def reap(self, kind):
        with Guard(self.directory, kind):
            record = self.read(kind)
            if record is None or not self.expired(record):
                return None
            os.unlink(self.path(kind))
            previous = self.previous(kind, record)
            self.journal("reap", kind, previous=previous)
            return previous


class Pool:
    def __init__(self, store, file):
        with open(file, encoding="utf-8") as definition:
            self.definition = json.load(definition)
        self.store = store
        self.name = self.definition.get("name") or "pool"
        self.lock_kind = self.definition.get("queueLockKind") or self.name + "-queue"
        self.prefix = self.definition.get("kindPrefix") or "slot-"
        self.ttl = self.definition.get("ttlMinutes", 30)
        self.stale_ms = self.definition.get("waiterStaleMs", 90000)
        self.cwd = os.path.join(os.path.dirname(os.path.abspath(file)), self.definition.get("cwd") or ".")
        self.folder = os.path.join(store.directory, self.name)
        os.makedirs(self.folder, exist_ok=True)

    def kind(self, slot):
        return slot.get("kind") or self.prefix + str(slot["id"])

    def log(self, event, **more):
        append_line(os.path.join(self.folder, "pool.log"), {"at": iso(now_ms()), "event": event, **more})

    def read(self, name, empty):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as document:
                return json.load(document)
        except FileNotFoundError:
            return empty

    def locked(self, change):
        """Runs `change` under the queue's lock: an ordinary lease of one minute that leaves no record behind."""
        owner = "third-party:queue:%d" % os.getpid()
        deadline = time.monotonic() + QUEUE_LOCK_WAIT_S
        while True:
            lock = self.store.acquire(self.lock_kind, owner, 1, None)
            if lock:
                break
            if time.monotonic() > deadline:
                raise SystemExit("holder.py: the queue lock is held: %s" % self.store.read(self.lock_kind))
            time.sleep(0.005)
        try:
            return change()
        finally:
            self.store.release(self.lock_kind, owner, lock["token"])

    def change_queue(self, change):
        def locked():
            queue = self.read("queue.json", {"entries": []})
            queue["entries"] = change(queue["entries"])
            write_whole(self.folder, ".tmp-queue-%s" % uuid.uuid4(), "queue.json", pretty(queue))

        self.locked(locked)

    def sweep(self):
        for slot in self.definition["slots"]:
            record = self.store.read(self.kind(slot))
            if record is not None and self.store.expired(record):
                previous = self.store.reap(self.kind(slot))
                if previous is not None:
                    self.log("slot_reaped", slot_id=slot["id"], previous=previous)
        if any(self.stale(entry) for entry in self.read("queue.json", {"entries": []})["entries"]):
            self.change_queue(self.drop_stale)

    def stale(self, entry):
        beat = parse_iso(entry.get("heartbeat"))
        return beat is None or now_ms() - beat > self.stale_ms

    def drop_stale(self, entries):
        for entry in filter(self.stale, entries):
            self.log("queue_entry_dropped_stale", entry=entry)
        return [entry for entry in entries if not self.stale(entry)]

    def join(self, request, owner):
        moment = iso(now_ms())
        entry = {"id": request, "owner": owner, "session": "third party", "mode": "blocking", "enqueuedAt": moment, "heartbeat": moment}
        self.change_queue(lambda entries: entries + [entry])

    def leave(self, request):
        self.change_queue(lambda entries: [entry for entry in entries if entry["id"] != request])

    def beat_entry(self, request):
        def change(entries):
            for entry in entries:
                if entry["id"] == request:
                    entry["heartbeat"] = iso(now_ms())
            return entries

        self.change_queue(change)

    def live_slots(self):
        """The held slots' records by kind."""
        records = {self.kind(slot): self.store.read(self.kind(slot)) for slot in self.definition["slots"]}
        return {kind: record for kind, record in records.items() if record is not None and not self.store.expired(record)}

    def my_turn(self, request):
        entries = self.read("queue.json", {"entries": []})["entries"]
        ids = [entry["id"] for entry in entries]
        if request not in ids:
            raise SystemExit("holder.py: our queue entry is gone")
        held = self.live_slots()
        served = {(record.get("payload") or {}).get("requestId") for record in held.values()}
        ahead = [entry for entry in entries[: ids.index(request)] if not self.stale(entry) and entry["id"] not in served]
        return len(self.definition["slots"]) - len(held) > len(ahead)

    def grant(self, request, owner):
        """The slot and its lease, or None if all were taken in between."""
        for slot in self.definition["slots"]:
            payload = {"requestId": request, "session": "third party", "mode": "blocking"}
            record = self.store.acquire(self.kind(slot), owner, self.ttl, payload)
            if record:
                self.leave(request)
                self.provision(slot)
                self.log("granted", slot_id=slot["id"], request_id=request, owner=owner, mode="blocking")
                return slot, record
        return None

    def provision(self, slot):
        command = self.definition.get("provision")
        if command:
            variables = {"POOL_SLOT_" + key.upper(): str(value) for key, value in slot.items()}
            variables.update(POOL_SLOT_ID=str(slot["id"]), POOL_SLOT_KIND=self.kind(slot), POOL_ACTION="provision")
            subprocess.run(
                ["sh", "-c", command + ' "$1"', "pool-provision", str(slot["id"])],
                cwd=self.cwd,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr,
                check=True,
            )

    def add_duration(self, duration_ms):
        def change():
            stats = self.read("stats.json", {"durationsMs": []})
            stats["durationsMs"] = (stats["durationsMs"] + [duration_ms])[-10:]
            write_whole(self.folder, ".tmp-stats-%s" % uuid.uuid4(), "stats.json", pretty(stats))

        self.locked(change)


def tell(*words):
    print(*words, flush=True)


def note(word, slot):
    """The line that every user of a slot writes before and after its work."""
    path = os.environ.get("LAB_HISTORY")
    if path:
        with open(path, "ab", buffering=0) as history:
            history.write(b"%s slot=%s pid=%d run=third-party\n" % (word.encode(), str(slot).encode(), os.getpid()))


def hold(store, kind, record):
    """Keeps a lease until standard input ends."""
    beat_every = min(60.0, record["ttlMinutes"] * 60 / 6)
    next_beat = time.monotonic() + beat_every
    while True:
        readable, _, _ = select.select([sys.stdin], [], [], max(0.0, next_beat - time.monotonic()))
        if readable and not os.read(sys.stdin.fileno(), 4096):
            return
        if time.monotonic() >= next_beat:
            if not store.heartbeat(kind, record["owner"], record["token"]):
                tell("lost", kind)
                raise SystemExit(75)
            next_beat = time.monotonic() + beat_every


def acquire(args):
    store = Store(args.store)
    pool = Pool(store, args.pool)
    request = str(uuid.uuid4())
    pool.sweep()
    pool.join(request, args.owner)
    tell("queued", request)
    granted, next_beat = None, time.monotonic() + pool.stale_ms / 3000
    while granted is None:
        if time.monotonic() >= next_beat:
            pool.beat_entry(request)
            pool.sweep()
            next_beat = time.monotonic() + pool.stale_ms / 3000
        granted = pool.grant(request, args.owner) if pool.my_turn(request) else None
        if granted is None:
            time.sleep(POLL_S)
    slot, record = granted
    began = now_ms()
    note("start", slot["id"])
    tell("granted", slot["id"], record["token"])
    hold(store, pool.kind(slot), record)
    note("end", slot["id"])
    released = store.release(pool.kind(slot), args.owner, record["token"])
    pool.add_duration(now_ms() - began)
    tell("released" if released else "lost", slot["id"])


def take(args):
    store = Store(args.store)
    record = store.acquire(args.kind, args.owner, args.ttl, None)
    if record is None:
        tell("held", args.kind)
        raise SystemExit(1)
    tell("granted", args.kind, record["token"])
    hold(store, args.kind, record)
    tell("released" if store.release(args.kind, args.owner, record["token"]) else "lost", args.kind)


def steal(args):
    store = Store(args.store)
    store.force_release(args.kind)
    record = store.acquire(args.kind, args.owner, args.ttl, None)
    if record is None:
        raise SystemExit("holder.py: somebody was faster at " + args.kind)
    tell("granted", args.kind, record["token"])


def delete(args):
    Store(args.store).force_release(args.kind)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("operation", choices=["acquire", "take", "steal", "delete"])
    parser.add_argument("--store", required=True)
    parser.add_argument("--pool")
    parser.add_argument("--kind")
    parser.add_argument("--owner", default="third-party")
    parser.add_argument("--ttl", type=int, default=30)
    args = parser.parse_args()
    {"acquire": acquire, "take": take, "steal": steal, "delete": delete}[args.operation](args)


if __name__ == "__main__":
    main()
