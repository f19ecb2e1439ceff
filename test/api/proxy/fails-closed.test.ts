/** A request that was not checked never reaches the platform, wherever the check is left out. */
import Fastify, { type FastifyRequest } from 'fastify';
import { pino } from 'pino';
import { Agent } from 'undici';
import { describe, expect, it } from 'vitest';
import { agentOfSlots } from '../../../src/api/proxy/ask-by-proxy.js';
import { createAnswerBuffers } from '../../../src/api/proxy/clean-answer.js';
import type { Passage } from '../../../src/api/proxy/passage.js';
import { registerPassThrough } from '../../../src/api/proxy/route.js';
import type { GatewayError } from '../../../src/errors.js';
import { Trace } from '../../../src/telemetry/trace.js';
import { brakeByHand } from '../../support/brake-by-hand.js';
import { callerOf } from '../../support/callers.js';
import { sends, startRawPlatform } from '../../support/raw-platform.js';
import { reservationsInMemory } from '../../support/reservations-in-memory.js';

const PATH = '/api/v1/campaign/7';

const PASSAGE: Passage = {
  caller: callerOf({ advertisers: '*' }),
  method: 'DELETE',
  path: PATH,
  rule: undefined,
  trace: new Trace(),
  gone: new AbortController().signal,
  pairs: [],
  query: '',
  body: null,
  stream: null,
  parsed: null,
  fault: null,
  keyed: null,
  dryRun: false,
  givenChecksum: null,
  judgeAgain: () => null,
  assertStillAllowed: () => {},
};

/** A pass-through whose checks are replaced, and whose every step towards the platform is noted, and ends there. */
async function noting() {
  const platform = await startRawPlatform(sends('{}'));
  const steps: string[] = [];
  const errors: Error[] = [];
  const step = (name: string) => async () => {
    steps.push(name);
    throw new Error(`${name} was reached`);
  };
  const agent = new Agent();
  const app = Fastify();
  app.addHook('onRoute', (route) => {
    route.preHandler = async (request: FastifyRequest) => {
      if (request.headers['x-checked'] === 'yes') request.passage = PASSAGE;
      await new Promise((resolve) => setTimeout(resolve, 5));
    };
  });
  app.setErrorHandler((error: Error, _request, reply) => {
    errors.push(error);
    return reply.code(500).send();
  });
  registerPassThrough(app, {
    agent,
    platformUrl: new URL(platform.url),
    platform: { send: step('platform') },
    idempotency: { once: step('idempotency'), settled: async () => {} },
    places: { enter: step('place'), running: 0 },
    reservations: reservationsInMemory(),
    brake: brakeByHand(),
    logger: pino({ level: 'silent' }),
    identify: () => PASSAGE.caller,
    limits: { enter: step('limits') } as never,
    rules: { routes: [], accountPattern: /^$/ },
    defaultGuard: 'allow',
    maxBodyBytes: 1024,
    timeoutMs: 1000,
    answers: { silenceMs: 1000, minBytesPerSecond: 0, overMs: 1000, buffers: createAnswerBuffers(0) },
  });
  await app.ready();
  const ask = (headers: Record<string, string> = {}) =>
    app.inject({ method: 'DELETE', url: PATH, headers }).then(({ statusCode }) => statusCode);
  const codes = () => errors.map((error) => (error as GatewayError).code);
  return { platform, steps, codes, ask, agent };
}

describe('a request that carries no checked passage', () => {
  const checked = { 'x-checked': 'yes' };

  it.each<[string, Record<string, string>]>([
    ['by itself', {}],
    ['that says it does', { passage: JSON.stringify(PASSAGE), authorization: 'x' }],
  ])('is refused before a place, a slot or a token is taken: %s', async (_how, headers) => {
    const { platform, steps, codes, ask } = await noting();
    expect(await ask(headers)).toBe(500);
    expect([codes(), steps, platform.requests.length]).toEqual([['internal_error'], [], 0]);
  });

  it('is refused after one that carries it, and beside one', async () => {
    const { platform, steps, codes, ask } = await noting();
    await ask(checked);
    await ask();
    expect([codes(), steps]).toEqual([['internal_error', 'internal_error'], ['place']]);
    await Promise.all([ask(checked), ask(), ask()]);
    expect([steps, platform.requests.length]).toEqual([['place', 'place'], 0]);
  });

  it('is told from one that does', async () => {
    const { steps, ask } = await noting();
    await ask(checked);
    expect(steps).toEqual(['place']);
  });
});

describe('a call that has no slot', () => {
  it.each<[string, Record<string, string>]>([
    ['by itself', {}],
    ['that says it has', { 'ends the call': 'x', authorization: 'Bearer x', signal: 'x' }],
  ])('is refused by the agent, and nothing is sent: %s', async (_how, headers) => {
    const { platform, agent } = await noting();
    const call = { origin: platform.url, path: PATH, method: 'GET', headers } as const;
    expect(() => agentOfSlots(agent).request(call, () => {})).toThrow(
      expect.objectContaining({ code: 'internal_error' }),
    );
    expect(platform.requests).toHaveLength(0);
  });
});
