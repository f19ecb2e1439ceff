/** Of requests that were sent ahead, Node tells the first alone that the connection is gone. */
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { FINAL, RESTATING } from '../gateway/reports.js';
import { listenGateway } from '../support/listen-gateway.js';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { head } from '../support/raw-socket.js';
import { gatewayAt, REPORT } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

it.each([
  ['at once', { fastPath: true }],
  ['by the router', { fastPath: false }],
])(
  'lets go of the places of a caller who leaves before its second answer, given %s, could be sent',
  async (_way, server) => {
    const platform = await startHeldPlatform(sends('{"data":[{"campaign_id":1,"clicks":2}]}'));
    const gateway = await gatewayAt(platform, { logLevel: 'info', config: { server } });
    const key = await gateway.addTeam({ limits: { maxConcurrent: 5, requestsPerMinute: 1_000_000 } });
    platform.release();
    for (let n = 0; n < 2; n++) expect((await gateway.report(key, FINAL)).status).toBe(200);
    platform.hold();
    const before = platform.requests.length;
    const linesBefore = gateway.log.filter(({ msg }) => msg === 'request').length;
    const { hostname, port } = new URL(await listenGateway(gateway));
    const socket = connect(Number(port), hostname);
    const ask = (query: string) =>
      head(`GET ${REPORT}?${query} HTTP/1.1`, ['host: gateway.test', `x-api-key: ${key}`]);
    socket.write(ask(RESTATING) + ask(FINAL) + ask(FINAL));
    await platform.arrived(before + 1);
    const left = () => {
      const team = gateway.services.directory.team('team-1');
      return team && gateway.services.limits.teams.concurrencyLeft(team);
    };
    await waitFor('all three to be inside', () => left() === 2);
    socket.resetAndDestroy();
    await waitFor('all three to be over', () => left() === 5);
    const lines = () => gateway.log.filter(({ msg }) => msg === 'request').slice(linesBefore);
    await waitFor('their lines', () => lines().length === 3);
    expect(lines().every(({ complete }) => complete === false)).toBe(true);
    platform.release();
  },
);
