/** The image: its recipe by structure, and what comes out of it by running it. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { launch, logLines, type Process, ROOT, tempFolder } from '../support/processes.js';
import { freePort } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';
import { buildContext, copiesOf, only, readDockerfile, replay, type Stage } from './dockerfile.js';

interface Manifest {
  readonly version: string;
  readonly license: string;
  readonly engines: { readonly node: string };
}

const readJson = async <T>(name: string) => JSON.parse(await readFile(join(ROOT, name), 'utf8')) as T;

let stages: Stage[];
let last: Stage;
beforeAll(async () => {
  stages = await readDockerfile();
  last = stages.at(-1) as Stage;
});

describe('the recipe', () => {
  it('builds and runs on one slim Node image, pinned by digest, that the package supports', async () => {
    const { engines } = await readJson<Manifest>('package.json');
    const images = new Set(stages.map(({ from }) => from));
    expect([...images]).toEqual([expect.stringMatching(/^node:24-\w+-slim@sha256:[0-9a-f]{64}$/)]);
    expect(engines.node).toBe('>=20.19');
  });

  it('copies only what is there and what the build may see', async () => {
    const seen = await buildContext();
    const named = stages.flatMap(copiesOf).filter(({ from }) => from === null);
    const sources = named.flatMap((copy) => copy.sources);
    expect(sources.filter((source) => !existsSync(join(ROOT, source)))).toEqual([]);
    expect(sources.filter((source) => !seen.includes(source))).toEqual([]);
    expect(seen.filter((name) => !sources.includes(name))).toEqual([]);
  });

  it('gives the runtime its files, and development dependencies to the build alone', () => {
    const copied = copiesOf(last).flatMap(({ from, sources }) =>
      sources.map((source) => `${from}:${source}`),
    );
    expect(copied).toEqual([
      'modules:/app/node_modules',
      'build:/app/dist',
      'null:config',
      'null:package.json',
      'null:LICENSE',
    ]);
    const modules = stages.find(({ name }) => name === 'modules') as Stage;
    expect(only(modules, 'RUN')).toMatch(/^npm ci .*--omit=dev /);
  });

  it('may leave install scripts out, for what has one in production comes built, too', async () => {
    const lock = await readJson<{
      packages: Record<string, { hasInstallScript?: boolean; dev?: boolean }>;
    }>('package-lock.json');
    const needy = Object.entries(lock.packages)
      .filter(([name, { hasInstallScript, dev }]) => name !== '' && hasInstallScript === true && dev !== true)
      .map(([name]) => name);
    // Their scripts build only where no package holds the binary; those of the image's platforms are in the lock.
    expect(needy.sort()).toEqual(['node_modules/lmdb', 'node_modules/msgpackr-extract']);
    for (const built of ['@lmdb/lmdb-linux-x64', '@lmdb/lmdb-linux-arm64'])
      expect(lock.packages).toHaveProperty([`node_modules/${built}`]);
    const installs = stages.flatMap(({ instructions }) =>
      instructions.filter(({ name, text }) => name === 'RUN' && text.startsWith('npm ci')),
    );
    expect(installs).toHaveLength(2);
    for (const { text } of installs) expect(text).toContain('--ignore-scripts');
  });

  it('runs node itself, not as root, and can write to the data folder alone', () => {
    expect(JSON.parse(only(last, 'ENTRYPOINT'))).toEqual(['node', 'dist/cli.js']);
    expect(JSON.parse(only(last, 'CMD'))).toEqual(['serve']);
    expect(only(last, 'USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(JSON.parse(only(last, 'VOLUME'))).toEqual(['/data']);
    expect(only(last, 'ENV')).toContain('GATEWAY_DATA_DIR=/data');
    expect(only(last, 'RUN')).toBe(`mkdir --mode=0700 /data && chown ${only(last, 'USER')} /data`);
    const userAt = last.instructions.findIndex(({ name }) => name === 'USER');
    const afterUser = last.instructions.slice(userAt).map(({ name }) => name);
    expect(afterUser).not.toContain('COPY');
    for (const stage of stages) expect(stage.instructions.map(({ name }) => name)).not.toContain('ADD');
  });

  it('is labelled as the package is', async () => {
    const { version, license } = await readJson<Manifest>('package.json');
    const labels = only(last, 'LABEL');
    expect(labels).toContain(`org.opencontainers.image.version="${version}"`);
    expect(labels).toContain(`org.opencontainers.image.licenses="${license}"`);
    expect(labels).toContain('org.opencontainers.image.title="dsp-gateway"');
  });
});

describe('what comes out of it', () => {
  let app: string;
  let data: string;
  beforeAll(async () => {
    app = await replay(stages, await tempFolder());
    data = join(await tempFolder(), 'data');
  }, 600_000);

  const run = (command: readonly string[], env: Record<string, string>): Process =>
    launch('sh', ['-c', 'cd "$0" && exec "$@"', app, ...command], {
      NODE_ENV: 'production',
      GATEWAY_DATA_DIR: data,
      PLATFORM_BASE_URL: 'http://127.0.0.1:9',
      ...env,
    });
  const entrypoint = () => JSON.parse(only(last, 'ENTRYPOINT')) as string[];
  const healthcheck = () => JSON.parse(only(last, 'HEALTHCHECK').replace(/^.*?CMD\s+/, '')) as string[];

  it('checks its settings', async () => {
    const check = run([...entrypoint(), 'config', 'check'], { PLATFORM_TOKEN: 'a-token' });
    expect({ ...(await check.exited), stderr: check.stderr }).toEqual({ code: 0, signal: null, stderr: '' });
    expect(check.stdout).toBe('The settings are right (config/default.yaml).\n');
  });

  it('serves, is found healthy, stops when told, and writes nowhere but to the data folder', async () => {
    const before = (await readdir(app, { recursive: true })).sort();
    const port = String(await freePort());
    const command = [...entrypoint(), ...(JSON.parse(only(last, 'CMD')) as string[])];
    const gateway = run(command, { PORT: port, ADMIN_PORT: '0' });
    await waitFor('a listening gateway', () => listens(gateway), gateway);
    expect((await run(healthcheck(), { PORT: port }).exited).code).toBe(0);
    expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect((await run(healthcheck(), { PORT: port }).exited).code).toBe(1);
    expect((await readdir(app, { recursive: true })).sort()).toEqual(before);
    expect(await readdir(data)).toContain('admin.token');
  });

  it('holds the compiled program and production packages, and nothing to build with', async () => {
    expect((await readdir(app)).sort()).toEqual([
      'LICENSE',
      'config',
      'dist',
      'node_modules',
      'package.json',
    ]);
    const packages = await readdir(join(app, 'node_modules'));
    expect(packages).toContain('fastify');
    for (const tool of ['marked', 'typescript', 'vitest', '@biomejs', 'dependency-cruiser'])
      expect(packages).not.toContain(tool);
  });
});

function listens(gateway: Process): boolean {
  return logLines(gateway).some(({ msg }) => msg === 'listening');
}
