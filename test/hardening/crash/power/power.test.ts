/** Power loss in brief: that the rig works, and can fail. */
import { expect, it } from 'vitest';
import { chanceOf } from '../../../simulation/chance-of-seed.js';
import { findStrace } from '../../../store/embedded/strace.js';
import { losePower } from './play.js';
import { record } from './record.js';

it('a gateway that loses power among its work keeps what it acknowledged; one that never synced has lost it', async () => {
  await findStrace();
  const chance = chanceOf(1, 'power').randomShare;
  const recording = await record(500, chance);
  const said: string[] = [];
  let left = 3;
  const say = (line: string) => void said.push(line);
  const held = await losePower(recording, { timeLeft: () => left--, chance, say });
  expect(said).toEqual([]);
  expect(held).toMatchObject([
    { times: 4, result: 'held' },
    { times: 1, result: 'held' },
  ]);
  const { trace } = recording;
  const calls = trace.calls
    .filter(({ kind }) => kind !== 'sync')
    .map((call) => (call.kind === 'open' ? { ...call, syncs: false } : call));
  const unsynced = { ...recording, trace: { ...trace, calls } };
  const late = { timeLeft: () => 0, chance: () => 0.9, choices: ['none'], say } as const;
  expect(await losePower(unsynced, late)).toMatchObject([{ result: 'failed' }, { result: 'failed' }]);
  await recording.platform.end('SIGTERM');
});
