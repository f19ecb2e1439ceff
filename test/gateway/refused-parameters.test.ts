/** What a report, or a call about one, is not given for: by the name of the parameter, and with what would do. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Problem } from '../../src/lib/http/problem.js';
import { prove } from '../support/prove.js';
import { outcomeOf, type Reply, type SimulatedGateway, startGateway } from '../support/start-gateway.js';
import { aboutReport } from './history-scene.js';

const SERIES = 'advertiserId=1&byDate=1';
const SUMS = 'advertiserId=1&dateFrom=2026-11-17&dateTo=2026-11-19';
const DAYS = `${SERIES}&dateFrom=2026-11-17&dateTo=2026-11-19`;

let gateway: SimulatedGateway;
let key: string;
let calls: number;

beforeAll(async () => {
  gateway = await startGateway();
  key = await gateway.addTeam({ scopes: ['report:read', 'report:pin'] });
  await prove(gateway, key);
  await gateway.report(key, DAYS);
  await gateway.services.settled();
  calls = gateway.simulator.callCount;
});
afterAll(() => gateway.close());

const faultsIn = (reply: Reply) => reply.json<Problem>().errors;

describe('a report is refused without a call', () => {
  it.each<[string, string, string, RegExp]>([
    ['_asOf', 'an instant in the future', `${DAYS}&_asOf=2027-01-01T00:00:00Z`, /future/],
    ['_asOf', 'a day that is not over', `${DAYS}&_asOf=2026-11-21`, /not a past day/],
    ['_asOf', 'no instant', `${DAYS}&_asOf=yesterday`, /instant with a UTC offset/],
    ['_asOf', 'no offset', `${DAYS}&_asOf=2026-11-01T00:00:00`, /instant with a UTC offset/],
    ['_asOf', 'not by date', `${SUMS}&_asOf=2026-11-20`, /byDate=1/],
    ['_asOf', 'no period', `${SERIES}&_asOf=2026-11-20`, /dateFrom and dateTo/],
    ['_asOf', 'the platform’s bytes', `${DAYS}&_format=raw&_asOf=2026-11-20`, /_format=raw/],
    ['_asOf', 'totals', `${DAYS}&_totals=1&_asOf=2026-11-20`, /_totals/],
    ['_vintage', 'with _asOf', `${DAYS}&_vintage=first&_asOf=2026-11-20`, /leave out one/],
    ['_vintage', 'latest with _asOf', `${DAYS}&_vintage=latest&_asOf=2026-11-20`, /leave out one/],
    ['_vintage', 'empty', `${DAYS}&_vintage=`, /must be one of first, final, latest/],
    ['_vintage', 'in other case', `${DAYS}&_vintage=First`, /must be one of first, final, latest/],
    ['_vintage', 'not by date', `${SUMS}&_vintage=final`, /byDate/],
    ['_vintage', 'no period', `${SERIES}&_vintage=first`, /dateFrom and dateTo/],
    ['_vintage', 'the platform’s bytes', `${DAYS}&_vintage=first&_format=raw`, /_format=raw/],
    ['_vintage', 'totals', `${DAYS}&_vintage=final&_totals=1`, /_totals/],
    ['_vintage', 'given twice', `${DAYS}&_vintage=first&_vintage=first`, /./],
    ['_final', 'empty', `${DAYS}&_final=`, /must be one of require, only/],
    ['_final', 'in other case', `${DAYS}&_final=Only`, /must be one of/],
    ['_final', 'given twice', `${DAYS}&_final=only&_final=only`, /./],
    ['_final', 'no period', `${SERIES}&_final=require`, /add dateFrom and dateTo/],
    ['_final', 'an open period', `${SERIES}&dateTo=2026-11-15&_final=require`, /add dateFrom and dateTo/],
    ['_final', 'only of sums', `${SUMS}&_final=only`, /byDate=1, or use _final=require/],
    ['_final', 'only of the platform’s bytes', `${DAYS}&_final=only&_format=raw`, /_format=raw/],
    ['_final', 'with the final vintage', `${DAYS}&_final=only&_vintage=final`, /_vintage=final/],
    ['_fields', 'empty', `${DAYS}&_fields=`, /column names/],
    ['_fields', 'a name twice', `${DAYS}&_fields=date,date`, /names date twice/],
    [
      '_fields',
      'an unknown column',
      `${DAYS}&_fields=date,profit`,
      /profit, which is not a column .* Columns: date, /,
    ],
    ['_fields', 'in other case', `${DAYS}&_fields=Date`, /did you mean `date`\?/],
    ['_fields', 'the platform’s bytes', `${DAYS}&_fields=date&_format=raw`, /_format=raw/],
    ['_fields', 'given twice', `${DAYS}&_fields=date&_fields=spent`, /./],
  ])('%s: %s', async (param, _what, query, message) => {
    const reply = await gateway.report(key, query);
    expect(outcomeOf(reply)).toBe('400 invalid_query');
    expect(faultsIn(reply)).toEqual([{ param, message: expect.stringMatching(message) }]);
    expect((await gateway.report(key, query, { method: 'HEAD' })).status).toBe(400);
    expect(gateway.simulator.callCount).toBe(calls);
  });

  it.each(['_asOf=2026-11-20', '_vintage=first', '_vintage=latest', '_final=require', '_final=only'])(
    'to a team that may not see its advertiser, with %s',
    async (more) => {
      const other = await gateway.addTeam({ advertisers: [2] });
      expect(outcomeOf(await gateway.report(other, `${DAYS}&${more}`))).toBe('403 advertiser_forbidden');
    },
  );
});

describe('a call about a report is refused', () => {
  it.each<[string, string, string, string[]]>([
    ['revisions', SUMS, '', ['query']],
    ['revisions', SERIES, '', ['query']],
    ['revisions', `${DAYS}&_asOf=2026-11-20`, '', ['query._asOf']],
    ['diff', DAYS, '', ['from', 'to']],
    ['diff', DAYS, '&from=first', ['to']],
    ['diff', DAYS, '&from=latest&to=first', ['from', 'to']],
    ['diff', DAYS, '&from=2026-11-20&to=2026-11-19', ['from']],
    ['diff', DAYS, '&from=2027-01-01T00:00:00Z&to=latest', ['from']],
    ['diff', DAYS, '&from=first&to=2026-11-21', ['to']],
    ['diff', DAYS, '&from=first&to=latest&_format=raw', ['_format']],
    ['diff', DAYS, '&from=first&to=latest&format=csv', ['format']],
  ])('%s of %s%s', async (path, query, more, params) => {
    const reply = await gateway.call(`/gateway/v1/${path}?${aboutReport(query)}${more}`, { key });
    expect(outcomeOf(reply)).toBe('400 invalid_query');
    expect(faultsIn(reply)?.map(({ param }) => param)).toEqual(params);
  });

  it.each([
    [{ query: undefined }, ['query']],
    [{ endpoint: '../x' }, ['endpoint']],
    [{ nothing: 1 }, ['nothing']],
    [{ note: 'x'.repeat(1001) }, ['note']],
    [{ revision: 7 }, ['revision']],
    [{ query: 'advertiserId=1&dateFrom=x&dateTo=2026-11-01' }, ['query.dateFrom']],
    [{ query: `${DAYS}&_totals=1` }, ['query._totals']],
    [{ query: `${DAYS}&_format=raw` }, ['query._format']],
    [{ query: `${DAYS}&_asOf=2027-01-01` }, ['query._asOf']],
  ])('a pin of %j', async (more, params) => {
    const json = { endpoint: 'campaigns/get', query: DAYS, ...more };
    const reply = await gateway.call('/gateway/v1/pins', { method: 'POST', key, json });
    expect(outcomeOf(reply)).toBe('400 invalid_body');
    expect(faultsIn(reply)?.map(({ param }) => param)).toEqual(params);
  });
});
