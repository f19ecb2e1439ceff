/** Both OpenAPI documents pass a linter with every rule it recommends, and what it would find is planted for it. */
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, it } from 'vitest';
import { withGateway } from '../../support/start-gateway.js';
import type { Document } from './document.js';

/** @returns `rule: what is wrong` */
async function faultsOf(document: unknown): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const found = await lintFromString({ source: JSON.stringify(document), config });
  return found.map(({ ruleId, message }) => `${ruleId}: ${message}`);
}

it.each(['data', 'admin'] as const)('the document of the %s plane passes', async (plane) => {
  const gateway = await withGateway({ config: { testClock: true } });
  const document = (await gateway[plane].inject('/openapi.json')).json<Document>();
  expect(Object.keys(document.paths).length).toBeGreaterThan(5);
  expect(await faultsOf(document)).toEqual([]);
});

it('a fault would be found', async () => {
  const gateway = await withGateway();
  const document = (await gateway.data.inject('/openapi.json')).json<Record<string, unknown> & Document>();
  const get = document.paths['/healthz']?.get;
  const planted = {
    ...document,
    servers: [],
    paths: {
      ...document.paths,
      '/healthz': { get: { ...get, operationId: 'getMe', responses: { 200: { content: {} } } } },
      '/thing/{id}': { get: { ...get, operationId: 'getThing' } },
    },
  };
  const rules = (await faultsOf(planted)).map((fault) => fault.split(':', 1)[0]);
  expect(rules).toEqual(
    expect.arrayContaining([
      'no-empty-servers',
      'operation-operationId-unique',
      'path-parameters-defined',
      'struct',
    ]),
  );
});
