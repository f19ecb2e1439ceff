/** The feed of changes of a gateway with a proven report by date. */
import { expect } from 'vitest';
import type { Call, Reply } from '../support/start-gateway.js';
import { historyScene } from './history-scene.js';

export interface FeedMessage {
  readonly type: 'day' | 'grant';
  readonly key: string;
  readonly value?: Readonly<Record<string, unknown>> & {
    readonly rows?: readonly Readonly<Record<string, unknown>>[];
    readonly totals?: Readonly<Record<string, string>>;
  };
  readonly old_value?: { readonly revision: string; readonly totals?: Readonly<Record<string, string>> };
  readonly headers: Readonly<Record<string, unknown>>;
}

export const CHANGES = '/gateway/v1/changes';

export async function changesScene(...options: Parameters<typeof historyScene>) {
  const scene = await historyScene(...options);
  const { gateway, key } = scene;
  // The leader tells the days of the proof, at once.
  await gateway.services.reporting.led['telling of months anew'](() => false);
  const feed = (query = '', call: Call = {}) =>
    gateway.call(`${CHANGES}${query === '' ? '' : `?${query}`}`, { key, ...call });
  return {
    ...scene,
    feed,
    /** All messages from an offset on, to the end. */
    async follow(offset = '-1', rest = '', call: Call = {}) {
      const messages: FeedMessage[] = [];
      for (let at = offset; ; ) {
        const reply = await feed(`offset=${at}${rest}`, call);
        messages.push(...messagesIn(reply));
        at = nextOf(reply);
        if (reply.headers['stream-up-to-date'] === 'true') return { messages, next: at };
      }
    },
    now: async () => nextOf(await feed('offset=now')),
  };
}

export function messagesIn(reply: Reply): FeedMessage[] {
  expect(reply.status, reply.text).toBe(200);
  return reply.json<FeedMessage[]>();
}

export function nextOf({ headers }: Reply): string {
  expect(headers['stream-next-offset']).toMatch(/^[A-Za-z0-9_-]{10,63}$/);
  return String(headers['stream-next-offset']);
}

/** `first 2026-11-18`, in order. */
export const kindsIn = (messages: readonly FeedMessage[]) =>
  messages.map(({ key, headers }) => `${headers.kind} ${key.slice(-10)}`);

/** What a consumer has that applies messages by key: the revision of each. */
export function stateAfter(messages: readonly FeedMessage[]): ReadonlyMap<string, unknown> {
  const state = new Map<string, unknown>();
  for (const { key, value, headers } of messages)
    if (headers.operation === 'delete') state.delete(key);
    else state.set(key, value?.revision);
  return state;
}
