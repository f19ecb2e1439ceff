/** What a command shows once reaches somebody, or is undone; and what others wrote does nothing to a terminal. */
import { closeSync, openSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { admin, ask, type IssuedKey, newTeam } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { openPipe } from '../support/pipes.js';
import { launch, launchCli, ROOT, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';
import { runCli } from './run-cli.js';

let gateway: OpenGateway['gateway'];
beforeAll(async () => {
  ({ gateway } = await openGateway());
});

const env = () => ({ GATEWAY_ADMIN_URL: gateway.admin, ADMIN_TOKEN: gateway.adminToken });
const keysOf = async (team: string) =>
  (await admin<{ keys: { id: string; revokedAt: string | null }[] }>(gateway, 'GET', `/teams/${team}/keys`))
    .keys;

/** Runs a command whose output goes where nothing can be written. */
async function runInto(where: 'a full disk' | 'a closed pipe', args: readonly string[]) {
  let fd: number;
  if (where === 'a full disk') {
    fd = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(fd));
  } else {
    const pipe = openPipe();
    pipe.closeReader();
    fd = pipe.writeEnd;
  }
  const command = launchCli(args, env(), fd);
  const { code } = await command.exited;
  return { code, stderr: command.stderr };
}

describe.each(['a full disk', 'a closed pipe'] as const)('with %s for its output', (where) => {
  it('keys issue issues nothing, and says so', async () => {
    const team = `issue-${where.replaceAll(' ', '-')}`;
    await newTeam(gateway, { id: team });
    const before = await keysOf(team);
    const { code, stderr } = await runInto(where, ['keys', 'issue', team, '--json']);
    expect(code).toBe(74);
    expect(stderr).toMatch(/^standard output cannot be written \((ENOSPC|EPIPE)\): nothing was done\n$/);
    expect(await keysOf(team)).toEqual(before);
  });
});

it('keys roll leaves the key as it was when its output is closed', async () => {
  const { id, key } = await newTeam(gateway, { id: 'roll-closed' });
  const { code, stderr } = await runInto('a closed pipe', ['keys', 'roll', id, '--overlap', '0s', '--yes']);
  expect([code, stderr]).toEqual([74, expect.stringContaining('nothing was done')]);
  expect((await ask(`${gateway.data}/gateway/v1/me`, { key })).status).toBe(200);
});

it('a list that cannot be written is a line and a code of its own, not a stack trace', async () => {
  const { code, stderr } = await runInto('a full disk', ['registry', 'export']);
  expect([code, stderr]).toEqual([74, 'standard output cannot be written (ENOSPC)\n']);
  // Whoever reads has had enough of it.
  expect(await runInto('a closed pipe', ['teams', 'list'])).toEqual({ code: 0, stderr: '' });
});

it.each(['status', 'doctor'])(
  '%s with a warning that cannot be written says so, and goes on warning who has read enough',
  async (name) => {
    await runCli(['writes', 'stop', '--reason', 'incident'], env());
    onTestFinished(() => void runCli(['writes', 'resume', '--reason', 'over'], env()));
    const full = await runInto('a full disk', [name]);
    expect(full).toEqual({ code: 74, stderr: 'standard output cannot be written (ENOSPC)\n' });
    expect(await runInto('a closed pipe', [name])).toEqual({ code: 1, stderr: '' });
  },
);

describe('a key that was made and could not be shown', () => {
  const failing = { deliver: () => Promise.reject(Object.assign(new Error('gone'), { code: 'EIO' })) };

  it('is revoked when it was issued', async () => {
    await newTeam(gateway, { id: 'unseen' });
    const { code, stdout, stderr } = await runCli(['keys', 'issue', 'unseen'], env(), '', failing);
    const made = (await keysOf('unseen')).find(({ revokedAt }) => revokedAt !== null);
    expect([code, stdout]).toEqual([74, '']);
    expect(stderr).toBe(
      `standard output cannot be written (EIO): the key ${made?.id} was not shown; it was revoked\n`,
    );
  });

  it('is told of when it was rolled, with what to do', async () => {
    const { id } = await newTeam(gateway, { id: 'rolled-unseen' });
    const lost = await runCli(['keys', 'roll', id, '--yes'], env(), '', failing);
    expect([lost.code, lost.stderr]).toEqual([
      74,
      expect.stringContaining(`roll it again: dsp-gateway keys roll ${id}`),
    ]);
    const again = await runCli(['keys', 'roll', id, '--yes', '--json'], env());
    const { key } = again.json<IssuedKey>();
    await waitFor(
      'the last secret',
      async () => (await ask(`${gateway.data}/gateway/v1/me`, { key })).status === 200,
    );
  });
});

describe('what others wrote', () => {
  const ESCAPES = '\u001b]0;title\u0007\u009b31m\u202e';
  const UNSAFE = /(?!\n)[\p{Cc}\u202a-\u202e]/u;

  it('moves nothing on a terminal: of apply, of lists, as JSON, in a refusal', async () => {
    const yaml = `teams:\n  - id: odd\n    name: ${JSON.stringify(`${ESCAPES}\n+ forged`)}\n`;
    const args = ['apply', '-f', '-'];
    for (const more of [['--dry-run'], ['--dry-run', '--json'], []]) {
      const { code, stdout } = await runCli([...args, ...more], env(), yaml);
      expect(code).toBe(0);
      expect(stdout).not.toMatch(UNSAFE);
      expect(stdout).not.toMatch(/^\+ forged/m);
    }
    for (const command of [
      'teams list',
      'teams show odd',
      'teams show odd --json',
      'audit',
      'audit --json',
      'registry export',
    ])
      expect((await runCli(command.split(' '), env())).stdout).not.toMatch(UNSAFE);
    // The text itself is kept.
    expect((await runCli(['teams', 'show', 'odd', '--json'], env())).json()).toMatchObject({
      name: `${ESCAPES}\n+ forged`,
    });
    const refused = await runCli(
      args,
      env(),
      `teams:\n  - id: odd\n    name: [${JSON.stringify(ESCAPES)}]\n    ${JSON.stringify(ESCAPES)}: 1\n`,
    );
    expect(refused.code).toBe(65);
    expect(refused.stderr).not.toMatch(UNSAFE);
  });
});

describe('a file that is no UTF-8', () => {
  const bytes = Buffer.concat([
    Buffer.from('teams:\n  - id: a\n    name: "'),
    Buffer.from([0xe4]),
    Buffer.from('"\n'),
  ]);

  it('is refused by the line, and its text is not altered', async () => {
    const path = join(await tempFolder(), 'teams.yaml');
    await writeFile(path, bytes);
    const applied = await runCli(['apply', '-f', path], env());
    expect([applied.code, applied.stderr]).toEqual([
      65,
      `${path}:3: is not UTF-8; allowed is text in UTF-8\n`,
    ]);
    for (const name of ['GATEWAY_TEAMS_FILE', 'GATEWAY_CONFIG']) {
      const env = { PLATFORM_BASE_URL: 'http://127.0.0.1:9', [name]: path };
      const checked = await runCli(['config', 'check'], env);
      expect(checked.code).toBe(78);
      expect(checked.stderr).toContain(path);
      expect(checked.stderr).toMatch(/invalid UTF-8.*3|:3: is not UTF-8/);
    }
    const token = await runCli(['token', 'stage', '--from-file', path], env());
    expect([token.code, token.stderr]).toEqual([65, `${path}:3: is not UTF-8; allowed is text in UTF-8\n`]);
  });
});

it('a backup that has a member twice is no backup', async () => {
  const path = join(await tempFolder(), 'backup.json');
  await writeFile(path, '{"format":"dsp-gateway-registry","format":"x"}');
  const { code, stderr } = await runCli(['registry', 'import', path], env());
  expect([code, stderr]).toEqual([65, `${path}: is not an export of a registry\n`]);
});

it('a backup that does not fit on its disk leaves no file behind', async () => {
  const folder = await tempFolder();
  // A file of no more than a block: the rest of the backup has no place.
  const script = 'ulimit -f 0; exec "$@"';
  const args = [
    process.execPath,
    join(ROOT, 'dist/cli.js'),
    'registry',
    'export',
    '--out',
    join(folder, 'b.json'),
  ];
  const ran = launch('sh', ['-c', script, 'sh', ...args], env());
  expect(await ran.exited).not.toMatchObject({ code: 0 });
  expect(readdirSync(folder)).toEqual([]);
});
