// The pool of another hand: N slots, a queue, and whoever is first in line takes what is free.
//
// Written from the description of the on-disk format alone, and as naive as the store beside it: a waiter looks again after a
// fixed pause, and says at every look that it is still there.
//
// `createPool({pool, store, env, now})`: `pool` is the path of a pool file, or the object that such a file holds (then `cwd`
// is relative to the working directory); `store` is a directory (else the store is found as the store says), or a lease
// store that was made before. Every operation takes one object and answers a promise. A grant that fails is an error.
// A request leaves no process behind: whoever asked calls `heartbeatEntry` and `tryGrant` until it is granted.
// For its own tests: `hooks` in place of commands, `ttlMinutes`, `waiterStaleMs` and `movingAvgSeedMs` in place of the file's,
// and the operations `enqueue`, `dequeue`, `sweep`, `movingAvgMs` and `healthCheck`.

import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaseUsageError, appendLine, createLeaseStore, iso, readText, shortPause, writeWhole } from './durable-lease.mjs';
import { environmentOf, fill, grantEnvironment, isObject, load } from './slots.mjs';

const PAUSE_MS = 250;
const LOCK_WAIT_MS = 10000;
const LOCK_TTL_MINUTES = 1;
const GRANTS_KEPT_MS = 24 * 3600 * 1000;
const N_DURATIONS = 10;
const NUDGE_LIMIT_MS = 15000;

export function createPool({ pool, store, env = process.env, now = Date.now, ownerPattern, hooks = {}, ...given }) {
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const definition = { ...load(pool), ...options };
  const leases = isObject(store) ? store : createLeaseStore({ store, ownerPattern, env, now });
  const { slots, lockKind, waiterStaleMs } = definition;
  const folder = path.join(leases.store, definition.name);
  const clock = () => Number(now());
  const log = (event, more) => appendLine(path.join(folder, 'pool.log'), { at: iso(clock()), event, ...more });

  // --- documents

  function readDocument(name) {
    try {
      return JSON.parse(readText(path.join(folder, name)));
    } catch {
      return null;
    }
  }

  function writeDocument(name, value) {
    const target = path.join(folder, name);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    writeWhole(path.join(folder, `.tmp-${path.basename(name)}-${randomUUID()}`), target, value);
  }

  function readEntries() {
    const entries = readDocument('queue.json')?.entries;
    return Array.isArray(entries) ? entries.filter(isObject) : [];
  }

  const writeEntries = (entries) => writeDocument('queue.json', { ...readDocument('queue.json'), entries });
  const ageOf = (entry) => clock() - Date.parse(entry.heartbeat);
  const isStale = (entry) => ageOf(entry) > waiterStaleMs;
  const isLive = (entry) => ageOf(entry) <= waiterStaleMs;

  /** Runs a change under the queue's lock, which is an ordinary lease that leaves no record behind. */
  async function locked(owner, change) {
    const deadline = Date.now() + LOCK_WAIT_MS;
    let lock = await leases.acquire({ kind: lockKind, owner, ttlMinutes: LOCK_TTL_MINUTES });
    while (!lock.ok) {
      if (Date.now() >= deadline) {
        const file = path.join(leases.store, `${lockKind}.json`);
        throw new Error(`pool queue lock busy >10s (held by ${lock.holder}) — investigate ${file}`);
      }
      await shortPause();
      lock = await leases.acquire({ kind: lockKind, owner, ttlMinutes: LOCK_TTL_MINUTES });
    }
    try {
      return change();
    } finally {
      await leases.release({ kind: lockKind, owner, token: lock.record.token });
    }
  }

  // --- times

  function movingAvg() {
    const durations = readDocument('stats.json')?.durationsMs;
    if (!Array.isArray(durations) || durations.length === 0) return definition.movingAvgSeedMs;
    return Math.round(durations.reduce((sum, one) => sum + one, 0) / durations.length);
  }

  const placeOf = (idx) => ({ position: idx + 1, etaMs: (idx + 1) * movingAvg() });

  // --- slots

  const withId = (fits) => slots.find((slot) => fits(slot.id));

  function slotOf(slotId) {
    const isText = typeof slotId === 'number' || (typeof slotId === 'string' && slotId.trim() !== '');
    const slot = isText && (withId((id) => String(id) === String(slotId)) ?? withId((id) => id === Number(slotId)));
    if (slot) return slot;
    const known = slots.map((candidate) => candidate.id).join(', ');
    throw new LeaseUsageError(`invalid slot id ${JSON.stringify(slotId)} — pool has slots ${known}`);
  }

  async function statuses() {
    const all = [];
    for (const slot of slots) all.push({ slot, ...(await leases.status({ kind: slot.kind })) });
    return all;
  }

  const variable = (...names) => names.map((name) => env[name]).find(Boolean);

  function commandFor(action) {
    const provision = variable('POOL_PROVISION_CMD', 'E2E_LEASE_RESET_CMD') || definition.provision || definition.reset;
    if (action === 'provision') return provision;
    if (action === 'reset') return variable('POOL_RESET_CMD') || definition.reset || provision;
    return variable('POOL_HEALTH_CMD') || definition.health;
  }

  /** Makes a slot clean or looks whether it is; an error says that it is not. */
  async function act(slot, action) {
    if (hooks[action]) return hooks[action](slot);
    const command = commandFor(action);
    if (!command) return undefined;
    const args = ['-c', `${command} "$1"`, `pool-${action}`, String(slot.id)];
    const variables = { ...env, ...environmentOf(slot), POOL_ACTION: action };
    const { status } = spawnSync('sh', args, { cwd: definition.cwd, env: variables, stdio: ['ignore', 2, 2] });
    if (status === 0) return undefined;
    const what = action === 'health' ? `health check failed (${command}` : `reset failed (${action} command`;
    throw new Error(`slot ${slot.id} ${what} exit ${status})`);
  }

  // --- the queue

  async function enqueue({ owner, session, mode = 'blocking' }) {
    leases.checkOwner(owner);
    if (mode !== 'blocking' && mode !== 'async') throw new LeaseUsageError(`invalid mode ${JSON.stringify(mode)}`);
    return locked(owner, () => {
      const moment = iso(clock());
      const entry = { id: randomUUID(), owner, session: session ?? owner, mode, enqueuedAt: moment, heartbeat: moment };
      const entries = [...readEntries().filter(isLive), entry];
      writeEntries(entries);
      return { entry, ...placeOf(entries.length - 1) };
    });
  }

  async function dequeue({ entryId, owner }) {
    if (!readEntries().some((entry) => entry.id === entryId)) return;
    await locked(owner, () => writeEntries(readEntries().filter((entry) => entry.id !== entryId)));
  }

  async function heartbeatEntry({ entryId, owner }) {
    return locked(owner, () => {
      const all = readEntries();
      const live = all.filter(isLive);
      const idx = live.findIndex((entry) => entry.id === entryId);
      if (idx !== -1) live[idx] = { ...live[idx], heartbeat: iso(clock()) };
      if (idx !== -1 || live.length < all.length) writeEntries(live);
      return idx === -1 ? null : placeOf(idx);
    });
  }

  async function sweep({ owner }) {
    leases.checkOwner(owner);
    const reapedSlots = await reapDead();
    const droppedEntries = await dropStale(owner);
    dropOldGrants();
    return { reapedSlots, droppedEntries };
  }

  async function reapDead() {
    const reapedSlots = [];
    for (const { slot, state } of await statuses()) {
      const reaped = state === 'unknown' ? await leases.reap({ kind: slot.kind }) : {};
      if (reaped.reaped) {
        log('slot_reaped', { slot_id: slot.id, previous: reaped.previous });
        reapedSlots.push({ slot_id: slot.id, previousOwner: reaped.previous.owner ?? null });
      }
    }
    return reapedSlots;
  }

  async function dropStale(owner) {
    if (!readEntries().some(isStale)) return [];
    return locked(owner, () => {
      const dropped = readEntries().filter(isStale);
      writeEntries(readEntries().filter((entry) => !isStale(entry)));
      dropped.forEach((entry) => log('queue_entry_dropped_stale', { entry }));
      return dropped;
    });
  }

  function dropOldGrants() {
    const grants = path.join(folder, 'grants');
    for (const name of fs.existsSync(grants) ? fs.readdirSync(grants) : []) {
      const file = path.join(grants, name);
      const mtime = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
      if (Date.now() - mtime > GRANTS_KEPT_MS) fs.rmSync(file, { force: true });
    }
  }

  // --- getting a slot

  async function tryGrant({ entryId, owner, ttlMinutes = definition.ttlMinutes }) {
    const live = readEntries().filter(isLive);
    const idx = live.findIndex((entry) => entry.id === entryId);
    if (idx === -1) return null;
    await reapDead();
    const all = await statuses();
    const served = new Set(all.filter(({ state }) => state === 'held').map(({ record }) => record.payload?.requestId));
    const free = all.filter(({ state }) => state !== 'held').map(({ slot }) => slot);
    const ahead = live.slice(0, idx).filter((entry) => !served.has(entry.id));
    if (free.length <= ahead.length) return null;
    for (const slot of free) {
      const { session, mode } = live[idx];
      const payload = { requestId: entryId, session, mode };
      const won = await leases.acquire({ kind: slot.kind, owner, ttlMinutes, payload });
      if (won.ok) return grantOf(slot, live[idx], owner, won);
    }
    return null;
  }

  async function grantOf(slot, { id, session, mode }, owner, won) {
    const { record } = won;
    if (won.tookOverExpired) log('slot_takeover_on_grant', { slot_id: slot.id, previous: won.previous });
    await dequeue({ entryId: id, owner });
    await prepare(slot, id, record);
    const grant = {
      ...{ ok: true, state: 'ready', request_id: id, mode, slot_id: slot.id, kind: slot.kind, owner },
      ...{ token: record.token, ttlMinutes: record.ttlMinutes, attrs: slot.attrs },
      ...Object.fromEntries(Object.entries(definition.grantFields ?? {}).map(([key, template]) => [key, fill(slot, template)])),
      ...{ env: grantEnvironment(slot, definition.grantEnv), grantedAt: iso(clock()) },
    };
    writeDocument(`grants/${id}.json`, grant);
    log('granted', { slot_id: slot.id, request_id: id, owner, mode });
    if (mode === 'async') nudge(session, id, grant);
    return grant;
  }

  /** Clean, healthy and still ours, or the slot is given back and everybody is told why. */
  async function prepare(slot, requestId, { kind, owner, token, ttlMinutes }) {
    const about = { slot_id: slot.id, request_id: requestId };
    for (const [action, state] of [['provision', 'reset_failed'], ['health', 'health_failed']]) {
      try {
        await act(slot, action);
      } catch (error) {
        await leases.release({ kind, owner, token });
        fail(state, requestId, slot, error.message);
        log(`grant_${state}`, { ...about, error: error.message });
        throw error;
      }
      const status = await leases.status({ kind });
      if (status.state !== 'held' || status.record.token !== token) {
        const why = `ttl ${ttlMinutes}m shorter than the reset, or taken over`;
        const error = `slot ${slot.id} lease lost during reset (${why}) — increase --ttl`;
        fail('lease_lost_during_reset', requestId, slot, error);
        log('grant_lease_lost_during_reset', about);
        throw new Error(error);
      }
    }
  }

  function fail(state, requestId, slot, error) {
    const failure = { ok: false, state, request_id: requestId, slot_id: slot.id, error, at: iso(clock()) };
    writeDocument(`grants/${requestId}.json`, failure);
  }

  function nudge(session, requestId, grant) {
    const said = { event: definition.nudgeEvent, session, request_id: requestId, grant };
    appendLine(path.join(folder, 'nudges.jsonl'), said);
    const command = variable('POOL_NUDGE_CMD', 'E2E_LEASE_NUDGE_CMD') || definition.nudgeCommand;
    const input = JSON.stringify(said);
    const about = { cwd: definition.cwd, env, input, timeout: NUDGE_LIMIT_MS, stdio: ['pipe', 2, 2] };
    if (command) spawnSync('sh', ['-c', command], about);
  }

  async function acquireNoWait({ owner, session, ttlMinutes }) {
    await sweep({ owner });
    const { entry, position, etaMs } = await enqueue({ owner, session });
    try {
      const grant = await tryGrant({ entryId: entry.id, owner, ttlMinutes });
      return grant ?? { ok: false, code: 'saturated', position, etaMs };
    } finally {
      await dequeue({ entryId: entry.id, owner });
    }
  }

  async function acquireBlocking({ owner, session, ttlMinutes, waitMs, pollMs = PAUSE_MS, onWait }) {
    await sweep({ owner });
    const { entry, ...first } = await enqueue({ owner, session });
    const [began, entryId] = [clock(), entry.id];
    let place = first;
    try {
      for (;;) {
        const grant = await tryGrant({ entryId, owner, ttlMinutes });
        if (grant) return grant;
        const waitedMs = clock() - began;
        if (waitMs !== undefined && waitedMs >= waitMs) {
          return { ok: false, code: 'timeout', request_id: entryId, ...place, waitedMs };
        }
        await onWait?.({ ...place, avgMs: movingAvg() });
        await sleep(pollMs);
        await sweep({ owner });
        place = await heartbeatEntry({ entryId, owner });
        if (!place) {
          const note = `queue entry dropped as stale (waiterStaleMs=${waiterStaleMs}) — re-run acquire`;
          return { ok: false, code: 'queue_entry_lost', request_id: entryId, note };
        }
      }
    } finally {
      await dequeue({ entryId, owner });
    }
  }

  async function request({ owner, session }) {
    await sweep({ owner });
    const { entry, position, etaMs } = await enqueue({ owner, session, mode: 'async' });
    const about = { request_id: entry.id, owner, session: entry.session };
    log('request_queued', { ...about, position });
    return { ok: true, queued: true, ...about, position, etaMs };
  }

  async function claim({ requestId, owner }) {
    leases.checkOwner(owner);
    const isId = typeof requestId === 'string' && /^[A-Za-z0-9-]+$/.test(requestId);
    const grant = isId && readDocument(`grants/${requestId}.json`);
    if (grant) return claimGranted(requestId, owner, grant);
    await sweep({ owner });
    const idx = readEntries().filter(isLive).findIndex((entry) => entry.id === requestId);
    if (idx !== -1) return { ok: true, queued: true, request_id: requestId, ...placeOf(idx) };
    const note = 'not queued and no grant on file — re-request';
    return { ok: false, code: 'unknown_request', request_id: requestId, note };
  }

  async function claimGranted(requestId, owner, grant) {
    if (grant.state !== 'ready') return grant;
    if (grant.owner !== undefined && grant.owner !== owner) return { ok: false, code: 'not_owner', request_id: requestId };
    const about = { request_id: requestId, slot_id: grant.slot_id };
    const slot = withId((id) => String(id) === String(grant.slot_id));
    if (!slot) return { ok: false, state: 'unknown_slot', ...about };
    const status = await leases.status({ kind: slot.kind });
    if (status.state === 'held' && status.record.token === grant.token) return grant;
    const note = 'the granted lease expired or was taken over before it was claimed — re-request';
    return { ok: false, state: 'lease_lost', ...about, note };
  }

  // --- what a holder does

  async function heartbeat({ slotId, owner, token }) {
    const slot = slotOf(slotId);
    return { ...(await leases.heartbeat({ kind: slot.kind, owner, token })), slot_id: slot.id };
  }

  async function release({ slotId, owner, token, force = false }) {
    const slot = slotOf(slotId);
    const { record } = await leases.status({ kind: slot.kind });
    const by = owner || (force ? definition.bookkeeper : owner);
    if (force && !by && record && !record.corrupt) {
      throw new LeaseUsageError('a forced release without an owner needs a "bookkeeper" in the pool file');
    }
    if (by) leases.checkOwner(by);
    const released = await leases.release({ kind: slot.kind, owner, token, force });
    if (released.released && by) {
      await addDuration(by, clock() - Date.parse(record?.acquiredAt));
      await sweep({ owner: by });
    }
    return { ...released, slot_id: slot.id };
  }

  async function addDuration(owner, durationMs) {
    if (!(durationMs >= 0)) return;
    await locked(owner, () => {
      const stats = readDocument('stats.json');
      const known = Array.isArray(stats?.durationsMs) ? stats.durationsMs : [];
      writeDocument('stats.json', { ...stats, durationsMs: [...known, durationMs].slice(-N_DURATIONS) });
    });
  }

  async function makeClean(slot) {
    await act(slot, 'reset');
    await act(slot, 'health');
  }

  async function resetSlot({ slotId, owner, token }) {
    const slot = slotOf(slotId);
    const { state, record } = await leases.status({ kind: slot.kind });
    if (state !== 'held') return { ok: false, code: 'not_held', slot_id: slot.id };
    if (record.owner !== owner || record.token !== token) return { ok: false, code: 'not_owner', slot_id: slot.id };
    try {
      await makeClean(slot);
    } catch (error) {
      return { ok: false, code: 'reset_failed', slot_id: slot.id, error: error.message };
    }
    return { ok: true, code: 'reset', slot_id: slot.id };
  }

  async function reprovisionSlot({ slotId, owner, ttlMinutes = definition.ttlMinutes }) {
    const slot = slotOf(slotId);
    const won = await leases.acquire({ kind: slot.kind, owner, ttlMinutes, payload: { reprovision: true } });
    if (!won.ok) return { ok: false, code: 'held', slot_id: slot.id, holder: won.holder };
    if (won.tookOverExpired) log('slot_takeover_on_reprovision', { slot_id: slot.id, previous: won.previous });
    try {
      await makeClean(slot);
      log('slot_reprovisioned', { slot_id: slot.id, owner });
      return { ok: true, code: 'reprovisioned', slot_id: slot.id };
    } catch (error) {
      log('slot_reprovision_failed', { slot_id: slot.id, owner, error: error.message });
      return { ok: false, code: 'reset_failed', slot_id: slot.id, error: error.message };
    } finally {
      await leases.release({ kind: slot.kind, owner, token: won.record.token });
    }
  }

  async function healthCheck({ slotId }) {
    const slot = slotOf(slotId);
    try {
      await act(slot, 'health');
      return { ok: true, code: 'healthy', slot_id: slot.id };
    } catch (error) {
      return { ok: false, code: 'unhealthy', slot_id: slot.id, error: error.message };
    }
  }

  async function poolStatus() {
    const shown = ({ slot, state, holder = null, expiresAt = null }) => {
      return { slot_id: slot.id, kind: slot.kind, attrs: slot.attrs, state, holder, expiresAt };
    };
    const queue = readEntries().filter(isLive).map(({ id, owner, session, mode, enqueuedAt }, idx) => {
      return { request_id: id, owner, session, mode, ...placeOf(idx), enqueuedAt };
    });
    const slotsShown = (await statuses()).map(shown);
    return { ok: true, store: leases.store, poolDir: folder, slots: slotsShown, queue, movingAvgMs: movingAvg() };
  }

  async function pump({ owner }) {
    const swept = await sweep({ owner });
    return { ok: true, ...swept, status: await poolStatus() };
  }

  const forTests = { enqueue, dequeue, sweep, healthCheck, movingAvgMs: async () => movingAvg() };
  const getting = { acquireBlocking, acquireNoWait, request, claim, tryGrant, heartbeatEntry };
  return { ...getting, release, heartbeat, resetSlot, reprovisionSlot, poolStatus, pump, ...forTests };
}
