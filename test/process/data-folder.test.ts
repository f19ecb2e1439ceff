/** Files of the data folder that belong to another user, or are damaged while the gateway runs. */
import { chmod, chown, mkdir, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { newTeam, REPORT } from '../support/ask.js';
import {
  launch,
  logLines,
  type Platform,
  type Process,
  ROOT,
  startGateway,
  startPlatform,
  tempFolder,
} from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});

describe('a data folder that another user has a part of', () => {
  const USER = 65_534;
  let data: string;
  beforeAll(async () => {
    if (process.getuid?.() !== 0)
      throw new Error('files of another user can be made by root alone: run this test as root');
    const folder = await tempFolder();
    // Another user needs a folder that can be reached.
    await chmod(folder, 0o755);
    data = join(folder, 'data');
    await mkdir(data, { mode: 0o700 });
    await chown(data, USER, USER);
    await startOnce();
  });

  function serveAsUser(): Process {
    const user = ['--reuid', `${USER}`, '--regid', `${USER}`, '--clear-groups'];
    return launch('setpriv', [...user, process.execPath, join(ROOT, 'dist', 'cli.js'), 'serve'], {
      ...platform.env,
      HOST: '127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
      GATEWAY_DATA_DIR: data,
    });
  }

  /** @returns the log */
  async function startOnce(): Promise<string> {
    const gateway = serveAsUser();
    await waitFor('a start', () => gateway.stdout.includes('"msg":"listening"'), gateway);
    await gateway.end('SIGTERM');
    return gateway.stdout;
  }

  it.each(['state/data.mdb', 'volatile', 'cache/3-1', '.'])('stops the start, naming %s', async (name) => {
    const path = join(data, name);
    const wasThere = await stat(path).catch(() => null);
    if (wasThere === null) await mkdir(path, { mode: 0o700 });
    await chown(path, 0, 0);
    const gateway = serveAsUser();
    expect(await gateway.exited).toEqual({ code: 78, signal: null });
    expect(gateway.stderr).toContain(`${path} cannot be read and written (EACCES): give it to the user`);
    await chown(path, USER, USER);
  });

  it('begins with an empty cache where only files of the cache are not ours', async () => {
    await chown(join(data, 'cache', '3-1', 'lock.mdb'), 0, 0);
    expect(await startOnce()).toContain('the cache on the disk is damaged, and begins empty');
  });
});

const PAGE_BYTES = 4096;
/** Pages that say where all others are. */
const META_PAGES = 2;

/** Overwrites pages of a cache. */
const NONSENSE = Buffer.alloc(PAGE_BYTES, 0xff);

it('a cache whose file is cut off, then overwritten at run time is thrown away, and kept anew', async () => {
  const env = { ...platform.env, GATEWAY_DATA_DIR: join(await tempFolder(), 'data') };
  let gateway = await startGateway(env);
  const { key } = await newTeam(gateway, { id: 'team' });
  let asked = 0;
  /** Another report for each number. */
  const ask = async (at: number): Promise<string> => {
    const day = `2026-01-${String(1 + (Math.floor(at / 20) % 28)).padStart(2, '0')}`;
    const query = `advertiserId=${1 + (at % 20)}&dateFrom=${day}&dateTo=${day}`;
    const answer = await fetch(`${gateway.data}${REPORT}?${query}`, {
      headers: { 'x-api-key': key },
      signal: AbortSignal.timeout(2000),
    });
    await answer.arrayBuffer();
    return answer.headers.get('cache-status') ?? '';
  };
  const told = () => logLines(gateway).filter(({ msg }) => msg?.includes('begins empty')).length;
  for (const damage of ['cut off', 'overwritten']) {
    for (let times = 0; times < 20; times += 1) {
      asked += 1;
      await ask(asked);
    }
    const file = await open(join(gateway.dataDir, 'cache', '3-1', 'data.mdb'), 'r+');
    const pages = (await file.stat()).size / PAGE_BYTES;
    if (damage === 'cut off') await file.truncate(META_PAGES * PAGE_BYTES);
    else
      for (let at = META_PAGES; at < pages; at += 1)
        await file.write(NONSENSE, 0, PAGE_BYTES, at * PAGE_BYTES);
    await file.close();
    let before = told();
    await waitFor(
      `a cache that begins empty when its file is ${damage}`,
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
          before = 0;
        }
        return told() > before;
      },
      gateway,
    );
    await waitFor('an entry that is kept', async () => (await ask(asked)).includes('; hit'), gateway);
  }
  expect(await gateway.end('SIGTERM')).toMatchObject({ code: 0 });
  gateway = await startGateway(env);
  expect(await ask(asked)).toContain('detail=store');
});
