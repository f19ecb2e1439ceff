/** The file of the master key under a real gateway: what a bad one must not do, and how it is changed for another. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { admin, ask, newTeam } from '../support/ask.js';
import { launchGateway, startGateway, startPlatform, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

interface Status {
  readonly secretFiles: { readonly state: string; readonly faulty?: readonly { readonly message: string }[] };
}

it('a master key that is split or exchanged seals nothing, and one put in front of the old one does', async () => {
  const platform = await startPlatform();
  const [first, other] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const path = join(await tempFolder(), 'key');
  await writeFile(path, first);
  const env = { ...platform.env, GATEWAY_MASTER_KEY_FILE: path };
  const gateway = await startGateway(env);
  const { key } = await newTeam(gateway, { id: 'sealed' });
  const reseal = () => admin<{ masterKey: string }>(gateway, 'POST', '/token/reseal');
  const untilSaid = (words: string) =>
    waitFor(words, async () => {
      const { secretFiles } = await admin<Status>(gateway, 'GET', '/status');
      return JSON.stringify(secretFiles).includes(words);
    });
  const { masterKey } = await reseal();
  for (const [text, words] of [
    [first.slice(0, 20), '32 bytes in base64'],
    [other, 'no key that opens the stored records'],
  ] as const) {
    await writeFile(path, text);
    await untilSaid(words);
    expect((await reseal()).masterKey).toBe(masterKey);
  }
  await writeFile(path, `${other},${first}`);
  await untilSaid('"ok"');
  expect((await reseal()).masterKey).not.toBe(masterKey);
  await writeFile(path, other);
  // A restart takes the file as it is: everything opens under the new key alone, and nothing under the old one.
  await gateway.end('SIGTERM');
  const next = await startGateway({ ...env, GATEWAY_DATA_DIR: gateway.dataDir });
  expect((await ask(`${next.data}/gateway/v1/me`, { key })).status).toBe(200);
  expect(await admin(next, 'GET', '/token')).toMatchObject({ active: { source: 'seed' } });
  await next.end('SIGTERM');
  await writeFile(path, first);
  const old = await launchGateway({ ...env, GATEWAY_DATA_DIR: gateway.dataDir });
  expect((await old.exited).code).toBe(78);
  expect(old.stderr).toMatch(/GATEWAY_MASTER_KEY holds no key that opens meta\/pepper/);
});
