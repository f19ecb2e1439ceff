import { describe, expect, it } from 'vitest';
import type { Simulator } from '../../src/simulator/simulator-api.js';
import { type CallOptions, call, encodeForm, REPORT, start } from './support.js';

function fieldsOf({ account }: Simulator): Record<string, unknown> {
  const { username, password, clientId, clientSecret } = account;
  return { grant_type: 'platform_dsp', username, password, client_id: clientId, client_secret: clientSecret };
}

const ask = (simulator: Simulator, options: CallOptions) => {
  return call(simulator, '/oauth/token', { method: 'POST', headers: { authorization: '' }, ...options });
};

describe('the token request', () => {
  it('answers a token that the report takes, and needs none itself', async () => {
    const simulator = await start();
    const reply = await ask(simulator, { json: fieldsOf(simulator) });
    expect(reply.status).toBe(200);
    const { access_token: token } = reply.json<{ access_token: string }>();
    expect(token).not.toBe(simulator.token);
    const headers = { authorization: `Bearer ${token}` };
    expect((await call(simulator, REPORT, { headers })).status).toBe(200);
  });

  it('answers another token each time; older ones stay valid', async () => {
    const simulator = await start();
    const tokens = [simulator.token, simulator.issueToken()];
    for (let made = 0; made < 3; made++) {
      tokens.push(
        (await ask(simulator, { json: fieldsOf(simulator) })).json<{ access_token: string }>().access_token,
      );
    }
    expect(new Set(tokens).size).toBe(5);
    for (const token of tokens) {
      expect((await call(simulator, REPORT, { headers: { authorization: `Bearer ${token}` } })).status).toBe(
        200,
      );
    }
  });

  it.each(['grant_type', 'username', 'password', 'client_id', 'client_secret'])('needs %s', async (field) => {
    const simulator = await start();
    for (const value of [undefined, null, '', ['x']]) {
      const reply = await ask(simulator, { json: { ...fieldsOf(simulator), [field]: value } });
      expect(reply.status).toBe(422);
      expect(Object.keys(reply.json<{ errors: object }>().errors)).toEqual([field]);
    }
  });

  it('takes no other grant type', async () => {
    const simulator = await start();
    const reply = await ask(simulator, { json: { ...fieldsOf(simulator), grant_type: 'password' } });
    expect(reply.status).toBe(422);
    expect(reply.json()).toHaveProperty('errors.grant_type');
  });

  it.each([
    ['username', 'nobody'],
    ['password', 'wrong'],
    ['client_secret', 'wrong'],
    ['client_id', 1],
  ])('refuses a wrong %s without saying which it was', async (field, value) => {
    const simulator = await start();
    const reply = await ask(simulator, { json: { ...fieldsOf(simulator), [field]: value } });
    expect(reply.status).toBe(401);
    expect(reply.json()).toEqual({ message: 'Client authentication failed.' });
  });

  it('is JSON: a form, broken JSON and an array are requests without fields', async () => {
    const simulator = await start();
    const bodies = [
      { type: 'application/x-www-form-urlencoded', body: encodeForm(fieldsOf(simulator)) },
      { type: 'application/json', body: '{"grant_type":' },
      { type: 'application/json', body: '[]' },
    ];
    for (const { type, body } of bodies) {
      const reply = await ask(simulator, { body, headers: { 'content-type': type } });
      expect(reply.status).toBe(422);
      expect(Object.keys(reply.json<{ errors: object }>().errors)).toHaveLength(5);
    }
  });

  it('is a POST', async () => {
    const simulator = await start();
    const reply = await call(simulator, '/oauth/token');
    expect(reply.status).toBe(405);
    expect(reply.headers.allow).toBe('POST');
  });

  it('does not count against the rate limit of reports', async () => {
    const simulator = await start({ switches: { rateLimitPerMinute: 1 } });
    for (let made = 0; made < 3; made++) {
      expect((await ask(simulator, { json: fieldsOf(simulator) })).status).toBe(200);
    }
    expect((await call(simulator, REPORT)).status).toBe(200);
  });
});

describe('a token', () => {
  const statusOf = async (simulator: Simulator, authorization: string) =>
    (await call(simulator, REPORT, { headers: { authorization } })).status;

  it('is sent as a bearer', async () => {
    const simulator = await start();
    expect(await statusOf(simulator, `Bearer ${simulator.token}`)).toBe(200);
    for (const wrong of [
      '',
      simulator.token,
      `Basic ${simulator.token}`,
      `Bearer ${simulator.token}x`,
      'Bearer',
    ]) {
      expect(await statusOf(simulator, wrong)).toBe(401);
    }
  });

  it('can be revoked alone, or with all the others', async () => {
    const simulator = await start();
    const other = simulator.issueToken();
    simulator.revoke(other);
    expect(await statusOf(simulator, `Bearer ${other}`)).toBe(401);
    expect(await statusOf(simulator, `Bearer ${simulator.token}`)).toBe(200);
    simulator.revoke();
    expect(await statusOf(simulator, `Bearer ${simulator.token}`)).toBe(401);
    expect(await statusOf(simulator, `Bearer ${simulator.issueToken()}`)).toBe(200);
    expect(() => simulator.revoke('never issued')).toThrow(RangeError);
  });

  it('of the dashboard is the same after a restart with the same seed, and another with another', async () => {
    const [first, again, other] = [
      await start({ seed: 9 }),
      await start({ seed: 9 }),
      await start({ seed: 10 }),
    ];
    expect(again.token).toBe(first.token);
    expect(again.account).toEqual(first.account);
    expect(other.token).not.toBe(first.token);
    expect(other.account).not.toEqual(first.account);
  });
});
