/** A body was read, and worked on, before it was known who sent it; and however much it held. */
import { expect, it } from 'vitest';
import { listenGateway } from '../support/listen-gateway.js';
import { exchange, head, readAnswers } from '../support/raw-socket.js';
import { outcomeOf, withGateway } from '../support/start-gateway.js';

const REPORT = '/api/v1/report/campaigns/get';

it.each([REPORT, '/api/v1/campaign/create'])(
  'whoever has no valid key is refused at once, and its body is not waited for: %s',
  async (path) => {
    const gateway = await withGateway();
    const url = await listenGateway(gateway);
    for (const framing of ['content-length: 1000000', 'transfer-encoding: chunked']) {
      const text = await exchange(
        url,
        head(`POST ${path} HTTP/1.1`, [
          ...['host: a', 'x-api-key: nobody', 'content-type: application/json', framing],
        ]),
        { patienceMs: 5000 },
      );
      const [answer] = readAnswers(text);
      expect(answer?.status).toBe(401);
      expect(JSON.parse(answer?.body ?? '')).toMatchObject({ code: 'invalid_api_key' });
    }
  },
);

it('a connection is kept for the next request when the body that was refused is small', async () => {
  const gateway = await withGateway();
  const url = await listenGateway(gateway);
  const refused = head(
    `POST ${REPORT} HTTP/1.1`,
    ['host: a', 'x-api-key: nobody', 'content-type: application/json', 'content-length: 2'],
    '{}',
  );
  const text = await exchange(url, refused + head('GET /healthz HTTP/1.1', ['host: a', 'connection: close']));
  expect(readAnswers(text).map(({ status }) => status)).toEqual([401, 200]);
});

it.each<[string, string]>([
  ['members', `{${Array.from({ length: 257 }, (_, index) => `"x${index}":1`).join()}}`],
  ['members of members', `{"filter":{${Array.from({ length: 256 }, (_, index) => `"x${index}":1`).join()}}}`],
  ['bad names', `{${Array.from({ length: 80_000 }, (_, index) => `"x-${index}":1`).join()}}`],
  ['list items', `{"campaignIds":[${'1,'.repeat(10_000)}1]}`],
])('a body of too many %s is refused in few words', async (_what, body) => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  const reply = await gateway.call(REPORT, {
    method: 'POST',
    key,
    body,
    headers: { 'content-type': 'application/json' },
  });
  expect(outcomeOf(reply)).toBe('400 invalid_body');
  expect(reply.body.length).toBeLessThan(1000);
  expect(reply.text).toContain('256 members');
  expect(gateway.simulator.callCount).toBe(0);
});

it('a body of as many members as a query may have is taken', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  const json = {
    advertiserId: 1,
    ...Object.fromEntries(Array.from({ length: 255 }, (_, index) => [`x${index}`, 1])),
  };
  const call = { method: 'POST', key, json } as const;
  expect((await gateway.call(`${REPORT}?_period=yesterday`, call)).status).toBe(200);
});

it('of many faults twenty are listed, with their number', async () => {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  const query = Array.from({ length: 60 }, (_, index) => `x-${index}=1`).join('&');
  for (const path of [REPORT, '/api/v1/campaign/1']) {
    const problem = (await gateway.call(`${path}?${query}`, { key })).json<{
      errors: unknown[];
      errorCount: number;
    }>();
    expect([problem.errors.length, problem.errorCount]).toEqual([20, 60]);
  }
});
