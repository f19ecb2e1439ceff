/** The platform says 200 to everything; what came with it was kept for up to 30 days, or put in the place of a report. */
import { describe, expect, it } from 'vitest';
import { FINAL, RESTATING } from '../gateway/reports.js';
import { type RawPlatform, sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, type Reply, reportIn, type TestGateway } from '../support/start-gateway.js';
import { HOUR, MINUTE } from '../support/test-clock.js';

const GOOD = '{"data":[{"date":"2026-11-15","campaign_id":1,"spent":"2.50"}]}';
const UNSPLIT = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-10';

/** Answers that say themselves that they are none. */
const ERRORS: [string, string][] = [
  ['a status that says error', '{"status":"error","message":"boom","data":[]}'],
  ['ok: false', '{"ok":false,"reason":"quota"}'],
  ['success: false beside an empty list', '{"success":false,"error":"no","data":[]}'],
  [
    'an exception with its trace',
    '{"message":"Server Error","exception":"E","trace":[{"file":"a.php","line":1},{"file":"b.php","line":2}]}',
  ],
  ['an error code beside an empty list', '{"code":50001,"message":"internal error","data":[]}'],
  ['a code of letters beside an empty list', '{"code":"E_LIMIT","data":[]}'],
  ['a code beside a reason', '{"code":7,"data":{"reason":"shard down"}}'],
  ['an object without a figure', '{"data":{"reason":"shard down"}}'],
  ['a text in the place of the report', '{"data":"oops"}'],
  ['a number in the place of the report', '{"data":7}'],
  ['a code beside a reason and a number', '{"code":7,"data":{"reason":"quota","retry":3}}'],
  ['a code beside a message and a total', '{"code":50001,"msg":"limit","total":0}'],
  ['errors', '{"errors":[{"message":"boom"}]}'],
  ['errors beside rows', '{"errors":["shard 3 is down"],"data":[{"date":"2026-11-15","spent":1}]}'],
];

async function started(first = GOOD): Promise<{ platform: RawPlatform; gateway: TestGateway; key: string }> {
  const platform = await startRawPlatform(sends(first));
  const gateway = await gatewayAt(platform);
  return { platform, gateway, key: await gateway.addTeam() };
}

const statusOf = (reply: Reply) => reply.headers['cache-status'];

describe('an answer with 200 that says that it is an error', () => {
  it.each(ERRORS)('%s is 502, and nothing of it is kept', async (_what, body) => {
    for (const query of [FINAL, UNSPLIT]) {
      const { platform, gateway, key } = await started(body);
      expect(outcomeOf(await gateway.report(key, query))).toBe('502 upstream_invalid_response');
      expect(outcomeOf(await gateway.report(key, query))).toBe('502 upstream_invalid_response');
      expect(platform.requests).toHaveLength(2);
      platform.answer(sends(GOOD));
      expect(statusOf(await gateway.report(key, query))).toBe('dsp-gateway; fwd=miss; stored');
    }
  });

  it.each(ERRORS)('%s does not take the place of a report that is kept', async (_what, body) => {
    const { platform, gateway, key } = await started();
    const first = reportIn(await gateway.report(key, RESTATING));
    platform.answer(sends(body));
    gateway.clock.advance(HOUR + 11 * MINUTE);
    for (let times = 0; times < 2; times++) {
      const reply = await gateway.report(key, RESTATING);
      expect(statusOf(reply)).toMatch(/detail=stale-if-error$/);
      expect(reportIn(reply).data).toEqual(first.data);
    }
  });

  it('is given as raw, byte for byte, and not kept', async () => {
    const body = '{"status":"error","message":"boom","data":[]}';
    const { platform, gateway, key } = await started(body);
    for (let calls = 1; calls <= 2; calls++) {
      const reply = await gateway.report(key, `${FINAL}&_format=raw`);
      expect([reply.status, reply.text]).toEqual([200, body]);
      expect(reply.headers['cache-control']).toBe('private, no-store');
      expect(platform.requests).toHaveLength(calls);
    }
  });

  it('does not open the circuit, however often it comes', async () => {
    const { platform, gateway, key } = await started('{"ok":false}');
    for (let at = 1; at <= 12; at++) {
      const reply = await gateway.report(key, `advertiserId=${at}`);
      expect(outcomeOf(reply)).toBe('502 upstream_invalid_response');
    }
    platform.answer(sends(GOOD));
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('200');
  });
});

describe('an answer in which rows are doubtful', () => {
  const DOUBTFUL: [string, string, string][] = [
    ['rows that share no column', '{"data":[{"a":1},{"b":2}]}', FINAL],
    ['rows of words about the call', '{"data":[{"message":"try later","code":"E7"}]}', UNSPLIT],
    ['an object without a figure of a report', '{"data":{"retry_after":3}}', UNSPLIT],
    [
      'no rows, and a message that says why',
      '{"message":"Service temporarily unavailable","data":[]}',
      FINAL,
    ],
    ['no rows, and a reason', '{"data":[],"reason":"quota exceeded"}', UNSPLIT],
    ['no rows, and a part of them is missing', '{"data":[],"partial":true}', UNSPLIT],
    ['no rows, and a code of 1', '{"code":1,"data":[]}', UNSPLIT],
    ['rows of words about the call with a number', '[{"reason":"quota","retry":3}]', UNSPLIT],
    ['no rows yet, as the status says', '{"status":"PROCESSING","data":[]}', FINAL],
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
    const { platform, gateway, key } = await started(body);
    for (let calls = 1; calls <= 2; calls++) {
      const reply = await gateway.report(key, query);
      const { meta } = reply.json<{ meta: { warnings: unknown } }>();
      expect(meta.warnings).toEqual([{ code: 'shape_unknown', message: expect.stringMatching(/rowsAt/) }]);
      expect(reply.headers['cache-control']).toBe('private, no-store');
      expect(platform.requests).toHaveLength(calls);
    }
    const raw = await gateway.report(key, `${query}&_format=raw`);
    expect([raw.text, raw.headers['cache-control']]).toEqual([body, 'private, no-store']);
  });

  it.each(DOUBTFUL)('%s: what is kept is served instead', async (_what, body, query) => {
    const { platform, gateway, key } = await started();
    const wanted = query.replaceAll(
      /dateFrom=[\d-]+&dateTo=[\d-]+/g,
      'dateFrom=2026-11-15&dateTo=2026-11-20',
    );
    const first = reportIn(await gateway.report(key, wanted));
    platform.answer(sends(body));
    gateway.clock.advance(HOUR + 11 * MINUTE);
    const reply = await gateway.report(key, wanted);
    expect(statusOf(reply)).toMatch(/detail=stale-if-error$/);
    expect(reportIn(reply).data).toEqual(first.data);
  });

  it('does not take the place of a report that is refreshed behind an answer', async () => {
    const { platform, gateway, key } = await started();
    const first = reportIn(await gateway.report(key, RESTATING));
    platform.answer(sends('{"data":[{"a":1},{"b":2}]}'));
    gateway.clock.advance(HOUR + MINUTE);
    await gateway.report(key, RESTATING);
    await expect.poll(() => platform.requests.length).toBe(2);
    await gateway.services.reporting?.settled?.();
    gateway.clock.advance(10 * MINUTE);
    expect(reportIn(await gateway.report(key, RESTATING)).data).toEqual(first.data);
  });
});

describe('an answer without any column that the endpoint is known for', () => {
  const STRANGE = '{"data":[{"notice":"closed","retry":3}]}';
  const OTHER = 'advertiserId=2&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-10';

  it('is 502 for every report of the endpoint, in this process and in another', async () => {
    const { platform, gateway, key } = await started();
    await gateway.report(key, FINAL);
    await gateway.services.reporting?.settled?.();
    platform.answer(sends(STRANGE));
    const other = await gatewayAt(platform, { sharedStore: gateway.store, clock: gateway.clock });
    for (const asked of [gateway, other]) {
      for (const query of [UNSPLIT, OTHER])
        expect(outcomeOf(await asked.report(key, query))).toBe('502 upstream_invalid_response');
      const problem = (await asked.report(key, UNSPLIT)).json<{ help: string }>();
      expect(problem.help).toContain('report.endpoints.*.knownColumns');
      expect(JSON.stringify(asked.log)).toContain('report.endpoints.*.knownColumns');
    }
    platform.answer(sends('{"data":{"spent":"2.50"}}'));
    expect(statusOf(await other.report(key, UNSPLIT))).toBe('dsp-gateway; fwd=miss; stored');
  });

  it('does not take the place of the entry that a new process finds', async () => {
    const { platform, gateway, key } = await started('{"data":{"spent":"2.50","impressions":3}}');
    const restating = UNSPLIT.replace('11-10', '11-20');
    const first = reportIn(await gateway.report(key, restating));
    await gateway.services.reporting?.settled?.();
    const store = { ...gateway.store, documents: { ...gateway.store.documents, get: async () => null } };
    const other = await gatewayAt(platform, { sharedStore: store, clock: gateway.clock });
    platform.answer(sends('{"remaining":0,"retry":3}'));
    gateway.clock.advance(HOUR + 11 * MINUTE);
    const reply = await other.report(key, restating);
    expect(statusOf(reply)).toMatch(/detail=stale-if-error$/);
    expect(reportIn(reply).data).toEqual(first.data);
  });

  it('is a report where the configuration names a column of it', async () => {
    const platform = await startRawPlatform(sends(GOOD));
    const gateway = await gatewayAt(platform, {
      config: { report: { endpoints: { 'campaigns/get': { knownColumns: ['auctions'] } } } },
    });
    const key = await gateway.addTeam();
    platform.answer(sends('{"code":0,"msg":"closed","retry":1}'));
    expect(outcomeOf(await gateway.report(key, UNSPLIT))).toBe('502 upstream_invalid_response');
    platform.answer(sends('{"data":{"auctions":3}}'));
    expect(statusOf(await gateway.report(key, UNSPLIT))).toBe('dsp-gateway; fwd=miss; stored');
  });
});

describe('a list that is no list of rows', () => {
  it('column definitions beside empty rows are an empty report, which is kept', async () => {
    const { platform, gateway, key } = await started(
      '{"columns":[{"name":"date","type":"string"}],"rows":[]}',
    );
    expect(reportIn(await gateway.report(key, FINAL)).data).toEqual([]);
    await gateway.report(key, FINAL);
    expect(platform.requests).toHaveLength(1);
  });

  it('an empty list without a sign of an error is a report, which is kept', async () => {
    for (const body of [
      '{"data":[]}',
      '[]',
      '{"status":"ok","code":200,"message":"OK","errors":[],"error":null,"data":[]}',
      '{"success":true,"code":0,"data":[]}',
      '{"code":20000,"data":[]}',
    ]) {
      const { platform, gateway, key } = await started(body);
      expect(reportIn(await gateway.report(key, FINAL)).data).toEqual([]);
      expect(statusOf(await gateway.report(key, FINAL))).toMatch(/hit/);
      expect(platform.requests).toHaveLength(1);
    }
  });
});

describe('what the configuration says of an endpoint', () => {
  const settings = (rule: object) => ({ config: { report: { endpoints: { 'campaigns/get': rule } } } });

  it('rowsAt says where the rows are, and leaves no doubt', async () => {
    const platform = await startRawPlatform(sends('{"rows":[],"nodes":[{"date":"2026-11-15"}]}'));
    const gateway = await gatewayAt(platform, settings({ rowsAt: 'nodes' }));
    const key = await gateway.addTeam();
    expect(reportIn(await gateway.report(key, FINAL)).data).toEqual([{ date: '2026-11-15' }]);
    expect(statusOf(await gateway.report(key, FINAL))).toMatch(/hit/);
  });

  it('requiredColumns says what each row has, in either spelling: what lacks it is 502 and not kept', async () => {
    const platform = await startRawPlatform(
      sends('{"data":[{"campaign_id":1,"spent":2},{"campaign_id":1}]}'),
    );
    const gateway = await gatewayAt(platform, settings({ requiredColumns: ['campaignId', 'spent'] }));
    const key = await gateway.addTeam();
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('502 upstream_invalid_response');
    platform.answer(sends('{"data":[{"campaign_id":1,"spent":2}]}'));
    expect(statusOf(await gateway.report(key, FINAL))).toBe('dsp-gateway; fwd=miss; stored');
  });
});

describe('a report that is joined from days', () => {
  const DAYS = 'advertiserId=1&byDate=1&dateFrom=2026-11-15&dateTo=2026-11-20';
  const always = { config: { report: { endpoints: { 'campaigns/get': { divisible: 'always' } } } } };
  const CASES: [string, string, string][] = [
    ['an error', '{"ok":false,"data":[]}', '502 upstream_invalid_response'],
    ['no rows, and a message that says why', '{"message":"try again later","data":[]}', '200'],
    ['rows without any day', '{"data":[{"notice":"closed"}]}', '200'],
  ];

  it.each(CASES)('%s: is joined from what is kept', async (_what, body) => {
    const platform = await startRawPlatform(sends(GOOD));
    const gateway = await gatewayAt(platform, always);
    const key = await gateway.addTeam();
    const first = reportIn(await gateway.report(key, DAYS));
    platform.answer(sends(body));
    gateway.clock.advance(HOUR + 11 * MINUTE);
    const reply = await gateway.report(key, DAYS);
    expect(statusOf(reply)).toMatch(/detail=stale-if-error$/);
    expect(reportIn(reply).data).toEqual(first.data);
  });

  it.each(CASES)('%s: with nothing kept is answered as it is for a whole', async (_what, body, outcome) => {
    const platform = await startRawPlatform(sends(body));
    const gateway = await gatewayAt(platform, always);
    const key = await gateway.addTeam();
    for (let calls = 1; calls <= 2; calls++) {
      const reply = await gateway.report(key, DAYS);
      expect(outcomeOf(reply)).toBe(outcome);
      if (outcome === '200') expect(reply.headers['cache-control']).toBe('private, no-store');
    }
    platform.answer(sends(GOOD));
    expect(reportIn(await gateway.report(key, DAYS)).data).toHaveLength(1);
  });
});
