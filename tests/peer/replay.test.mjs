// Replays the recorded answers on the peer: is it an implementation of the format? `node --test replay.test.mjs`.
//
// Only the cases tagged `normal` bind, and the peer passes all of them; a count that drops is a failure as well. What the
// other tags record (what one program does by accident, or should not do) is not played. Each test prints its count.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createLeaseStore } from './durable-lease.mjs';
import { createPool } from './pool.mjs';

const VECTORS = fileURLToPath(new URL('../vectors/', import.meta.url));

/** How many binding cases there are, by file. */
const FILES = { 'store-scenarios': 164, 'pool-scenarios': 135 };

/** What the recorded symbols stand for: `$STORE`, `$WORK`, and `$T1`, `$R1`, `$H1` from where they first appear. */
class Symbols {
  constructor(bound) {
    this.bound = new Map(Object.entries(bound));
  }

  fill(text) {
    return text.replace(/\$(STORE|WORK|[TRH]\d+)/g, (symbol) => this.bound.get(symbol) ?? symbol);
  }

  check(recorded, actual, what) {
    const fresh = [];
    const parts = this.fill(recorded).split(/(\$[TRH]\d+)/).map((part, n) => {
      if (n % 2 === 0) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      if (fresh.includes(part)) return `\\k<${part.slice(1)}>`;
      fresh.push(part);
      return `(?<${part.slice(1)}>[0-9a-f-]{36})`;
    });
    const match = new RegExp(`^${parts.join('')}$`, 's').exec(actual);
    assert.ok(match, `${what}\n  recorded ${this.fill(recorded)}\n  but is   ${actual}`);
    fresh.forEach((symbol) => this.bound.set(symbol, match.groups[symbol.slice(1)]));
  }
}

class Stage {
  constructor(scenario) {
    this.root = fs.mkdtempSync(path.join(os.tmpdir(), 'lease-replay-'));
    [this.storeDir, this.work] = ['store', 'work'].map((name) => path.join(this.root, name));
    fs.mkdirSync(this.storeDir);
    fs.mkdirSync(this.work);
    this.symbols = new Symbols({ $STORE: this.storeDir, $WORK: this.work });
    this.scenario = scenario;
    this.at = 0;
    this.calls = [];
    const options = scenario.store ?? scenario.options ?? {};
    const env = Object.fromEntries(Object.entries(options.env ?? {}).map(([key, value]) => [key, this.symbols.fill(value)]));
    this.options = { ...options, env, now: () => this.readClock(), store: this.storeDir };
    if (scenario.pool_file === undefined) return;
    this.store = createLeaseStore(this.options);
    this.openPool(scenario.pool_file);
  }

  /** The file steps of `inside_guard` are done at the first reading of the clock inside a call. */
  readClock() {
    const steps = this.insideGuard ?? [];
    this.insideGuard = undefined;
    steps.forEach((step) => this.doFileStep(step));
    return this.at;
  }

  openPool(text) {
    const file = path.join(this.work, 'pool.json');
    fs.writeFileSync(file, this.symbols.fill(text));
    const { ttlMinutes, waiterStaleMs, movingAvgSeedMs } = this.options;
    const env = { PATH: process.env.PATH, ...this.options.env };
    const behaviours = Object.entries(this.scenario.hooks ?? {});
    const hooks = Object.fromEntries(behaviours.map(([name, list]) => [name, this.hook(name, [...list])]));
    const limits = { ttlMinutes, waiterStaleMs, movingAvgSeedMs };
    this.pool = createPool({ pool: file, store: this.store, env, now: this.options.now, hooks, ...limits });
  }

  hook(name, behaviours) {
    return async (slot) => {
      this.calls.push(`${name} ${slot.id}`);
      const behaviour = behaviours.shift() ?? 'ok';
      await this.act(behaviour.do ?? [], behaviour.do_results ?? []);
      if (behaviour.fail !== undefined) throw new Error(behaviour.fail);
    };
  }

  /** What is recorded to happen inside a call. */
  async act(actions, results) {
    let n = 0;
    for (const action of actions) {
      if (action.advance_ms !== undefined) this.at += action.advance_ms;
      else if (!this.doFileStep(action)) {
        const answer = JSON.stringify(await this.call(action));
        if (n < results.length) this.symbols.check(results[n], answer, `inside: ${action.op}`);
        n += 1;
      }
    }
  }

  doFileStep(step) {
    const base = step.base === 'work' ? this.work : this.storeDir;
    const target = path.join(base, this.symbols.fill(step.file ?? step.dir ?? step.path ?? '.'));
    if (step.op === 'write') {
      fs.mkdirSync(path.dirname(target), { recursive: true });
      fs.writeFileSync(target, step.hex === undefined ? this.symbols.fill(step.text) : Buffer.from(step.hex, 'hex'));
    } else if (step.op === 'mkdir') fs.mkdirSync(target, { recursive: true });
    else if (step.op === 'remove') fs.rmSync(target, { recursive: true, force: true });
    else if (step.op === 'age') {
      const moment = new Date(step.mtime_ms ?? Date.now() - step.age_ms);
      fs.utimesSync(target, moment, moment);
    } else return false;
    return true;
  }

  async call({ op, args = {}, on_wait: onWait = [] }) {
    // A store that cannot be opened is recorded as a failure of its first call.
    this.store ??= createLeaseStore(this.options);
    const filled = Object.fromEntries(Object.entries(args).map(([key, value]) => [key, this.argument(value)]));
    if (filled.payloadJson !== undefined) filled.payload = JSON.parse(filled.payloadJson);
    if (op === 'acquireBlocking') {
      this.waits = [];
      filled.onWait = async (standing) => {
        this.waits.push(JSON.stringify(standing));
        await this.act(onWait[this.waits.length - 1] ?? [], []);
      };
    }
    const target = op.startsWith('store.') || !this.pool ? this.store : this.pool;
    return target[op.replace(/^store\./, '')](filled);
  }

  argument(value) {
    if (typeof value !== 'string') return value;
    const numbers = { $NaN: Number.NaN, $Infinity: Number.POSITIVE_INFINITY, '$-Infinity': Number.NEGATIVE_INFINITY };
    return value in numbers ? numbers[value] : this.symbols.fill(value);
  }

  async step(step, what) {
    if (this.doFileStep(step)) return;
    if (step.op === 'reopen') {
      this.openPool(step.pool_file ?? this.scenario.pool_file);
      return;
    }
    this.at = step.at_ms;
    this.insideGuard = step.inside_guard;
    const { answer, error } = await this.call(step).then((answer) => ({ answer }), (error) => ({ error }));
    if (step.error) {
      assert.ok(error, `${what}: recorded ${JSON.stringify(step.error)}, but is ${JSON.stringify(answer)}`);
      this.symbols.check(step.error.message, error.message, what);
      assert.equal(error.name, step.error.class, what);
    } else {
      assert.ok(!error, `${what}: ${error?.stack}`);
      this.symbols.check(step.result, JSON.stringify(answer) ?? 'undefined', what);
    }
    if (step.waits) assert.deepEqual(this.waits, step.waits, what);
    assert.deepEqual(this.calls.splice(0), step.calls ?? [], what);
  }

  async play() {
    for (const [n, step] of this.scenario.steps.entries()) await this.step(step, `step ${n} ${step.op}`);
    this.compareFiles(this.scenario.files, this.storeDir);
    if (this.scenario.work_files) this.compareFiles(this.scenario.work_files, this.work);
  }

  compareFiles(recorded, folder) {
    const named = Object.entries(recorded);
    for (const [name, text] of named) {
      if (!this.isUnbound(name)) this.compareFile(folder, this.symbols.fill(name), text);
    }
    const wanted = new Map(named.map(([name, text]) => [this.symbols.fill(name), text]));
    const found = filesIn(folder).filter((name) => name !== 'pool.json');
    for (const name of new Set([...wanted.keys(), ...found])) this.compareFile(folder, name, wanted.get(name));
  }

  /** A name with an id that no result and no other file has shown yet. */
  isUnbound(name) {
    return /\$[TRH]\d/.test(this.symbols.fill(name));
  }

  /** A queue file that is absent equals one with no entries. */
  compareFile(folder, name, recorded) {
    const file = path.join(folder, name);
    const empty = name.endsWith('/queue.json') ? '{\n  "entries": []\n}\n' : undefined;
    const actual = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : empty;
    const text = recorded ?? empty;
    assert.ok(text !== undefined && actual !== undefined, `${name}: recorded ${text}, but is ${actual}`);
    this.symbols.check(text, actual, name);
  }

  close() {
    fs.rmSync(this.root, { recursive: true, force: true });
  }
}

function filesIn(folder) {
  const entries = fs.readdirSync(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => path.relative(folder, path.join(entry.parentPath ?? entry.path, entry.name)));
}

async function difference(scenario) {
  const stage = new Stage(scenario);
  try {
    await stage.play();
    return null;
  } catch (error) {
    return error;
  } finally {
    stage.close();
  }
}

for (const [name, nBinding] of Object.entries(FILES)) {
  test(name, async () => {
    const scenarios = JSON.parse(fs.readFileSync(path.join(VECTORS, `${name}.json`), 'utf8'));
    const binding = scenarios.filter((scenario) => scenario.tags.includes('normal'));
    const faults = [];
    for (const scenario of binding) {
      const error = await difference(scenario);
      if (error !== null) faults.push(`${scenario.name}: ${error.message}`);
    }
    assert.ok(faults.length === 0, `${faults.length} cases differ\n\n${faults.join('\n\n')}`);
    assert.equal(binding.length, nBinding, 'the number of binding cases');
    console.log(`${name}: ${binding.length} of ${nBinding} binding cases agree`);
  });
}
