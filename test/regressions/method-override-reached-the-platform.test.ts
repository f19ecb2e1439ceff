/** `_method` in a body that was streamed changed a call on the platform into another one. */
import { Readable } from 'node:stream';
import { request } from 'undici';
import { expect, it } from 'vitest';
import { listenGateway } from '../support/listen-gateway.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt } from '../support/start-gateway.js';

const PART = (name: string, content: string) =>
  `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`;
const LARGE = 'x'.repeat(3_000_000);

it.each<[string, string, string, boolean]>([
  ['chunked JSON', 'application/json', '{"_method":"DELETE"}', true],
  ['a chunked form', 'application/x-www-form-urlencoded', '_method=DELETE', true],
  ['JSON of another name', 'application/vnd.api+json', '{"_method":"DELETE"}', false],
  ['a form in parts', 'multipart/form-data; boundary=b', `${PART('_method', 'DELETE')}--b--\r\n`, false],
  [
    'a large form in parts',
    'multipart/form-data; boundary=b',
    `${PART('file', LARGE)}${PART('_method', 'DELETE')}--b--\r\n`,
    false,
  ],
  ['large JSON', 'application/json', `{"a":"${LARGE}","_method":"DELETE"}`, false],
])(
  '%s with another method is refused, and the platform never has the whole',
  async (_what, type, body, chunked) => {
    let whole = 0;
    const platform = await startRawPlatform((incoming, response) => {
      incoming.on('error', () => {}).resume();
      incoming.on('end', () => {
        whole += 1;
        response.end('{}');
      });
    });
    const gateway = await gatewayAt(platform);
    const [key, url] = [await gateway.addTeam(), await listenGateway(gateway)];
    const reply = await request(`${url}/api/v1/thing`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': type },
      body: chunked ? Readable.from([body]) : body,
    }).catch((error: Error) => error);
    // Whoever is still sending may find the connection closed before it reads why.
    if (!(reply instanceof Error)) {
      expect(reply.statusCode).toBe(400);
      expect(await reply.body.json()).toMatchObject({ code: 'invalid_body', errors: [{ param: '_method' }] });
    }
    await expect.poll(() => gateway.services.budget.running).toBe(0);
    expect(whole).toBe(0);
  },
);
