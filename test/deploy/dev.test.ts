/** `npm run dev`: simulator, gateway and pages from source, which follow a change. */
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ask } from '../support/ask.js';
import { launch, ROOT, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const urlOf = (text: string, name: string) =>
  new RegExp(`^ +${name} +(http://[\\d.:]+)`, 'm').exec(text)?.[1] as string;

it('runs from source, shows both pages, and follows a change without losing its keys', async () => {
  const env = { PORT: '0', ADMIN_PORT: '0', GATEWAY_DATA_DIR: join(await tempFolder(), 'data') };
  const dev = launch(process.execPath, [join(ROOT, '.ci', 'dev.mjs')], env);
  await waitFor('the start', () => dev.stdout.includes('Ctrl-C stops it'), dev);
  const key = / team key (\S+)/.exec(dev.stdout)?.[1] as string;
  const me = async () =>
    (await ask(`${urlOf(dev.stdout, 'gateway')}/gateway/v1/me`, { bearer: key }).catch(() => null))?.status;
  expect(await me()).toBe(200);
  for (const name of ['console', 'explorer']) {
    const page = await ask(`${urlOf(dev.stdout, name)}/`);
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('/@vite/client')]);
    // What is no file of the page is asked of the gateway.
    const path = name === 'console' ? '/admin/v1/status' : '/gateway/v1/me';
    expect((await ask(urlOf(dev.stdout, name) + path)).status).toBe(401);
  }
  const file = join(ROOT, 'src', 'api', 'data', 'me.ts');
  await utimes(file, new Date(), new Date());
  await waitFor('the restart', () => dev.stdout.includes('me.ts: the gateway runs again after'), dev);
  expect(await me()).toBe(200);
  expect(await dev.end('SIGTERM')).toMatchObject({ code: 0 });
});
