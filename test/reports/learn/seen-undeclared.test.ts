/** What limited teams send and nobody declared, as all replicas have seen it. */
import { expect, it, onTestFinished } from 'vitest';
import { createSeenUndeclared } from '../../../src/reports/learn/seen-undeclared.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory } from '../../support/shared-registry.js';

const HOUR_MS = 3_600_000;
const faults = (...names: string[]) => names.map((param) => ({ param, message: 'is not declared' }));

async function open() {
  const { documents } = await openInMemory();
  const clock = { ms: 1_000 * HOUR_MS + 5 };
  const replica = () => {
    const seen = createSeenUndeclared({ documents, now: () => clock.ms, logger: createRecordedLog().logger });
    onTestFinished(() => seen.close());
    return seen;
  };
  return { clock, one: replica(), two: replica() };
}

it('one replica lists what each has seen, newest first, for seven days', async () => {
  const { clock, one, two } = await open();
  one.note('growth', 'campaigns/get', faults('sort2', 'filter.by'));
  await one.flush();
  clock.ms += HOUR_MS;
  two.note('growth', 'campaigns/get', faults('sort2'));
  two.note('retail', 'geo/get', faults('sort2'));
  await two.flush();
  const named = async () =>
    (await one.list()).map(({ team, endpoint, parameter }) => `${team} ${endpoint} ${parameter}`);
  const all = ['growth campaigns/get sort2', 'retail geo/get sort2', 'growth campaigns/get filter.by'];
  expect(await named()).toEqual(all);
  expect((await one.list())[0]).toMatchObject({
    message: 'is not declared',
    lastSeen: new Date(1_001 * HOUR_MS).toISOString(),
  });
  clock.ms += 7 * 24 * HOUR_MS - HOUR_MS;
  expect(await named()).toEqual(all.slice(0, 2));
});

it('two hundred of them are kept, twenty of a request, and names are cut', async () => {
  const { one } = await open();
  one.note('growth', 'campaigns/get', faults(...Array.from({ length: 50 }, (_, at) => `p${at}`)));
  expect(await one.list()).toHaveLength(20);
  for (let at = 0; at < 300; at += 1) one.note('growth', 'campaigns/get', faults(`${at}${'x'.repeat(9000)}`));
  const list = await one.list();
  expect(list).toHaveLength(200);
  expect(JSON.stringify(list).length).toBeLessThan(60_000);
});
