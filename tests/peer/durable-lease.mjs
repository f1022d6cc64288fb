// The lease store of another hand: one directory, one record a kind, the record is the mutex.
//
// Written from the description of the on-disk format alone. It is naive on purpose, as a short program would be: the guard's
// directory is made first and filled afterwards, a taken guard is tried again after 10 to 50 ms, nothing proves that a holder
// lives, and a document is rewritten whole, so that keys it does not know stay as they are.
//
// `createLeaseStore({store, ownerPattern, env, now})`: the directory (else `LEASE_STORE`, else `logs/leases` in the
// repository's main checkout, else here), the fence for owners, the variables, and a function that tells the milliseconds.
// `guardWaitMs` and `guardStaleMs` are for its own tests. Every operation takes one object and answers a promise.

import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const KIND_PATTERN = /^[a-z0-9][a-z0-9._-]{0,127}$/;
const OWNER_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$';
const LONGEST_TTL_MINUTES = 527040;

export class LeaseUsageError extends Error {
  constructor(message) {
    super(message);
    this.name = 'LeaseUsageError';
  }
}

/** A pause of 10 to 50 ms, which keeps those who wait from knocking in step. */
export const shortPause = () => sleep(10 + Math.random() * 40);

/** A text, or `null` if there is no such file. */
export function readText(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Writes beside the target and renames, so that nobody reads half of it. */
export function writeWhole(temporary, target, value) {
  fs.writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`);
  fs.renameSync(temporary, target);
}

/** One line of a log; the directory is made when there is something to say. */
export function appendLine(file, value) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.appendFileSync(file, `${JSON.stringify(value)}\n`);
}

/** A moment as the format writes it, or `null` for one that no calendar has. */
export function iso(ms) {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

function findStore(given, env) {
  if (given) return path.resolve(given);
  if (env.LEASE_STORE) return path.resolve(env.LEASE_STORE);
  const gitEnv = { ...env };
  delete gitEnv.GIT_DIR;
  delete gitEnv.GIT_WORK_TREE;
  try {
    const options = { env: gitEnv, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    const common = execFileSync('git', ['rev-parse', '--path-format=absolute', '--git-common-dir'], options).trim();
    return path.join(path.dirname(common), 'logs/leases');
  } catch {
    return path.resolve('logs/leases');
  }
}

function fence(pattern) {
  const text = pattern || OWNER_PATTERN;
  if (!text.startsWith('^') || !/(^|[^\\])(\\\\)*\$$/.test(text)) {
    throw new LeaseUsageError(`invalid owner pattern ${JSON.stringify(text)} — must be anchored (start with ^ and end with $)`);
  }
  try {
    return new RegExp(text);
  } catch (error) {
    throw new LeaseUsageError(`invalid owner pattern ${JSON.stringify(text)} — ${error.message}`);
  }
}

export function createLeaseStore(options = {}) {
  const { env = process.env, now = Date.now, guardWaitMs = 5000, guardStaleMs = 60000 } = options;
  const store = findStore(options.store, env);
  const ownerPattern = fence(options.ownerPattern ?? env.LEASE_OWNER_PATTERN);
  const clock = () => Number(now());
  const fileOf = (kind) => path.join(store, `${kind}.json`);

  function checkKind(kind) {
    if (typeof kind !== 'string' || !KIND_PATTERN.test(kind)) {
      throw new LeaseUsageError(`invalid kind ${JSON.stringify(kind)} — must match ${KIND_PATTERN}`);
    }
  }

  function checkOwner(owner) {
    if (typeof owner !== 'string' || !ownerPattern.test(owner)) {
      throw new LeaseUsageError(`invalid owner ${JSON.stringify(owner)} — must match the owner pattern ${ownerPattern}`);
    }
  }

  function checkTtl(ttlMinutes) {
    if (!Number.isFinite(ttlMinutes) || ttlMinutes <= 0 || ttlMinutes > LONGEST_TTL_MINUTES) {
      const shown = JSON.stringify(ttlMinutes);
      throw new LeaseUsageError(
        `invalid ttlMinutes ${shown} — must be a positive number ≤ ${LONGEST_TTL_MINUTES} (= stale_lock_minutes)`,
      );
    }
  }

  const journal = (event) => appendLine(path.join(store, 'reaped.log'), { at: iso(clock()), ...event });

  // --- the critical section of a kind

  async function enter(kind) {
    const guard = path.join(store, `.guard-${kind}`);
    const id = randomUUID();
    const deadline = Date.now() + guardWaitMs;
    fs.mkdirSync(store, { recursive: true });
    for (;;) {
      try {
        fs.mkdirSync(guard);
        fs.writeFileSync(path.join(guard, 'holder.json'), JSON.stringify({ id, pid: process.pid }));
        return { guard, id };
      } catch (error) {
        // Taken, or taken from us before it was filled.
        if (error.code !== 'EEXIST' && error.code !== 'ENOENT') throw error;
      }
      if (takeAwayIfStale(guard)) continue;
      if (Date.now() >= deadline) throw busy(kind, guard);
      await shortPause();
    }
  }

  function busy(kind, guard) {
    const advice = 'a guard holder should only live milliseconds; investigate or remove the dir';
    return new Error(`lease guard for kind "${kind}" busy for >${guardWaitMs}ms (${guard}) — ${advice}`);
  }

  function takeAwayIfStale(guard) {
    try {
      if (Date.now() - fs.statSync(guard).mtimeMs <= guardStaleMs) return false;
      const aside = `${guard}.reaped-${randomUUID()}`;
      fs.renameSync(guard, aside);
      fs.rmSync(aside, { recursive: true, force: true });
      return true;
    } catch (error) {
      if (error.code === 'ENOENT') return true;
      throw error;
    }
  }

  function holderIdOf(guard) {
    try {
      return JSON.parse(fs.readFileSync(path.join(guard, 'holder.json'), 'utf8')).id;
    } catch {
      return null;
    }
  }

  function leave({ guard, id }) {
    const aside = `${guard}.release-${randomUUID()}`;
    try {
      fs.renameSync(guard, aside);
    } catch (error) {
      if (error.code === 'ENOENT') return;
      throw error;
    }
    const capturedId = holderIdOf(aside);
    if (capturedId === id) {
      fs.rmSync(aside, { recursive: true, force: true });
      return;
    }
    try {
      fs.renameSync(aside, guard);
      journal({ event: 'guard_lost', guard, holderId: id });
    } catch {
      fs.rmSync(aside, { recursive: true, force: true });
      journal({ event: 'guard_release_misfire', guard, holderId: id, capturedId });
    }
  }

  async function inside(kind, change) {
    const entered = await enter(kind);
    try {
      return change(clock());
    } finally {
      leave(entered);
    }
  }

  // --- records

  /** The record, `null` if there is none, or what stands for one that cannot be read. */
  function read(kind) {
    const raw = readText(fileOf(kind));
    if (raw === null) return null;
    try {
      const record = JSON.parse(raw);
      if (isObject(record)) return record;
    } catch {
      // It is corrupt.
    }
    return { corrupt: true, kind, raw };
  }

  const isCorrupt = (record) => record.corrupt === true && 'raw' in record && !('heartbeat' in record);
  const write = (kind, record) => writeWhole(path.join(store, `.tmp-${kind}-${randomUUID()}`), fileOf(kind), record);
  const holderOf = (record) => (isCorrupt(record) ? null : record.owner);

  /** By how many milliseconds it is over its time: negative while it lives, `NaN` when nobody can say. */
  const msOver = (record, at) => at - Date.parse(record.heartbeat) - record.ttlMinutes * 60000;

  function isExpired(record, at) {
    const hasTtl = typeof record.ttlMinutes === 'number' && record.ttlMinutes > 0;
    return isCorrupt(record) || !hasTtl || !(msOver(record, at) <= 0);
  }

  function expiry(record, at) {
    const end = Date.parse(record.heartbeat) + record.ttlMinutes * 60000;
    const expiresAt = iso(end);
    return { expiresAt, expiresInMs: expiresAt === null ? null : end - at };
  }

  function statusOf(kind, at) {
    const record = read(kind);
    if (record === null) return { kind, state: 'free' };
    if (!isExpired(record, at)) return { kind, state: 'held', holder: record.owner, record, ...expiry(record, at) };
    const over = msOver(record, at);
    return { kind, state: 'unknown', record, expiredForMs: Number.isNaN(over) ? null : over };
  }

  // --- operations

  async function acquire({ kind, owner, ttlMinutes, payload = null }) {
    checkKind(kind);
    checkOwner(owner);
    checkTtl(ttlMinutes);
    return inside(kind, (at) => {
      const previous = read(kind);
      if (previous !== null && !isExpired(previous, at)) {
        const heldBySelf = previous.owner === owner;
        const holder = previous.owner;
        return { ok: false, code: 'held', kind, holder, heldBySelf, record: previous, ...expiry(previous, at) };
      }
      const moment = iso(at);
      const record = { v: 1, kind, owner, token: randomUUID(), heartbeat: moment, ttlMinutes, payload, acquiredAt: moment };
      write(kind, record);
      const acquired = { ok: true, code: 'acquired', kind, record };
      if (previous === null) return acquired;
      journal({ event: 'takeover', kind, by: owner, previous });
      return { ...acquired, tookOverExpired: true, previous };
    });
  }

  async function heartbeat({ kind, owner, token }) {
    checkKind(kind);
    checkOwner(owner);
    return inside(kind, (at) => {
      const record = read(kind);
      if (record === null) return { ok: false, code: 'not_held', kind };
      if (isCorrupt(record)) return { ok: false, code: 'expired', kind, record };
      if (record.owner !== owner || record.token !== token) {
        return { ok: false, code: 'not_owner', kind, holder: record.owner };
      }
      if (isExpired(record, at)) return { ok: false, code: 'expired', kind, record };
      const fresh = { ...record, heartbeat: iso(at) };
      write(kind, fresh);
      return { ok: true, code: 'refreshed', kind, record: fresh, ...expiry(fresh, at) };
    });
  }

  async function release({ kind, owner, token, force = false }) {
    checkKind(kind);
    if (!force) checkOwner(owner);
    return inside(kind, (at) => {
      const record = read(kind);
      if (record === null) return { ok: true, code: 'not_held', kind, released: false };
      const holder = holderOf(record);
      if (!force && (isCorrupt(record) || holder !== owner)) return { ok: false, code: 'not_owner', kind, holder };
      if (!force && record.token !== token) return { ok: false, code: 'token_mismatch', kind, holder };
      const wasExpired = isExpired(record, at);
      fs.unlinkSync(fileOf(kind));
      if (force) journal({ event: 'force_release', kind, previous: record });
      return { ok: true, code: 'released', kind, released: true, wasExpired };
    });
  }

  async function reap({ kind }) {
    checkKind(kind);
    return inside(kind, (at) => {
      const previous = read(kind);
      if (previous === null) return { ok: true, code: 'not_held', kind, reaped: false };
      if (!isExpired(previous, at)) {
        return { ok: false, code: 'held', kind, holder: previous.owner, ...expiry(previous, at) };
      }
      fs.unlinkSync(fileOf(kind));
      journal({ event: 'reap', kind, previous });
      return { ok: true, code: 'reaped', kind, reaped: true, previous };
    });
  }

  async function status({ kind }) {
    checkKind(kind);
    return statusOf(kind, clock());
  }

  async function list() {
    const at = clock();
    const names = fs.existsSync(store) ? fs.readdirSync(store) : [];
    const stems = names.filter((name) => name.endsWith('.json') && !name.startsWith('.')).map((name) => name.slice(0, -5));
    const note = 'filename is not a valid lease kind — reported, never touched';
    return stems.sort().map((kind) => (KIND_PATTERN.test(kind) ? statusOf(kind, at) : { kind, state: 'invalid', note }));
  }

  async function reconcile() {
    const [held, reaped, foreign] = [[], [], []];
    for (const lease of await list()) {
      const isForeign = lease.state === 'invalid' || (!isCorrupt(lease.record) && !ownerPattern.test(lease.record.owner));
      if (isForeign) foreign.push(lease);
      else if (lease.state === 'held') held.push(lease);
      else reaped.push(await reap(lease));
    }
    return { ok: true, held, reaped, foreign };
  }

  return { store, checkOwner, acquire, heartbeat, release, reap, status, list, reconcile };
}
