/** What is shipped is named, with its licence, in a page for people and in a list for tools; both follow from the lock. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { launch, ROOT } from '../support/processes.js';

interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly name?: string;
}

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly { readonly license?: { readonly id?: string } }[];
}

interface Bom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const ALLOWED = ['MIT', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', '0BSD', 'BlueOak-1.0.0'];
/** What the pages are built of: development dependencies, whose code lies in dist. */
const IN_PAGES = ['preact', 'uplot'];
const idOf = ({ name, version }: Pick<Component, 'name' | 'version'>) => `${name}@${version}`;

let shipped: { readonly id: string; readonly license: string | undefined }[];
beforeAll(async () => {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  shipped = Object.entries(packages)
    .filter(([place, { dev }]) => place !== '' && (dev !== true || IN_PAGES.includes(place.slice(13))))
    .map(([place, { name = place.slice(place.lastIndexOf('node_modules/') + 13), version, license }]) => ({
      id: idOf({ name, version }),
      license,
    }));
});

const ids = () => [...new Set(shipped.map(({ id }) => id))].toSorted();

async function print(script: string): Promise<string> {
  const started = launch(process.execPath, [join('.ci', script)]);
  const { code } = await started.exited;
  expect([code, started.stderr.replaceAll(/^npm (warn|notice).*\n/gm, '')]).toEqual([0, '']);
  return started.stdout;
}

it('the licences of all that is shipped ask for nothing but to be named', () => {
  expect(shipped.filter(({ license }) => !ALLOWED.includes(license ?? ''))).toEqual([]);
  expect(shipped.length).toBeGreaterThan(100);
});

it('the licences are on the page, as they are in the lock', async () => {
  const page = await readFile(join(ROOT, 'docs', 'licences.md'), 'utf8');
  expect(page, 'run: npm run --silent licences > docs/licences.md').toBe(await print('licences.mjs'));
  const named = [...page.matchAll(/`((?:@[^`/]+\/)?[^`@/]+@[^`]+)`/g)].map(([, name]) => name as string);
  expect(named.toSorted()).toEqual(ids());
});

it('the texts of licences lie beside the pages that hold the code', async () => {
  const read = (page: string) => readFile(join(ROOT, 'dist', 'web', page, 'licences.md'), 'utf8');
  const texts = await Promise.all(['console', 'explorer'].map(read));
  for (const name of IN_PAGES) expect(texts.join('\n')).toContain(`## ${name} - `);
  for (const text of texts) expect(text).toContain('Permission is hereby granted, free of charge');
});

it('the list for tools names every package that is shipped and no other, and each is reached from the gateway', async () => {
  const bom = JSON.parse(await print('sbom.mjs')) as Bom;
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const { component } = bom.metadata;
  expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5' });
  expect(component).toMatchObject({ name: 'dsp-gateway', version });
  expect(bom.components.map(idOf).toSorted()).toEqual(ids());
  for (const { name, licenses } of bom.components)
    expect([name, ALLOWED.includes(licenses?.[0]?.license?.id ?? '')]).toEqual([name, true]);
  const needs = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const reached = new Set([component['bom-ref']]);
  for (const ref of reached) for (const next of needs.get(ref) ?? []) reached.add(next);
  const known = [component, ...bom.components].map((one) => one['bom-ref']);
  expect([...reached].toSorted()).toEqual(known.toSorted());
});
