/** The image: its recipe by structure, and what it runs, with production packages alone. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { launch, logLines, type Process, ROOT, tempFolder } from '../support/processes.js';
import { freePort } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { only, readDockerfile, type Stage } from './dockerfile.js';

const readJson = async <T>(name: string) => JSON.parse(await readFile(join(ROOT, name), 'utf8')) as T;
/** What the last stage is given. */
const COPIED = [
  ...['--from=modules /app/node_modules', '--from=build /app/dist', 'config', 'package.json LICENSE'],
];

let stages: readonly Stage[];
let last: Stage;
beforeAll(async () => {
  stages = await readDockerfile();
  last = stages.at(-1) as Stage;
});

describe('the recipe', () => {
  it('builds and runs on one slim Node image, pinned by digest', () => {
    const images = new Set(stages.map(({ from }) => from));
    expect([...images]).toEqual([expect.stringMatching(/^node:24-\w+-slim@sha256:[0-9a-f]{64}$/)]);
  });

  it('copies only what is there and what the build may see', async () => {
    const ignored = (await readFile(join(ROOT, '.dockerignore'), 'utf8')).split('\n');
    const [first, ...open] = ignored.filter((line) => line !== '' && !line.startsWith('#'));
    expect(first).toBe('*');
    const sources = stages
      .flatMap(({ instructions }) => instructions)
      .filter(([name, text]) => name === 'COPY' && !text.startsWith('--from='))
      .flatMap(([, text]) => text.split(/\s+/).slice(0, -1));
    expect(sources.filter((source) => !existsSync(join(ROOT, source)))).toEqual([]);
    expect([...new Set(sources)].map((source) => `!${source}`).toSorted()).toEqual(open.toSorted());
  });

  it('installs without scripts, and gives the runtime production packages alone', () => {
    const installs = stages.flatMap(({ instructions }) =>
      instructions.flatMap(([name, text]) => (name === 'RUN' && text.startsWith('npm ci') ? [text] : [])),
    );
    expect(installs).toHaveLength(2);
    for (const text of installs) expect(text).toContain('--ignore-scripts');
    const modules = stages.find(({ name }) => name === 'modules') as Stage;
    expect(only(modules, 'RUN')).toMatch(/^npm ci .*--omit=dev /);
    const copied = last.instructions.filter(([name]) => name === 'COPY').map(([, text]) => text);
    expect(copied.map((text) => text.split(/\s+/).slice(0, -1).join(' '))).toEqual(COPIED);
  });

  it('runs node itself, not as root, and can write to the data folder alone', () => {
    expect(JSON.parse(only(last, 'ENTRYPOINT'))).toEqual(['node', '--max-semi-space-size=8', 'dist/cli.js']);
    expect(JSON.parse(only(last, 'CMD'))).toEqual(['serve']);
    expect(only(last, 'USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(JSON.parse(only(last, 'VOLUME'))).toEqual(['/data']);
    expect(only(last, 'ENV')).toContain('GATEWAY_DATA_DIR=/data');
    expect(only(last, 'RUN')).toBe(`mkdir --mode=0700 /data && chown ${only(last, 'USER')} /data`);
    const names = last.instructions.map(([name]) => name);
    expect(names.slice(names.indexOf('USER'))).not.toContain('COPY');
  });

  it('starts as `npm start` does', async () => {
    const { scripts } = await readJson<{ scripts: { start: string } }>('package.json');
    const [entrypoint, command] = ['ENTRYPOINT', 'CMD'].map((name) => JSON.parse(only(last, name)));
    const [malloc] = only(last, 'ENV').match(/MALLOC_\w+=\d+/) ?? [];
    expect(scripts.start).toBe([malloc, 'exec', ...entrypoint, ...command].join(' '));
  });

  it('is labelled as the package is', async () => {
    const { version, license } = await readJson<{ version: string; license: string }>('package.json');
    const labels = only(last, 'LABEL');
    expect(labels).toContain(`org.opencontainers.image.version="${version}"`);
    expect(labels).toContain(`org.opencontainers.image.licenses="${license}"`);
  });
});

describe('what it runs', () => {
  let app: string;
  let data: string;
  beforeAll(async () => {
    [app, data] = [await tempFolder(), join(await tempFolder(), 'data')];
    for (const name of ['package.json', 'config', 'dist'])
      await cp(join(ROOT, name), join(app, name), { recursive: true });
    // What `npm ci --omit=dev` lays out, from what lies here: copies, for a link would lead to all other packages.
    const { packages } = await readJson<{ packages: Record<string, { dev?: true }> }>('package-lock.json');
    const needed = Object.entries(packages)
      .filter(([path, { dev }]) => dev !== true && path !== '' && existsSync(join(ROOT, path)))
      .map(([path]) => path)
      .filter((path, _, all) => !all.some((outer) => path.startsWith(`${outer}/`)));
    expect(needed.length).toBeGreaterThan(50);
    await promisify(execFile)('cp', ['-R', '--parents', ...needed, app], { cwd: ROOT });
  });

  const run = (command: readonly string[], env: Record<string, string>): Process =>
    launch('sh', ['-c', 'cd "$0" && exec "$@"', app, ...command], {
      NODE_ENV: 'production',
      GATEWAY_DATA_DIR: data,
      PLATFORM_BASE_URL: 'http://127.0.0.1:9',
      ...env,
    });
  const listed = async () => (await readdir(app, { recursive: true })).sort();

  it('serves, is found healthy, stops when told, and writes nowhere but to the data folder', async () => {
    const entrypoint = JSON.parse(only(last, 'ENTRYPOINT')) as string[];
    const healthcheck = JSON.parse(only(last, 'HEALTHCHECK').replace(/^.*?CMD\s+/, '')) as string[];
    const check = run([...entrypoint, 'config', 'check'], { PLATFORM_TOKEN: 'a-token' });
    expect({ ...(await check.exited), stderr: check.stderr }).toEqual({ code: 0, signal: null, stderr: '' });
    const before = await listed();
    const port = String(await freePort());
    const command = [...entrypoint, ...(JSON.parse(only(last, 'CMD')) as string[])];
    const gateway = run(command, { PORT: port, ADMIN_PORT: '0' });
    const listens = () => logLines(gateway).some(({ msg }) => msg === 'listening');
    await waitFor('a listening gateway', listens, gateway);
    expect((await run(healthcheck, { PORT: port }).exited).code).toBe(0);
    expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect((await run(healthcheck, { PORT: port }).exited).code).toBe(1);
    expect(await listed()).toEqual(before);
    expect(await readdir(data)).toContain('admin.token');
  });
});
