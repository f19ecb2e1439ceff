/** Files of secrets under a real gateway: what a bad one does at a start, and what it must not do later. */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { admin, ask, newTeam } from '../support/ask.js';
import {
  type Gateway,
  launchGateway,
  logLines,
  type Platform,
  startGateway,
  startPlatform,
  tempFolder,
} from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});

const statusOf = (gateway: Gateway, bearer: string) =>
  ask(`${gateway.admin}/admin/v1/status`, { bearer }).then(({ status }) => status);

interface Status {
  readonly secretFiles: {
    readonly state: string;
    readonly faulty?: readonly { readonly name: string; readonly message: string }[];
  };
}

const secretFiles = async (gateway: Gateway) => (await admin<Status>(gateway, 'GET', '/status')).secretFiles;

/** Waits until the status names the file, with its present fault. */
async function untilTold(gateway: Gateway, name: string, words: string): Promise<void> {
  await waitFor(
    `a word about ${name}`,
    async () =>
      (await secretFiles(gateway)).faulty?.some((one) => one.name === name && one.message.includes(words)),
    gateway,
  );
}

describe.concurrent('a secret of the data folder', () => {
  it.for<[name: string, text: string | null, words: string]>([
    ['master.key', '', 'is empty'],
    ['admin.token', '\n', 'is empty'],
    ['admin.token', 'short\n', '16 printable ASCII characters or more'],
    ['master.key', 'c2hvcnQ=\n', '32 bytes in base64'],
    ['master.key', null, 'EISDIR'],
  ])(
    '%s that holds %j ends the start with 78 and a line that names it',
    async ([name, text, words], { expect }) => {
      const dataDir = join(await tempFolder(), 'data');
      await mkdir(dataDir, { mode: 0o700 });
      const path = join(dataDir, name);
      if (text === null) await mkdir(path);
      else await writeFile(path, text, { mode: 0o600 });
      const gateway = await launchGateway({ ...platform.env, GATEWAY_DATA_DIR: dataDir });
      const { code } = await gateway.exited;
      const lines = gateway.stderr.trimEnd().split('\n');
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain(path);
      expect(lines[0]).toContain(words);
      expect(lines[0]).toMatch(/; allowed is .+/);
      expect(code).toBe(78);
    },
  );
});

it('an admin token that is half written opens nothing, and the one before goes on', async () => {
  const token = 'admin-token-of-the-holder';
  const path = join(await tempFolder(), 'admin');
  await writeFile(path, token);
  const gateway = await startGateway({ ...platform.env, ADMIN_TOKEN_FILE: path });
  for (const [text, words] of [
    ['a', '1 characters'],
    [`${token}\n\n`, 'not printable ASCII'],
    [`\uFEFF${token}`, 'not printable ASCII'],
    ['  ', 'not printable ASCII'],
  ] as const) {
    await writeFile(path, text);
    await untilTold(gateway, 'ADMIN_TOKEN', words);
    expect([await statusOf(gateway, token), await statusOf(gateway, 'a')]).toEqual([200, 401]);
  }
  const { text } = await ask(`${gateway.admin}/metrics`);
  expect(text).toContain('dsp_gateway_secret_files_faulty 1\n');
  await writeFile(path, 'admin-token-of-the-next');
  await waitFor('the next one', async () => (await statusOf(gateway, 'admin-token-of-the-next')) === 200);
  expect(
    await ask(`${gateway.admin}/admin/v1/status`, { bearer: 'admin-token-of-the-next' }).then((a) =>
      a.json(),
    ),
  ).toMatchObject({ secretFiles: { state: 'ok' } });
  const told = await waitFor('its lines', () => {
    const lines = logLines(gateway).filter(({ msg }) => msg?.includes('the file of ADMIN_TOKEN'));
    return lines.some(({ msg }) => msg?.includes('right again')) && lines;
  });
  expect(told[0]).toMatchObject({ level: 'error', err: { message: expect.stringContaining(path) } });
  expect(gateway.stdout + gateway.stderr).not.toContain(token);
});

it('a master key that is split or exchanged seals nothing, and one put in front of the old one does', async () => {
  const [first, other] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const path = join(await tempFolder(), 'key');
  await writeFile(path, first);
  const env = { ...platform.env, GATEWAY_MASTER_KEY_FILE: path };
  const gateway = await startGateway(env);
  const { key } = await newTeam(gateway, { id: 'sealed' });
  const reseal = () => admin<{ masterKey: string }>(gateway, 'POST', '/token/reseal');
  const { masterKey } = await reseal();
  for (const [text, words] of [
    [first.slice(0, 20), '32 bytes in base64'],
    [other, 'no key that opens the stored records'],
  ] as const) {
    await writeFile(path, text);
    await untilTold(gateway, 'GATEWAY_MASTER_KEY', words);
    expect((await reseal()).masterKey).toBe(masterKey);
  }
  await writeFile(path, `${other},${first}`);
  await waitFor('both keys', async () => (await secretFiles(gateway)).state === 'ok', gateway);
  expect((await reseal()).masterKey).not.toBe(masterKey);
  await writeFile(path, other);
  // A restart takes the file as it is: everything opens under the new key alone.
  await gateway.end('SIGTERM');
  const next = await startGateway({ ...env, GATEWAY_DATA_DIR: gateway.dataDir });
  await waitFor(
    'the key',
    async () => (await ask(`${next.data}/gateway/v1/me`, { key })).status === 200,
    next,
  );
});
