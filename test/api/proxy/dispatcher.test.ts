import { describe, expect, it } from 'vitest';
import { createAnswerBuffers } from '../../../src/api/proxy/clean-answer.js';
import { createDispatcher, type ProxiedCall } from '../../../src/api/proxy/dispatcher.js';
import type { Passage } from '../../../src/api/proxy/passage.js';
import type { GatewayError } from '../../../src/errors.js';
import { Trace } from '../../../src/telemetry/trace.js';
import { callerOf } from '../../support/callers.js';

const CALL: ProxiedCall = { method: 'DELETE', path: '/api/v1/campaign/7', headers: {}, body: '' };

const PASSAGE: Passage = {
  caller: callerOf({ advertisers: '*' }),
  method: 'DELETE',
  path: '/api/v1/campaign/7',
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

/** A dispatcher whose every step towards the platform is noted, and ends there. */
function noting() {
  const steps: string[] = [];
  const step = (name: string) => async () => {
    steps.push(name);
    throw new Error(`${name} was reached`);
  };
  const dispatcher = createDispatcher({
    platform: { send: step('platform') },
    idempotency: { once: step('idempotency'), settled: async () => {} },
    places: { enter: step('place'), running: 0 },
    charging: { begin: step('charge'), end: async () => {} },
    timeoutMs: 1000,
    answers: { silenceMs: 1000, minBytesPerSecond: 0, overMs: 1000, buffers: createAnswerBuffers(0) },
  });
  const request = (call: ProxiedCall = CALL) =>
    new Promise<Error | null>((resolve) => dispatcher.request(call, (error) => resolve(error)));
  return { steps, dispatcher, request };
}

describe('a call that carries no checked passage', () => {
  it.each<[string, (world: ReturnType<typeof noting>) => Promise<Error | null>]>([
    ['made by itself', ({ request }) => request()],
    ['made where no passage was given', ({ dispatcher, request }) => dispatcher.run(null, () => request())],
    [
      'made after the one that carried it',
      async ({ dispatcher, request }) => {
        dispatcher.run(PASSAGE, () => undefined);
        return await request();
      },
    ],
    [
      'made beside the one that carries it',
      async ({ dispatcher, request }) => {
        const beside = new Promise((resolve) => setImmediate(resolve)).then(() => request());
        const carried = dispatcher.run(PASSAGE, () => new Promise((resolve) => setTimeout(resolve, 5)));
        await carried;
        return await beside;
      },
    ],
    [
      'that says it does',
      ({ request }) =>
        request({ ...CALL, headers: { passage: JSON.stringify(PASSAGE), authorization: 'x' } }),
    ],
  ])('is refused before a place, a slot or a token is taken: %s', async (_how, call) => {
    const world = noting();
    const error = await call(world);
    expect((error as GatewayError).code).toBe('internal_error');
    expect(world.steps).toEqual([]);
  });

  it('is told from one that does', async () => {
    const { dispatcher, request, steps } = noting();
    await dispatcher.run(PASSAGE, () => request());
    expect(steps).toEqual(['place']);
  });
});
