/** Nothing that starts the gateway opens its memory, and nothing that builds it is taken by a name that can be moved. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/processes.js';
import { readCompose } from './compose.js';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const below = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ya?ml|tpl|txt)$/.test(name))
    .map((name) => join(folder, name));

/** What has Node tell its memory, or wait for somebody who looks into it. */
const OPENS = /NODE_OPTIONS|--(?:inspect|heapsnapshot|heap-prof|cpu-prof|report|abort-on|diagnostic-dir)/;

describe('memory', () => {
  it('is opened by nothing that starts the gateway: no debugger, heap snapshot or report', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const texts = ['Dockerfile', ...below('helm'), ...below('config')].map((path) => [path, read(path)]);
    const found = [...texts, ['npm start', scripts.start], ['npm run demo', scripts.demo]].filter(
      ([, text = '']) => OPENS.test(text),
    );
    expect(texts.length).toBeGreaterThan(20);
    expect(found).toEqual([]);
    expect(OPENS.test('node --inspect=0.0.0.0 dist/cli.js')).toBe(true);
  });

  it('is dumped nowhere by compose: no core, no file system to write to, no privileges', async () => {
    const { services } = await readCompose();
    for (const name of ['gateway-a', 'gateway-b'])
      expect(services[name]).toMatchObject({
        ulimits: { core: 0 },
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
  });
});

describe('what builds it', () => {
  it('in the workflow is named by commit', () => {
    const used = below('.github').flatMap((path) =>
      [...read(path).matchAll(/uses: (.*)/g)].map(([, name = '']) => name),
    );
    expect(used.length).toBeGreaterThan(1);
    expect(used.filter((name) => !/^[\w./-]+@[0-9a-f]{40} # v[\d.]+$/.test(name))).toEqual([]);
  });

  it('from npm is fixed by its digest, but for what a registry did not have for another machine', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { integrity?: string; optional?: boolean; resolved?: string; link?: boolean }>;
    };
    const loose = Object.entries(packages).filter(
      ([path, { integrity, optional }]) =>
        path !== '' && integrity?.startsWith('sha512-') !== true && optional !== true,
    );
    expect(loose).toEqual([]);
  });
});
