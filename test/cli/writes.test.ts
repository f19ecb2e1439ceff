/** `dsp-gateway writes` as an operator runs it, against a gateway in this process. */
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.js';
import type { Simulator } from '../../src/simulator/simulator-api.js';
import { MILLIONTHS } from '../../src/teams/write-guard/amount.js';
import { ADMIN_TOKEN, startGatewayAt, type TestGateway } from '../support/start-gateway.js';
import { runCli } from './run-cli.js';

let simulator: Simulator;
let gateway: TestGateway;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGatewayAt(simulator);
  await gateway.admin.listen({ host: '127.0.0.1', port: 0 });
  const { port } = gateway.admin.server.address() as AddressInfo;
  env = { GATEWAY_ADMIN_URL: `http://127.0.0.1:${port}`, ADMIN_TOKEN };
  await gateway.addTeam({ id: 'growth' });
});

afterAll(async () => {
  gateway?.admin.server.closeAllConnections();
  await gateway?.close();
  await simulator?.close();
});

const writes = (...args: readonly string[]) => runCli(['writes', ...args], env);

it('says who stopped writes, when and why, until they are resumed', async () => {
  expect(await writes('status')).toMatchObject({ code: 0, stdout: 'Writes are not stopped.\n' });
  const stopped = await writes('stop', '--reason', 'budgets look wrong');
  expect(stopped).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/all teams +2026.* admin +budgets look wrong/),
  });
  const one = await writes('stop', '--team', 'growth', '--reason', 'a loop', '--json');
  expect(one.json()).toMatchObject({ all: { by: 'admin' }, teams: [{ team: 'growth', reason: 'a loop' }] });
  expect((await writes('status', '--team', 'growth')).stdout).toMatch(/all teams.*\ngrowth .*a loop/);
  const elsewhere = await writes('status', '--team', 'other', '--json');
  expect(elsewhere.json()).toMatchObject({ all: { reason: 'budgets look wrong' }, teams: [] });
  const status = await runCli(['status'], env);
  expect(status).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('WARNING: Writes of all teams are stopped'),
  });
  expect((await writes('resume', '--reason', 'fixed')).stdout).toMatch(/^stopped .*\n.*\ngrowth /);
  expect((await writes('resume', '--team', 'growth', '--reason', 'fixed')).stdout).toBe(
    'Writes are not stopped.\n',
  );
});

it('says what to do where an order names nothing that there is', async () => {
  const team = await writes('stop', '--team', 'grwoth', '--reason', 'x');
  expect(team).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringContaining('There is no team with this id: did you mean `growth`?'),
  });
  const resume = await writes('resume', '--reason', 'x');
  expect(resume.code).not.toBe(0);
  expect(resume.stderr).toContain('There is no stop for all teams');
  expect((await writes('stop')).stderr).toContain("required option '--reason <text>' not specified");
});

it('lists writes of unknown outcome, and settles each once', async () => {
  expect((await writes('list')).stdout).toBe('There is no write of unknown outcome.\n');
  const { reservations } = gateway.services;
  const ask = {
    team: 'growth',
    route: 'POST /api/v1/campaign/create',
    amount: 2.5 * MILLIONTHS,
    max: 9 * MILLIONTHS,
    currency: 'EUR',
  };
  const answer = await reservations.reserve(ask);
  if (answer.kind === 'over') throw new Error('there was room');
  const { id } = answer.reservation;
  await reservations.keepUnknown(answer.reservation, 'it ended with upstream_timeout');
  const { stdout } = await writes('list');
  expect(stdout).toMatch(
    new RegExp(`${id} .* growth +POST /api/v1/campaign/create +2026-11-21 +2.5 +EUR +it ended`),
  );
  expect(stdout).toContain('dsp-gateway writes settle <id> happened|not');
  expect((await writes('list', '--unknown', '--json')).json()).toMatchObject({
    writes: [{ id, amount: 2.5, currency: 'EUR' }],
  });
  expect(await writes('settle', id, 'maybe')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('happened or not'),
  });
  expect((await writes('settle', id, 'not')).stdout).toBe(
    `${id} is returned: 2.5 EUR to the team growth on 2026-11-21\n`,
  );
  const bare = await reservations.reserve({ ...ask, amount: null, max: null });
  if (bare.kind === 'over') throw new Error('there was room');
  await reservations.keepUnknown(bare.reservation, 'it ended with upstream_timeout');
  expect((await writes('settle', bare.reservation.id, 'happened')).stdout).toContain('nothing was charged');
  expect(await writes('settle', id, 'not')).toMatchObject({
    stdout: '',
    stderr: expect.stringContaining('There is no unknown write'),
  });
});
