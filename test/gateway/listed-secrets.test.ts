/** What a list of failed requests shows of secrets that a caller sent at a wrong place. */
import { expect, it } from 'vitest';
import { withTeam } from '../support/start-gateway.js';

it('a key that a caller wrote into the address of a report is in no list of failed requests', async () => {
  const { gateway, key } = await withTeam();
  await gateway.call(`/api/v1/report/${key}/get?advertiserId=1`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const listed = await gateway.manage('GET', '/requests');
  expect(listed).toMatchObject({ requests: [{ report: { advertiserId: '1' } }] });
  expect(JSON.stringify(listed)).not.toContain(key);
});

it('a long address of a report is cut in the list of failed requests, as its path is', async () => {
  const { gateway, key } = await withTeam();
  const headers = { authorization: `Bearer ${key}` };
  await gateway.call(`/api/v1/report/${'a'.repeat(4000)}?advertiserId=1`, { headers });
  const { requests } = (await gateway.manage('GET', '/requests')) as {
    requests: { path: string; report: { endpoint: string } }[];
  };
  expect(requests.map(({ path, report }) => [path.length, report.endpoint.length])).toEqual([[256, 256]]);
});
