/**
 * The file of the embedded cache was damaged while the gateway ran: each read failed until the gateway was started
 * anew, or it ended by a signal.
 */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newTeam, REPORT } from '../support/ask.js';
import { logLines, startGateway, startPlatform, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const PAGE_BYTES = 4096;
/** Pages that say where all others are. */
const META_PAGES = 2;

const ANSWERED_MS = 2000;

/** Writes nonsense over all pages but the first ones. */
async function overwrite(path: string): Promise<void> {
  const file = await open(path, 'r+');
  const pages = (await file.stat()).size / PAGE_BYTES;
  for (let page = META_PAGES; page < pages; page += 1)
    await file.write(Buffer.alloc(PAGE_BYTES, 0xff), 0, PAGE_BYTES, page * PAGE_BYTES);
  await file.close();
}

async function cutOff(path: string): Promise<void> {
  const file = await open(path, 'r+');
  await file.truncate(META_PAGES * PAGE_BYTES);
  await file.close();
}

it.each([
  ['cut off', cutOff],
  ['overwritten', overwrite],
])('a cache whose file is %s at run time is thrown away, and kept anew', async (_how, spoil) => {
  const platform = await startPlatform();
  const env = { ...platform.env, GATEWAY_DATA_DIR: join(await tempFolder(), 'data') };
  let gateway = await startGateway(env);
  const { key } = await newTeam(gateway, { id: 'team' });
  const ask = async (advertiser: number): Promise<string> => {
    const url = `${gateway.data}${REPORT}?advertiserId=${advertiser}&_period=yesterday`;
    const answer = await fetch(url, {
      headers: { 'x-api-key': key },
      signal: AbortSignal.timeout(ANSWERED_MS),
    });
    await answer.arrayBuffer();
    return answer.headers.get('cache-status') ?? '';
  };
  for (let at = 1; at <= 20; at += 1) await ask(at);
  await spoil(join(gateway.dataDir, 'cache', '3-1', 'data.mdb'));
  let asked = 20;
  await waitFor(
    'a cache that begins empty',
    async () => {
      asked += 1;
      // lmdb may end the process over it: then the next start finds the damage.
      const isGone = await ask(asked).then(
        () => false,
        () => true,
      );
      if (isGone) {
        await gateway.exited;
        gateway = await startGateway(env);
      }
      return logLines(gateway).some(({ msg }) => msg?.includes('begins empty'));
    },
    gateway,
  );
  await waitFor('an entry that is kept', async () => (await ask(asked)).includes('; hit'), gateway);
  expect(await gateway.end('SIGTERM')).toMatchObject({ code: 0 });
  gateway = await startGateway(env);
  expect(await ask(asked)).toContain('detail=store');
});
