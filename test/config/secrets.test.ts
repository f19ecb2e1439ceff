import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { type FileSecret, fileSecret, watchSecrets } from '../../src/config/secret.js';
import { listSettings, type Setting } from '../../src/config/settings.js';
import { BASE, faultsOf, file, folder, load } from './settings-in.js';

const SECRETS = listSettings().filter((setting) => setting.secret) as (Setting & { readonly env: string })[];
/** A value that each of them takes. */
const GOOD: Readonly<Record<string, string>> = {
  REDIS_URL: 'redis://user:canary@cache.example:6379/1',
  REDIS_REGISTRY_URL: 'rediss://canary@registry.example',
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
};
const goodValue = (env: string) => GOOD[env] ?? `canary-of-${env}`;
/** So that no secret of the table is the only one of those it needs beside it. */
const COMPANY: Readonly<Record<string, string>> = {
  ...Object.fromEntries(SECRETS.map(({ env }) => [env, goodValue(env)])),
};
const CLUSTER = 'redis: {cluster: [{host: a}]}';

/** Everything that goes with a secret, without it. */
function company(env: string): { env: Record<string, string>; yaml: string } {
  const { [env]: _, REDIS_PASSWORD, REDIS_URL, ...others } = COMPANY;
  if (env === 'REDIS_PASSWORD')
    return { env: { ...BASE, ...others } as Record<string, string>, yaml: CLUSTER };
  const url = env === 'REDIS_URL' ? {} : { REDIS_URL };
  return { env: { ...BASE, ...others, ...url } as Record<string, string>, yaml: '' };
}

describe.each(SECRETS.map((setting) => [setting.env, setting] as const))('the secret %s', (env, { path }) => {
  const value = goodValue(env);

  it('comes from the environment', () => {
    const { env: others, yaml } = company(env);
    const secret = load({ ...others, [env]: value }, yaml).secrets.get(env);
    expect(secret?.name).toBe(env);
    expect(secret?.read()).toBe(value);
  });

  it('comes from a file, without its last line break', () => {
    const { env: others, yaml } = company(env);
    const config = load({ ...others, [`${env}_FILE`]: file(`${value}\r\n`) }, yaml);
    expect(config.secrets.get(env)?.read()).toBe(value);
    expect(config.fileSecrets.map(({ name }) => name)).toEqual([env]);
  });

  it('comes from the YAML, and is not left in the values', () => {
    const { env: others, yaml } = company(env);
    const tree = path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
    const config = load(
      others,
      yaml === '' ? stringify(tree) : `redis: {cluster: [{host: a}], password: ${value}}`,
    );
    expect(config.secrets.get(env)?.read()).toBe(value);
    const { secrets: _, fileSecrets: __, ...values } = config;
    expect(JSON.stringify(values)).not.toContain(value);
  });

  it('is refused when it is set both ways, without a word of either', () => {
    const { env: others, yaml } = company(env);
    const faults = faultsOf({ ...others, [env]: value, [`${env}_FILE`]: file(value) }, yaml);
    expect(faults).toEqual([`${env}: was set together with ${env}_FILE; allowed is one of the two`]);
  });

  it.each(['missing', 'empty'])('is refused when its file is %s', (kind) => {
    const { env: others, yaml } = company(env);
    const named = kind === 'missing' ? join(folder(), 'none') : file('\n');
    const [line, ...more] = faultsOf({ ...others, [`${env}_FILE`]: named }, yaml);
    expect(line).toContain(`${env}_FILE: was ${named}; allowed is a readable, non-empty file (`);
    expect(line).not.toContain('\n');
    expect(more).toEqual([]);
  });

  it('is refused when the YAML has something else there, which is not shown', () => {
    const { env: others } = company(env === 'REDIS_PASSWORD' ? 'REDIS_URL' : env);
    for (const [wrong, kind] of [
      [[value], 'a list'],
      [{ [value]: value }, 'a mapping'],
      [4711, 'a number'],
      ['', 'empty text'],
    ] as const) {
      const tree = path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), wrong);
      const { [env]: _, ...without } = others;
      expect(faultsOf(without, stringify(tree))).toContain(
        `${env}: was ${kind} in the file; allowed is non-empty text`,
      );
    }
  });
});

describe('faults never show a secret', () => {
  const canary = 'c4n4ry-do-not-show';
  it.each([
    ['a token with a line break', { PLATFORM_TOKEN: `${canary}\nx` }, ''],
    ['an admin token with a space', { ADMIN_TOKEN: `${canary} x` }, ''],
    ['a master key of a wrong length', { GATEWAY_MASTER_KEY: canary }, ''],
    ['a Redis address of another kind', { REDIS_URL: `http://:${canary}@cache` }, ''],
    ['a Redis address that is none', { REDIS_URL: canary }, ''],
    ['a user in the base URL', { PLATFORM_BASE_URL: `https://me:${canary}@platform.example` }, ''],
    [
      'a user with an @ in the base URL',
      { PLATFORM_BASE_URL: `https://me:a@${canary}@platform.example` },
      '',
    ],
    ['a query in the base URL', { PLATFORM_BASE_URL: `https://platform.example?key=${canary}` }, ''],
    ['a fragment in the base URL', { PLATFORM_BASE_URL: `https://platform.example#${canary}` }, ''],
    ['a secret in the place of a group', {}, `platform: ${canary}`],
    ['a secret in a list in the place of a group', {}, `platform: [{token: ${canary}}]`],
    ['a secret under a name that is none', {}, `tokens: {platform: ${canary}}`],
    ['an alias by a password that starts with *', {}, `redis: {password: *${canary}}`],
    ['a tag by a password that starts with !', {}, `redis: {password: !${canary} x}`],
    ['broken YAML', {}, `redis: {password: ${canary}`],
    ['a directive by a password that starts with %', {}, `%${canary}\n---\na: [`],
    ['a member given twice', {}, `auth:\n  adminToken: ${canary}\n  adminToken: ${canary}`],
  ])('%s', (_what, env, yaml) => {
    const warn = vi.spyOn(process, 'emitWarning');
    const faults = faultsOf({ ...BASE, ...env }, yaml);
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.join('\n')).not.toContain(canary);
    // The YAML parser would quote the line in a warning.
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('a secret in a file', () => {
  function changing(first = 'one'): { path: string; secret: FileSecret; seen: string[] } {
    const path = join(folder(), 'secret');
    writeFileSync(path, first);
    const secret = fileSecret('NAME', path);
    const seen: string[] = [];
    secret.onChange((value) => seen.push(value));
    return { path, secret, seen };
  }

  it('is read again, and told of once for each change', () => {
    const { path, secret, seen } = changing();
    secret.refresh();
    expect(seen).toEqual([]);
    writeFileSync(path, 'two\n');
    // Not before it is looked at: a request sees one value from its beginning to its end.
    expect(secret.read()).toBe('one');
    secret.refresh();
    secret.refresh();
    expect(secret.read()).toBe('two');
    expect(seen).toEqual(['two']);
  });

  it('keeps its last value while the file is away, empty or a folder, and goes on from there', () => {
    const { path, secret, seen } = changing();
    unlinkSync(path);
    expect(() => secret.refresh()).toThrow('ENOENT');
    writeFileSync(path, '\n');
    expect(() => secret.refresh()).toThrow('is empty');
    rmSync(path);
    mkdirSync(path);
    expect(() => secret.refresh()).toThrow('EISDIR');
    expect(secret.read()).toBe('one');
    rmSync(path, { recursive: true });
    writeFileSync(path, 'two');
    secret.refresh();
    expect(seen).toEqual(['two']);
  });

  it('is seen when a mounted Kubernetes secret is swapped by renaming a link', () => {
    const root = folder();
    for (const version of ['v1', 'v2']) {
      mkdirSync(join(root, version));
      writeFileSync(join(root, version, 'token'), version);
    }
    symlinkSync('v1', join(root, '..data'));
    symlinkSync(join('..data', 'token'), join(root, 'token'));
    const secret = fileSecret('NAME', join(root, 'token'));
    expect(secret.read()).toBe('v1');
    symlinkSync('v2', join(root, '..data_tmp'));
    renameSync(join(root, '..data_tmp'), join(root, '..data'));
    secret.refresh();
    expect(secret.read()).toBe('v2');
  });
});

describe('watching secret files', () => {
  afterEach(() => void vi.useRealTimers());

  it('finds a change within a second, tells each fault once and when it is over, and stops', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const path = join(folder(), 'token');
    const write = (text: string) => {
      writeFileSync(path, text);
      vi.advanceTimersByTime(3000);
    };
    writeFileSync(path, 'sixteen-letters-or-more');
    const { fileSecrets } = load({ ...BASE, ADMIN_TOKEN_FILE: path });
    const told: string[] = [];
    const watch = watchSecrets(fileSecrets, {
      onFault: (name, error) => told.push(`${name}: ${error.message}`),
      onResolved: (name) => told.push(`${name} is right again`),
    });
    writeFileSync(path, 'sixteen-other-letters');
    vi.advanceTimersByTime(1000);
    expect(fileSecrets[0]?.read()).toBe('sixteen-other-letters');

    write('short');
    expect(watch.faults()).toEqual([{ name: 'ADMIN_TOKEN', message: expect.stringContaining(path) }]);
    write('');
    write('sixteen-letters-once-more');
    expect(watch.faults()).toEqual([]);
    // Mended in between, so it is told again.
    write('');
    expect(told).toEqual([
      expect.stringContaining('allowed is a token of 16 printable ASCII characters or more'),
      `ADMIN_TOKEN: the file ${path} is empty; allowed is the secret`,
      'ADMIN_TOKEN is right again',
      expect.stringContaining('is empty'),
    ]);

    watch.stop();
    write('sixteen-letters-too-late');
    expect(fileSecrets[0]?.read()).toBe('sixteen-letters-once-more');
  });
});
