/** Schemas are compiled by the first request that they are for; here each of both planes is. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { AjvCompiler } from '@fastify/ajv-compiler';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { expect, it } from 'vitest';
import { buildValidator, READING } from '../../../src/lib/http/validator.js';
import { startGateway } from '../../support/start-gateway.js';

const PARTS = ['body', 'querystring', 'params', 'headers'] as const;
const options = { customOptions: { ...READING, keywords: [...READING.keywords] } };

/** @returns the routes of all servers that are made meanwhile */
async function routesOf(work: () => Promise<void>): Promise<readonly RouteOptions[]> {
  const routes: RouteOptions[] = [];
  const made = (message: unknown) =>
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', (route) => void routes.push(route));
  subscribe('fastify.initialization', made);
  await work();
  unsubscribe('fastify.initialization', made);
  return routes;
}

it('each schema of both planes is one, and compiles', async () => {
  const routes = await routesOf(async () => {
    const gateway = await startGateway();
    await gateway.admin.ready();
    await gateway.close();
  });
  const schemas = routes.flatMap(({ method, url, schema }) =>
    PARTS.flatMap((part) =>
      schema?.[part] === undefined ? [] : [[`${method} ${url} ${part}`, schema[part]] as const],
    ),
  );
  expect(schemas.length).toBeGreaterThan(10);
  const compile = AjvCompiler()({}, options);
  for (const [name, schema] of schemas)
    expect([name, typeof compile({ schema } as never)]).toEqual([name, 'function']);
});

it('a schema is compiled once, when a value is first held to it, and tells what is wrong', () => {
  let looked = 0;
  const schema = {
    get type() {
      looked += 1;
      return 'string';
    },
  };
  const check = buildValidator({}, options)({ schema } as never) as unknown as {
    (value: unknown): unknown;
    errors?: unknown;
  };
  expect(looked).toBe(0);
  expect(check('text')).toBe(true);
  const once = looked;
  expect(check(7)).toBe(false);
  expect(check.errors).toEqual([expect.objectContaining({ message: 'must be string' })]);
  expect(check('text')).toBe(true);
  expect(check.errors).toBeNull();
  expect(once).toBeGreaterThan(0);
  expect(looked).toBe(once);
});
