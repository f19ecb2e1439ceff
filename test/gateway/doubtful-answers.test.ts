/** A platform says 200 to everything: what is no report, or not the one that was asked for, and how long it is kept. */
import { describe, expect, it } from 'vitest';
import { sends } from '../support/raw-platform.js';
import { openScene, rule } from '../support/scene.js';
import { gatewayAt, outcomeOf, type Reply, reportIn } from '../support/start-gateway.js';
import { DAY, HOUR, MINUTE } from '../support/test-clock.js';
import { FINAL, RESTATING } from './reports.js';

const GOOD = '{"data":[{"date":"2026-11-15","campaign_id":1,"spent":"2.50"}]}';
const UNSPLIT = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-10';
const NO_REPORT = '502 upstream_invalid_response';
const STORED = 'dsp-gateway; fwd=miss; stored';

const started = (body: string | Buffer = GOOD, settings: object = {}) =>
  openScene(sends(body), { config: rule(settings) });
const statusOf = (reply: Reply) => reply.headers['cache-status'];
const codesIn = (reply: Reply) => (reportIn(reply).meta.warnings ?? []).map(({ code }) => code);

/** A report is kept, and gets old; then the platform says that, and what was kept is given instead. */
async function expectKept(query: string, body: string | Buffer, settings: object = {}) {
  const { platform, gateway, ask } = await started(GOOD, settings);
  const first = reportIn(await ask(query));
  platform.answer(sends(body));
  gateway.clock.advance(HOUR + 11 * MINUTE);
  for (const _ of ['asked', 'asked again']) {
    const reply = await ask(query);
    expect(statusOf(reply)).toMatch(/detail=stale-if-error$/);
    expect(reportIn(reply).data).toEqual(first.data);
  }
}

describe('an answer with 200 that says that it is an error', () => {
  const ERRORS: [string, string][] = [
    ['a status that says error', '{"status":"error","message":"boom","data":[]}'],
    ['a flag beside rows', `{"success":false,${GOOD.slice(1)}`],
    ['a status of HTTP beside rows', `{"code":429,${GOOD.slice(1)}`],
    ['a code beside a reason and a number', '{"code":7,"data":{"reason":"quota","retry":3}}'],
  ];

  it.each(ERRORS)('%s is 502, and nothing of it is kept', async (_what, body) => {
    const { platform, ask } = await started(body);
    for (const query of [FINAL, UNSPLIT])
      for (const _ of [1, 2]) expect(outcomeOf(await ask(query))).toBe(NO_REPORT);
    expect(platform.requests).toHaveLength(4);
    platform.answer(sends(GOOD));
    for (const query of [FINAL, UNSPLIT]) expect(statusOf(await ask(query))).toBe(STORED);
    // Nor does it take the place of a report that is kept.
    await expectKept(RESTATING, body);
  });

  it.each([
    ['a web page', '<!doctype html><p>Maintenance', 'answered with a web page (HTML) instead of a report'],
    ['half an answer', GOOD.slice(0, 40), 'cannot be read: it is not whole, not JSON'],
    ['an error', '{"status":"error","data":[]}', 'is not a report: it says that it is an error, has no rows'],
  ])('%s is named to the caller, without a word of it', async (_what, body, told) => {
    const { ask } = await started(body);
    const reply = await ask(FINAL);
    expect(outcomeOf(reply)).toBe(NO_REPORT);
    expect(reply.json<{ detail: string }>().detail).toContain(told);
    expect(reply.text).not.toMatch(/Maintenance|campaign_id/);
  });

  it('a job that builds the report is 502, of an endpoint never seen too, and is given as raw', async () => {
    const body = '{"Id":"b8c1","Status":1}';
    const { gateway, key } = await started(body);
    for (const endpoint of ['campaigns/get', 'creatives/get']) {
      const target = `/api/v1/report/${endpoint}?${UNSPLIT}`;
      const reply = await gateway.call(target, { key });
      expect(outcomeOf(reply)).toBe(NO_REPORT);
      expect((await gateway.call(`${target}&_format=raw`, { key })).text).toBe(body);
    }
  });

  it('one row with 200,000 members is 502', async () => {
    const row = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`m_${at}`, at]));
    const { gateway, ask } = await started(JSON.stringify({ data: [row] }));
    const reply = await ask(UNSPLIT);
    expect(outcomeOf(reply)).toBe(NO_REPORT);
    expect(reply.json<{ detail: string }>().detail).toContain(
      'more levels or columns than the gateway reads',
    );
    expect(gateway.logText).toContain('more than 2000 members in one item');
  });

  it('is given as raw, byte for byte, and not kept', async () => {
    const body = '{"status":"error","message":"boom","data":[]}';
    const { count } = await started(body);
    for (const _ of [1, 2]) {
      const { reply, calls } = await count(`${FINAL}&_format=raw`);
      expect([reply.status, reply.text, calls]).toEqual([200, body, 1]);
      expect(reply.headers['cache-control']).toBe('private, no-store');
    }
  });

  it('does not open the circuit, however often it comes', async () => {
    const { platform, ask } = await started('{"ok":false}');
    for (let at = 1; at <= 12; at++) expect(outcomeOf(await ask(`advertiserId=${at}`))).toBe(NO_REPORT);
    platform.answer(sends(GOOD));
    expect(outcomeOf(await ask(FINAL))).toBe('200');
  });

  it('the token stays unproven by it, and is proven by rows', async () => {
    const { platform, gateway, ask } = await started('{"status":"failed"}');
    for (const refusal of ['{"error":"Unauthenticated."}', '{"data":{"reason":"Unauthenticated."}}']) {
      await ask(FINAL);
      await ask(`${FINAL}&_format=raw`);
      expect(gateway.services.outlook().state).toBe('unproven');
      platform.answer(sends(refusal));
    }
    await ask(FINAL);
    expect(gateway.services.outlook().state).toBe('unproven');
    platform.answer(sends('{"data":[{"date":"2026-11-01","advertiser_id":1,"spent":"1.0"}]}'));
    expect(outcomeOf(await ask(FINAL))).toBe('200');
    expect(gateway.services.outlook().state).toBe('ok');
  });
});

describe('an answer in which rows are doubtful', () => {
  const DOUBTFUL: [string, string, string][] = [
    ['rows that share no column', '{"data":[{"a":1},{"b":2}]}', FINAL],
    ['an object without a figure of a report', '{"data":{"retry_after":3}}', UNSPLIT],
    [
      'no rows, and a message that says why',
      '{"message":"Service temporarily unavailable","data":[]}',
      FINAL,
    ],
    [
      'rows without any date where days were asked for',
      '{"data":[{"file":"a.php","line":1}]}',
      `${FINAL}&byDate=1`,
    ],
    [
      'a list under an unusual name beside an empty usual one',
      '{"rows":[],"nodes":[{"date":"2026-11-15"}]}',
      FINAL,
    ],
  ];

  it.each(DOUBTFUL)('%s: answered with a warning, and never kept', async (_what, body, query) => {
    const { count } = await started(body);
    for (const _ of [1, 2]) {
      const { reply, calls } = await count(query);
      const { meta } = reply.json<{ meta: { warnings: unknown } }>();
      expect(meta.warnings).toEqual([{ code: 'shape_unknown', message: expect.stringMatching(/rowsAt/) }]);
      expect([reply.headers['cache-control'], calls]).toEqual(['private, no-store', 1]);
      expect(reportIn(reply).meta.final).toBe(false);
    }
    const { reply } = await count(`${query}&_format=raw`);
    expect([reply.text, reply.headers['cache-control']]).toEqual([body, 'private, no-store']);
    // What is kept is served instead.
    const restating = query.replace(/dateFrom=[\d-]+&dateTo=[\d-]+/, 'dateFrom=2026-11-15&dateTo=2026-11-20');
    await expectKept(restating, body);
  });

  it('does not take the place of a report that is refreshed behind an answer', async () => {
    const { platform, gateway, ask } = await started();
    const first = reportIn(await ask(RESTATING));
    platform.answer(sends('{"data":[{"a":1},{"b":2}]}'));
    gateway.clock.advance(HOUR + MINUTE);
    await ask(RESTATING);
    await expect.poll(() => platform.requests.length).toBe(2);
    await gateway.services.reporting.settled();
    gateway.clock.advance(10 * MINUTE);
    expect(reportIn(await ask(RESTATING)).data).toEqual(first.data);
  });
});

describe('an answer without any column that the endpoint is known for', () => {
  it('is 502 for every report of the endpoint, in this process and in another', async () => {
    const { platform, gateway, key, ask } = await started('{"data":[{"advertiser_id":1,"spent":"2.50"}]}');
    await ask(FINAL);
    await ask(RESTATING);
    platform.answer(sends('{"data":[{"notice":"closed","retry":3}]}'));
    const other = await gatewayAt(platform, { sharedStore: gateway.store, clock: gateway.clock });
    const otherReport = 'advertiserId=2&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-10';
    for (const asked of [gateway, other]) {
      for (const query of [UNSPLIT, otherReport])
        expect(outcomeOf(await asked.report(key, query))).toBe(NO_REPORT);
      const { help } = (await asked.report(key, UNSPLIT)).json<{ help: string }>();
      for (const text of [help, asked.logText]) expect(text).toContain('report.endpoints.*.knownColumns');
    }
    platform.answer(sends('{"data":{"spent":"2.50"}}'));
    expect(statusOf(await other.report(key, UNSPLIT))).toBe(STORED);
  });

  it('does not take the place of the entry that a new process finds', async () => {
    const { platform, gateway, key, ask } = await started('{"data":{"spent":"2.50","impressions":3}}');
    const restating = UNSPLIT.replace('11-10', '11-20');
    const first = reportIn(await ask(restating));
    const store = { ...gateway.store, documents: { ...gateway.store.documents, get: async () => null } };
    const other = await gatewayAt(platform, { sharedStore: store, clock: gateway.clock });
    platform.answer(sends('{"remaining":0,"retry":3}'));
    gateway.clock.advance(HOUR + 11 * MINUTE);
    const reply = await other.report(key, restating);
    expect(statusOf(reply)).toMatch(/detail=stale-if-error$/);
    expect(reportIn(reply).data).toEqual(first.data);
  });
});

describe('what the configuration says of an endpoint', () => {
  it.each<[string, object, string, string]>([
    [
      'is a report where the configuration names a column of it',
      { knownColumns: ['auctions'] },
      '{"code":0,"msg":"closed","retry":1}',
      '{"data":{"auctions":3}}',
    ],
    [
      'requiredColumns says what each row has, in either spelling: what lacks it is 502 and not kept',
      { requiredColumns: ['campaignId', 'spent'] },
      '{"data":[{"campaign_id":1,"spent":2},{"campaign_id":1}]}',
      '{"data":[{"campaign_id":1,"spent":2}]}',
    ],
  ])('%s', async (_what, settings, refused, taken) => {
    const { platform, ask } = await started(refused, settings);
    expect(outcomeOf(await ask(UNSPLIT))).toBe(NO_REPORT);
    platform.answer(sends(taken));
    expect(statusOf(await ask(UNSPLIT))).toBe(STORED);
  });

  it('rowsAt says where the rows are, and leaves no doubt', async () => {
    const { ask } = await started('{"rows":[],"nodes":[{"date":"2026-11-15"}]}', { rowsAt: 'nodes' });
    expect(reportIn(await ask(FINAL)).data).toEqual([{ date: '2026-11-15' }]);
    expect(statusOf(await ask(FINAL))).toMatch(/hit/);
  });
});

describe('a list that is no list of rows', () => {
  it.each<readonly [string, string]>([
    [
      'column definitions beside empty rows are an empty report, which is kept',
      '{"columns":[{"name":"date","type":"string"}],"rows":[]}',
    ],
    ...[
      '{"data":[]}',
      '[]',
      '{"status":"ok","code":200,"message":"OK","errors":[],"error":null,"data":[]}',
      '{"success":true,"code":0,"data":[]}',
      '{"code":20000,"data":[]}',
    ].map((body) => ['an empty list without a sign of an error is a report, which is kept', body] as const),
  ])('%s: %s', async (_what, body) => {
    const { ask, count } = await started(body);
    expect(reportIn(await ask(FINAL)).data).toEqual([]);
    expect((await count(FINAL)).calls).toBe(0);
  });
});

describe('a report that is joined from days', () => {
  const DAYS = 'advertiserId=1&byDate=1&dateFrom=2026-11-15&dateTo=2026-11-20';
  const ALWAYS = { divisible: 'always' };
  const CASES: [string, string, string][] = [
    ['an error', '{"ok":false,"data":[]}', NO_REPORT],
    ['no rows, and a message that says why', '{"message":"try again later","data":[]}', '200'],
    ['rows without any day', '{"data":[{"notice":"closed"}]}', '200'],
  ];

  it.each(CASES)(
    '%s: is joined from what is kept, else answered as a whole',
    async (_what, body, outcome) => {
      await expectKept(DAYS, body, ALWAYS);
      const { platform, ask } = await started(body, ALWAYS);
      for (const _ of [1, 2]) {
        const reply = await ask(DAYS);
        expect(outcomeOf(reply)).toBe(outcome);
        if (outcome === '200') expect(reply.headers['cache-control']).toBe('private, no-store');
      }
      platform.answer(sends(GOOD));
      expect(reportIn(await ask(DAYS)).data).toHaveLength(1);
    },
  );
});

describe('an answer that is visibly not what was asked for', () => {
  const RANGE = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-03';
  const BY_DATE = `${RANGE}&byDate=1`;
  const BY_CAMPAIGN = `${RANGE}&byCampaign=1`;
  const day = (date: string | null, spent = 1) => ({ date, campaign_id: 7, spent });
  const ROWS = [day('2026-11-01'), day('2026-11-02', 2), day('2026-11-03', 3)];

  const CASES: [
    code: string,
    body: { readonly data: readonly object[]; readonly warnings?: readonly string[] },
    query: string,
  ][] = [
    ['rows_outside_range', { data: [...ROWS, day('2026-11-09')] }, BY_DATE],
    ['undated_rows', { data: [...ROWS, day(null, 6)] }, BY_DATE],
    ['duplicate_rows', { data: [day(null), day('2026-11-01'), day(null)] }, BY_CAMPAIGN],
    ['platform_warning', { data: ROWS, warnings: ['data incomplete'] }, BY_DATE],
    ['rows_of_other_campaigns', { data: ROWS }, `${BY_DATE}&campaignIds[]=77`],
  ];
  const open = (body: object, settings: object = {}) => started(JSON.stringify(body), settings);

  it.each(CASES)(
    '%s: is given with a warning, not final, for five minutes, and says nothing to history and learning: %j',
    async (code, body, query) => {
      const { platform, gateway, key, ask } = await open(body);
      const first = await ask(query);
      const { data, meta } = reportIn(first);
      expect([codesIn(first), data.length, meta.final]).toEqual([[code], body.data.length, false]);
      for (const member of ['revision', 'knownAt']) expect(meta).not.toHaveProperty(member);
      gateway.clock.advance(4 * MINUTE);
      const csv = await ask(`${query}&_format=csv`);
      expect(csv.headers['report-warnings']).toBe(code);
      expect(statusOf(csv)).toContain('ttl=60;');
      expect((await ask(`${query}&_format=csv`)).headers['report-warnings']).toBe(code);
      expect((await ask(query)).headers['report-warnings']).toBeUndefined();
      expect(platform.requests).toHaveLength(1);
      for (const to of ['05', '07']) await ask(query.replace('dateTo=2026-11-03', `dateTo=2026-11-${to}`));
      const about = new URLSearchParams({ endpoint: 'campaigns/get', query: BY_DATE });
      const seen = (await gateway.call(`/gateway/v1/revisions?${about}`, { key })).json<{
        data: { revisions: unknown[] }[];
      }>();
      expect(seen.data.map(({ revisions }) => revisions.length)).toEqual([0, 0, 0]);
      expect((await gateway.manage('GET', '/divisibility')).kinds).toEqual([]);
      const campaign_id = Number(/campaignIds\[\]=(\d+)/.exec(query)?.[1] ?? 7);
      platform.answer(sends(JSON.stringify({ data: ROWS.map((row) => ({ ...row, campaign_id })) })));
      gateway.clock.advance(2 * MINUTE);
      const later = await ask(query);
      expect([codesIn(later), reportIn(later).meta.final]).toEqual([[], true]);
    },
  );

  it('says which days it is about where others come from another answer', async () => {
    const { platform, ask } = await open({ data: ROWS.slice(0, 2) }, { divisible: 'always' });
    await ask(BY_DATE.replace('dateTo=2026-11-03', 'dateTo=2026-11-02'));
    platform.answer(sends(JSON.stringify({ data: [ROWS[2], ROWS[2]] })));
    const { meta } = reportIn(await ask(`${BY_DATE}&_days=1`));
    expect(meta.warnings).toMatchObject([{ code: 'duplicate_rows', days: ['2026-11-03'] }]);
    expect(meta.days?.map(({ final }) => final)).toEqual([true, true, false]);
    expect(meta.firstProvisionalDate).toBe('2026-11-03');
  });

  it('shows the words of the platform bounded and escaped', async () => {
    const warnings = [`\u0007\u202e"${'x'.repeat(500)}`, { text: 'second' }, 7, 'third', 'fourth'];
    const { ask } = await open({ data: ROWS, warnings });
    const [warning] = reportIn(await ask(BY_DATE)).meta.warnings ?? [];
    expect(warning?.message).toContain('returned a warning with its answer: "\\\\u{7}\\\\u{202e}\\"xxx');
    expect(warning?.message).toContain('…"; "second"');
    expect(warning?.message).not.toContain('fourth');
    expect(warning?.message.length).toBeLessThan(600);
  });

  it.each([
    { data: ROWS, meta: { current_page: 1, last_page: 4, total: 14 } },
    { data: ROWS, links: { next: 'https://platform.example/page/2' } },
  ])('is incomplete, never kept, and the operator is told: %j', async (body) => {
    const { gateway, count } = await open(body);
    for (const query of [BY_DATE, BY_DATE, BY_CAMPAIGN, BY_CAMPAIGN]) {
      const { reply, calls } = await count(query);
      expect([codesIn(reply), calls]).toEqual([['pages_left'], 1]);
      const { meta } = reportIn(reply);
      expect(meta).toMatchObject({ complete: false, final: false });
      expect(meta.warnings?.[0]?.message).toMatch(/not in the history, and not cached\.$/);
      expect(reply.headers['cache-control']).toBe('private, no-store');
    }
    const status = await gateway.manage('GET', '/status');
    expect(status).toMatchObject({ platform: { state: 'answers in pages' } });
    expect(JSON.stringify(status.verdict)).toContain('pages_left');
    expect(gateway.log.filter(({ msg }) => msg.includes('one page of several'))).toHaveLength(1);
  });

  it.each<[string, object, Readonly<Record<string, string>>]>([
    ['the header link', {}, { link: '<https://platform.example/?page=2>; rel="next"' }],
    ['the header x-next-page', {}, { 'x-next-page': '2' }],
    ['the header x-total-count', {}, { 'x-total-count': '250' }],
    ['the header content-range', {}, { 'content-range': 'items 0-1/250' }],
    ['the member recordsTotal', { recordsTotal: 250 }, {}],
    ['the member rowCount', { rowCount: 250 }, {}],
    ['the member truncated', { truncated: true }, {}],
  ])('is incomplete and never kept where %s tells it', async (_what, members, headers) => {
    const { count } = await openScene(sends(JSON.stringify({ data: ROWS, ...members }), headers));
    for (const query of [BY_DATE, BY_CAMPAIGN, BY_CAMPAIGN]) {
      const { reply, calls } = await count(query);
      expect([codesIn(reply), calls]).toEqual([['pages_left'], 1]);
      expect(reportIn(reply).meta).toMatchObject({ complete: false, final: false });
      expect(reply.headers['cache-control']).toBe('private, no-store');
    }
    const raw = await count(`${BY_DATE}&_format=raw`);
    expect(raw.reply.headers['report-warnings']).toBe('pages_left');
  });

  describe('rows of today, whatever was asked for', () => {
    const OLD = 'advertiserId=1&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-02';
    const TODAY = {
      data: [
        { date: '2026-10-01', clicks: 1 },
        { date: '2026-11-21', clicks: 1 },
      ],
    };

    it('is as fresh, and as little final, as its last row', async () => {
      const { gateway, ask, count } = await open(TODAY);
      const reply = await ask(`${OLD}&_days=1`);
      expect(reportIn(reply).meta).toMatchObject({
        final: false,
        days: [{ final: false }, { final: false }],
      });
      expect(codesIn(reply)).toEqual(['rows_outside_range']);
      expect(outcomeOf(await ask(`${OLD}&_final=require`))).toBe('409 not_final');
      gateway.clock.advance(DAY);
      expect((await count(OLD)).calls).toBeGreaterThan(0);
    });

    it('has a warning where the platform chose the first day, too', async () => {
      const { gateway } = await open(TODAY);
      const key = await gateway.addTeam({ id: 'wide', limits: { maxRangeDays: 10_000 } });
      const reply = await gateway.report(key, 'advertiserId=1&byDate=1&dateTo=2026-10-02');
      expect(reportIn(reply).meta.final).toBe(false);
      expect(codesIn(reply)).toEqual(['platform_chose_period', 'rows_outside_range']);
    });
  });
});

describe('an answer whose bytes are not of its charset', () => {
  const NAME = 'Zürich €5';
  const json = (name: string) => `{"data":[{"campaign_name":${JSON.stringify(name)},"spent":1}]}`;
  const LATIN = Buffer.from(json(NAME).replace('€', '\x80'), 'latin1');
  const as = (body: string | Buffer, contentType: string) => sends(body, { 'content-type': contentType });

  it.each(['application/json', 'application/json; charset=utf-8', 'application/json; charset=klingon'])(
    'is refused, and not kept: %s',
    async (contentType) => {
      const { platform, ask } = await openScene(as(LATIN, contentType));
      expect(outcomeOf(await ask(FINAL))).toBe(NO_REPORT);
      platform.answer(sends(json(NAME)));
      expect(reportIn(await ask(FINAL)).data).toEqual([{ campaignName: NAME, spent: 1 }]);
    },
  );

  it('does not take the place of a report that is kept', () => expectKept(RESTATING, LATIN));

  it.each<[string, Buffer, string]>([
    ['ISO 8859-1', LATIN, 'application/json; charset=ISO-8859-1'],
    ['windows-1252', LATIN, 'application/json; charset="windows-1252"'],
    ['UTF-16', Buffer.from(json(NAME), 'utf16le'), 'application/json; charset=utf-16le'],
    ['UTF-16 by its byte order mark', Buffer.from(`\ufeff${json(NAME)}`, 'utf16le'), 'application/json'],
  ])('%s is read as what it is, and raw gives its bytes', async (_what, body, contentType) => {
    const { platform, ask } = await openScene(as(body, contentType));
    expect(reportIn(await ask(FINAL)).data).toEqual([{ campaignName: NAME, spent: 1 }]);
    const raw = await ask(`${FINAL}&_format=raw`);
    expect([raw.body.equals(body), raw.headers['content-type']]).toEqual([true, contentType]);
    expect(platform.requests).toHaveLength(1);
  });

  it('is refused when it holds the token, however its bytes spell it', async () => {
    const { platform, ask } = await started('[]');
    for (const [body, contentType] of [
      [Buffer.from(json(platform.token), 'utf16le'), 'application/json; charset=utf-16le'],
      [Buffer.from(`\ufeff${json(platform.token)}`, 'utf16le').swap16(), 'application/json'],
    ] as const) {
      platform.answer(as(body, contentType));
      for (const format of ['json', 'raw'])
        expect(outcomeOf(await ask(`${FINAL}&_format=${format}&x=${contentType.length}`))).toBe(NO_REPORT);
    }
  });
});
