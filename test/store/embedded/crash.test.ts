/**
 * Processes that are killed in the middle of their work, and a file that is looked at by lmdb and by ourselves after.
 *
 * `CRASH_ROUNDS=25 npx vitest run test/store/embedded/crash.test.ts` kills 25 at as many points.
 */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/port.js';
import { type Bundle, bundleScript } from './bundle.js';
import { startScript } from './child.js';
import { inFolder, openIn } from './in-folder.js';

const DAY_MS = 24 * 3_600_000;
/** A process is killed in each. */
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3);

let loop: Bundle;
beforeAll(async () => {
  loop = await bundleScript('work-loop.mjs');
});
afterAll(() => loop.remove());

interface Life {
  readonly name: string;
  /** What it said of each number, in order. */
  readonly said: ReadonlyMap<number, readonly string[]>;
}

/** Lets a process work until it has said so many lines, and kills it. */
async function live(folder: string, name: string, most: number): Promise<Life> {
  const child = await startScript(loop.path, folder, name, '0');
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
    if (text.split('\n').length > most) child.kill('SIGKILL');
  });
  // `close`, not `exit`: what it said before it died is still to be read.
  const [code, signal] = await once(child, 'close');
  expect({ name, code, signal }).toEqual({ name, code: null, signal: 'SIGKILL' });
  const said = new Map<number, string[]>();
  for (const line of text.slice(0, text.lastIndexOf('\n')).split('\n')) {
    const [number, what] = [Number(line.split(' ')[0]), line.slice(line.indexOf(' ') + 1)];
    said.set(number, [...(said.get(number) ?? []), what]);
  }
  return { name, said };
}

/** Every commit that was acknowledged is there, whole: its record or a later one of that name, and its audit line. */
async function checkRegistry({ registry }: Store, { name, said }: Life): Promise<void> {
  const { version, records } = await registry.load();
  const lines = await registry.readAudit(1_000_000);
  const audit = new Map(lines.map(({ id, text }) => [text, Number(id)]));
  for (const [number, all] of said) {
    const told = all.find((what) => what.startsWith('version '));
    if (told === undefined) continue;
    const at = Number(told.split(' ')[1]);
    expect(version).toBeGreaterThanOrEqual(at);
    // One line per commit, and nothing else. Other content shows which process overwrote it.
    const around = lines.filter(({ id }) => Math.abs(Number(id) - at) <= 3);
    expect(
      audit.get(`${name} ${number}`),
      `${name} ${number}; version ${version}; ${around.map(({ id, text }) => `${id}: ${text}`).join(', ')}`,
    ).toBe(at);
    const record = records.get(`${name} ${number % 50}`);
    expect(record?.revision).toBeGreaterThanOrEqual(at);
    if (record?.revision === at) expect(record.value).toBe(`${number}`.padEnd(number % 300));
  }
}

/** Each document is as was said of it last, or as the next step makes it. */
async function checkNotes({ documents }: Store, { name, said }: Life): Promise<void> {
  const steps = [null, 'made', 'changed', null];
  for (const [number, all] of said) {
    const done = ['made', 'changed', 'deleted'].filter((what) => all.includes(what)).length;
    const last = number % 2 === 0 ? 3 : 2;
    const found = await documents.get(`${name} ${number}`);
    expect(steps.slice(done, Math.min(done + 1, last) + 1)).toContain(found);
  }
}

/** Each month that was acknowledged is there, with all parts that its index names, whole. */
async function checkDays({ days }: Store, { name, said }: Life): Promise<void> {
  const kept: number[] = [];
  for (const rest of [0, 1, 2]) {
    const place = { series: `${name} ${rest}`, month: '2026-03' };
    const whole = await days.whole(place);
    const numbers = JSON.parse(whole?.index?.toString() ?? '[]') as number[];
    const parts = await days.parts(
      place,
      numbers.map((number) => `n${number}`),
    );
    for (const number of numbers)
      expect(parts.get(`n${number}`)?.equals(Buffer.alloc((number % 4) * 40_000, `${number} `))).toBe(true);
    expect(whole?.parts.size).toBe(whole === null ? undefined : numbers.length);
    kept.push(...numbers);
  }
  for (const [number, all] of said) if (all.includes('kept')) expect(kept).toContain(number);
}

/** Each batch is there as a whole or not at all, and whoever repeats those in doubt counts every one once. */
async function checkCounters({ counters }: Store, lives: readonly Life[]): Promise<void> {
  const groups = Array.from({ length: 7 }, (_, at) => `group ${at}`);
  const calls = async () => {
    const [all, ...others] = await counters.read(['all', ...groups]);
    const sum = others.reduce((total, group) => total + (group.get('calls') ?? 0), 0);
    expect(all?.get('calls') ?? 0).toBe(sum);
    return sum;
  };
  const entries = lives.flatMap(({ said }) => [...said.values()]);
  expect(await calls()).toBeGreaterThanOrEqual(entries.filter((all) => all.includes('counted')).length);
  expect(await calls()).toBeLessThanOrEqual(entries.length);
  const repeats = lives.flatMap(({ name, said }) =>
    [...said.keys()].map(async (number) => {
      const adds = ['all', `group ${number % 7}`].map((group) => ({ group, field: 'calls', by: 1 }));
      await counters.add(`${name} ${number}`, adds, [], DAY_MS);
    }),
  );
  await Promise.all(repeats);
  expect(await calls()).toBe(entries.length);
}

const auditMax = 1_000_000;

describe('kill -9 in the middle of work', () => {
  it(
    'loses nothing that was acknowledged, at many points',
    () =>
      inFolder(async (folder) => {
        const lives: Life[] = [];
        // Steps that share no factor with what one piece of work says, so that points are met from all of it.
        const points = Array.from({ length: ROUNDS }, (_, at) => 1 + ((at * 37) % 101));
        for (const [at, lines] of [...points, 200].entries()) {
          lives.push(await live(folder, `life ${at}`, lines));
          const store = await openIn(folder, { auditMax });
          for (const life of lives) await checkRegistry(store, life);
          await checkNotes(store, lives.at(-1) as Life);
          await checkDays(store, lives.at(-1) as Life);
          if (at === points.length) await checkCounters(store, lives);
          await store.close();
        }
      }),
    60_000 + ROUNDS * 10_000,
  );
});
