/** `GET /admin/v1/changes`: the last changes of known days, for operators. */
import { expect, it } from 'vitest';
import { changesScene, type FeedMessage } from '../../gateway/changes-scene.js';
import { BY_DATE } from '../../gateway/history-scene.js';

interface Answer {
  readonly data: readonly FeedMessage[];
}

it('gives the last corrections of all reports, newest first, and no day that was only seen', async () => {
  const { gateway, ask, restated, now, follow } = await changesScene();
  const latest = async (query = '') =>
    ((await gateway.manage('GET', `/changes${query}`)) as unknown as Answer).data;
  const before = await latest();
  const offset = await now();
  await ask(BY_DATE);
  await ask(BY_DATE.replace('advertiserId=1', 'advertiserId=2'));
  expect(await latest()).toEqual(before);
  await restated(BY_DATE);
  await restated(BY_DATE);
  const { messages } = await follow(offset);
  const corrections = messages.filter(({ headers }) => headers.kind === 'restated');
  expect(corrections.length).toBeGreaterThan(1);
  expect(await latest()).toEqual([...corrections.toReversed(), ...before]);
  expect(await latest('?limit=1')).toEqual(corrections.slice(-1));
});
