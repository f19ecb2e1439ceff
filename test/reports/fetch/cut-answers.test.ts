/** Answers with as many rows as a row cap that is configured or proven: what is left of them is never given as whole. */
import { describe, expect, it } from 'vitest';
import { daysBetween } from '../../../src/reports/query/days.js';
import { startReplicas } from '../../engine/replicas.js';
import { aboutReport } from '../../gateway/history-scene.js';
import { type Handler, sends } from '../../support/raw-platform.js';
import { openScene, type Scene } from '../../support/scene.js';
import { gatewayAt, outcomeOf, type Reply, reportIn } from '../../support/start-gateway.js';
import { DAY, MINUTE } from '../../support/test-clock.js';
import { byDay, periodOf, rowsPerDay } from './by-day.js';

const CAP = 600;
const DATE = '2026-11-03';
const NEXT = '2026-11-04';
const EMPTY = '2026-11-05';
const settings = (rule: object, report: object = {}) => ({
  report: { crossCheckEvery: 0, endpoints: { 'campaigns/get': rule }, ...report },
});
const ALWAYS = settings({ divisible: 'always' });
const CAPPED = settings({ divisible: 'always', rowCap: CAP });
/** Days of so many rows, of the advertiser that is asked for; one has none. */
const platformOf =
  (rows: number, cap: number): Handler =>
  (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://platform');
    const advertiser = Number(searchParams.get('advertiserId'));
    const rowsOn = (date: string) => (date === EMPTY ? 0 : rows);
    rowsPerDay(rowsOn, cap, { advertiser_id: advertiser })(request, response);
  };
const of = (advertiser: number, from: string, to: string) =>
  byDay(from, to).replace('advertiserId=1', `advertiserId=${advertiser}`);

/** What an answer says of itself. */
function toldBy(reply: Reply) {
  const { data, meta } = reportIn(reply);
  const { complete, final, warnings = [] } = meta as typeof meta & { readonly complete?: boolean };
  const cut = warnings.find(({ code }) => code === 'rows_capped') as
    | { readonly rows?: number; readonly days?: readonly string[] }
    | undefined;
  return { rows: data.length, complete, final, cut: cut && { rows: cut.rows, days: cut.days } };
}

const marked = (rows: number, days: readonly string[], cap = CAP) => ({
  rows,
  complete: false,
  final: false,
  cut: { rows: cap, days },
});
const whole = (rows: number) => ({ rows, complete: undefined, final: true, cut: undefined });

describe('a day that has as many rows as a configured cap', () => {
  it.each(['always', 'auto'])(
    'is given as incomplete, for five minutes (divisible: %s)',
    async (divisible) => {
      const { gateway, count } = await openScene(platformOf(1000, CAP), {
        config: settings({ divisible, rowCap: CAP }),
      });
      const day = byDay(DATE, DATE);
      const first = await count(day);
      expect([toldBy(first.reply), first.calls]).toMatchObject([
        divisible === 'always' ? marked(CAP, [DATE]) : { ...marked(CAP, []), cut: { rows: CAP } },
        1,
      ]);
      for (const more of ['', '&_days=1', '&_format=csv', '&_format=ndjson', '&_final=only'])
        expect((await count(day + more)).calls, more).toBe(0);
      expect((await count(`${day}&_format=csv`)).reply.headers['report-warnings']).toBe('rows_capped');
      gateway.clock.advance(5 * MINUTE);
      expect((await count(day)).calls).toBe(1);
    },
  );

  it('is never final: not asked for again by _final=require, and left out by _final=only', async () => {
    const { count } = await openScene(platformOf(1000, CAP), { config: CAPPED });
    const required = await count(`${byDay(DATE, DATE)}&_final=require`);
    expect(outcomeOf(required.reply)).toBe('409 not_final');
    expect(required.reply.text).toContain('not final because of rows_capped: 2026-11-03');
    const again = await count(`${byDay(DATE, DATE)}&_final=require`);
    expect([outcomeOf(again.reply), again.calls]).toEqual(['409 not_final', 0]);
    const { data, meta } = reportIn((await count(`${byDay(DATE, EMPTY)}&_final=only&_days=1`)).reply);
    expect([data.length, meta.days?.map(({ date }) => date)]).toEqual([0, [EMPTY]]);
  });

  it('keeps what halves brought of each day, and marks each', async () => {
    const { count } = await openScene(platformOf(1000, CAP), { config: CAPPED });
    const { reply, calls } = await count(`${byDay(DATE, NEXT)}&_days=1`);
    expect([toldBy(reply), calls]).toEqual([marked(2 * CAP, [DATE, NEXT]), 3]);
    expect(reportIn(reply).meta.days).toMatchObject([{ final: false }, { final: false }]);
    expect((await count(byDay(DATE, NEXT))).calls).toBe(0);
    const csv = (await count(`${byDay(DATE, NEXT)}&_format=csv`)).reply;
    expect(csv.headers['report-warnings']).toBe('rows_capped');
  });

  it('does not mark the other days of a range', async () => {
    const rows = rowsPerDay((date) => (date === NEXT ? 1000 : 300), CAP);
    const { gateway, count } = await openScene(rows, { config: CAPPED });
    const { reply } = await count(`${byDay('2026-11-01', NEXT)}&_days=1`);
    expect(toldBy(reply)).toEqual(marked(900 + CAP, [NEXT]));
    expect(reportIn(reply).meta.days?.map(({ final }) => final)).toEqual([true, true, true, false]);
    gateway.clock.advance(5 * MINUTE);
    // Only the marked day is asked for anew.
    expect((await count(byDay('2026-11-01', NEXT))).calls).toBe(1);
  });

  it('is marked with totals, and for an assistant', async () => {
    const { ask, gateway } = await openScene(platformOf(1000, CAP), { config: CAPPED });
    expect(toldBy(await ask(`${byDay(DATE, DATE)}&_totals=1`))).toMatchObject({
      complete: false,
      final: false,
    });
    const key = await gateway.addTeam({ id: 'agent', scopes: ['report:read', 'mcp'] });
    const period = { from: DATE, to: DATE };
    const given = { name: 'query_report', arguments: { advertiserId: 1, period, split: ['date'] } };
    const { text } = await gateway.call('/mcp', {
      method: 'POST',
      key,
      headers: { accept: 'application/json, text/event-stream' },
      json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: given },
    });
    for (const told of ['rows_capped', '"complete":false', '"final":false']) expect(text).toContain(told);
  });

  it('is not in the history', async () => {
    const { gateway, ask, key } = await openScene(platformOf(1000, CAP), { config: CAPPED });
    await ask(byDay(DATE, DATE));
    const listed = await gateway.call(`/gateway/v1/revisions?${aboutReport(byDay(DATE, DATE))}`, { key });
    expect(listed.json()).toMatchObject({ data: [{ date: DATE, revisions: [] }] });
  });

  it('is not given when the platform fails later', async () => {
    const { gateway, platform, ask } = await openScene(platformOf(1000, CAP), {
      config: { ...CAPPED, platform: { retry: { attempts: 0 } } },
    });
    await ask(byDay(DATE, DATE));
    gateway.clock.advance(6 * MINUTE);
    platform.answer(sends('{"message":"away"}', {}, 500));
    expect(outcomeOf(await ask(byDay(DATE, DATE)))).toBe('502 upstream_error');
  });

  it('is marked in raw as well, where the bytes are those of the cut answer', async () => {
    const { gateway, count } = await openScene(platformOf(1000, CAP), { config: CAPPED });
    const raw = `${byDay(DATE, NEXT)}&_format=raw`;
    const { reply } = await count(raw);
    expect(reply.headers['report-warnings']).toBe('rows_capped');
    expect((await count(raw)).calls).toBe(0);
    gateway.clock.advance(5 * MINUTE);
    expect((await count(raw)).calls).toBeGreaterThan(0);
  });
});

describe('a report that cannot be split', () => {
  const unsplit: Handler = (request, response) => {
    const rows = Array.from({ length: 1000 }, (_, at) => ({ campaign_id: at, advertiser_id: 1, clicks: 1 }));
    const isByDate = new URL(request.url ?? '', 'http://platform').searchParams.has('byDate');
    if (isByDate) rowsPerDay(() => 400, CAP)(request, response);
    else sends(JSON.stringify({ data: rows.slice(0, CAP) }))(request, response);
  };
  const byCampaign = `advertiserId=1&byCampaign=1&dateFrom=${DATE}&dateTo=${NEXT}`;

  it('is incomplete if it has as many rows as a configured cap', async () => {
    const { count } = await openScene(unsplit, { config: CAPPED });
    const { reply } = await count(byCampaign);
    expect(toldBy(reply)).toEqual({ ...marked(CAP, []), cut: { rows: CAP, days: undefined } });
    expect((await count(byCampaign)).calls).toBe(0);
    expect((await count(`${byCampaign}&_format=raw`)).reply.headers['report-warnings']).toBe('rows_capped');
  });

  it('is incomplete, and what was kept of it void, once another report of the endpoint proves the cap', async () => {
    const { ask } = await openScene(unsplit, { config: ALWAYS });
    expect(toldBy(await ask(byCampaign))).toEqual(whole(CAP));
    await ask(byDay('2026-10-01', '2026-10-02'));
    await ask(byDay('2026-10-05', '2026-10-06'));
    expect(toldBy(await ask(byCampaign))).toMatchObject(
      marked(CAP, []).cut && { complete: false, final: false },
    );
  });
});

describe('halves that fail', () => {
  const failing = (isFailed: (period: readonly [string, string]) => boolean, status: number): Handler => {
    const answer = rowsPerDay(() => 400, CAP);
    return (request, response) =>
      isFailed(periodOf(request))
        ? sends('{"message":"no"}', {}, status)(request, response)
        : answer(request, response);
  };

  it('a refused half leaves what the cut answer said of its days, marked; the other half is whole', async () => {
    const refusesSecond = failing(([from, to]) => from === NEXT && to === NEXT, 400);
    const { count } = await openScene(refusesSecond, { config: CAPPED });
    const { reply } = await count(`${byDay(DATE, NEXT)}&_days=1`);
    expect(toldBy(reply)).toEqual(marked(600, [NEXT]));
    expect(reportIn(reply).meta.days?.map(({ final }) => final)).toEqual([true, false]);
  });

  it('a half that the platform fails for fails the report: nothing of it is kept', async () => {
    const failsSecond = failing(([from, to]) => from === NEXT && to === NEXT, 500);
    const { platform, ask } = await openScene(failsSecond, {
      config: { ...CAPPED, platform: { retry: { attempts: 0 } } },
    });
    expect(outcomeOf(await ask(byDay(DATE, NEXT)))).toBe('502 upstream_error');
    platform.answer(rowsPerDay(() => 400, CAP));
    expect(toldBy(await ask(byDay(DATE, NEXT)))).toEqual(whole(800));
  });

  it('a refused half of a range that is only suspected leaves it marked', async () => {
    const refusesHalf = failing(([from, to]) => from === to, 400);
    const { ask } = await openScene(refusesHalf, { config: ALWAYS });
    await ask(byDay('2026-10-01', '2026-10-02'));
    expect(toldBy(await ask(byDay(DATE, NEXT)))).toMatchObject({ complete: false, final: false });
  });
});

describe('what was cut before the cap was known', () => {
  const ROWS = 750;
  /** No round count, which would be looked into at first sight. */
  const CUT = 990;
  /** Two days, of which the platform gives 990 of 1,500 rows. */
  const cutOf = (advertiser: number) => of(advertiser, DATE, NEXT);
  const ruled = { config: ALWAYS };
  /** By another advertiser: two ranges of the same count. */
  async function prove(ask: Scene['ask']) {
    await ask(of(9, '2026-10-01', '2026-10-02'));
    await ask(of(9, '2026-10-05', '2026-10-06'));
  }

  it('is void for every advertiser, in memory and in the store', async () => {
    const { gateway, ask, count } = await openScene(platformOf(ROWS, CUT), ruled);
    expect(toldBy(await ask(cutOf(1)))).toEqual(whole(CUT));
    expect((await ask(cutOf(1))).headers['cache-status']).toContain('l1');
    await prove(ask);
    const { reply } = await count(cutOf(1));
    expect([toldBy(reply), reply.headers['cache-status']]).toEqual([
      whole(2 * ROWS),
      expect.stringContaining('fwd='),
    ]);
    expect((await count(cutOf(1))).calls).toBe(0);
    gateway.clock.advance(20 * DAY);
    expect(toldBy(await ask(cutOf(1)))).toEqual(whole(2 * ROWS));
  });

  it('is not given when the platform fails', async () => {
    const { platform, ask } = await openScene(platformOf(ROWS, CUT), {
      config: { ...ALWAYS, platform: { retry: { attempts: 0 } } },
    });
    await ask(cutOf(1));
    await prove(ask);
    platform.answer(sends('{"message":"away"}', {}, 500));
    for (const more of ['', '&_format=csv'])
      expect(outcomeOf(await ask(cutOf(1) + more))).toBe('502 upstream_error');
  });

  /** Another process on the same store. */
  const restarted = ({ gateway, platform }: Scene, config: object) =>
    gatewayAt(platform, { config: { ...config }, clock: gateway.clock, sharedStore: gateway.store });

  it('is void after a restart', async () => {
    const scene = await openScene(platformOf(ROWS, CUT), ruled);
    expect(toldBy(await scene.ask(cutOf(1)))).toEqual(whole(CUT));
    await prove(scene.ask);
    const after = await restarted(scene, ALWAYS);
    expect(toldBy(await after.report(scene.key, cutOf(1)))).toEqual(whole(2 * ROWS));
  });

  it('is void once the cap is configured, however late', async () => {
    const scene = await openScene(platformOf(ROWS, CUT), ruled);
    await scene.ask(cutOf(1));
    scene.gateway.clock.advance(20 * DAY);
    // Nobody knows of a cap yet.
    const unruled = await restarted(scene, ALWAYS);
    expect(toldBy(await unruled.report(scene.key, cutOf(1)))).toEqual(whole(CUT));
    const configured = await restarted(scene, settings({ divisible: 'always', rowCap: CUT }));
    expect(toldBy(await configured.report(scene.key, cutOf(1)))).toEqual(whole(2 * ROWS));
  });

  it('is void on another replica within a second, in memory too', async () => {
    const { platform } = await openScene(platformOf(ROWS, CUT), ruled);
    const { all, key, agreed, settled, close } = await startReplicas({ platform, config: ALWAYS, count: 2 });
    const [one, two] = all as [(typeof all)[number], (typeof all)[number]];
    for (const _ of ['fetched', 'in memory'])
      expect(toldBy(await two.report(key, cutOf(1)))).toEqual(whole(CUT));
    await settled();
    await prove((query) => one.report(key, query).then((reply) => one.services.settled().then(() => reply)));
    await agreed();
    expect(toldBy(await two.report(key, cutOf(1)))).toEqual(whole(2 * ROWS));
    await close();
  });

  it('is void in the history, which says that it was cut, and keeps saying so', async () => {
    const { gateway, ask, key } = await openScene(platformOf(ROWS, CUT), ruled);
    const about = (path: string, more = '') =>
      gateway.call(`/gateway/v1/${path}?${aboutReport(cutOf(1))}${more}`, { key });
    const revisions = async () => {
      const { data } = (await about('revisions')).json<{
        readonly data: readonly {
          readonly revisions: readonly { readonly kind: string; readonly void?: string }[];
        }[];
      }>();
      return data.map((day) => day.revisions.map(({ kind, void: why }) => why ?? kind));
    };
    const { knownAt } = reportIn(await ask(cutOf(1))).meta;
    expect(await revisions()).toEqual([['first'], ['first']]);
    await prove(ask);
    gateway.clock.advance(MINUTE);
    expect(await revisions()).toEqual([['cut'], ['cut']]);
    expect(outcomeOf(await ask(`${cutOf(1)}&_asOf=${knownAt}`))).toBe('404 not_known_then');
    await ask(cutOf(1));
    expect(await revisions()).toEqual([
      ['cut', 'first'],
      ['cut', 'first'],
    ]);
    // The cap is forgotten after a month; the mark is not.
    gateway.clock.advance(40 * DAY);
    expect(await revisions()).toEqual([
      ['cut', 'first'],
      ['cut', 'first'],
    ]);
    expect(outcomeOf(await ask(`${cutOf(1)}&_vintage=final`))).toBe('200');
    expect(reportIn(await ask(`${cutOf(1)}&_vintage=final`)).data).toHaveLength(2 * ROWS);
  });

  it('keeps what a smaller answer confirmed, in the cache and in the history', async () => {
    const { gateway, ask, count } = await openScene(platformOf(ROWS, CUT), {
      config: settings({ divisible: 'always' }),
    });
    await ask(cutOf(1));
    gateway.clock.advance(MINUTE);
    const first = of(1, DATE, DATE);
    const { knownAt } = reportIn(
      (await count(first, { headers: { 'cache-control': 'no-cache' } })).reply,
    ).meta;
    await prove(ask);
    const { reply, calls } = await count(first);
    expect([toldBy(reply), calls]).toEqual([whole(ROWS), 0]);
    expect(reportIn(await ask(`${first}&_asOf=${knownAt}`)).data).toHaveLength(ROWS);
  });

  it('a count that halves proved to be a coincidence stays final, and is not asked for again', async () => {
    // Advertiser 1 has exactly as many rows as the cap.
    const answer: Handler = (request, response) => {
      const isOne = (request.url ?? '').includes('advertiserId=1&');
      rowsPerDay(() => (isOne ? 500 : ROWS), 1000)(request, response);
    };
    const { gateway, ask, count } = await openScene(answer, ruled);
    // Suspected, and cleared by halves.
    expect(toldBy(await ask(cutOf(1)))).toEqual(whole(1000));
    // Not suspected any more.
    expect((await count(of(1, '2026-10-01', '2026-10-02'))).calls).toBe(1);
    await prove(ask);
    const { reply, calls } = await count(cutOf(1));
    expect([toldBy(reply), calls]).toEqual([whole(1000), 0]);
    gateway.clock.advance(2 * DAY);
    expect((await count(cutOf(1))).calls).toBe(0);
    // One that was not looked into yet is, once.
    expect((await count(of(1, '2026-10-01', '2026-10-02'))).calls).toBe(3);
    expect((await count(of(1, '2026-10-01', '2026-10-02'))).calls).toBe(0);
  });

  it('a day that alone has the whole count of its range is not cleared by an empty one beside it', async () => {
    const { ask } = await openScene(platformOf(1500, 1000), {
      config: settings({ divisible: 'always', rowCap: 1000 }),
    });
    expect(toldBy(await ask(byDay(NEXT, EMPTY)))).toEqual(marked(1000, [NEXT], 1000));
  });
});

it('an answer with more rows than the configured cap is whole, and the log names the setting once', async () => {
  const { gateway, ask } = await openScene(platformOf(1000, 5000), { config: CAPPED });
  for (const date of daysBetween('2026-11-01', DATE))
    expect(toldBy(await ask(byDay(date, date)))).toEqual(whole(1000));
  expect(gateway.log.filter(({ msg }) => msg.includes('rowCap'))).toHaveLength(1);
});

it('rows that appear between the calls, on days that still change, prove no cap for other reports', async () => {
  let late = 0;
  const growing: Handler = (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://platform');
    const isToday = searchParams.get('dateTo') === '2026-11-20';
    const rowsOn = (date: string) => {
      if (date >= '2026-11-16' && date <= '2026-11-18') return 400;
      return date === '2026-11-20' && isToday && late++ > 0 ? 601 : 600;
    };
    rowsPerDay(rowsOn, Number.POSITIVE_INFINITY, {
      advertiser_id: Number(searchParams.get('advertiserId')),
    })(request, response);
  };
  const { ask, count } = await openScene(growing, { config: ALWAYS });
  await ask(of(1, '2026-11-16', '2026-11-18'));
  expect(toldBy(await ask(of(1, '2026-11-19', '2026-11-20'))).rows).toBe(1201);
  const { reply, calls } = await count(of(2, DATE, NEXT));
  expect([toldBy(reply), calls]).toEqual([whole(1200), 1]);
});
