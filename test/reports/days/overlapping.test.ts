/** Fetches of overlapping ranges at once: each answer is what _asOf of its knownAt gives afterwards. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { turn } from '../../../src/lib/time.js';
import { daysBetween } from '../../../src/reports/query/days.js';
import { sends, startRawPlatform } from '../../support/raw-platform.js';
import { runs } from '../../support/runs.js';
import { openScene } from '../../support/scene.js';
import { gatewayAt, type Reply, reportIn } from '../../support/start-gateway.js';
import { ALWAYS, byDay, periodOf } from '../fetch/by-day.js';

const dayAt = (day: number) => `2026-11-${String(day).padStart(2, '0')}`;
const range = (first: number, last: number) => byDay(dayAt(first), dayAt(last));

/** A platform that holds each call until a test answers it, with the number of the answer as `spent`, and two replicas. */
async function open() {
  const held: { readonly period: string; readonly answer: () => void }[] = [];
  let answers = 0;
  const platform = await startRawPlatform((request, response) => {
    const period = periodOf(request);
    const answer = () => {
      answers += 1;
      const rows = daysBetween(...period).map((date) => ({ date, advertiser_id: 1, spent: answers }));
      sends(JSON.stringify({ data: rows }))(request, response);
    };
    held.push({ period: period.join(' '), answer });
  });
  const { gateway, key } = await openScene(platform, { config: ALWAYS });
  const other = await gatewayAt(platform, {
    config: ALWAYS,
    sharedStore: gateway.store,
    clock: gateway.clock,
  });
  await other.services.registry.refresh();
  const replicas = [gateway, other] as const;
  const asked: { readonly query: string; readonly reply: Promise<Reply> }[] = [];
  return {
    held,
    clock: gateway.clock,
    ask(query: string, { replica = 0, forced = true } = {}): Promise<Reply> {
      const headers = forced ? { 'cache-control': 'no-cache' } : {};
      const reply = (replicas[replica] as typeof gateway).report(key, query, { headers });
      asked.push({ query, reply });
      return reply;
    },
    /** The call of these days is under way. */
    arrived: (first: number, last: number) =>
      expect.poll(() => held.map(({ period }) => period)).toContain(`${dayAt(first)} ${dayAt(last)}`),
    answer(first: number, last: number) {
      const at = held.findIndex(({ period }) => period === `${dayAt(first)} ${dayAt(last)}`);
      for (const { answer } of held.splice(at, 1)) answer();
    },
    async settled() {
      for (const { services } of replicas) await services.settled();
      // What the store's bus tells comes in the next turn.
      await turn();
    },
    /** Compares each answer with the history. */
    async expectRecorded() {
      gateway.clock.advance(1000);
      for (const { query, reply } of asked) {
        const { data, meta } = reportIn(await reply);
        const then = reportIn(await gateway.report(key, `${query}&_asOf=${meta.knownAt}`));
        expect({ query, data: then.data }).toEqual({ query, data });
      }
    },
  };
}

const spentOf = async (reply: Promise<Reply>) => reportIn(await reply).data.map((row) => row.spent);

it('a day that was fetched again while another one was awaited is given as it is now', async () => {
  const { ask, arrived, answer, clock, settled, expectRecorded } = await open();
  const fifth = ask(range(5, 5), { replica: 1, forced: false });
  await arrived(5, 5);
  const both = ask(range(5, 6), { forced: false });
  await arrived(6, 6);
  clock.advance(1);
  answer(6, 6);
  await settled();
  const sixth = ask(range(6, 6), { replica: 1 });
  await arrived(6, 6);
  clock.advance(1);
  answer(6, 6);
  expect(await spentOf(sixth)).toEqual([2]);
  await settled();
  clock.advance(1);
  answer(5, 5);
  expect(await spentOf(fifth)).toEqual([3]);
  expect(await spentOf(both)).toEqual([3, 2]);
  await settled();
  await expectRecorded();
});

const step = fc.oneof(
  fc.record({
    kind: fc.constant('ask' as const),
    first: fc.integer({ min: 1, max: 6 }),
    length: fc.integer({ min: 1, max: 5 }),
    forced: fc.constantFrom(true, true, true, false),
  }),
  fc.record({ kind: fc.constant('answer' as const), which: fc.nat(3) }),
  fc.record({ kind: fc.constant('answer' as const), which: fc.nat(3) }),
  fc.record({ kind: fc.constant('wait' as const) }),
);

// Of one process: another one is told of a fetch when it is stored.
it('each answer is what _asOf of its knownAt gives, whichever call begins or ends first', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
      const { held, ask, clock, settled, expectRecorded } = await open();
      const replies: Promise<Reply>[] = [];
      for (const one of steps) {
        if (one.kind === 'wait') clock.advance(1);
        else if (one.kind === 'answer') held.splice(one.which % Math.max(1, held.length), 1)[0]?.answer();
        else replies.push(ask(range(one.first, one.first + one.length), one));
        for (let turns = 0; turns < 20; turns += 1) await turn();
        // What is fetched in the millisecond of an answer without it waits for the next one.
        clock.advance(1);
      }
      let isOver = false;
      const all = Promise.all(replies).finally(() => {
        isOver = true;
      });
      while (!isOver) {
        held.shift()?.answer();
        clock.advance(1);
        for (let turns = 0; turns < 20; turns += 1) await turn();
      }
      await all;
      await settled();
      await expectRecorded();
    }),
    runs(6, 100),
  );
});
