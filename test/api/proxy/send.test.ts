/** What a write takes of its day, and that nothing is sent that was not checked. */

import Fastify, { type FastifyRequest } from 'fastify';
import { pino } from 'pino';
import { Agent } from 'undici';
import { describe, expect, it } from 'vitest';
import { agentOfSlots } from '../../../src/api/proxy/ask-by-proxy.js';
import { createCharging } from '../../../src/api/proxy/charge-write.js';
import { createAnswerBuffers } from '../../../src/api/proxy/clean-answer.js';
import type { Passage } from '../../../src/api/proxy/passage.js';
import { registerPassThrough } from '../../../src/api/proxy/route.js';
import { createSending } from '../../../src/api/proxy/send.js';
import { type ErrorCode, GatewayError } from '../../../src/errors.js';
import type { Response } from '../../../src/platform/slot.js';
import { guardUnavailable } from '../../../src/teams/write-guard/reservations.js';
import { type CallReport, Trace } from '../../../src/telemetry/trace.js';
import { brakeByHand } from '../../support/brake-by-hand.js';
import { callerOf } from '../../support/callers.js';
import { sends, startRawPlatform } from '../../support/raw-platform.js';
import { reservationsInMemory } from '../../support/reservations-in-memory.js';

const ROUTE = 'POST /api/v1/campaign/create';
const [PATH, TEAM] = ['/api/v1/campaign/create', callerOf({ advertisers: '*' }).team.id];
const CHARGE = { route: ROUTE, amount: 900, max: 1000, currency: undefined };

function passageOf(more: Partial<Passage> = {}): Passage {
  return {
    caller: callerOf({ advertisers: '*' }),
    method: 'POST',
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
    judgeAgain: () => CHARGE,
    assertStillAllowed: () => {},
    ...more,
  };
}

interface End {
  /** Of the platform's answer. */
  readonly status?: number;
  /** Of the one try, when there was one. */
  readonly outcome?: CallReport['outcome'];
  readonly error?: Error;
  /** What happens while it waits for a slot of the platform. */
  readonly waiting?: (brake: ReturnType<typeof brakeByHand>) => void;
}

function world(ends: End = { status: 201 }) {
  const steps: string[] = [];
  const reservations = reservationsInMemory();
  const brake = brakeByHand();
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => void lines.push(line) });
  const send = createSending({
    platform: {
      async send(call, consume) {
        ends.waiting?.(brake);
        await call.onSlot?.();
        steps.push(`send with ${reservations.charged(TEAM, ROUTE)} charged`);
        const { status, outcome, error } = ends;
        const made = {
          team: call.team,
          method: call.method,
          status: status ?? null,
          durationMs: 1,
          attempt: 1,
        };
        if (outcome !== undefined) call.onCall?.({ ...made, outcome });
        const response = { status, body: { once: () => {} } } as unknown as Response;
        const value = status === undefined ? undefined : await consume(response);
        if (error !== undefined) throw error;
        return value as never;
      },
    },
    places: {
      async enter() {
        steps.push('place');
        return () => void steps.push('leave');
      },
      running: 0,
    },
    charging: createCharging({ reservations, brake, logger }),
    timeoutMs: 1000,
  });
  const ask = async (): Promise<never> => {
    throw new Error('the platform is not asked by itself');
  };
  const write = (more: Partial<Passage> = {}) =>
    send(passageOf(more), ask, async ({ status }) => status).catch((error: unknown) => error);
  return { steps, reservations, brake, lines, write };
}

describe('a write', () => {
  it('is reserved after its place is found, and before it is sent', async () => {
    const { steps, write } = world();
    expect(await write()).toBe(201);
    expect(steps).toEqual(['place', 'send with 900 charged']);
  });

  it('that its day has no room for is not sent, and its place is free again', async () => {
    const { steps, reservations, write } = world();
    await write();
    expect(await write()).toMatchObject({
      code: 'write_guard_refused',
      options: {
        errors: [{ param: 'budget.maxPerDay', message: expect.stringContaining('0.0001 left on') }],
      },
    });
    expect(steps.slice(2)).toEqual(['place', 'leave']);
    expect(reservations.charged(TEAM, ROUTE)).toBe(900);
  });

  it('is not sent when nothing can be reserved, nor when writes are stopped', async () => {
    const { steps, reservations, brake, write } = world();
    reservations.away = true;
    expect(await write()).toMatchObject({ code: 'write_guard_unavailable' });
    brake.stopped = true;
    expect(await write({ judgeAgain: () => null })).toMatchObject({ code: 'writes_stopped' });
    expect(steps).toEqual(['place', 'leave', 'place', 'leave']);
  });

  it('that waits for its turn when writes are stopped is not sent, and what was reserved comes back', async () => {
    const { steps, reservations, write } = world({
      status: 201,
      waiting: (brake) => {
        brake.stopped = true;
      },
    });
    expect(await write()).toMatchObject({ code: 'writes_stopped' });
    expect(steps).toEqual(['place', 'leave']);
    expect(reservations.charged(TEAM, ROUTE)).toBe(0);
  });

  it.each<[string, (step: number) => Passage['judgeAgain']]>([
    [
      'may no longer be sent',
      (step) => () => {
        if (step === 2) throw guardUnavailable('x');
        return CHARGE;
      },
    ],
    ['may cost less a day', (step) => () => ({ ...CHARGE, max: step === 2 ? 900 : 1000 })],
  ])('that %s when the store has answered is not sent, and what was reserved comes back', async (_, of) => {
    const { steps, reservations, write } = world();
    let step = 0;
    const judgeAgain = () => {
      step += 1;
      return of(step)();
    };
    expect(await write({ judgeAgain })).toMatchObject({ code: 'write_guard_unavailable' });
    expect(steps).toEqual(['place', 'leave']);
    expect(reservations.charged(TEAM, ROUTE)).toBe(0);
  });

  it('that no rule is for reserves nothing, and asks the brake all the same', async () => {
    const { steps, brake, write } = world();
    await write({ judgeAgain: () => null });
    expect(steps).toEqual(['place', 'send with 0 charged']);
    expect(brake.asked).toEqual([TEAM]);
  });
});

it('a read asks neither brake nor guard', async () => {
  const { brake, reservations, write } = world({ status: 200 });
  brake.stopped = true;
  const rule = { method: 'POST', path: PATH, read: true, account: [], pathChars: '' } as const;
  expect(await write({ rule: { ...rule, account: [] } })).toBe(200);
  expect(await write({ method: 'GET' })).toBe(200);
  expect(reservations.ends).toEqual([]);
});

describe('what was reserved', () => {
  const cut = new GatewayError('upstream_error');
  const unconnected = new GatewayError('upstream_error', {
    cause: Object.assign(new Error('refused'), { syscall: 'connect', code: 'ECONNREFUSED' }),
  });

  const fails = (code: ErrorCode) => ({ error: new GatewayError(code) });

  it.each<[string, End, 'kept' | 'back' | 'unknown']>([
    ['the platform did it', { status: 201 }, 'kept'],
    ['it did it, and its answer broke off', { status: 200, error: cut }, 'kept'],
    ['it had nothing to send back', { status: 204 }, 'kept'],
    ['it took the request for wrong', { status: 422 }, 'back'],
    ['it took the request for wrong, and its answer broke off', { status: 400, error: cut }, 'back'],
    ['it forbids it', { status: 403 }, 'back'],
    ['it says that there is one already', { status: 409 }, 'unknown'],
    ['it says that one part failed', { status: 424 }, 'unknown'],
    ['it says something of its own', { status: 499 }, 'unknown'],
    ['it failed', { outcome: 'failed', error: cut }, 'unknown'],
    ['it answered with a redirect', { outcome: 'invalid', ...fails('upstream_invalid_response') }, 'unknown'],
    ['it did not answer in time', { outcome: 'timeout', ...fails('upstream_timeout') }, 'unknown'],
    ['the connection broke off', { outcome: 'network', error: cut }, 'unknown'],
    ['it could not be connected to', { outcome: 'network', error: unconnected }, 'back'],
    ['it refused the token', { outcome: 'credential-refused', ...fails('credential_unavailable') }, 'back'],
    ['it asked to wait', { outcome: 'rate-limited', ...fails('upstream_rate_limited') }, 'back'],
    ['the call never had its turn', { ...fails('overloaded') }, 'back'],
  ])('when %s: %j → %s', async (_, ends, end) => {
    const { reservations, write } = world(ends);
    await write();
    expect(reservations.ends).toMatchObject([
      { end, ...(end === 'unknown' ? { why: expect.stringMatching(/\S/) } : {}) },
    ]);
    expect(reservations.charged(TEAM, ROUTE)).toBe(end === 'back' ? 0 : 900);
  });

  it('stays charged, and the caller has the answer, when what became of it cannot be noted', async () => {
    const { reservations, lines, write } = world();
    reservations.keep = async () => {
      throw new Error('away');
    };
    expect(await write()).toBe(201);
    expect(reservations.charged(TEAM, ROUTE)).toBe(900);
    expect(lines.join('')).toContain('its budget stays reserved');
  });
});

describe('fails closed', () => {
  const PATH = '/api/v1/campaign/7';

  const PASSAGE = passageOf({ method: 'DELETE', path: PATH, judgeAgain: () => null });

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
      isReport: () => false,
      platformUrl: new URL(platform.url),
      platform: { send: step('platform') },
      idempotency: { once: step('idempotency'), settled: async () => {} },
      places: { enter: step('place'), running: 0 },
      reservations: reservationsInMemory(),
      refusals: { note: () => {} },
      brake: brakeByHand(),
      log: { clean: (text) => text },
      logger: pino({ level: 'silent' }),
      now: () => 0,
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
});
