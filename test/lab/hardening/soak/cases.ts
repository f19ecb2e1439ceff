/** What a fleet is put through after its load: connections that are held, and bombs from the platform. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, ask, REPORT } from '../../../support/ask.js';
import type { Gateway } from '../../../support/processes.js';
import type { Fleet } from '../chaos/fleet.js';
import type { CaseResult } from '../stage.js';
import { filesAllowed, holdIdle } from './connections.js';
import { lookAt } from './samples.js';

const [IDLE, SPARE, BOMBS] = [10_000, 2_000, 8];
/** So often one is asked for alone where all of them were too slow. */
const ALONE = 5;
const CIRCUIT_MS = 1_200;
/** Of a gateway that lives; what a busy machine makes of it. */
const SOON_MS = 5_000;
const MEBIBYTE = 2 ** 20;
/** More than an answer may have (64 MiB) for each call under way. */
const BOMB_MEMORY_MAX = 768 * MEBIBYTE;

/** What of a fleet is asked. */
type Asked = Pick<Fleet, 'gateways' | 'keys' | 'sim'>;

interface Outcome {
  readonly times: number;
  readonly faults: readonly string[];
  readonly worstMs: number;
  readonly note: string;
}

export interface SoakCase {
  readonly name: string;
  readonly what: string;
  run(fleet: Asked): Promise<Outcome>;
}

export const SOAK_CASES: readonly SoakCase[] = [
  {
    name: 'Many idle connections',
    what: `One gateway is given ${IDLE} connections that ask once and stay, or as many as the limit of files allows; others go on asking.`,
    run: idle,
  },
  {
    name: 'Bombs from the platform',
    what: 'Answers that are small and unpack to more than is allowed (gzip), several at once: 502, and memory is bounded.',
    run: platformBombs,
  },
];

const first = ({ gateways }: Asked): Gateway => gateways[0] as Gateway;
const keyOf = ({ keys }: Asked): string => keys.get('all')?.key ?? '';
const ms = (value: number): string => `${Math.round(value)} ms`;
const mib = (bytes: number): string => `${Math.round(bytes / MEBIBYTE)} MiB`;

/** A plain report, some times. @returns the longest time; what was no answer is a fault */
async function wellAsked(fleet: Asked, times: number): Promise<{ worstMs: number; faults: string[] }> {
  const faults: string[] = [];
  let worstMs = 0;
  for (let at = 0; at < times; at += 1) {
    const startedMs = performance.now();
    const url = `${first(fleet).data}${REPORT}?advertiserId=${1 + (at % 6)}&_period=last_7_days&byDate=1`;
    const { status } = await ask(url, { key: keyOf(fleet) });
    const tookMs = performance.now() - startedMs;
    worstMs = Math.max(worstMs, tookMs);
    if (status !== 200) faults.push(`a plain report was answered ${status}`);
    if (tookMs > SOON_MS) faults.push(`a plain report took ${ms(tookMs)}`);
  }
  return { worstMs, faults };
}

async function idle(fleet: Asked): Promise<Outcome> {
  const gateway = first(fleet);
  // The gateway is started with the same limit.
  const count = Math.min(IDLE, filesAllowed() - SPARE);
  const before = await lookAt(gateway);
  const held = await holdIdle(gateway.data, count);
  const { worstMs, faults } = await wellAsked(fleet, 50);
  const during = await lookAt(gateway);
  const open = held.open();
  held.close();
  if (open < count) faults.push(`${count - open} of ${count} connections were closed`);
  const after = await settled(gateway, before.handles);
  if (after > before.handles + SPARE / 100) faults.push(`${after} files are open, ${before.handles} were`);
  const each = Math.round((during.memory - before.memory) / count / 1024);
  return { times: count, faults, worstMs, note: `${open} open; ${each} KiB of memory each` };
}

/** Open files when they are few again, or time is up. */
async function settled(gateway: Gateway, handles: number): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    const now = await lookAt(gateway);
    if (now.handles <= handles + SPARE / 100 || performance.now() - startedMs > SOON_MS) return now.handles;
  }
}

async function platformBombs(fleet: Asked): Promise<Outcome> {
  const gateway = first(fleet);
  const before = await lookAt(gateway);
  await fleet.sim.set({ contentEncoding: 'bomb' });
  const startedMs = performance.now();
  const call = { key: keyOf(fleet), headers: { 'cache-control': 'no-cache' } };
  const bomb = async (at: number) =>
    codeOf(
      await ask(
        `${gateway.data}${REPORT}?advertiserId=${1 + at}&dateFrom=2026-01-01&dateTo=2026-01-02`,
        call,
      ),
    );
  const codes = await Promise.all(Array.from({ length: BOMBS }, (_, at) => bomb(at)));
  const worstMs = performance.now() - startedMs;
  const during = await lookAt(gateway);
  // On a busy machine the time of a call may be up before the bomb is unpacked: then one alone, which is soon done.
  for (let tries = 0; tries < ALONE && !codes.includes('502 upstream_too_large'); tries += 1) {
    // Calls that failed in a row have opened the circuit, for a second.
    await pause(CIRCUIT_MS);
    codes.push(await bomb(0));
  }
  await fleet.sim.set({ contentEncoding: 'none' });
  const faults = codes
    .filter((code) => code !== '502 upstream_too_large' && code !== '504 upstream_timeout')
    .map((code) => `a bomb was answered ${code}`);
  if (!codes.includes('502 upstream_too_large')) faults.push('no bomb was found too large');
  const grownBy = during.memory - before.memory;
  if (grownBy > BOMB_MEMORY_MAX) faults.push(`memory grew by ${mib(grownBy)}`);
  faults.push(...(await wellAsked(fleet, 6)).faults);
  return { times: BOMBS, faults, worstMs, note: `memory grew by ${mib(grownBy)}` };
}

const codeOf = ({ status, text }: Answer): string =>
  `${status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 100)}`;

/** @returns the line of the table */
export async function playSoakCase({ name, what, run }: SoakCase, fleet: Asked): Promise<CaseResult> {
  const { times, faults, worstMs, note } = await run(fleet);
  const result = faults.length === 0 ? 'held' : 'failed';
  return { name, what, times, result, worst: ms(worstMs), note: [note, ...new Set(faults)].join('; ') };
}
