// Lets an implementation of the format take part in our tests. It uses what `durable-lease.mjs` and `pool.mjs` have to export,
// and nothing else, so that the tests run against any implementation:
//
//     node driver.mjs IMPL POOL_IMPL call STORE POOL_FILE OP ARGS ...  makes calls, one after the other, and prints a line of result for
//                                                                    each; OP is one of the pool, or `store.` and one of the store
//     node driver.mjs IMPL POOL_IMPL client STORE POOL_FILE OWNER      waits for a slot, prints `granted ID TOKEN`, keeps it until
//                                                                    its input ends, and gives it back
//     node driver.mjs IMPL POOL_IMPL race STORE POOL_FILE OPTIONS      one grant after the other until there is a file `stop`
//
// Who takes part writes into the history, as our own actor does.

import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { inside, plan } from './crash.mjs';

const [leaseModule, poolModule, command, storeDir, poolFile, ...rest] = process.argv.slice(2);

/** Half of what waiters of ours look at a time is enough to be slow beside them. */
const POLL_MS = 25;

const load = (file) => import(pathToFileURL(path.resolve(file)).href);

async function openStore(env = process.env) {
  const { createLeaseStore } = await load(leaseModule);
  return createLeaseStore({ store: storeDir, env });
}

/**
 * The pool. What an implementation wants to be given as `pool` and `store` is its own affair, so the ways are tried in turn until
 * one answers a status that describes the pool file.
 */
async function openPool(env = process.env) {
  const { createPool } = await load(poolModule);
  const file = JSON.parse(fs.readFileSync(poolFile, 'utf8'));
  const kinds = file.slots.map((slot) => slot.kind ?? `${file.kindPrefix ?? 'slot-'}${slot.id}`);
  const failures = [];
  for (const store of [storeDir, await openStore(env)]) {
    for (const pool of [path.resolve(poolFile), described(file, kinds), { ...file, cwd: cwdOf(file) }]) {
      try {
        const made = await createPool({ pool, store, env });
        const status = await made.poolStatus({});
        const found = status.slots.map((slot) => slot.kind);
        if (status.store === storeDir && JSON.stringify(found) === JSON.stringify(kinds)) return made;
        failures.push(`its status is ${JSON.stringify(status)}`);
      } catch (error) {
        failures.push(error.message);
      }
    }
  }
  throw new Error(`${poolModule} opens no pool: ${failures.join('; ')}`);
}

const cwdOf = (file) => path.resolve(path.dirname(poolFile), file.cwd ?? '.');

/** A pool file with all defaults filled in, as the recorded answers show one. */
function described({ slots, name = 'pool', kindPrefix = 'slot-', provision, reset, health, grantEnv = null, ...more }, kinds) {
  const commands = Object.fromEntries(Object.entries({ provision, reset, health }).filter(([, value]) => value !== undefined));
  const texts = { kindPrefix, queueLockKind: `${name}-queue`, nudgeEvent: 'lease-granted', shellPrefix: 'POOL_LEASE' };
  const describedSlots = slots.map(({ id, kind: _, ...attrs }, n) => ({ id, kind: kinds[n], attrs }));
  return { name, ...texts, ...more, cwd: cwdOf(more), commands, grantEnv, grantFields: more.grantFields ?? {}, slots: describedSlots };
}

/** One line, in one write, so that the kernel puts it whole behind the one before it. */
function note(word, { slot = '-', token = '-', run = process.env.LAB_RUN ?? 'peer', ...more }) {
  const fields = Object.entries({ slot, pid: process.pid, who: 'peer', token, run, ...more });
  fs.appendFileSync(process.env.LAB_HISTORY, `${word} ${fields.map(([name, value]) => `${name}=${value}`).join(' ')}\n`);
}

const say = (...words) => process.stdout.write(`${words.join(' ')}\n`);

async function call([op, args, ...more]) {
  const target = op.startsWith('store.') ? await openStore() : await openPool();
  const result = await target[op.replace(/^store\./, '')](JSON.parse(args));
  say(JSON.stringify(result) ?? 'null');
  if (more.length > 0) await call(more);
}

function granted(answer) {
  if (answer?.ok !== true) throw new Error(`no grant: ${JSON.stringify(answer)}`);
  return { slotId: answer.slot_id, owner: answer.owner, token: answer.token };
}

async function client([owner]) {
  const pool = await openPool();
  const lease = granted(await pool.acquireBlocking({ owner, pollMs: POLL_MS }));
  note('start', { slot: lease.slotId, token: lease.token });
  say('granted', lease.slotId, lease.token);
  await new Promise((resolve) => process.stdin.on('end', resolve).resume());
  note('end', { slot: lease.slotId, token: lease.token });
  const released = await pool.release(lease);
  say(released.released ? 'released' : `lost: ${JSON.stringify(released)}`, lease.slotId);
}

/** `name` of the runs, `work_ms` at most with a slot, `poll_ms` between looks, and the step at which to be killed, if any. */
async function race([options]) {
  const { name, work_ms: workMs, poll_ms: pollMs, die_at: dieAt } = JSON.parse(options);
  let run = `${name}-0`;
  if (dieAt) plan(dieAt, () => note('crash', { run, inside: inside().join(',') }));
  for (let n = 0; !fs.existsSync('stop'); n += 1) {
    run = `${name}-${n}`;
    const pool = await openPool({ ...process.env, LAB_RUN: run });
    note('ask', { run });
    const lease = granted(await pool.acquireBlocking({ owner: run, pollMs }));
    const about = { slot: lease.slotId, token: lease.token, run };
    note('start', about);
    const end = Date.now() + Math.random() * workMs;
    while (Date.now() < end) {
      note('tick', about);
      await sleep(2);
    }
    const beaten = await pool.heartbeat(lease);
    if (!beaten.ok) throw new Error(`a heartbeat found ${JSON.stringify(beaten)}`);
    note('end', about);
    const released = await pool.release(lease);
    if (!released.released) throw new Error(`a release found ${JSON.stringify(released)}`);
  }
}

await { call, client, race }[command](rest);
