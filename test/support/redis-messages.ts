/** What a gateway sends to Redis of reports and of those who ask for them, one by one. */
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type { RedisServer } from './redis.js';
import { commandsDuring } from './redis-monitor.js';

/** Of a report, of a share, or of a lock that was let go. */
const ABOUT_REQUESTS = /\{quotas\}|\{c\d+:|:c\d+:\{|:bus:released/;

export function watchMessages({ url }: Pick<RedisServer, 'url'>) {
  const client = new Redis(url);
  onTestFinished(() => client.disconnect());

  return {
    client,
    /**
     * The commands that a round trip is made for while `work` runs, by name and first key; a transaction is one, what a
     * script calls is none. What a process sends by itself, time and again, is left out: presence, registry, INFO.
     */
    async during(work: () => Promise<unknown>) {
      const inside = new Set<string>();
      const messages: string[] = [];
      for (const { args, source } of await commandsDuring(url, work)) {
        const name = args[0]?.toLowerCase() ?? '';
        const key = args.find((text) => ABOUT_REQUESTS.test(text));
        if (name === 'multi') inside.add(source);
        if (name === 'exec' && inside.delete(source)) messages.push('multi … exec');
        else if (source !== 'lua' && key !== undefined && !inside.has(source))
          messages.push(`${name} ${key.slice(0, 120)}`);
      }
      return messages;
    },
  };
}
