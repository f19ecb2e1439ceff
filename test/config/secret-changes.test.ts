/** A secret's file that changes is held to the rules of the start: a bad change keeps the last value, and is told. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { requireDistinct } from '../../src/config/admin-tokens.js';
import type { Config } from '../../src/config/load.js';
import { fixedSecret } from '../../src/config/secret.js';
import { BASE, faultsOf, folder, load } from './settings-in.js';

const KEY = Buffer.alloc(32, 7).toString('base64');
const TOKEN = 'sixteen-letters-or-more';
const BOM = '\uFEFF';

const ACCOUNT = {
  PLATFORM_USERNAME: 'me@agency.example',
  PLATFORM_PASSWORD: 'pass word',
  PLATFORM_CLIENT_ID: '4711',
  PLATFORM_CLIENT_SECRET: 'client-secret',
};
const SHARED = {
  REDIS_URL: 'redis://cache.example',
  REDIS_REGISTRY_URL: 'redis://registry.example',
  GATEWAY_MASTER_KEY: KEY,
  ADMIN_TOKEN: TOKEN,
};
const CLUSTER = 'redis: {cluster: [{host: a}]}';

/** What is wrong with each secret beside what is wrong with all; the first of each row is right. */
const SECRETS: Readonly<Record<string, readonly [right: string, ...bad: string[]]>> = {
  ADMIN_TOKEN: [TOKEN, 'x', 'fifteen-letters', `${TOKEN}\n\n`, ` ${TOKEN}`, `${TOKEN} `, `ä${TOKEN}`],
  PLATFORM_TOKEN: ['12|abc', '12|a b', '12|abc\n\n', ' 12|abc'],
  PLATFORM_USERNAME: ['me@agency.example', 'me\n\n', 'me\u0000'],
  PLATFORM_PASSWORD: ['pass word', 'pass\nword', 'pass\n\n'],
  PLATFORM_CLIENT_ID: ['4711', '4711\n\n'],
  PLATFORM_CLIENT_SECRET: ['client-secret', 'client-secret\n\n'],
  GATEWAY_MASTER_KEY: [KEY, KEY.slice(0, 30), `${KEY},`, `${KEY},${KEY.slice(0, 20)}`],
  REDIS_URL: ['redis://cache.example', 'http://cache.example', 'redis', 'redis://cache.example\n\n'],
  REDIS_REGISTRY_URL: ['rediss://registry.example', 'registry'],
  REDIS_PASSWORD: ['p', 'p\n\n'],
};

/** Settings in which one secret comes from a file. */
function company(name: string, path: string): { env: Record<string, string>; yaml: string } {
  const { REDIS_URL, REDIS_REGISTRY_URL: _, ...noUrl } = SHARED;
  const beside = name === 'REDIS_PASSWORD' ? noUrl : SHARED;
  const { [name]: __, ...others } = { ...BASE, ...ACCOUNT, ...beside } as Record<string, string>;
  return { env: { ...others, [`${name}_FILE`]: path }, yaml: name === 'REDIS_PASSWORD' ? CLUSTER : '' };
}

/** Looks into every file once. @returns what the looks threw */
function lookAgain({ fileSecrets }: Config): string[] {
  return fileSecrets.flatMap((secret) => {
    try {
      secret.refresh();
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });
}

describe.each(Object.entries(SECRETS))('the file of %s', (name, [right, ...bad]) => {
  // Blanks around a master key are no part of it.
  const unseen = name === 'GATEWAY_MASTER_KEY' ? [] : [`${BOM}${right}`];
  it.each([...bad, ...unseen])('does not change it to %j, which would stop a start', (text) => {
    const path = join(folder(), 'secret');
    const { env, yaml } = company(name, path);
    writeFileSync(path, `${right}\n`);
    const config = load(env, yaml);
    const seen: string[] = [];
    config.secrets.get(name)?.onChange((value) => seen.push(value));
    writeFileSync(path, text);
    const [fault, ...more] = lookAgain(config);
    expect(more).toEqual([]);
    expect(fault).toContain(path);
    expect(fault).toMatch(/allowed is .+/);
    // A short value is in any sentence.
    if (text.length > 5) expect(fault).not.toContain(text.trim());
    expect(seen).toEqual([]);
    expect(config.secrets.get(name)?.read()).toBe(right);

    const [line] = faultsOf(env, yaml);
    expect(line).toMatch(new RegExp(`^${name}(_FILE)?: was .+; allowed is .+`));
    expect(line).toContain(path);
  });

  it('that is no UTF-8 changes nothing, and stops a start', () => {
    const path = join(folder(), 'secret');
    const { env, yaml } = company(name, path);
    writeFileSync(path, right);
    const config = load(env, yaml);
    writeFileSync(path, Buffer.concat([Buffer.from(right), Buffer.from([0xc3, 0x28])]));
    expect(lookAgain(config)).toEqual([expect.stringContaining(path)]);
    expect(config.secrets.get(name)?.read()).toBe(right);
    expect(faultsOf(env, yaml).join('\n')).toContain(path);
  });
});

describe('the files of several admin tokens', () => {
  const yaml = (files: Readonly<Record<string, string>>) =>
    stringify({
      auth: {
        adminTokens: Object.entries(files).map(([name, tokenFile]) => ({ name, role: 'viewer', tokenFile })),
      },
    });

  it('never come to hold the same token: nobody acts as another', () => {
    const root = folder();
    const [ops, look, owner] = [join(root, 'ops'), join(root, 'look'), join(root, 'owner')];
    writeFileSync(ops, 'token-of-the-operators');
    writeFileSync(look, 'token-of-the-viewers');
    writeFileSync(owner, 'token-of-the-owner');
    const config = load({ ...BASE, ADMIN_TOKEN_FILE: owner }, yaml({ ops, look }));
    const held = () => [
      config.secrets.get('ADMIN_TOKEN')?.read(),
      ...config.admins.map(({ token }) => token.read()),
    ];
    const before = held();
    for (const [path, text] of [
      [look, 'token-of-the-operators'],
      [look, 'token-of-the-owner\n'],
      [owner, 'token-of-the-operators'],
    ] as const) {
      const was = path === owner ? 'token-of-the-owner' : 'token-of-the-viewers';
      writeFileSync(path, text);
      const faults = lookAgain(config);
      expect(faults).toHaveLength(1);
      expect(faults[0]).toContain(path);
      expect(faults[0]).toContain('that another admin token uses');
      expect(held()).toEqual(before);
      writeFileSync(path, was);
    }
    expect(lookAgain(config)).toEqual([]);
    writeFileSync(look, 'x');
    expect(lookAgain(config)[0]).toContain('16 printable ASCII characters or more');
    writeFileSync(look, 'another-token-of-theirs');
    expect(lookAgain(config)).toEqual([]);
    expect(held()[2]).toBe('another-token-of-theirs');
  });
});

it('the generated admin token is kept apart from those of files, too', () => {
  const path = join(folder(), 'ops');
  writeFileSync(path, 'token-of-the-operators');
  const config = load(
    BASE,
    stringify({ auth: { adminTokens: [{ name: 'ops', role: 'operator', tokenFile: path }] } }),
  );
  requireDistinct(config.fileSecrets, [
    fixedSecret('ADMIN_TOKEN', 'the-generated-token'),
    ...config.admins.map(({ token }) => token),
  ]);
  writeFileSync(path, 'the-generated-token');
  expect(lookAgain(config)).toEqual([expect.stringContaining('that another admin token uses')]);
});
