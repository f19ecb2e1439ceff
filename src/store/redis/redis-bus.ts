import { startTimer } from '../../lib/time.js';
import { createListeners } from '../listeners.js';
import type { Bus } from '../port.js';
import type { StoreLog } from '../refused.js';
import { disconnect, type RedisClient, retryDelayMs } from './connect.js';
import { describeFailure } from './failure.js';
import type { Link } from './link.js';

/**
 * Messages by PUBLISH and SUBSCRIBE. What is published while the connection is away is lost.
 * @param subscriber used for subscriptions alone
 * @param keyOf the name of a channel in Redis
 * @param closeMs longest time that closing takes
 */
export function createRedisBus(
  link: Link,
  subscriber: RedisClient,
  keyOf: (channel: string) => string,
  closeMs: number,
  logger: StoreLog,
) {
  let current = subscriber;
  const listeners = createListeners({
    logger,
    onFirst: (channel) => subscribe([channel]),
    onLast: unsubscribe,
  });
  attend(subscriber);

  function attend(client: RedisClient): void {
    client.on('message', (channel: string, message: string) => {
      if (client === current) listeners.deliver(channel, message);
    });
    client.on('ready', () => {
      if (client === current) subscribe(listeners.channels());
    });
  }

  /** While the connection is away this does nothing: its next start subscribes to all channels. */
  function subscribe(channels: string[], attempt = 1): void {
    const client = current;
    if (channels.length === 0 || client.status !== 'ready') return;
    const failed = (error: unknown) => {
      if (attempt === 1) {
        const fault = describeFailure(error);
        logger.warn({ channels, fault }, 'could not subscribe yet; changes are found by polling meanwhile');
      }
      startTimer(() => {
        if (client === current) subscribe(channels.filter(listeners.has), attempt + 1);
      }, retryDelayMs(attempt)).unref();
    };
    client.subscribe(...channels).then(() => listeners.tellOfGap(channels), failed);
  }

  function unsubscribe(channel: string): void {
    if (current.status !== 'ready') return;
    current.unsubscribe(channel).catch(() => {
      // A message that still comes finds no listener.
    });
  }

  return {
    async publish(channel: string, message: string): Promise<void> {
      await link.call('publish', (client) => client.publish(keyOf(channel), message));
    },
    subscribe: ((channel, listener, onGap) =>
      listeners.add(keyOf(channel), listener, onGap)) satisfies Bus['subscribe'],
    /** Moves all subscriptions to `next`. */
    async swap(next: RedisClient): Promise<void> {
      const previous = current;
      current = next;
      attend(next);
      subscribe(listeners.channels());
      await disconnect(previous, closeMs);
    },
    close: () => disconnect(current, closeMs),
  };
}
