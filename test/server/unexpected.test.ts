/** A gateway to which happens what nobody expects: no descriptor left, a debugger's signal, a promise that nobody holds. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { ask } from '../support/ask.js';
import { type Gateway, logLines, startGateway, tempFolder } from '../support/processes.js';

let gateway: Gateway;

beforeAll(async () => {
  const planted = join(await tempFolder(), 'planted.mjs');
  await writeFile(
    planted,
    `import { syncBuiltinESMExports } from 'node:module';
import v8 from 'node:v8';
const { setFlagsFromString } = v8;
v8.setFlagsFromString = (flag) => {
  console.error('flag', flag);
  setFlagsFromString(flag);
};
syncBuiltinESMExports();
process.on('SIGUSR2', () => void Promise.reject(new Error('planted')));
`,
  );
  gateway = await startGateway({
    PLATFORM_BASE_URL: 'http://127.0.0.1:9',
    ADMIN_HOST: '0.0.0.0',
    NODE_OPTIONS: `--import=${pathToFileURL(planted).href}`,
  });
});

it('an admin plane that others can reach is warned of, and asks for a token all the same', async () => {
  const warned = logLines(gateway).filter(({ msg }) => msg?.includes('the admin plane listens on 0.0.0.0'));
  expect(warned).toHaveLength(1);
  expect((await ask(`${gateway.admin}/admin/v1/status`)).status).toBe(401);
});

it('garbage takes only a share of the memory in use', () => {
  expect(gateway.stderr).toContain('flag --heap-growing-percent=30\n');
});

it('no signal opens a debugger', async () => {
  gateway.signal('SIGUSR1');
  await expect
    .poll(() => logLines(gateway).map(({ msg }) => msg))
    .toContainEqual(expect.stringContaining('SIGUSR1 opens no debugger'));
  expect(gateway.stderr).not.toMatch(/debugger listening/i);
  expect((await ask(`${gateway.data}/healthz`)).status).toBe(200);
});

it('without a free descriptor connections are closed, and it goes on when there are some again', async () => {
  // The soft limit alone: raising the hard one takes rights that a test may not have.
  const limit = (count: number) => execFileSync('prlimit', [`--pid=${gateway.pid}`, `--nofile=${count}:`]);
  limit(readdirSync(`/proc/${gateway.pid}/fd`).length + 10);
  const { hostname, port } = new URL(gateway.data);
  const sockets = Array.from({ length: 60 }, () => connect(Number(port), hostname).on('error', () => {}));
  await Promise.all(sockets.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
  const closed = () => sockets.filter((socket: Socket) => socket.closed).length;
  await expect.poll(closed).toBeGreaterThan(40);
  for (const socket of sockets) socket.destroy();
  limit(1024);
  const status = () =>
    ask(`${gateway.data}/healthz`).then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(status).toBe(200);
});

it('a promise that nobody holds is logged, and the process ends with code 1', async () => {
  expect(await gateway.end('SIGUSR2')).toEqual({ code: 1, signal: null });
  const fatal = logLines(gateway).filter(({ msg }) => msg === 'unhandled rejection');
  expect(fatal).toMatchObject([{ err: { message: 'planted' } }]);
});
