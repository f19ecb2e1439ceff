/** What is shipped is named, with its licence, in a page for people and in a list for tools; both follow from the lock. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { launch, ROOT } from '../support/processes.js';

interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly name?: string;
}

interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly { readonly license?: { readonly id?: string } }[];
}

interface Bom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const ALLOWED = ['MIT', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', '0BSD', 'BlueOak-1.0.0'];
/** What the pages are built of: development dependencies, whose code lies in dist. */
const IN_PAGES = ['node_modules/preact', 'node_modules/uplot'];

const folder = 'node_modules/';
let shipped: { readonly id: string; readonly license: string | undefined }[];
beforeAll(async () => {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  const one = ([place, { name, version, license }]: [string, Locked]) => ({
    id: `${name ?? place.slice(place.lastIndexOf(folder) + folder.length)}@${version}`,
    license,
  });
  shipped = Object.entries(packages)
    .filter(([place, { dev }]) => place !== '' && (dev !== true || IN_PAGES.includes(place)))
    .map(one);
});

const ids = () => [...new Set(shipped.map(({ id }) => id))].toSorted();

async function print(script: string): Promise<string> {
  const started = launch(process.execPath, [join('.ci', script)]);
  const { code } = await started.exited;
  expect([code, started.stderr.replaceAll(/^npm (warn|notice).*\n/gm, '')]).toEqual([0, '']);
  return started.stdout;
}

describe('the licences', () => {
  it('of all that is shipped ask for nothing but to be named', () => {
    expect(shipped.filter(({ license }) => !ALLOWED.includes(license ?? ''))).toEqual([]);
    expect(shipped.length).toBeGreaterThan(100);
  });

  it('are on the page, as they are in the lock', async () => {
    const page = await readFile(join(ROOT, 'docs', 'licences.md'), 'utf8');
    const fresh = await print('licences.mjs');
    expect(page, 'run: npm run --silent licences > docs/licences.md').toBe(fresh);
    const rows = [...page.matchAll(/^\| `([^`]+)` \| (\S+) \| (\S+) \|/gm)];
    expect(rows.map(([, name, version]) => `${name}@${version}`).toSorted()).toEqual(ids());
  });
});

it('the texts of licences lie beside the pages that hold the code', async () => {
  const texts = await Promise.all(
    ['console', 'explorer'].map((page) => readFile(join(ROOT, 'dist', 'web', page, 'licences.md'), 'utf8')),
  );
  for (const place of IN_PAGES) expect(texts.join('\n')).toContain(`## ${place.slice(folder.length)} - `);
  for (const text of texts) expect(text).toContain('Permission is hereby granted, free of charge');
});

describe('the list for tools', () => {
  let bom: Bom;
  beforeAll(async () => {
    bom = JSON.parse(await print('sbom.mjs')) as Bom;
  });

  it('is a CycloneDX document of the gateway', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(bom).toMatchObject({
      $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      version: 1,
      serialNumber: expect.stringMatching(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      metadata: { component: { type: 'application', name: 'dsp-gateway', version } },
    });
  });

  it('names every package that is shipped and no other, each with address and licence', () => {
    expect(bom.components.map(({ name, version }) => `${name}@${version}`).toSorted()).toEqual(ids());
    for (const { name, version, purl, type, licenses } of bom.components) {
      expect([type, purl]).toEqual(['library', `pkg:npm/${name.replace('@', '%40')}@${version}`]);
      expect([name, ALLOWED.includes(licenses?.[0]?.license?.id ?? '')]).toEqual([name, true]);
    }
  });

  it('hangs together: everything in it is named once, and reached from the gateway', () => {
    const known = [bom.metadata.component, ...bom.components].map((one) => one['bom-ref']);
    expect(new Set(known).size).toBe(known.length);
    const needs = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    const reached = new Set<string>();
    const walk = (ref: string): void => {
      if (reached.has(ref)) return;
      reached.add(ref);
      for (const next of needs.get(ref) ?? []) walk(next);
    };
    walk(bom.metadata.component['bom-ref']);
    expect([...reached].toSorted()).toEqual(known.toSorted());
  });
});
