import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildPlatformCall, digest, seriesId, unsplit } from '../../../src/reports/query/platform-call.js';
import { readInput } from '../../../src/simulator/php-input.js';
import { type Question, question, spellings } from '../rows/question-model.js';
import { get, post, target } from './canonical-request.js';

/** What the platform is to read, by a reader of its own (the simulator's), from a question. */
function expected(asked: Question, isBody: boolean): Record<string, unknown> {
  const { advertiserId, userId, from, to, spentBased, campaignIds, others } = asked;
  const int = (text: string | null) => (text === null ? null : isBody ? Number(text) : text);
  const flag = (on: boolean) => (on ? (isBody ? true : '1') : null);
  const all: Record<string, unknown> = {
    advertiserId: int(advertiserId),
    userId: int(userId),
    byDate: flag(asked.byDate),
    byCampaign: flag(asked.byCampaign),
    dateFrom: from,
    dateTo: to,
    spentBased,
    campaignIds: campaignIds.length === 0 ? null : isBody ? campaignIds : campaignIds.map(String),
  };
  const known = Object.entries(all).filter(([, value]) => value !== null);
  const unknown = Object.entries(others).map(([name, { list, values }]) => [name, list ? values : values[0]]);
  return Object.fromEntries([...known, ...unknown].toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
}

function received(call: { target: string; body: string | null }): Record<string, unknown> {
  const [, query = ''] = call.target.split('?');
  const input = readInput(query, 'application/json', call.body ?? '');
  return Object.fromEntries([...input].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

describe('buildPlatformCall', () => {
  it('tells the platform in a query exactly what was asked, and nothing of the gateway’s own', () => {
    const spelt = question.chain((asked) => fc.tuple(fc.constant(asked), spellings(asked)));
    fc.assert(
      fc.property(spelt, ([asked, text]) => {
        const { report } = get(text);
        const call = buildPlatformCall(report, report.from, report.to);
        expect(call.method).toBe('GET');
        expect(call.body).toBeNull();
        expect(received(call)).toEqual(expected(asked, false));
        expect(call.target).toMatch(/^\/api\/v1\/report\/campaigns\/get(\?[A-Za-z0-9._~%=&-]+)?$/);
      }),
      { numRuns: 500 },
    );
  });

  it('tells it the same in a body', () => {
    fc.assert(
      fc.property(question, (asked) => {
        const single = Object.fromEntries(
          Object.entries(expected(asked, true)).filter(([, value]) => value !== null),
        );
        const ids = asked.advertiserId !== null && Number(asked.advertiserId) > Number.MAX_SAFE_INTEGER;
        fc.pre(!ids && !(asked.userId !== null && Number(asked.userId) > Number.MAX_SAFE_INTEGER));
        const { report } = post(JSON.stringify(single));
        const call = buildPlatformCall(report, report.from, report.to);
        expect(call.method).toBe('POST');
        expect(call.target).toBe('/api/v1/report/campaigns/get');
        expect(received(call)).toEqual(expected(asked, true));
      }),
    );
  });

  it('asks for another period where one is given', () => {
    const { report } = get('advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-09');
    expect(buildPlatformCall(report, '2026-11-03', '2026-11-04').target).toBe(
      '/api/v1/report/campaigns/get?advertiserId=1&dateFrom=2026-11-03&dateTo=2026-11-04',
    );
    expect(buildPlatformCall(report, null, null).target).toBe('/api/v1/report/campaigns/get?advertiserId=1');
  });

  it('keeps ids that JavaScript cannot hold', () => {
    const { report } = post('{"advertiserId":9999999999999999}');
    expect(buildPlatformCall(report, null, null).body).toBe('{"advertiserId":9999999999999999}');
  });

  it('sends an empty object when a body says nothing', () => {
    expect(buildPlatformCall(post('{}').report, null, null).body).toBe('{}');
  });
});

describe('unsplit', () => {
  it('takes away every split and leaves the rest', () => {
    const asked = get(
      'advertiserId=1&byDate=1&byCampaign=1&byCreative=1&country=DE&bypass=1&dateFrom=2026-11-01&dateTo=2026-11-02',
    );
    const whole = unsplit(asked.report);
    expect(whole.split).toEqual([]);
    expect(target({ ...asked, report: whole })).toBe(
      '/api/v1/report/campaigns/get?advertiserId=1&bypass=1&country=DE&dateFrom=2026-11-01&dateTo=2026-11-02',
    );
    const plain = get('advertiserId=1&country=DE&bypass=1').report;
    expect(seriesId(whole, 'a', 'b')).toBe(seriesId(plain, 'a', 'b'));
  });
});

describe('digest', () => {
  it('differs for different lists of texts, however they would join', () => {
    const texts = fc.array(fc.string({ unit: fc.constantFrom('a', '1', ':', '2', ',') }), { maxLength: 4 });
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        expect(digest(one) === digest(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { numRuns: 1000 },
    );
  });

  it('is a SHA-256 in base64url', () => {
    expect(digest([])).toBe('47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU');
  });
});
