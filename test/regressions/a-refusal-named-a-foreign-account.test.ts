import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/errors.js';
import { FINAL } from '../gateway/reports.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

const FOREIGN = '{"message":"no","errors":{"advertiserId":["2"]},"data":[{"advertiser_id":2,"spent":5}]}';

async function teamsAt(body: string, status = 422, type = 'application/json') {
  const gateway = await gatewayAt(await startRawPlatform(sends(body, { 'content-type': type }, status)));
  return {
    gateway,
    all: await gateway.addTeam(),
    limited: await gateway.addTeam({ advertisers: [1] }),
  };
}

describe('a refusal of the platform that names another advertiser', () => {
  it.each([400, 403, 404, 422])('is told to a limited team without its words (%i)', async (status) => {
    const { gateway, all, limited } = await teamsAt(FOREIGN, status);
    // The second time it is remembered, and the wide team may see it.
    for (const _ of [1, 2]) {
      const reply = await gateway.report(limited, FINAL);
      expect(outcomeOf(reply)).toBe(`${status} upstream_rejected`);
      expect(reply.json<Problem>().upstream).toEqual({ status, message: null });
      expect(reply.json<Problem>().detail).toContain('withheld');
      const shown = await gateway.report(all, FINAL);
      expect(shown.json<Problem>().upstream).toEqual({
        status,
        message: 'no',
        errors: { advertiserId: ['2'] },
      });
    }
  });

  it('is not given to it as raw bytes', async () => {
    const { gateway, all, limited } = await teamsAt(FOREIGN);
    const query = `${FINAL}&_format=raw`;
    expect(outcomeOf(await gateway.report(limited, query))).toBe('502 upstream_invalid_response');
    expect((await gateway.report(all, query)).text).toBe(FOREIGN);
    expect((await gateway.report(limited, query, { method: 'HEAD' })).status).toBe(502);
  });

  it('is withheld where the totals are what is refused', async () => {
    const platform = await startRawPlatform((request, response) => {
      const isMain = request.url?.includes('byCampaign');
      sends(isMain ? '{"data":[{"spent":1}]}' : FOREIGN, {}, isMain ? 200 : 422)(request, response);
    });
    const gateway = await gatewayAt(platform);
    const limited = await gateway.addTeam({ advertisers: [1] });
    const reply = await gateway.report(limited, `${FINAL}&_totals=1`);
    expect(reply.json<Problem>().upstream).toEqual({ status: 422, message: null });
  });

  it.each([
    '{"message":"The given data was invalid.","errors":{"advertiserId":["The advertiser id must be an integer."]}}',
    '{"message":"no","advertiser_id":1}',
  ])('is told with its words where it names none: %s', async (body) => {
    const { gateway, limited } = await teamsAt(body);
    const { upstream } = (await gateway.report(limited, FINAL)).json<Problem>();
    expect(upstream).toMatchObject({ status: 422, message: JSON.parse(body).message });
    expect((await gateway.report(limited, `${FINAL}&_format=raw`)).text).toBe(body);
  });

  it('is told with its words where it is no JSON', async () => {
    const { gateway, limited } = await teamsAt('there is no such campaign', 404, 'text/plain');
    const { upstream } = (await gateway.report(limited, FINAL)).json<Problem>();
    expect(upstream).toEqual({ status: 404, message: 'there is no such campaign' });
  });
});
