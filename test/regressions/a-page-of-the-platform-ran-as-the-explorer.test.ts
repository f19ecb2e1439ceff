/**
 * What is passed through keeps the platform's content type. Shown in a browser that is signed in, a page among it would be of
 * the explorer's origin: its script could read the session's csrf and go on in the team's name.
 */
import { expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt } from '../support/start-gateway.js';
import { ask, signIn } from '../teams/sessions/signed-in.js';

const PAGE = '<script>fetch("/gateway/v1/session")</script>';

it('has no script of it run, and no type guessed, where it is asked for by cookie', async () => {
  const platform = await startRawPlatform(sends(PAGE, { 'content-type': 'text/html' }));
  const gateway = await gatewayAt(platform);
  const key = await gateway.addTeam();
  const browser = await signIn(gateway.data, '/gateway/v1/session', { key });
  const shown = await ask(gateway.data, '/api/v1/creatives/preview?id=1', { headers: browser.reads });
  expect([shown.status, shown.headers['content-type'], shown.text]).toEqual([200, 'text/html', PAGE]);
  expect(shown.headers).toMatchObject({
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-store',
  });
  const program = await ask(gateway.data, '/api/v1/creatives/preview?id=1', {
    headers: { 'x-api-key': key },
  });
  expect(program.headers).not.toHaveProperty('content-security-policy');
});
