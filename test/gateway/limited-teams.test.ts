import { describe, expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, withGateway, withTeam } from '../support/start-gateway.js';
import { HOUR, MINUTE } from '../support/test-clock.js';
import { cacheOf, FINAL, RESTATING } from './reports.js';

const FORMATS = ['json', 'csv', 'ndjson', 'raw', 'json&_days=1'];

describe('a team limited to advertisers', () => {
  it('is refused at once when its list shrinks, cached or not', async () => {
    const { gateway, key } = await withTeam({}, { id: 'growth', advertisers: [1, 2] });
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('200');
    await gateway.manage('PATCH', '/teams/growth', { advertisers: [2] });
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('403 advertiser_forbidden');
    await gateway.manage('PATCH', '/teams/growth', { advertisers: [] });
    expect(outcomeOf(await gateway.report(key, FINAL.replace('advertiserId=1', 'advertiserId=2')))).toBe(
      '403 advertiser_forbidden',
    );
  });

  it('is not shown them either when another team has them cached, in memory or in the store', async () => {
    const gateway = await withGateway({ switches: { foreignRows: true } });
    const [limited, all] = [await gateway.addTeam({ advertisers: [1] }), await gateway.addTeam()];
    for (const format of FORMATS) {
      const query = `${FINAL}&_format=${format}`;
      const first = await gateway.report(all, query);
      expect(first.status).toBe(200);
      expect(cacheOf(await gateway.report(all, query))).toMatch(/detail=l1$/);
      expect(outcomeOf(await gateway.report(limited, query))).toBe('502 upstream_invalid_response');
      const conditional = { headers: { 'if-none-match': String(first.headers.etag) } };
      expect(outcomeOf(await gateway.report(limited, query, conditional))).toBe(
        '502 upstream_invalid_response',
      );
      expect((await gateway.report(limited, query, { method: 'HEAD' })).status).toBe(502);
    }
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('is not shown them when they are stale, or when the platform fails', async () => {
    const platform = await startRawPlatform(sends('{"data":[{"campaign_id":1,"owner_id":2,"spent":3}]}'));
    const gateway = await gatewayAt(platform);
    const [limited, all] = [await gateway.addTeam({ advertisers: [1] }), await gateway.addTeam()];
    await gateway.report(all, RESTATING);
    platform.answer(sends('', {}, 500));
    gateway.clock.advance(HOUR);
    expect(outcomeOf(await gateway.report(limited, RESTATING))).toBe('502 upstream_invalid_response');
    await gateway.services.settled();
    gateway.clock.advance(11 * MINUTE);
    expect(cacheOf(await gateway.report(all, RESTATING))).toMatch(/stale-if-error$/);
    expect(outcomeOf(await gateway.report(limited, RESTATING))).toBe('502 upstream_invalid_response');
  });

  it('is not shown totals that hold another advertiser', async () => {
    const platform = await startRawPlatform((request, response) => {
      const advertiser = request.url?.includes('byCampaign') ? 1 : 2;
      sends(`{"data":[{"advertiser_id":${advertiser},"reach":5}]}`)(request, response);
    });
    const gateway = await gatewayAt(platform);
    const limited = await gateway.addTeam({ advertisers: [1] });
    expect(outcomeOf(await gateway.report(limited, FINAL))).toBe('200');
    expect(outcomeOf(await gateway.report(limited, `${FINAL}&_totals=1`))).toBe(
      '502 upstream_invalid_response',
    );
  });

  it.each([
    ['beside the rows', '{"data":[{"advertiser_id":1}],"account":{"id":2}}'],
    ['as text', '{"data":[{"advertiserId":"2"}]}'],
    ['nested in a row', '{"data":[{"campaign":{"owner_id":2}}]}'],
    ['where rows cannot be told', '{"one":[{"advertiser_id":1}],"two":[{"advertiser_id":2}]}'],
  ])('is not shown an answer that names another advertiser %s', async (_where, body) => {
    const gateway = await gatewayAt(await startRawPlatform(sends(body)));
    const [limited, all] = [await gateway.addTeam({ advertisers: [1] }), await gateway.addTeam()];
    expect(outcomeOf(await gateway.report(all, `${FINAL}&_format=raw`))).toBe('200');
    expect(outcomeOf(await gateway.report(limited, `${FINAL}&_format=raw`))).toBe(
      '502 upstream_invalid_response',
    );
  });

  it.each([
    ['text/plain', '{"data":[{"advertiser_id":2}]}'],
    ['application/octet-stream', '[{"advertiserId":1},{"advertiserId":"2"}]'],
    ['application/x-ndjson', '{"advertiser_id":1}\n{"advertiser_id":2}\n'],
    ['text/plain; charset=utf-16le', Buffer.from('[{"advertiserId":2}]', 'utf16le')],
  ])('is not shown another advertiser in JSON that calls itself %s', async (type, body) => {
    const gateway = await gatewayAt(await startRawPlatform(sends(body, { 'content-type': type })));
    const [limited, all] = [await gateway.addTeam({ advertisers: [1] }), await gateway.addTeam()];
    const ask = (key: string) => gateway.call('/api/v1/report/x/get?advertiserId=1&_format=raw', { key });
    expect((await ask(all)).body).toEqual(Buffer.from(body));
    expect(outcomeOf(await ask(limited))).toBe('502 upstream_invalid_response');
  });
});
