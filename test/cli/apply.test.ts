/** `dsp-gateway apply` and GATEWAY_TEAMS_FILE: teams as a file declares them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { admin, ask, type IssuedKey, REPORT } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { launchGateway, logLines, startGateway } from '../support/processes.js';
import { type Ran, runCli } from './run-cli.js';

let gateway: OpenGateway['gateway'];
let folder: string;
beforeAll(async () => {
  ({ gateway } = await openGateway());
  folder = await mkdtemp(join(tmpdir(), 'dgw-apply-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const cli = (args: readonly string[], input = ''): Promise<Ran> =>
  runCli(args, { GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: gateway.adminToken }, input);
const apply = (yaml: string, ...more: string[]): Promise<Ran> => cli(['apply', '-f', '-', ...more], yaml);
const team = async (id: string): Promise<Record<string, unknown>> =>
  (await cli(['teams', 'show', id, '--json'])).json();
const trail = async (limit: number): Promise<string[]> => {
  const { entries } = await admin<{ entries: { action: string; subject: string }[] }>(
    gateway,
    'GET',
    `/audit?limit=${limit}`,
  );
  return entries.map(({ action, subject }) => `${action} ${subject}`);
};

describe('apply', () => {
  it('shows what it would do, does it, and then has nothing left to do', async () => {
    const yaml = 'teams:\n  - id: one\n    advertisers: [1, 2]\n  - id: two\n';
    const planned = await apply(yaml, '--dry-run');
    expect(planned).toMatchObject({ code: 0, stderr: '' });
    expect(planned.stdout).toContain('+ one\n');
    expect(planned.stdout).toMatch(/would be: 2 created\n$/);
    expect((await cli(['teams', 'show', 'one'])).code).toBe(3);

    expect((await apply(yaml)).stdout).toMatch(/\n2 created\n$/);
    expect(await team('one')).toMatchObject({ advertisers: [1, 2], managedBy: 'file' });
    expect(await trail(2)).toEqual(expect.arrayContaining(['team.create one', 'team.create two']));

    const [last] = await trail(1);
    expect((await apply(yaml)).stdout).toBe('= one\n= two\n2 unchanged\n');
    expect(await trail(1)).toEqual([last]);

    const changed = await apply(yaml.replace('[1, 2]', '[2, 3]'));
    expect(changed.stdout).toBe('~ one\n    advertisers  +3 -1\n= two\n1 changed, 1 unchanged\n');
    expect((await apply(yaml, '--json')).json()).toMatchObject({
      dryRun: false,
      changes: [
        { id: 'one', action: 'update', after: { advertisers: [1, 2] } },
        { id: 'two', action: 'none' },
      ],
    });
    expect((await cli(['teams', 'list'])).stdout).toMatch(/^one .* file$/m);
  });

  it('shows what it would do to a write guard, which the file replaces whole', async () => {
    const route = 'POST /api/v1/campaign/create';
    const yaml = (rule: string) => `teams: [{id: guarded, writeGuard: {${route}: {budget: ${rule}}}}]`;
    await apply(yaml('{field: body.total, maxPerCall: 9, maxPerDay: 90}'));
    const looser = await apply(yaml('{field: body.total, maxPerCall: 10}'), '--dry-run');
    expect(looser.stdout).toContain(
      `    writeGuard.${route}  {"budget":{"field":"body.total","maxPerCall":9,"maxPerDay":90}} → {"budget":{"field":"body.total","maxPerCall":10}}\n`,
    );
    const without = await apply('teams: [{id: guarded}]', '--dry-run');
    expect(without.stdout).toMatch(/^ {4}writeGuard +removed$/m);
    expect(await team('guarded')).toMatchObject({ writeGuard: { [route]: { budget: { maxPerDay: 90 } } } });
  });

  it('makes what it declares refuse edits elsewhere, and says where they belong', async () => {
    await apply('teams: [{id: fixed, advertisers: [1]}]');
    for (const args of [
      ['update', 'fixed', '--advertisers', 'all'],
      ['delete', 'fixed', '--yes'],
    ]) {
      const ran = await cli(['teams', ...args]);
      expect([ran.code, ran.stdout]).toEqual([4, '']);
      expect(ran.stderr).toMatch(
        /declared in a file and can only be changed there\.\nChange the file and apply it/,
      );
    }
    expect(await team('fixed')).toMatchObject({ advertisers: [1] });
    // Its keys are issued as ever.
    const { key } = await admin<IssuedKey>(gateway, 'POST', '/teams/fixed/keys', {});
    const answer = await ask(`${gateway.data}${REPORT}?advertiserId=1&_period=yesterday`, { key });
    expect(answer.status).toBe(200);
    const smuggled = await ask(`${gateway.admin}/admin/v1/teams/fixed`, {
      method: 'PATCH',
      bearer: gateway.adminToken,
      json: { managedBy: 'hand' },
    });
    expect(smuggled.status).toBe(422);
  });

  it('keeps teams that left the file, until --release or --prune', async () => {
    await cli(['teams', 'create', 'by-hand']);
    await apply('teams: [{id: stays}, {id: leaves}, {id: goes}]');
    const { key } = await admin<IssuedKey>(gateway, 'POST', '/teams/goes/keys', {});
    const kept = await apply('teams: [{id: stays}, {id: goes}]');
    expect(kept.stdout).toMatch(/^\? leaves is no longer in the file: kept/m);
    expect(await team('leaves')).toMatchObject({ managedBy: 'file' });

    expect((await apply('teams: [{id: stays}, {id: goes}]', '--release')).stdout).toMatch(
      /^~ leaves .*by hand/m,
    );
    expect(await team('leaves')).not.toHaveProperty('managedBy');
    expect((await cli(['teams', 'update', 'leaves', '--name', 'Free'])).code).toBe(0);

    expect((await apply('teams: [{id: stays}]', '--prune')).stdout).toMatch(
      /^- goes is no longer in the file: deleted/m,
    );
    expect((await cli(['teams', 'show', 'goes'])).code).toBe(3);
    const answer = await ask(`${gateway.data}${REPORT}?advertiserId=1`, { key });
    expect(answer.json().code).toBe('revoked_api_key');
    for (const id of ['by-hand', 'leaves', 'stays']) expect((await cli(['teams', 'show', id])).code).toBe(0);
  });

  it('takes over a team that was made by hand', async () => {
    await cli(['teams', 'create', 'taken', '--advertisers', '5', '--name', 'Taken']);
    const { stdout } = await apply('teams: [{id: taken, advertisers: [5]}]');
    expect(stdout).toContain('~ taken\n    name       Taken → taken\n    managedBy  file\n');
  });

  it('changes nothing when anything is wrong with the file', async () => {
    const before = (await cli(['teams', 'list', '--json'])).stdout;
    const path = join(folder, 'wrong.yaml');
    await writeFile(path, 'teams:\n  - id: fine\n  - id: Wrong\n');
    const ran = await cli(['apply', '-f', path]);
    expect(ran).toMatchObject({ code: 65, stdout: '' });
    expect(ran.stderr).toBe(
      `${path}:3: teams.1.id: was "Wrong"; allowed is lower-case letters, digits and hyphens, at most 40, and not gateway\n`,
    );
    const raw = await ask(`${gateway.admin}/admin/v1/teams/apply`, {
      method: 'POST',
      bearer: gateway.adminToken,
      json: { teams: [{ id: 'fine' }, { id: 'fine', ipAllow: ['10/8'] }] },
    });
    expect([raw.status, raw.json().errors]).toEqual([
      422,
      [
        { param: 'teams.1.id', message: 'must be unique; teams.0 is also fine' },
        { param: 'teams.1.ipAllow.0', message: expect.stringContaining('10.0.0.0/8') },
      ],
    ]);
    expect((await cli(['teams', 'list', '--json'])).stdout).toBe(before);
    expect((await cli(['apply', '-f', '/nowhere'])).code).toBe(65);
    expect((await apply('teams: []', '--prune', '--release')).code).toBe(64);
    expect((await cli(['apply'])).code).toBe(64);
  });
});

describe('GATEWAY_TEAMS_FILE', () => {
  const BASE = { PLATFORM_BASE_URL: 'http://127.0.0.1:9' };

  it('is applied at each start; what left the file is kept, and the log says so', async () => {
    const path = join(folder, 'teams.yaml');
    await writeFile(path, 'teams: [{id: declared, advertisers: [1]}, {id: fading}]');
    const env = { ...BASE, GATEWAY_TEAMS_FILE: path };
    const first = await startGateway(env);
    expect(await admin(first, 'GET', '/teams/declared')).toMatchObject({
      managedBy: 'file',
      advertisers: [1],
    });
    await first.end('SIGTERM');

    await writeFile(path, 'teams: [{id: declared, advertisers: [1, 2]}]');
    const second = await startGateway({ ...env, GATEWAY_DATA_DIR: first.dataDir });
    expect(await admin(second, 'GET', '/teams/declared')).toMatchObject({ advertisers: [1, 2] });
    expect(await admin(second, 'GET', '/teams/fading')).toMatchObject({ managedBy: 'file' });
    expect(logLines(second)).toContainEqual(expect.objectContaining({ level: 'warn', teams: ['fading'] }));
    await second.end('SIGTERM');
  });

  it('that is wrong stops the start with 78, before anything is touched', async () => {
    const path = join(folder, 'broken.yaml');
    await writeFile(path, 'teams:\n  - id: a\n    scopes: [all]\n');
    const env = { ...BASE, GATEWAY_TEAMS_FILE: path };
    const started = await launchGateway(env);
    expect(await started.exited).toEqual({ code: 78, signal: null });
    const fault = `${path}:3: teams.0.scopes.0: was "all"; allowed is one of report:read, report:pin, report:watch, platform:read, platform:write, cache:refresh, mcp\n`;
    expect(started.stderr).toBe(fault);
    expect(await runCli(['config', 'check'], env)).toMatchObject({ code: 78, stderr: fault });
    const gone = await runCli(['config', 'check'], { ...env, GATEWAY_TEAMS_FILE: '/nowhere.yaml' });
    expect(gone).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/^GATEWAY_TEAMS_FILE: was \/nowhere\.yaml; allowed is a readable YAML/),
    });
  });
});
