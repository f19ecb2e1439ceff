/** An answer that was streamed went on for as long as it liked when the key it was asked with had been revoked. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { request } from 'undici';
import { expect, it } from 'vitest';
import { listenGateway } from '../support/listen-gateway.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

it('a streamed answer is broken off when its key is revoked, and no other', async () => {
  const answers: ServerResponse[] = [];
  const platform = await startRawPlatform((_request, response) => {
    answers.push(response);
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.write('begun');
  });
  const gateway = await gatewayAt(platform, { logLevel: 'info' });
  const [revoked, kept] = [await gateway.addTeam({ id: 'one' }), await gateway.addTeam({ id: 'other' })];
  const url = `${await listenGateway(gateway)}/api/v1/thing`;
  const [first, second] = await Promise.all(
    [revoked, kept].map((key) => request(url, { headers: { 'x-api-key': key } })),
  );
  const failed = once(first?.body ?? process, 'error');
  let text = '';
  first?.body.on('data', () => {});
  second?.body.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const { keys } = (await gateway.manage('GET', '/teams/one/keys')) as { keys: { id: string }[] };
  await gateway.manage('DELETE', `/keys/${keys[0]?.id}`);
  await failed;
  await waitFor('the log line', () =>
    gateway.log.find(({ msg, team, complete }) => msg === 'request' && team === 'one' && complete === false),
  );
  for (const answer of answers) if (!answer.destroyed) answer.end(' and over');
  await once(second?.body ?? process, 'end');
  expect(text).toBe('begun and over');
});
