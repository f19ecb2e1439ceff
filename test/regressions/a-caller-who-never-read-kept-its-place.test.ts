import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FINAL } from '../gateway/reports.js';
import { listenGateway } from '../support/listen-gateway.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, REPORT } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

/** More than a system takes into the buffers of a connection. */
const LARGE = `{"data":[${Array.from({ length: 20_000 }, (_, id) => `{"campaign_id":${id},"note":"${'x'.repeat(900)}"}`).join(',')}]}`;

function open(url: string, request: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(request);
  return socket;
}

describe('a caller of a large report', () => {
  it('is cut off when it does not read, and its team may ask again', async () => {
    const gateway = await gatewayAt(await startRawPlatform(sends(LARGE)), {
      config: { server: { minReadOverSeconds: 1 } },
    });
    const key = await gateway.addTeam({ limits: { maxConcurrent: 1, requestsPerMinute: 1_000_000 } });
    const url = await listenGateway(gateway);
    open(url, `GET ${REPORT}?${FINAL} HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n\r\n`).pause();
    const small = () => gateway.report(key, 'advertiserId=1&_format=nonsense');
    await waitFor('the first call to be inside', async () => outcomeOf(await small()) === '429 rate_limited');
    await waitFor('its end', async () => outcomeOf(await small()) === '400 invalid_query');
    expect(gateway.log.filter(({ complete }) => complete === false)).toHaveLength(1);
  });

  it('gets the whole of it when it reads, from memory too', async () => {
    const gateway = await gatewayAt(await startRawPlatform(sends(LARGE)));
    const key = await gateway.addTeam();
    const url = await listenGateway(gateway);
    for (const format of ['raw', 'raw', 'json', 'csv']) {
      const answer = await fetch(`${url}${REPORT}?${FINAL}&_format=${format}`, {
        headers: { 'x-api-key': key, 'accept-encoding': 'identity' },
      });
      const text = await answer.text();
      expect(text.length).toBe(Number(answer.headers.get('content-length')));
      if (format === 'raw') expect(text === LARGE).toBe(true);
      if (format === 'json') expect(JSON.parse(text).data).toHaveLength(20_000);
    }
  });
});
