/** `dsp-gateway doctor` says no less than `status`, and of a gateway that it may not ask nothing. */
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { tempFolder } from '../support/processes.js';
import { startHttpPlatform } from '../support/raw-platform.js';
import { ADMIN_TOKEN, type SimulatedGateway, withGateway } from '../support/start-gateway.js';
import { type Ran, runCli } from './run-cli.js';

const VIEWER = 'named-token-of-the-viewer';
let tokenFile: string;
beforeAll(async () => {
  tokenFile = join(await tempFolder(), 'viewer');
  await writeFile(tokenFile, VIEWER);
});

async function open(config: object = {}) {
  const adminTokens = [{ name: 'viewer', role: 'viewer', tokenFile }];
  const gateway: SimulatedGateway = await withGateway({ config: { auth: { adminTokens }, ...config } });
  await gateway.admin.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => gateway.admin.server.closeAllConnections());
  const { port } = gateway.admin.server.address() as AddressInfo;
  const cli = (line: string, token = ADMIN_TOKEN): Promise<Ran> =>
    runCli(line.split(' '), { GATEWAY_ADMIN_URL: `http://127.0.0.1:${port}`, ADMIN_TOKEN: token });
  return { gateway, cli };
}

const checksOf = (ran: Ran) => ran.json<{ checks: { name: string; level: string; says: string }[] }>().checks;

it('warns while writes are stopped, as status does', async () => {
  const { cli } = await open();
  await cli('writes stop --reason incident');
  const doctor = await cli('doctor --json');
  expect(doctor.code).toBe(1);
  expect(checksOf(doctor)).toContainEqual(
    expect.objectContaining({
      level: 'warning',
      says: expect.stringContaining('Writes of all teams are stopped'),
    }),
  );
});

it('is not well when another process has no token, as status is', async () => {
  const { gateway, cli } = await open();
  const { health } = gateway.services;
  const own = health.own();
  health.hear(() => [{ ...own, id: 'other', credential: 'missing' }]);
  expect((await cli('status')).code).toBe(2);
  const doctor = await cli('doctor --json');
  expect(doctor.code).toBe(2);
  expect(checksOf(doctor)).toContainEqual(
    expect.objectContaining({ level: 'not well', says: expect.stringContaining('no platform token') }),
  );
});

it('has the notes of status', async () => {
  const { gateway, cli } = await open();
  await gateway.manage('POST', '/token/stage', { token: gateway.simulator.issueToken() });
  const note = /^note: an unverified token is pending since .*$/m;
  const [noted = 'none'] = note.exec((await cli('status')).stdout) ?? [];
  expect((await cli('doctor')).stdout).toContain(`\n${noted}\n`);
});

it('names differing versions of processes, also of one that reports none', async () => {
  const { gateway, cli } = await open();
  const { health } = gateway.services;
  const own = health.own();
  health.hear(() => [{ ...own, id: 'other', version: '' }]);
  expect(checksOf(await cli('doctor --json'))).toContainEqual(
    expect.objectContaining({
      name: 'versions',
      level: 'warning',
      says: `The 2 processes have different versions: ${own.version}, an older one.`,
    }),
  );
});

it.each([
  ['a wrong token', 'wrong-token-of-nobody', 'does not accept this admin token'],
  ["a viewer's token", VIEWER, 'needs the role operator'],
])('does not call a gateway unwell that refuses %s: exit code 77', async (_, token, words) => {
  const { cli } = await open();
  const doctor = await cli('doctor --json', token);
  expect([doctor.code, doctor.stderr, doctor.json().level]).toEqual([77, '', 'warning']);
  expect(checksOf(doctor)).toContainEqual(
    expect.objectContaining({ name: 'gateway', level: 'warning', says: expect.stringContaining(words) }),
  );
});

it('does not say to start a gateway that accepts the call and does not answer in time', async () => {
  const silent = await startHttpPlatform(() => {});
  const abort = new AbortController();
  const env = { GATEWAY_ADMIN_URL: silent.url.href, ADMIN_TOKEN };
  vi.spyOn(AbortSignal, 'timeout').mockReturnValue(abort.signal);
  onTestFinished(() => void vi.restoreAllMocks());
  const rotation = runCli(['token', 'rotate'], env, 'a-new-token');
  const doctor = runCli(['doctor'], env);
  await vi.waitFor(() => expect(silent.seen).toHaveLength(2), 60_000);
  abort.abort(new DOMException('late', 'TimeoutError'));
  const said = 'did not answer within 120 s; it is running';
  expect(await rotation).toMatchObject({ code: 69, stderr: expect.stringContaining(said) });
  const { stdout } = await doctor;
  expect(stdout).toContain('did not answer within 120 s');
  expect(`${stdout}${(await rotation).stderr}`).not.toMatch(/start the gateway|Start it|was not set/);
});

it('ends after one call that the platform does not answer, says so, and tells a person meanwhile', async () => {
  const { gateway, cli } = await open({ platform: { timeoutMs: 100 } });
  await gateway.addTeam();
  gateway.simulator.fault({ kind: 'hang', times: 100 });
  gateway.simulator.clearCalls();
  const doctor = await cli('doctor');
  expect(doctor.stdout).toContain('could not be verified: the platform did not answer within 0.1 s');
  expect(gateway.simulator.calls.length).toBeLessThanOrEqual(1);
  expect(doctor.stderr).toBe('');
  const input = Object.assign(new PassThrough(), { isTTY: true });
  expect(
    (await runCli(['doctor'], { GATEWAY_ADMIN_URL: 'http://127.0.0.1:1', ADMIN_TOKEN }, input)).stderr,
  ).toContain('makes one platform call');
});
