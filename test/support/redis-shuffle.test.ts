/** A Redis behind the proxy: what is published comes in another order, and what is asked is answered in its own. */
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { startFaultProxy } from './fault-proxy.js';
import { startRedis } from './redis.js';

it('gives each message, some of them twice and in another order, and the rest as it comes', async () => {
  const redis = await startRedis();
  const proxy = await startFaultProxy(redis.port, 1);
  const [subscriber, client] = [new Redis(proxy.port, '127.0.0.1'), new Redis(proxy.port, '127.0.0.1')];
  onTestFinished(async () => {
    for (const one of [subscriber, client]) one.disconnect();
    await proxy.close();
    await redis.close();
  });
  const heard: number[] = [];
  subscriber.on('message', (_channel, text) => void heard.push(Number(text)));
  await subscriber.subscribe('news');
  await client.publish('news', '0');
  await expect.poll(() => heard).toEqual([0]);

  await proxy.set({ kind: 'shuffle' });
  const sent = Array.from({ length: 40 }, (_, at) => at + 1);
  for (const one of sent) await client.publish('news', String(one));
  await client.set('long', 'x'.repeat(300_000));
  expect(await client.get('long')).toHaveLength(300_000);
  // One that is heard twice may be a while behind; each is heard once at least.
  await expect.poll(() => new Set(heard).size).toBe(1 + sent.length);
  expect(heard.slice(1)).not.toEqual(sent);
  expect(heard.length).toBeGreaterThan(1 + sent.length);

  await proxy.set({ kind: 'none' });
  await client.publish('news', '99');
  await expect.poll(() => heard).toContain(99);
});
