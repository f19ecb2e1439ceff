/** Bytes that are no UTF-8 became replacement characters, without a word, and were kept for up to 30 days. */
import { describe, expect, it } from 'vitest';
import { FINAL, RESTATING } from '../gateway/reports.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, reportIn } from '../support/start-gateway.js';
import { HOUR, MINUTE } from '../support/test-clock.js';

const NAME = 'Zürich €5';
const json = (name: string) => `{"data":[{"campaign_name":${JSON.stringify(name)}}]}`;
const LATIN = Buffer.from(json(NAME).replace('€', '\x80'), 'latin1');

async function started(body: Buffer, contentType: string) {
  const platform = await startRawPlatform(sends(body, { 'content-type': contentType }));
  const gateway = await gatewayAt(platform);
  return { platform, gateway, key: await gateway.addTeam() };
}

describe('an answer whose bytes are not of its charset', () => {
  it('is refused, and not kept', async () => {
    for (const contentType of [
      'application/json',
      'application/json; charset=utf-8',
      'application/json; charset=klingon',
    ]) {
      const { platform, gateway, key } = await started(LATIN, contentType);
      expect(outcomeOf(await gateway.report(key, FINAL))).toBe('502 upstream_invalid_response');
      platform.answer(sends(json(NAME)));
      expect(reportIn(await gateway.report(key, FINAL)).data).toEqual([{ campaignName: NAME }]);
    }
  });

  it('does not take the place of a report that is kept', async () => {
    const { platform, gateway, key } = await started(Buffer.from(json(NAME)), 'application/json');
    await gateway.report(key, RESTATING);
    platform.answer(sends(LATIN));
    gateway.clock.advance(HOUR + 11 * MINUTE);
    const reply = await gateway.report(key, RESTATING);
    expect(reply.headers['cache-status']).toMatch(/stale-if-error$/);
    expect(reportIn(reply).data).toEqual([{ campaignName: NAME }]);
  });
});

describe('an answer in another charset', () => {
  it.each<[string, Buffer, string]>([
    ['ISO 8859-1', LATIN, 'application/json; charset=ISO-8859-1'],
    ['windows-1252', LATIN, 'application/json; charset="windows-1252"'],
    ['UTF-16', Buffer.from(json(NAME), 'utf16le'), 'application/json; charset=utf-16le'],
    ['UTF-16 by its byte order mark', Buffer.from(`\ufeff${json(NAME)}`, 'utf16le'), 'application/json'],
  ])('%s is read as what it is, and raw gives its bytes', async (_what, body, contentType) => {
    const { platform, gateway, key } = await started(body, contentType);
    expect(reportIn(await gateway.report(key, FINAL)).data).toEqual([{ campaignName: NAME }]);
    const raw = await gateway.report(key, `${FINAL}&_format=raw`);
    expect([raw.body.equals(body), raw.headers['content-type']]).toEqual([true, contentType]);
    expect(platform.requests).toHaveLength(1);
  });

  it('is refused when it holds the token, however its bytes spell it', async () => {
    const { platform, gateway, key } = await started(Buffer.from('[]'), 'application/json');
    for (const [body, contentType] of [
      [Buffer.from(json(platform.token), 'utf16le'), 'application/json; charset=utf-16le'],
      [Buffer.from(`\ufeff${json(platform.token)}`, 'utf16le').swap16(), 'application/json'],
    ] as const) {
      platform.answer(sends(body, { 'content-type': contentType }));
      for (const format of ['json', 'raw']) {
        const reply = await gateway.report(key, `${FINAL}&_format=${format}&x=${contentType.length}`);
        expect(outcomeOf(reply)).toBe('502 upstream_invalid_response');
      }
    }
  });
});
