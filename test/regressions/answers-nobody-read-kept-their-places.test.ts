/** Hits that were sent ahead and not read held their team's places for as long as the connection was open. */
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { RESTATING } from '../gateway/reports.js';
import { listenGateway } from '../support/listen-gateway.js';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { head } from '../support/raw-socket.js';
import { gatewayAt, REPORT } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

/** Of 200 kB; some of them are more than a system takes into the buffers of a connection. */
const ROWS = `{"data":[${Array.from({ length: 200 }, (_, id) => `{"campaign_id":${id},"note":"${'x'.repeat(980)}"}`).join(',')}]}`;
const LONG = 'advertiserId=7&byCampaign=1&dateFrom=2026-10-01&dateTo=2026-10-31';
const AHEAD = 60;

async function withCaller() {
  const platform = await startHeldPlatform(sends(ROWS));
  const gateway = await gatewayAt(platform, {
    logLevel: 'info',
    config: { server: { minReadOverSeconds: 1 } },
  });
  const key = await gateway.addTeam({ limits: { maxConcurrent: 100, requestsPerMinute: 1_000_000 } });
  platform.release();
  for (let n = 0; n < 2; n++) expect((await gateway.report(key, LONG)).status).toBe(200);
  const { hostname, port } = new URL(await listenGateway(gateway));
  const socket = connect(Number(port), hostname).on('error', () => {});
  onTestFinished(() => void socket.destroy());
  const ask = (query: string) =>
    head(`GET ${REPORT}?${query} HTTP/1.1`, ['host: gateway.test', `x-api-key: ${key}`]);
  const left = () => {
    const team = gateway.services.directory.team('team-1');
    return team && gateway.services.limits.teams.concurrencyLeft(team);
  };
  return { platform, gateway, socket, ask, left };
}

it('a caller who does not read what it sent for ahead is cut off, and its places are free again', async () => {
  const { socket, ask, left } = await withCaller();
  socket.pause();
  socket.write(ask(LONG).repeat(AHEAD));
  await waitFor('some to be held', () => (left() ?? 100) < 100);
  await waitFor('all to be over', () => left() === 100);
});

it('a caller who reads gets all of them, though they wait for a platform that takes its time', async () => {
  const { platform, socket, ask, left } = await withCaller();
  platform.hold();
  const before = platform.requests.length;
  let received = 0;
  socket.on('data', (chunk) => {
    received += chunk.length;
  });
  socket.write(ask(RESTATING) + ask(LONG).repeat(2));
  await platform.arrived(before + 1);
  await waitFor('all three to be inside', () => left() === 97);
  // Longer than a caller who does not read is waited for.
  await new Promise((resolve) => setTimeout(resolve, 2500));
  expect([left(), socket.destroyed]).toEqual([97, false]);
  platform.release();
  await waitFor('all to be over', () => left() === 100);
  await waitFor('what was sent', () => received > 2 * ROWS.length);
});
