/** What callers see of stored days: after purges, rows in another order, and as of the moment of each answer. */
import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { daysBetween } from '../../../src/reports/query/days.js';
import { type Handler, sends } from '../../support/raw-platform.js';
import { openScene } from '../../support/scene.js';
import { gatewayAt, type Reply, reportIn } from '../../support/start-gateway.js';
import { HOUR, MINUTE } from '../../support/test-clock.js';
import { ALWAYS, byDay, periodOf } from '../fetch/by-day.js';

const QUERY = byDay('2026-11-08', '2026-11-10');

interface Said {
  /** Of each row of each day. */
  spent: number;
  isReversed: boolean;
  /** A day without rows. */
  empty: string;
}

/** A platform that says what the test says, and two replicas on one store. */
async function open() {
  const said: Said = { spent: 1, isReversed: false, empty: '' };
  const handler: Handler = (request: IncomingMessage, response) => {
    const rows = daysBetween(...periodOf(request)).flatMap((date) =>
      date === said.empty
        ? []
        : [1, 2].map((campaign_id) => ({ date, campaign_id, advertiser_id: 1, spent: said.spent })),
    );
    sends(JSON.stringify({ data: said.isReversed ? rows.reverse() : rows }))(request, response);
  };
  const { platform, gateway, key } = await openScene(handler, { config: ALWAYS });
  const other = await gatewayAt(platform, {
    config: ALWAYS,
    sharedStore: gateway.store,
    clock: gateway.clock,
  });
  await other.services.registry.refresh();
  const replicas = [gateway, other] as const;
  async function ask(query = QUERY, replica = 0, headers: Readonly<Record<string, string>> = {}) {
    const reply = await (replicas[replica] as typeof gateway).report(key, query, { headers });
    for (const one of replicas) await one.services.settled();
    return reply;
  }
  async function callsOf(work: () => Promise<unknown>): Promise<number> {
    const { length } = platform.requests;
    await work();
    return platform.requests.length - length;
  }
  async function purge() {
    gateway.clock.advance(1000);
    await gateway.manage('POST', '/cache/purge', { all: true });
    await other.services.registry.refresh();
    gateway.clock.advance(1000);
  }
  return { said, ask, callsOf, purge, clock: gateway.clock };
}

describe('the same rows', () => {
  it('after a hard purge cost one call, not one a request, in each format and on each replica', async () => {
    const { ask, callsOf, purge } = await open();
    const before = await ask();
    for (let turn = 0; turn < 2; turn += 1) {
      await purge();
      expect(await callsOf(() => ask())).toBe(1);
      const calls = await callsOf(async () => {
        for (const replica of [0, 1])
          for (const form of ['', '&_format=csv', '&_format=ndjson', '&_fields=date,spent'])
            await ask(QUERY + form, replica);
      });
      expect(calls).toBe(0);
    }
    const after = reportIn(await ask());
    expect([after.data, after.meta.revision]).toEqual([
      reportIn(before).data,
      reportIn(before).meta.revision,
    ]);
  });

  it('in another order are the same revision, and have an equal ETag for equal bytes alone', async () => {
    const { said, ask, purge } = await open();
    const replies: Reply[] = [];
    for (const isReversed of [false, true, false]) {
      said.isReversed = isReversed;
      await purge();
      for (const replica of [0, 1])
        for (const form of ['', '&_format=csv']) replies.push(await ask(QUERY + form, replica));
    }
    const [first, , , , reversed] = replies.map((reply, at) => (at % 2 === 0 ? reportIn(reply) : null));
    expect(reversed?.data).toEqual(first?.data.toReversed().sort(byDate));
    expect(reversed?.meta.revision).toBe(first?.meta.revision);
    for (const one of replies)
      for (const other of replies)
        expect(one.headers.etag === other.headers.etag).toBe(one.text === other.text);
  });
});

const byDate = (one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>) =>
  String(one.date) < String(other.date) ? -1 : String(one.date) > String(other.date) ? 1 : 0;

const step = fc.record({
  said: fc.record({
    spent: fc.nat(2),
    isReversed: fc.boolean(),
    empty: fc.constantFrom('', '', '2026-11-08', '2026-11-10', '2026-11-20'),
  }),
  range: fc.constantFrom(
    QUERY,
    byDay('2026-11-09', '2026-11-12'),
    byDay('2026-11-10', '2026-11-10'),
    byDay('2026-11-19', '2026-11-21'),
  ),
  replica: fc.nat(1),
  how: fc.constantFrom('plain', 'plain', 'no-cache', 'purge'),
  waitMs: fc.constantFrom(1000, MINUTE, 6 * MINUTE, 2 * HOUR),
});

it('a plain report is what _asOf of its knownAt shows, whatever was fetched and purged before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
      const { said, ask, purge, clock } = await open();
      const answers: {
        readonly query: string;
        readonly data: readonly unknown[];
        readonly revision: unknown;
      }[] = [];
      for (const { said: next, range, replica, how, waitMs } of steps) {
        clock.advance(waitMs);
        Object.assign(said, next);
        if (how === 'purge') await purge();
        const reply = await ask(range, replica, how === 'no-cache' ? { 'cache-control': how } : {});
        const { data, meta } = reportIn(reply);
        const { knownAt, revision, source, stale } = meta;
        // Rows that the platform has forgotten are older than the answer; a stale one is being replaced.
        if (source === 'history' || stale) continue;
        const query = `${range}&_asOf=${knownAt}`;
        answers.push({ query, data, revision });
        for (const [n, one] of answers.entries()) {
          const then = reportIn(await ask(one.query, n % 2));
          expect([new Set(then.data.map((row) => JSON.stringify(row))), then.meta.revision]).toEqual([
            new Set(one.data.map((row) => JSON.stringify(row))),
            one.revision,
          ]);
        }
      }
    }),
    { numRuns: 10 },
  );
});
