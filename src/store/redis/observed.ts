import { uptimeMs } from '../../time.js';
import type { RedisClient } from './connection.js';

/** One call of Redis when it is over: a command, a script, or a batch of them. */
export interface RedisCall {
  /** As the client has it: `hgetallBuffer`, `pipeline`, the name of a script. */
  readonly name: string;
  /** By `uptimeMs()`. */
  readonly startedMs: number;
  readonly failed: boolean;
}

export type OnRedisCall = (call: RedisCall) => void;

/** Makes a call, and tells what it was. @param run is given the client to make it with */
export async function observed<T>(
  client: RedisClient,
  run: (client: RedisClient) => Promise<T>,
  onCall: OnRedisCall,
): Promise<T> {
  const startedMs = uptimeMs();
  let name = 'call';
  let isNamed = false;
  // What is asked of it first is the call; what that asks of the client in turn goes past.
  const seen = new Proxy(client, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member, target);
      if (typeof value !== 'function') return value;
      if (!isNamed) [isNamed, name] = [true, String(member)];
      return value.bind(target);
    },
  });
  let failed = true;
  try {
    const result = await run(seen);
    failed = false;
    return result;
  } finally {
    onCall({ name, startedMs, failed });
  }
}
