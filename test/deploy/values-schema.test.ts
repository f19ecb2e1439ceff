/** The chart takes exactly the settings that the gateway takes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listSettings } from '../../src/config/settings.js';
import { ROOT } from '../support/processes.js';
import { configSchema, secretsSchema } from './values-schema.js';

const PATH = join(ROOT, 'helm', 'values.schema.json');

/** Written anew by `npx vitest run test/deploy/values-schema.test.ts --update`. */
it("holds the gateway's settings and secrets as they are now", async () => {
  const schema = JSON.parse(await readFile(PATH, 'utf8')) as { properties: object };
  const { properties } = schema;
  const current = { ...properties, config: configSchema(), secrets: secretsSchema() };
  const text = `${JSON.stringify({ ...schema, properties: current }, null, 2)}\n`;
  await expect(text).toMatchFileSnapshot(PATH);
});

it('leaves out what the chart sets itself, and nothing else', () => {
  const places = new Set<string>();
  const walk = (node: { properties?: object }, path: string): void => {
    if (node.properties === undefined) places.add(path);
    for (const [name, child] of Object.entries(node.properties ?? {}))
      walk(child, path === '' ? name : `${path}.${name}`);
  };
  walk(configSchema(), '');
  const plain = listSettings().filter(({ secret }) => secret !== true);
  expect(plain.map(({ path }) => path).filter((path) => !places.has(path))).toEqual([
    'server.port',
    'server.adminHost',
    'server.adminPort',
    'server.metricsPort',
    'store.dataDir',
    'testClock',
  ]);
});

it('asks for no more than the gateway does', () => {
  expect(configSchema().required).toEqual(['platform']);
  const { platform } = configSchema().properties as Record<string, { required: string[] }>;
  expect(platform?.required).toEqual(['baseUrl']);
});
