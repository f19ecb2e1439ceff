/** One trouble under load: on and off for as long as there is time, then everything has to come to rest. */
import { setTimeout as pause } from 'node:timers/promises';
import { chanceOf } from '../../../simulation/chance-of-seed.js';
import { ask } from '../../../support/ask.js';
import type { Gateway } from '../../../support/processes.js';
import type { CaseResult } from '../stage.js';
import { noChanges } from './changes.js';
import type { Fleet } from './fleet.js';
import { heldBy, leftBehind } from './heap.js';
import { questionOf, startLoad } from './load.js';
import { type Operator, startOperator } from './operator.js';
import { createOracle, FOLLOWED_MS } from './oracle.js';
import type { Scene, Trouble } from './scene.js';

const FAULT_MS = 4_000;
/** Until each gateway answers afresh and has its store again; then until nothing is held any more. */
const [BACK_MS, REST_MS] = [20_000, 20_000];
const LOOK_MS = 50;
const LONGEST_ROUND_MS = FAULT_MS + BACK_MS;

export interface Player {
  play(trouble: Trouble, untilMs: number): Promise<CaseResult>;
}

/** @param seed decides what callers and operators do @param today the platform's */
export function createPlayer({ fleet, locks }: Scene, seed: number, today: string): Player {
  const changes = noChanges();
  let at = 0;
  const read = new Map<Gateway, number>();
  let operator: Operator;
  let mayRefuse = false;
  const oracle = createOracle(fleet, () => operator.rules);

  async function play(trouble: Trouble, untilMs: number): Promise<CaseResult> {
    at += 1;
    oracle.begin(trouble.codes);
    mayRefuse = trouble.isOfStore;
    operator = startOperator({
      changes,
      fleet,
      oracle: () => oracle,
      seed: seed + at,
      today,
      mayRefuse: () => mayRefuse,
    });
    const heldBefore = await heldBy(fleet.gateways);
    const load = startLoad(fleet, oracle, seed + at, today);
    let [times, worstBackMs] = [0, 0];
    do {
      oracle.storeIs(trouble.isOfStore);
      await trouble.on();
      await pause(FAULT_MS);
      await trouble.off();
      const backMs = await back(fleet, today);
      oracle.storeIs(false);
      if (backMs === null) oracle.fault('not every gateway was back in time');
      worstBackMs = Math.max(worstBackMs, backMs ?? BACK_MS);
      times += 1;
    } while (Date.now() + LONGEST_ROUND_MS < untilMs);
    await operator.stop();
    await load.stop();
    const { longestAcceptedMs, done, refused } = operator;
    for (const text of [
      ...(await atRest(fleet, locks)),
      ...(await lostAtLast(operator)),
      ...secretsInLogs(fleet, read),
    ])
      oracle.fault(text);
    const left = leftBehind(heldBefore, await heldBy(fleet.gateways));
    if (left.fault !== null) oracle.fault(left.fault);
    const { violations, times: tookMs, refusals, answers, rows } = oracle.report;
    const p99 = tookMs[Math.floor(tookMs.length * 0.99)] ?? 0;
    const note = [
      `${answers} answers, ${rows} rows held to the truth, p99 ${Math.round(p99)} ms`,
      `${done} changes acknowledged, ${refused} refused`,
      `revoked keys let in for at most ${longestAcceptedMs} ms`,
      `back after ${Math.round(worstBackMs)} ms`,
      left.note,
      ...[...refusals].map(([code, count]) => `${count}× ${code}`),
      ...violations,
    ];
    return {
      name: trouble.name,
      what: trouble.what,
      times,
      result: violations.length === 0 ? 'held' : 'failed',
      worst: `${Math.round(tookMs.at(-1) ?? 0)} ms`,
      note: note.join('; '),
    };
  }
  return { play };
}

/** Until each gateway brings a fresh report and says that its store is well. @returns ms, null when it took too long */
async function back(fleet: Fleet, today: string): Promise<number | null> {
  const startedMs = performance.now();
  const key = fleet.keys.get('all')?.key ?? '';
  const { path } = questionOf(chanceOf(2, 'back'), today);
  for (const { data } of fleet.gateways)
    for (;;) {
      const fresh = await ask(data + path, { key, headers: { 'cache-control': 'no-cache' } });
      const ready = await ask(`${data}/readyz`);
      if (fresh.status === 200 && ready.json<{ store?: string }>().store === 'ok') break;
      if (performance.now() - startedMs > BACK_MS) return null;
      await pause(LOOK_MS);
    }
  return performance.now() - startedMs;
}

/** What is lost still when changes have had time to be followed. */
async function lostAtLast({ lost }: Operator): Promise<string[]> {
  const startedMs = performance.now();
  for (;;) {
    const found = await lost();
    if (found.length === 0 || performance.now() - startedMs > FOLLOWED_MS) return found;
    await pause(LOOK_MS);
  }
}

/** No call under way or queued, and no lock. @returns what is left */
async function atRest({ gateways }: Fleet, locks: Scene['locks']): Promise<string[]> {
  const startedMs = performance.now();
  for (;;) {
    const left: string[] = [];
    for (const gateway of gateways) {
      const { text } = await ask(`${gateway.admin}/metrics`);
      for (const name of ['running', 'queued']) {
        const value = new RegExp(`^dsp_gateway_platform_calls_${name} (\\S+)$`, 'm').exec(text)?.[1];
        if (value !== '0') left.push(`${gateway.data} has ${value} calls ${name}`);
      }
    }
    left.push(...(await locks()).map((name) => `the lock ${name} is held`));
    if (left.length === 0 || performance.now() - startedMs > REST_MS) return left;
    await pause(LOOK_MS);
  }
}

/** Of what was logged since the last look. */
function secretsInLogs({ gateways, secrets }: Fleet, read: Map<Gateway, number>): string[] {
  return gateways.flatMap((gateway) => {
    const { stdout, stderr } = gateway;
    const fresh = stdout.slice(read.get(gateway) ?? 0) + stderr;
    read.set(gateway, stdout.length);
    return [...secrets].filter((one) => fresh.includes(one)).map(() => `${gateway.data} has logged a secret`);
  });
}
