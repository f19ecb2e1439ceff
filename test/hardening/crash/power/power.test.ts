/** Power loss in brief: that the rig works, and can fail. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkDataFile } from '../../../../src/store/embedded/data-file.js';
import { chanceOf } from '../../../simulation/chance-of-seed.js';
import { findStrace } from '../../../store/embedded/strace.js';
import { tempFolder } from '../../../support/processes.js';
import { diskAt } from './disk.js';
import { imageOf } from './image.js';
import { losePower } from './play.js';
import { type Recording, record } from './record.js';

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
  await expectWhole(recording);
  const { trace } = recording;
  const calls = trace.calls
    .filter(({ kind }) => kind !== 'sync')
    .map((call) => (call.kind === 'open' ? { ...call, syncs: false } : call));
  const unsynced = { ...recording, trace: { ...trace, calls } };
  const late = { timeLeft: () => 0, chance: () => 0.9, choices: ['none'], say } as const;
  expect(await losePower(unsynced, late)).toMatchObject([{ result: 'failed' }, { result: 'failed' }]);
  await recording.platform.end('SIGTERM');
});

/** Wherever the power is lost: what is durable and has its name is whole, from its first moment on. */
async function expectWhole({ trace, root, moments }: Recording): Promise<void> {
  const folder = await tempFolder();
  const path = join(folder, 'data.mdb');
  const ready = trace.sent.find(({ ms }) => ms > (moments[0]?.ms ?? 0))?.at ?? trace.length;
  let looks = 0;
  for (const { from } of trace.calls.filter((call) => call.from <= ready)) {
    const disk = diskAt(trace.calls, root, from);
    const image = imageOf(disk, { choice: 'names', chance: () => 0, zeros: false });
    for (const name of ['data/state/data.mdb', 'data/history/data.mdb']) {
      const bytes = image.get(name);
      if (!bytes) continue;
      await writeFile(path, bytes);
      expect(() => checkDataFile(path), `${name} at place ${from}`).not.toThrow();
      looks += 1;
    }
  }
  expect(looks).toBeGreaterThan(0);
}
