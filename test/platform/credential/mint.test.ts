import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { Agent } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fixedSecret } from '../../../src/config/secret.js';
import { GatewayError } from '../../../src/errors.js';
import { type MintOptions, mintToken } from '../../../src/platform/credential/mint.js';
import { startSimulator } from '../../../src/simulator/simulator.js';
import { deadUrl, startHttpPlatform } from '../../support/raw-platform.js';
import { createStandingClock } from '../../support/test-clock.js';

function mint(baseUrl: URL, options: Partial<MintOptions> = {}) {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  return mintToken({
    agent,
    rules: { baseUrl, loginPaths: [] },
    clock: createStandingClock(),
    onCall: () => {},
    tokenPath: '/oauth/token',
    grantType: 'platform_dsp',
    username: fixedSecret('PLATFORM_USERNAME', 'me@agency.example'),
    password: fixedSecret('PLATFORM_PASSWORD', 'pa"ss'),
    clientId: fixedSecret('PLATFORM_CLIENT_ID', '4711'),
    clientSecret: fixedSecret('PLATFORM_CLIENT_SECRET', 'client-secret'),
    timeoutMs: 10_000,
    ...options,
  });
}

const json =
  (body: unknown, status = 200) =>
  (_request: unknown, response: ServerResponse) =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(typeof body === 'string' ? body : JSON.stringify(body));

describe('the token request', () => {
  it('is as the document has it, and nothing more', async () => {
    const { url, seen } = await startHttpPlatform(json({ access_token: 'new-token', expires_in: 60 }));
    expect(await mint(new URL('/dsp/', url), { tokenPath: '/token' })).toEqual({
      secret: 'new-token',
      expiresInS: 60,
    });
    const [{ method, url: target, headers, body } = expect.unreachable()] = seen;
    expect([method, target]).toEqual(['POST', '/dsp/token']);
    expect(headers).toMatchObject({ accept: 'application/json', 'content-type': 'application/json' });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers).not.toHaveProperty('authorization');
    expect(body).toBe(
      '{"grant_type":"platform_dsp","username":"me@agency.example","password":"pa\\"ss","client_id":4711,"client_secret":"client-secret"}',
    );
  });

  it.each([
    ['4711', 4711],
    ['0', 0],
    ['999999999999999', 999_999_999_999_999],
    // What a number would change stays text.
    ['007', '007'],
    ['9007199254740993', '9007199254740993'],
    ['abc-7', 'abc-7'],
    ['1e3', '1e3'],
    ['-7', '-7'],
  ])('sends the client_id %j as %j', async (clientId, sent) => {
    const { url, seen } = await startHttpPlatform(json({ token: 't' }));
    await mint(url, { clientId: fixedSecret('PLATFORM_CLIENT_ID', clientId) });
    expect((JSON.parse(seen[0]?.body ?? '') as { client_id: unknown }).client_id).toBe(sent);
  });

  it('reads its secrets at each time, for a file may have changed', async () => {
    const { url, seen } = await startHttpPlatform(json({ token: 't' }));
    let password = 'one';
    const changing = { name: 'PLATFORM_PASSWORD', read: () => password, onChange: () => {} };
    await mint(url, { password: changing });
    password = 'two';
    await mint(url, { password: changing });
    expect(seen.map(({ body }) => (JSON.parse(body) as { password: string }).password)).toEqual([
      'one',
      'two',
    ]);
  });

  it.each([
    ['access_token', 'either'],
    ['token', 'number'],
    ['no-expiry', 'either'],
  ] as const)(
    'is understood by the simulated platform that answers with %s',
    async (tokenAnswer, clientId) => {
      const simulator = await startSimulator({ switches: { tokenAnswer, clientId, tokenTtlSeconds: 1234 } });
      onTestFinished(() => simulator.close());
      const { account } = simulator;
      const { secret, expiresInS } = await mint(new URL(simulator.url), {
        username: fixedSecret('PLATFORM_USERNAME', account.username),
        password: fixedSecret('PLATFORM_PASSWORD', account.password),
        clientId: fixedSecret('PLATFORM_CLIENT_ID', String(account.clientId)),
        clientSecret: fixedSecret('PLATFORM_CLIENT_SECRET', account.clientSecret),
      });
      expect(secret.length).toBeGreaterThan(40);
      expect(expiresInS).toBe(tokenAnswer === 'no-expiry' ? null : 1234);
    },
  );
});

describe('the answer', () => {
  it.each([
    [{ access_token: 'a', token: 'b' }, 'a'],
    [{ token: 'b' }, 'b'],
    [{ access_token: null, token: 'b' }, 'b'],
    [{ access_token: '!~'.repeat(100) }, '!~'.repeat(100)],
  ])('%j holds the token', async (answer, secret) => {
    for (const status of [200, 201]) {
      const { url } = await startHttpPlatform(json(answer, status));
      expect((await mint(url)).secret).toBe(secret);
    }
  });

  it.each([
    [3600, 3600],
    ['3600', 3600],
    [59.9, 59],
    ['59.9', 59],
    [31_536_000, 31_536_000],
    [1e300, 3_155_760_000],
    [0, null],
    [0.5, null],
    [-1, null],
    [null, null],
    [true, null],
    ['', null],
    ['soon', null],
    ['1e9', null],
    ['0x10', null],
    [[60], null],
    [{}, null],
    // JSON can spell an object that no number can be made of.
    [{ toString: 0 }, null],
    [undefined, null],
  ])('with expires_in %j lives %j seconds', async (expires, wanted) => {
    const { url } = await startHttpPlatform(json({ access_token: 't', expires_in: expires }));
    const { expiresInS } = await mint(url);
    expect(expiresInS).toBe(wanted);
    // A time that the calendar has.
    if (expiresInS !== null) expect(new Date(Date.now() + expiresInS * 1000).toISOString()).toMatch(/Z$/);
  });

  const CANARY = 'c4n4ry';
  it.each([
    ['no JSON', json(`<html>${CANARY}</html>`)],
    ['JSON that is cut', json(`{"access_token":"${CANARY}`)],
    ['null', json('null')],
    ['a list', json([CANARY])],
    ['a text', json(`"${CANARY}"`)],
    ['no token', json({ status: CANARY })],
    ['a token that is no text', json({ access_token: { value: CANARY } })],
    ['an empty token', json({ access_token: '' })],
    ['a token with a space', json({ access_token: `${CANARY} x` })],
    ['a token with a line break', json({ access_token: `${CANARY}\r\nx-injected: 1` })],
    ['a token that is not ASCII', json({ access_token: `${CANARY}é` })],
    ['a token without end', json({ access_token: CANARY.repeat(3000) })],
    ['204', json('', 204)],
    [
      '302',
      (_request: unknown, response: ServerResponse) =>
        void response.writeHead(302, { location: `/login?${CANARY}` }).end(CANARY),
    ],
    ['401', json({ message: CANARY }, 401)],
    ['422', json({ errors: { password: [CANARY] } }, 422)],
    ['500', json(CANARY, 500)],
    ['too much', json(`{"access_token":"t","more":"${CANARY}${'x'.repeat(70_000)}"}`)],
    ['a reset', (_request: unknown, response: ServerResponse) => void response.socket?.resetAndDestroy()],
    [
      'half',
      (_request: unknown, response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '1000' }).write(`{"access_token":"${CANARY}`);
        setTimeout(() => response.socket?.destroy(), 5);
      },
    ],
  ])('that is %s gives no token, and is not quoted', async (_what, answer) => {
    const { url, seen } = await startHttpPlatform(answer);
    const error = await mint(url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'credential_unavailable', status: 503 });
    expect(seen).toHaveLength(1);
    // Neither the message nor the cause, however deep it is looked into; nor what was sent.
    const all = inspect(error, { depth: 10 }) + JSON.stringify((error as GatewayError).options);
    for (const text of [CANARY, 'pa"ss', 'client-secret']) expect(all).not.toContain(text);
  });

  it('that does not come in time gives no token', async () => {
    const { url, connections } = await startHttpPlatform(() => {});
    await expect(mint(url, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'credential_unavailable' });
    await expect.poll(() => connections.size).toBe(0);
  });

  it('of nobody gives no token', async () => {
    await expect(mint(await deadUrl())).rejects.toMatchObject({ code: 'credential_unavailable' });
  });

  it('whatever it is, gives a token that fits in a header or a fault of the catalogue', async () => {
    let body = '';
    const { url } = await startHttpPlatform((_request, response) => void response.end(body));
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.json(),
          fc
            .record({ access_token: fc.string(), expires_in: fc.anything() })
            .map((value) => JSON.stringify(value)),
        ),
        async (answer) => {
          body = answer;
          const outcome = await mint(url).catch((error: unknown) => error);
          if (outcome instanceof GatewayError) expect(outcome.code).toBe('credential_unavailable');
          else expect((outcome as { secret: string }).secret).toMatch(/^[\x21-\x7e]+$/);
        },
      ),
      { numRuns: 60 },
    );
  });
});
