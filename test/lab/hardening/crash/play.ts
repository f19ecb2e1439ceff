/** One kind of world, killed again and again for as long as there is time. */
import { setTimeout as pause } from 'node:timers/promises';
import type { CaseResult } from '../stage.js';
import { faultsAfter } from './check.js';
import { newDiary, startWorks } from './works.js';
import type { World } from './world.js';

/** How long work goes on before a kill, milliseconds. */
const LONGEST_MS = 400;
const TOLD_FAULTS = 5;

export interface Crashes {
  /** Asked before each kill; one is made in any case. */
  readonly goOn: () => boolean;
  /** From 0 to 1, by seed. */
  readonly chance: () => number;
  readonly say: (line: string) => void;
}

export async function playCrashes(world: World, { goOn, chance, say }: Crashes): Promise<CaseResult> {
  const diary = newDiary();
  const faults: string[] = [];
  let [kills, worstMs] = [0, 0];
  do {
    const stop = startWorks(world, diary, { chance, imports: true });
    await pause(chance() * LONGEST_MS);
    const struckMs = performance.now();
    await world.strike(chance());
    worstMs = Math.max(worstMs, performance.now() - struckMs);
    kills += 1;
    await stop();
    const found = await faultsAfter(world, diary);
    for (const fault of found) say(`after kill ${kills}: ${fault}`);
    faults.push(...found);
    if (kills % 25 === 0) say(`${world.name}: ${kills} kills`);
  } while (goOn());
  return {
    name: world.name,
    what: world.what,
    times: kills,
    result: faults.length === 0 ? 'held' : 'failed',
    worst: `${(worstMs / 1000).toFixed(1)} s from a kill until all answer again`,
    note: [`${diary.steps} changes and writes acknowledged`, ...faults.slice(0, TOLD_FAULTS)].join('; '),
  };
}
