/** `dsp-gateway report` against a running data plane: what it shows, and its exit codes. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BY_DATE, historyScene } from '../gateway/history-scene.js';
import { type Ran, runCli } from './run-cli.js';

/** @param name of the commands */
async function commandScene(name: string) {
  const { gateway, key, ask, restated } = await historyScene();
  await gateway.data.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => gateway.data.server.closeAllConnections());
  const GATEWAY_URL = `http://127.0.0.1:${(gateway.data.server.address() as AddressInfo).port}`;
  const cli = (...args: string[]): Promise<Ran> =>
    runCli([name, ...args], { GATEWAY_URL, DSP_GATEWAY_KEY: key });
  const done = async (...args: string[]) => {
    const ran = await cli(...args);
    expect(ran, args.join(' ')).toMatchObject({ code: 0, stderr: '' });
    return ran;
  };
  return { gateway, key, ask, restated, cli, done, GATEWAY_URL };
}

const watchScene = () => commandScene('watch');

async function scene() {
  const { ask, restated, ...rest } = await commandScene('report');
  await ask(BY_DATE);
  await restated(BY_DATE);
  return rest;
}

describe('dsp-gateway report', () => {
  it('shows a report, its revisions and what changed, as tables, JSON and CSV', async () => {
    const { gateway, key, done } = await scene();
    const address = `https://gateway.example/api/v1/report/campaigns/get?${BY_DATE}`;
    expect((await done('get', address)).stdout).toMatch(/^date +advertiserId .*spent/m);
    const report = await gateway.report(key, BY_DATE);
    expect((await done('get', BY_DATE, '--json')).json<{ data: object }>().data).toEqual(
      report.json<{ data: object }>().data,
    );
    const csv = await gateway.report(key, `${BY_DATE}&_format=csv`);
    expect((await done('get', BY_DATE, '--csv')).stdout).toBe(csv.text);

    const revisions = (await done('revisions', BY_DATE)).stdout;
    expect(revisions).toMatch(/^2026-11-18 +first .*\n2026-11-18 +changed /m);
    expect((await done('revisions', BY_DATE.replace('11-19', '11-21'))).stdout).toContain('not recorded');
    expect((await done('revisions', BY_DATE, '--csv')).stdout).toMatch(/^date,kind,id,.*,spent/);
    expect((await done('revisions', BY_DATE, '--json')).json()).toHaveProperty('data.2');

    expect((await done('diff', BY_DATE, '--from', 'first')).stdout).toMatch(/^2026-11-18 .*changed +spent /m);
    expect((await done('diff', BY_DATE, '--from', 'first', '--csv')).stdout).toMatch(
      /^date,advertiserId,kind,/,
    );
  });

  it('prints what the platform says of a request that it refuses', async () => {
    const { gateway, cli } = await scene();
    gateway.simulator.fault({ kind: 'status', status: 422, message: 'no such segment' });
    expect(await cli('get', BY_DATE.replace('2026-11', '2026-10'))).toMatchObject({
      code: 65,
      stderr: expect.stringContaining('\nThe platform said: no such segment\n'),
    });
  });

  it('prints CSV on a terminal without the control characters of names', async () => {
    const csv = 'advertiserName,spent\r\n"\u001b[2Jx\u009b",1\r\n';
    const server = createServer((_, reply) => reply.end(csv));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const env = {
      GATEWAY_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      DSP_GATEWAY_KEY: 'dgw_x',
    };
    const args = ['report', 'get', BY_DATE, '--csv'];
    expect((await runCli(args, env, '', { isScreen: true })).stdout).toBe(
      'advertiserName,spent\n"�[2Jx�",1\n',
    );
    expect((await runCli(args, env)).stdout).toBe(csv);
  });

  it('pins, lists, shows and forgets', async () => {
    const { gateway, key, cli, done } = await scene();
    const { id } = (await done('pin', 'create', BY_DATE, '--note', 'invoice', '--json')).json<{
      id: string;
    }>();
    expect((await done('pin', 'list')).stdout).toMatch(new RegExp(`^${id} .*invoice$`, 'm'));
    const csv = await gateway.report(key, `${BY_DATE}&_format=csv`);
    expect((await done('pin', 'show', id, '--csv')).stdout).toBe(csv.text);
    expect((await done('diff', BY_DATE, '--from', id)).stdout).toBe('no rows\n');
    expect((await cli('pin', 'create', BY_DATE, '--revision', 'x')).code).toBe(4);
    expect((await cli('pin', 'delete', id)).code).toBe(64);
    expect((await done('pin', 'delete', id, '--yes')).stdout).toBe(`deleted: ${id}\n`);
    const gone = await cli('pin', 'show', id);
    expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining('dsp-gateway report pin list')]);
  });

  it('says what is wrong with what was typed, and takes no key as an argument', async () => {
    const { key, cli, GATEWAY_URL } = await scene();
    const wrong = await cli('diff', BY_DATE, '--from', 'yesterday');
    expect([wrong.code, wrong.stderr]).toEqual([65, expect.stringContaining('--from must be an instant')]);
    expect((await cli('revisions', 'advertiserId=1')).code).toBe(65);
    expect((await cli('diff', BY_DATE, '--from', '2026-11-20', '--to', '2026-11-20')).code).toBe(3);
    expect((await cli('diff', BY_DATE)).code).toBe(64);
    expect((await cli('get', BY_DATE, '--json', '--csv')).code).toBe(64);
    const secret = await cli('get', BY_DATE, '--key', 'dgw_secret');
    expect([secret.code, secret.stderr]).toEqual([64, expect.not.stringContaining('dgw_secret')]);
    const nobody = await runCli(['report', 'get', BY_DATE], { GATEWAY_URL });
    expect([nobody.code, nobody.stderr]).toEqual([77, expect.stringContaining('--key-file')]);
    const stranger = await runCli(['report', 'get', BY_DATE], { GATEWAY_URL, DSP_GATEWAY_KEY: 'nonsense' });
    expect(stranger.code).toBe(77);
    const away = await runCli(['report', 'get', BY_DATE, '--url', 'http://127.0.0.1:1'], {
      DSP_GATEWAY_KEY: key,
    });
    expect(away.code).toBe(69);
    const folder = await mkdtemp(join(tmpdir(), 'dgw-key-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'team.key');
    await writeFile(file, `${key}\n`);
    expect((await runCli(['report', 'get', BY_DATE, '--key-file', file], { GATEWAY_URL })).code).toBe(0);
  });
});

describe('dsp-gateway watch', () => {
  it('shows the price first, then keeps, lists and removes a watch', async () => {
    const { gateway, cli, done } = await watchScene();
    const last7 = 'advertiserId=1&byDate=1&_period=last_7_days';
    const add = ['add', last7, '--id', 'daily'];
    expect((await done(...add, '--dry-run')).stdout).toBe(
      'would cost about 25.15 platform calls a day for 7 days\n',
    );
    expect((await done(...add, '--dry-run', '--json')).json()).toEqual({ callsPerDay: 25.15, days: 7 });
    const unsure = await cli(...add);
    expect([unsure.code, unsure.stderr]).toEqual([64, expect.stringContaining('will cost about 25.15')]);
    expect((await done('list')).stdout).toBe('no watches\n');
    expect((await done(...add, '--max-age-days', '30', '--yes')).stdout).toBe(
      'watching: daily, about 25.15 platform calls a day for 7 days\n',
    );
    expect((await done('list')).stdout).toMatch(
      /^daily +watching +campaigns\/get\?advertiserId=1.* 25\.15 +7 /m,
    );
    expect((await done('list', '--json')).json()).toMatchObject({ data: [{ id: 'daily', maxAgeDays: 30 }] });
    expect(gateway.services.registry.list('watch/')).toHaveLength(1);
    expect((await done('remove', 'daily')).stdout).toBe('removed: daily\n');
    const gone = await cli('remove', 'daily');
    expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining('dsp-gateway watch list')]);
  });

  it('says what is wrong with what was typed', async () => {
    const { cli } = await watchScene();
    expect((await cli('add', BY_DATE)).code).toBe(64);
    expect((await cli('add', BY_DATE, '--id', 'w', '--max-age-days', 'x', '--yes')).code).toBe(64);
    const old = await cli('add', BY_DATE, '--id', 'w', '--max-age-days', '999', '--yes');
    expect([old.code, old.stderr]).toEqual([65, expect.stringContaining('from 1 to 400')]);
    expect((await cli('add', BY_DATE, '--id', 'No', '--yes')).code).toBe(65);
  });
});
