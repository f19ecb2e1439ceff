import { expect, it } from 'vitest';
import { createOneATurn } from '../../../src/reports/cache/background.js';
import { createLookUp } from '../../../src/reports/cache/look-up.js';
import { createCacheTier } from '../../../src/reports/cache/tier.js';
import { afterFetch } from '../../../src/reports/fetch/after-fetch.js';
import type { Fetch, Fetched } from '../../../src/reports/fetch/fetched.js';
import { createWriteBehind } from '../../../src/reports/fetch/keep.js';
import type { Gateway } from '../../../src/reports/gateway.js';
import type { Comparison } from '../../../src/reports/learn/learn.js';
import { dayRefs, newPatience } from '../../../src/reports/question.js';
import { countedPurges } from '../../support/counted-purges.js';
import { encodeHere } from '../../support/encode-here.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openEmbedded, openReplica } from '../../support/shared-registry.js';
import { get } from '../query/canonical-request.js';
import { rowsEntry } from '../rows/entries.js';
import { policyOf } from './policy.js';

const RANGE = { from: '2026-11-10', to: '2026-11-11' };
const SERIES = { ...get('advertiserId=1&byDate=1&dateFrom=2026-11-10&dateTo=2026-11-11'), series: 'series' };

/** What the platform says of both days. */
function answerOf(clicks: number, fetchStartedAt: number): Fetched {
  const days = [RANGE.from, RANGE.to].map((lastDay) =>
    rowsEntry([{ date: lastDay, clicks }], { lastDay, fetchStartedAt }),
  );
  return {
    ...{ kind: 'answer', range: RANGE, rows: null, rowsFault: null, bytes: null, days, rowCount: 2 },
    ...{ splittable: { ok: true }, doubt: null, flaws: [], storable: true },
  } as Fetched;
}

async function openKeep() {
  const store = await openEmbedded();
  const { registry } = await openReplica(store);
  const asked: string[] = [];
  const tier = createCacheTier({
    store: {
      ...store.cache,
      async read(places) {
        asked.push('read');
        return store.cache.read(places);
      },
      async write(entries) {
        asked.push('write');
        await store.cache.write(entries);
      },
    },
    encode(entries) {
      asked.push('encode');
      return encodeHere(entries);
    },
    logger: createRecordedLog().logger,
    onFault: () => {},
  });
  const lookUp = createLookUp(tier, countedPurges(registry));
  const compared: Comparison[] = [];
  const g = {
    ...{ tier, lookUp, policy: policyOf(), background: () => {}, onReport: () => {} },
    ...{ turns: createOneATurn(), writeBehind: createWriteBehind(tier, () => {}) },
    replacements: { note: async () => {} },
    history: { record: async () => ({ observations: [], finalized: [] }) },
    ...{ advertisers: { observed: () => {} } },
    evidence: { observed: () => {}, finalized: () => {} },
    explorer: { used: () => {} },
    learner: {
      status: () => ({ id: '', state: 'learning', pinned: false, generation: 'one', wholeUntil: null }),
    },
    async learnFrom(news: Comparison) {
      compared.push(news);
    },
  } as unknown as Gateway;
  const fetch: Fetch = {
    ...SERIES,
    ...({ mode: 'whole', form: 'rows', range: RANGE, team: 'team', learns: true } as const),
    ...{ known: new Map(), patience: newPatience() },
  };
  return { keep: (answer: Fetched) => afterFetch(g, fetch, answer), lookUp, asked, compared };
}

it('asks nothing of the store, and makes nothing ready for it, before the answer is sent', async () => {
  const { keep, asked } = await openKeep();
  const { kept, result } = await keep(answerOf(1, 1000));
  expect(result.stored).toBe(true);
  expect(asked).toEqual([]);
  await kept;
  expect(asked).toEqual(['read', 'encode', 'write']);
});

it('has read by others at once what is still to be written', async () => {
  const { keep, lookUp } = await openKeep();
  const { kept } = await keep(answerOf(7, 1000));
  const refs = dayRefs(SERIES);
  const { found } = await lookUp.read(SERIES.report, refs);
  expect([...found.values()].map(({ body }) => JSON.parse(body.toString()).clicks)).toEqual([7, 7]);
  await kept;
});

it('compares with what was there before, not with what it writes', async () => {
  const { keep, compared } = await openKeep();
  const first = await keep(answerOf(1, 1000));
  await first.kept;
  expect(compared[0]?.known.size).toBe(0);
  const second = await keep(answerOf(2, 2000));
  await second.kept;
  const split = compared[1];
  expect(split?.fresh).toHaveLength(2);
  expect([...(split?.known.values() ?? [])].map(({ body }) => JSON.parse(body.toString()).clicks)).toEqual([
    1, 1,
  ]);
});
