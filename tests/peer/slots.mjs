// A pool file, and what its slots say about themselves.

import fs from 'node:fs';
import path from 'node:path';
import { KIND_PATTERN } from './durable-lease.mjs';

export class PoolConfigError extends Error {
  constructor(message) {
    super(message);
    this.name = 'PoolConfigError';
  }
}

export const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

/** A pool file's path, or what such a file holds, with the defaults. */
export function load(pool) {
  const file = typeof pool === 'string' ? JSON.parse(fs.readFileSync(pool, 'utf8')) : pool;
  const base = typeof pool === 'string' ? path.dirname(path.resolve(pool)) : process.cwd();
  if (!isObject(file) || !Array.isArray(file.slots) || file.slots.length === 0) throw new PoolConfigError('a pool needs slots');
  const name = file.name ?? 'pool';
  const prefix = file.kindPrefix ?? 'slot-';
  const slots = file.slots.map(({ id, kind, ...attrs }) => ({ id, kind: kind ?? `${prefix}${id}`, attrs }));
  const lockKind = file.queueLockKind ?? `${name}-queue`;
  const kinds = [name, lockKind, ...slots.map((slot) => slot.kind)];
  const bad = kinds.find((kind) => typeof kind !== 'string' || !KIND_PATTERN.test(kind));
  if (bad !== undefined) throw new PoolConfigError(`${JSON.stringify(bad)} is no kind`);
  const defaults = { ttlMinutes: 30, waiterStaleMs: 90000, movingAvgSeedMs: 480000, nudgeEvent: 'lease-granted' };
  return { ...defaults, ...file, name, lockKind, slots, cwd: path.resolve(base, file.cwd ?? '.') };
}

function lookUp(slot, dotted) {
  const own = (value, key) => (value !== null && typeof value === 'object' && Object.hasOwn(value, key) ? value[key] : undefined);
  return dotted.split('.').reduce(own, { ...slot.attrs, id: slot.id, kind: slot.kind });
}

const asText = (value) => (typeof value === 'object' ? JSON.stringify(value) : String(value));

/** A template: one placeholder alone is the value itself. */
export function fill(slot, template) {
  if (typeof template !== 'string') return template;
  const whole = /^\{([A-Za-z0-9_.]+)\}$/.exec(template);
  if (whole) return lookUp(slot, whole[1]);
  return template.replace(/\{([A-Za-z0-9_.]+)\}/g, (_, dotted) => asText(lookUp(slot, dotted)));
}

/** What commands see of a slot. */
export function environmentOf(slot) {
  const variables = { POOL_SLOT_ID: String(slot.id), POOL_SLOT_KIND: slot.kind };
  const add = (key, value) => {
    if (isObject(value)) {
      Object.entries(value).forEach(([inner, one]) => add(`${key}_${inner}`, one));
    } else {
      const name = key.toUpperCase().replace(/[^A-Z0-9]+/g, '_').replace(/^_+|_+$/g, '');
      variables[`POOL_SLOT_${name}`] = value === null ? '' : asText(value);
    }
  };
  Object.entries(slot.attrs).forEach(([key, value]) => add(key, value));
  return variables;
}

/** What a grant's holder is to see of it. */
export function grantEnvironment(slot, templates) {
  if (!templates) return environmentOf(slot);
  const filled = Object.entries(templates).map(([name, template]) => [name, asText(fill(slot, template))]);
  return Object.fromEntries(filled);
}
