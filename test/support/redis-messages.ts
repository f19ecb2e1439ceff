/** What a gateway sends to Redis of reports and of those who ask for them, one by one. */
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type { RedisServer } from './redis.js';
import { commandsDuring } from './redis-monitor.js';

/** Of a report, of a share, or news about one of them. */
const ABOUT_REQUESTS = /\{quotas\}|:cache:|:days\b|:bus:(fetched|released)/;

export function watchMessages({ url }: Pick<RedisServer, 'url'>) {
  const client = new Redis(url);
  onTestFinished(() => client.disconnect());

  return {
    client,
    /**
     * The commands that a round trip is made for while `work` runs, by name and first key; a transaction is one, what a
     * script calls is counted apart. What a process sends by itself, time and again, is left out: presence, registry, INFO.
     */
    async during(work: () => Promise<unknown>) {
      const inside = new Set<string>();
      const messages: string[] = [];
      let byScripts = 0;
      for (const { args, source } of await commandsDuring(url, work)) {
        const name = args[0]?.toLowerCase() ?? '';
        const key = args.find((text) => ABOUT_REQUESTS.test(text));
        if (source === 'lua' && (key !== undefined || name === 'time')) byScripts += 1;
        if (name === 'multi') inside.add(source);
        if (name === 'exec' && inside.delete(source)) messages.push('multi … exec');
        else if (source !== 'lua' && key !== undefined && !inside.has(source))
          messages.push(`${name} ${key.slice(0, 120)}`);
      }
      return { messages, atServer: messages.length + byScripts };
    },
  };
}
