/** A platform that says "unauthenticated" with status 200 made a token nobody had proven look accepted. */
import { expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-03';
const ROWS = JSON.stringify({ data: [{ date: '2026-11-01', advertiser_id: 1, spent: '1.0' }] });

it.each(['{"error":"Unauthenticated."}', '{"data":{"reason":"Unauthenticated."}}', '{"status":"failed"}'])(
  'the token stays unproven by %s, and is proven by rows',
  async (refusal) => {
    let answer = refusal;
    const platform = await startRawPlatform((request, response) => sends(answer)(request, response));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const proof = () => gateway.services.outlook().state;
    expect(proof()).toBe('unproven');
    await gateway.report(key, QUERY);
    await gateway.report(key, `${QUERY}&_format=raw`);
    expect(proof()).toBe('unproven');
    answer = ROWS;
    expect(outcomeOf(await gateway.report(key, `${QUERY}&byCampaign=1`))).toBe('200');
    expect(proof()).toBe('ok');
  },
);
