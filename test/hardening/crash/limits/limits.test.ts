/** What is found is told as it is; and a case that needs nothing of the machine but `prlimit`. */
import { expect, it } from 'vitest';
import { FEW_FILES } from './files.js';
import { playLimit } from './limit.js';

const input = { chance: () => 0.5, say: () => {} };
const found = { times: 3, worst: '1 s', note: 'a note' };

it('what throws and what does not hold has failed, what cannot be done was not run', async () => {
  const told = (play: () => Promise<string | (typeof found & { faults: string[] })>) =>
    playLimit({ name: 'n', what: 'w', play }, input);
  expect(await told(async () => ({ ...found, faults: [] }))).toMatchObject({ result: 'held', times: 3 });
  expect(await told(async () => ({ ...found, faults: ['one'] }))).toMatchObject({
    ...{ result: 'failed', note: 'a note; one' },
  });
  expect(await told(() => Promise.reject(new Error('broke')))).toMatchObject({
    ...{ result: 'failed', note: expect.stringContaining('broke') },
  });
  expect(await told(async () => 'no mount')).toMatchObject({ result: 'not run', times: 0, note: 'no mount' });
});

it('a gateway that has no descriptor left closes connections, loses nothing, and goes on', async () => {
  expect(await playLimit(FEW_FILES, input)).toMatchObject({ result: 'held', times: 1 });
});
