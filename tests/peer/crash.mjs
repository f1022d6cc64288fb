// Ends a process by SIGKILL at a planned step: before or after one of its uses of the file system, or while a command of its runs.
// So it dies while it waits, holds or provisions, and also between any two steps inside a critical section, where a kill from
// outside would hit once in a thousand times; and it can say before where it was, which nobody could see from outside.

import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

const STEPS = ['mkdir', 'rename', 'writeFile', 'appendFile', 'readFile', 'unlink', 'rm', 'rmdir', 'readdir', 'stat', 'open'];
const LONGEST_COMMAND_MS = 4;

const entered = new Set();

/** The kinds in whose critical sections this process is. */
export const inside = () => [...entered];

/** Keeps account of the guards, by the names that the format gives them. */
function follow(step, [from, to]) {
  const name = (file) => path.basename(String(file));
  const kind = /^\.guard-(.*?)(\.(?:release|reaped)-[0-9a-f-]{36})?$/.exec(name(from));
  if (step === 'mkdir' && kind && !kind[2]) entered.add(kind[1]);
  if (step === 'rename' && kind && !kind[2] && /\.release-/.test(name(to))) entered.delete(kind[1]);
}

/** Dies at the step `dieAt`, the first of this process being 1; an even one is not done any more, an odd one is done. */
export function plan(dieAt, tell) {
  let left = dieAt;
  const isTurn = () => {
    left -= 1;
    return left === 0;
  };
  const die = () => {
    left = Number.POSITIVE_INFINITY;
    tell();
    // The whole group: what it started must not work on when others believe the slot to be free.
    process.kill(-process.pid, 'SIGKILL');
  };
  const isBefore = dieAt % 2 === 0;
  for (const step of STEPS) {
    const sync = fs[`${step}Sync`];
    fs[`${step}Sync`] = (...args) => {
      const last = isTurn();
      if (last && isBefore) die();
      try {
        const result = sync(...args);
        follow(step, args);
        return result;
      } finally {
        if (last) die();
      }
    };
    const promised = fs.promises[step];
    fs.promises[step] = async (...args) => {
      const last = isTurn();
      if (last && isBefore) die();
      try {
        const result = await promised(...args);
        follow(step, args);
        return result;
      } finally {
        if (last) die();
      }
    };
  }
  const run = childProcess.spawnSync;
  childProcess.spawnSync = (...args) => {
    if (!isTurn()) return run(...args);
    childProcess.spawn(...args);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * LONGEST_COMMAND_MS);
    return die();
  };
  syncBuiltinESMExports();
}
