/** A gateway with few descriptors, given more connections than that. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import type { Gateway } from '../../../support/processes.js';
import { waitFor } from '../../../support/wait-for.js';
import { faultsAfter } from '../check.js';
import { newDiary, startWorks } from '../works.js';
import { askMe, openWorld, type World } from '../world.js';
import { type Found, inWorld, type Limit } from './limit.js';

const run = promisify(execFile);
/** Beyond what is open: less than works and connections need. */
const SPARE = 10;
const CONNECTIONS = 100;

export const FEW_FILES: Limit = {
  name: 'No descriptor left',
  what: 'A gateway among changes and writes may open ten files more (RLIMIT_NOFILE), and is given 100 connections; then they are closed, and the limit stays.',
  play: async ({ chance }) => {
    const kind = { name: 'Embedded, few files', what: '', count: 1, env: {}, victim: 'either' } as const;
    return await inWorld(await openWorld(kind), (world) => playFewFiles(world, chance));
  },
};

/** The limit is so low that the gateway itself may find none while works go on: what is acknowledged then holds all the same. */
async function playFewFiles(world: World, chance: () => number): Promise<Found> {
  const diary = newDiary();
  const gateway = world.gateways[0] as Gateway;
  const stop = startWorks(world, diary, { chance, imports: false });
  await waitFor('some changes', () => diary.steps > 20, gateway);
  const open = (await readdir(`/proc/${gateway.pid}/fd`)).length;
  await run('prlimit', [`--pid=${gateway.pid}`, `--nofile=${open + SPARE}:`]);
  const { hostname, port } = new URL(gateway.data);
  const sockets = Array.from({ length: CONNECTIONS }, () =>
    connect(Number(port), hostname).on('error', () => {}),
  );
  await Promise.all(sockets.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
  const closed = () => sockets.filter((socket: Socket) => socket.closed).length;
  await waitFor('connections that are closed', () => closed() >= CONNECTIONS / 2, gateway);
  const refused = closed();
  await stop();
  for (const socket of sockets) socket.destroy();
  const closedMs = performance.now();
  await waitFor('an answer', async () => (await askMe(gateway, world.keys.free)) === 200, gateway);
  const tookMs = performance.now() - closedMs;
  return {
    ...{ times: 1, faults: await faultsAfter(world, diary) },
    worst: `${Math.round(tookMs)} ms until it answered when they were closed`,
    note: `${refused} of ${CONNECTIONS} connections closed by it; ${diary.steps} changes and writes acknowledged`,
  };
}
