import { Agent } from 'undici';
import { onTestFinished } from 'vitest';
import { createClock } from '../../src/lib/clock.js';
import { createBudget } from '../../src/platform/budget.js';
import { type Call, createPlatformClient } from '../../src/platform/client.js';
import { createPause } from '../../src/platform/pace.js';
import { readBody } from '../../src/platform/read-body.js';
import type { Response, TokenSource } from '../../src/platform/slot.js';
import type { CallReport } from '../../src/telemetry/trace.js';
import { createRecordedLog } from '../support/recorded-log.js';
import { createTestClock } from '../support/test-clock.js';
import { unlimited } from '../support/unlimited.js';

export const TOKEN = 'the-platform-token';

export interface HarnessOptions {
  readonly tokens?: Partial<TokenSource>;
  readonly maxConcurrent?: number;
  readonly maxQueued?: number;
  readonly attempts?: number;
  readonly baseMs?: number;
  readonly loginPaths?: readonly string[];
  /** In place of what holds nothing up. */
  readonly between?: Partial<ReturnType<typeof unlimited>>;
}

/** The client as the gateway makes it, in front of a platform of the test. */
export function createHarness(baseUrl: URL, options: HarnessOptions = {}) {
  const clock = createTestClock();
  const log = createRecordedLog();
  const reports: CallReport[] = [];
  const refused: string[] = [];
  const agent = new Agent({ connections: 16, headersTimeout: 0, bodyTimeout: 0 });
  onTestFinished(() => agent.destroy());
  const budget = createBudget({
    maxConcurrent: () => options.maxConcurrent ?? 8,
    maxQueued: options.maxQueued ?? 100,
  });
  const pause = createPause(clock, 900_000);
  const client = createPlatformClient({
    agent,
    rules: { baseUrl, loginPaths: options.loginPaths ?? ['/login'] },
    tokens: {
      current: options.tokens?.current ?? (() => ({ id: 'tok_1', token: TOKEN })),
      why: () => ({ detail: 'The platform refuses the token.' }),
      accepted: (id) => options.tokens?.accepted?.(id),
      refused: async (id) => {
        refused.push(id);
        return options.tokens?.refused?.(id) ?? false;
      },
    },
    ...unlimited(),
    ...options.between,
    budget,
    pause,
    clock: { ...createClock(), now: clock.now },
    logger: log.logger,
    retry: { attempts: options.attempts ?? 2, baseMs: options.baseMs ?? 1 },
    userAgent: 'dsp-gateway/test',
    onCall: (report) => reports.push(report),
  });
  return {
    client,
    budget,
    pause,
    clock,
    log,
    reports,
    /** Ids of tokens that the source of tokens was told are refused. */
    refused,
    /** Sends a call and reads the answer. */
    ask: (call: Partial<Call> = {}) => client.send({ ...READ, ...call }, readText),
  };
}

export const READ: Call = {
  method: 'GET',
  target: '/thing',
  team: 'growth',
  kind: 'read',
  timeoutMs: 20_000,
};

async function readText(response: Response): Promise<{ status: number; text: string }> {
  const body = await readBody(response.body, undefined, 1_000_000);
  return { status: response.status, text: Buffer.concat(body).toString() };
}
