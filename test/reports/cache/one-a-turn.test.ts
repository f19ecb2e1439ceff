import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createOneATurn } from '../../../src/reports/cache/background.js';

it('lets what waits go on in order, one in each turn, and none in the turn that asks', async () => {
  const turns = createOneATurn();
  const gone: string[] = [];
  for (const name of ['one', 'two', 'three']) void turns.next().then(() => gone.push(name));
  const seen: string[][] = [[...gone]];
  for (let turn = 0; turn < 3; turn += 1) {
    await setImmediate();
    seen.push([...gone]);
  }
  expect(seen).toEqual([[], ['one'], ['one', 'two'], ['one', 'two', 'three']]);
});

it('begins again when nobody had waited', async () => {
  const turns = createOneATurn();
  for (let round = 0; round < 3; round += 1) expect(await turns.next()).toBeUndefined();
});
