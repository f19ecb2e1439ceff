/**
 * The file of the embedded cache was damaged while the gateway ran: workers ended by a signal again and again, or each
 * read failed, until the gateway was started anew.
 */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newTeam, REPORT } from '../support/ask.js';
import { logLines, startGateway, startPlatform } from '../support/processes.js';
import { freePort } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const PAGE_BYTES = 4096;
/** Pages that say where all others are. */
const META_PAGES = 2;

/** Then another is asked. */
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
  // Workers that all ended find no other port than before.
  const PORT = String(await freePort());
  const gateway = await startGateway({ ...platform.env, WORKERS: '2', PORT });
  const { key } = await newTeam(gateway, { id: 'team' });
  const told = (text: string) => logLines(gateway).filter(({ msg }) => msg?.includes(text)).length;
  const statusOf = async (advertiser: number): Promise<string> => {
    const url = `${gateway.data}${REPORT}?advertiserId=${advertiser}&_period=yesterday`;
    try {
      const headers = { 'x-api-key': key, connection: 'close' };
      // A connection that was dealt to a worker in its last moment is answered by nobody.
      const answer = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWERED_MS) });
      await answer.arrayBuffer();
      return answer.headers.get('cache-status') ?? '';
    } catch {
      return '';
    }
  };
  /** Both workers know what one of them has kept. */
  const isShared = async () => (await statusOf(1)).includes('detail=store');
  await waitFor('an entry in the store', isShared, gateway);
  await spoil(join(gateway.dataDir, 'cache', 'data.mdb'));
  let asked = 1;
  await waitFor(
    'a cache that begins empty',
    async () => {
      asked = (asked % 40) + 1;
      await statusOf(asked);
      return told('begins empty') > 0;
    },
    gateway,
  );
  let advertiser = 1;
  await waitFor(
    'an entry that is kept and found again',
    async () => {
      advertiser = (advertiser % 40) + 1;
      await statusOf(advertiser);
      return (await statusOf(advertiser)).includes('detail=store');
    },
    gateway,
  );
  // Each worker may have ended over the damage once.
  expect(told('a worker ended')).toBeLessThanOrEqual(2);
  expect(await gateway.end('SIGTERM')).toMatchObject({ code: 0 });
});
