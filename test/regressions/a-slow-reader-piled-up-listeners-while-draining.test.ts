/**
 * While the process drained, a connection whose caller had not read all of an answer from the socket yet counted as idle
 * and was told to close at each look: a listener more each time, until Node warned of a leak, and the log line of the stop
 * did not count its answer.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ANSWERED } from '../../src/http/socket-first.js';
import { createDrain } from '../../src/serve/drain.js';
import { listenGateway } from '../support/listen-gateway.js';
import { head } from '../support/raw-socket.js';
import { REPORT, withGateway } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-07';

it('leaves a connection alone until its answer was read, and closes it then', async () => {
  const gateway = await withGateway({ logLevel: 'info', config: { server: { hitsOnSocket: true } } });
  const key = await gateway.addTeam();
  for (let n = 0; n < 2; n++) await gateway.report(key, QUERY);
  const { server } = gateway.data;
  // Time goes on by the looks at it.
  let looks = 0;
  const drain = createDrain([server], () => 500 * ++looks);
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => void sockets.push(socket));
  const { hostname, port } = new URL(await listenGateway(gateway));
  const caller = connect(Number(port), hostname).pause();
  onTestFinished(() => void caller.destroy());
  await once(caller, 'connect');
  await waitFor('the connection', () => sockets.length === 1);
  const ours = sockets[0] as Socket;
  while (ours.writableLength === 0) {
    const answered = once(server, ANSWERED);
    caller.write(head(`GET ${REPORT}?${QUERY} HTTP/1.1`, ['host: a', `x-api-key: ${key}`]));
    await answered;
  }
  expect(drain.underWay()).toBe(1);

  const listeners = ours.listenerCount('finish');
  const over = drain.start(3_600_000);
  await waitFor('the end of listening', () => !server.listening);
  const before = looks;
  await waitFor('further looks', () => looks >= before + 10);
  expect(ours.listenerCount('finish')).toBe(listeners);
  expect(ours.writable).toBe(true);

  caller.resume();
  await over;
});
