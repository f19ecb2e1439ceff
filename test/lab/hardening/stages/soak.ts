/** Full load with a few faults for as long as there is time, then idle connections, and answers that blow up. */
import { setTimeout as pause } from 'node:timers/promises';
import { useRedisProgram } from '../../../support/redis.js';
import { noChanges } from '../chaos/changes.js';
import { heldBy, leftBehind } from '../chaos/heap.js';
import { startLoad } from '../chaos/load.js';
import { startOperator } from '../chaos/operator.js';
import { createOracle } from '../chaos/oracle.js';
import { openPlainScene, type Scene } from '../chaos/scene.js';
import { playSoakCase, SOAK_CASES } from '../soak/cases.js';
import { growthOf, startSampling } from '../soak/samples.js';
import { type CaseResult, notRun, type Stage, type StageInput } from '../stage.js';

const SHARE = 0.01;
/** What the cases behind the load take, about. */
const AFTER_MS = 60_000;
/**
 * Memory grows while a process warms up, and garbage is collected once in a minute or two: in less time it is told, and
 * not judged.
 */
const [SAMPLES, GROWTH_MAX, JUDGED_MS] = [240, 1.3, 8 * 60_000];
const LOAD = {
  name: 'Full load with 1 % faults',
  what: 'Ten callers without a pause, operators, and of the platform’s and Redis’ answers one piece in a hundred, or thousand, broken off.',
};
/** Of both faults: a piece that is lost, and what follows from it. */
const CODES = [
  ...[
    '502 upstream_error',
    '502 upstream_invalid_response',
    '503 upstream_circuit_open',
    '504 upstream_timeout',
  ],
  ...['503 overloaded', '503 not_ready', '503 write_guard_unavailable'],
];

export const stage: Stage = {
  name: 'soak',
  title: 'Full load with 1 % faults, idle connections, and answers that blow up',
  weight: 3,
  async run(input) {
    useRedisProgram(process.env.REDIS_SERVER || 'redis-server');
    const scene = await openPlainScene(input.seed);
    try {
      const results = [await underLoad(scene, input)];
      for (const one of SOAK_CASES) {
        input.say(one.name);
        results.push(
          input.timeLeft() > 0 ? await playSoakCase(one, scene.fleet) : notRun(one.name, one.what),
        );
      }
      return results;
    } finally {
      await scene.end();
    }
  },
};

async function underLoad({ fleet }: Scene, { seed, timeLeft }: StageInput): Promise<CaseResult> {
  const today = await fleet.sim.today();
  const oracle = createOracle(fleet, () => operator.rules);
  oracle.begin(CODES);
  const operator = startOperator({
    fleet,
    seed,
    today,
    changes: noChanges(),
    oracle: () => oracle,
    mayRefuse: () => true,
  });
  const forMs = Math.max(timeLeft() / 4, timeLeft() - AFTER_MS);
  const sampling = startSampling(fleet.gateways, Math.max(250, forMs / SAMPLES));
  await fleet.platformProxy.set({ kind: 'some', share: SHARE });
  for (const proxy of fleet.redisProxies) await proxy.set({ kind: 'some', share: SHARE / 10 });
  const load = startLoad(fleet, oracle, seed, today, 1);
  await pause(forMs / 2);
  const heldHalfWay = await heldBy(fleet.gateways);
  await pause(forMs / 2);
  await operator.stop();
  await load.stop();
  const left = leftBehind(heldHalfWay, await heldBy(fleet.gateways), 'half-way');
  await sampling.stop();
  for (const proxy of [fleet.platformProxy, ...fleet.redisProxies]) await proxy.set({ kind: 'none' });
  const { samples } = sampling;
  const growths = fleet.gateways.flatMap((_, at) =>
    (['heap', 'outside'] as const).map((name) => growthOf(samples.map((values) => values[at]?.[name] ?? 0))),
  );
  const growth = Math.max(...growths);
  const last = samples.at(-1) ?? [];
  const { violations, answers, rows, times, refusals } = oracle.report;
  const faults = [...violations, ...(left.fault === null ? [] : [left.fault])];
  if (growth > GROWTH_MAX && forMs > JUDGED_MS)
    faults.push(`memory grew by ${Math.round((growth - 1) * 100)} % between the second quarter and the last`);
  const note = [
    `${answers} answers in ${Math.round(forMs / 1000)} s, ${rows} rows held to the truth, p99 ${Math.round(times[Math.floor(times.length * 0.99)] ?? 0)} ms`,
    `${fleet.platformProxy.broken + fleet.redisProxies.reduce((sum, { broken }) => sum + broken, 0)} pieces broken off`,
    `memory at the end ${last.map(({ memory }) => Math.round(memory / 2 ** 20)).join(', ')} MiB (its least grew ${growth.toFixed(2)} times from the second quarter to the last at most)`,
    left.note,
    `open files ${last.map(({ handles }) => handles).join(', ')}`,
    `event-loop delay p99 at most ${Math.round(Math.max(0, ...samples.flatMap((values) => values.map(({ delay }) => delay))) * 1000)} ms`,
    ...[...refusals].map(([code, count]) => `${count}× ${code}`),
    ...faults,
  ];
  return {
    ...LOAD,
    times: answers,
    result: faults.length === 0 ? 'held' : 'failed',
    worst: `${Math.round(times.at(-1) ?? 0)} ms`,
    note: note.join('; '),
  };
}
