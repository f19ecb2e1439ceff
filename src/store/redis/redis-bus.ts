import { startTimer } from '../../time.js';
import { createListeners } from '../listeners.js';
import type { StoreLog } from '../log.js';
import type { Bus } from '../port.js';
import { type RedisClient, retryDelayMs } from './connect.js';
import { describeFailure } from './failure.js';
import type { Link } from './link.js';

export interface RedisBus extends Bus {
  /** The client used for subscriptions now. */
  readonly subscriber: RedisClient;
  /** Moves all subscriptions to `next`. @returns the client used until now */
  swap(next: RedisClient): RedisClient;
}

/**
 * Messages by PUBLISH and SUBSCRIBE. What is published while the connection is away is lost.
 * @param subscriber used for subscriptions alone
 * @param keyOf the name of a channel in Redis
 */
export function createRedisBus(
  link: Link,
  subscriber: RedisClient,
  keyOf: (channel: string) => string,
  logger: StoreLog,
): RedisBus {
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

  /** While the connection is away there is nobody to tell: its next start subscribes to all channels. */
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
      // What is still sent finds no listener.
    });
  }

  return {
    get subscriber() {
      return current;
    },
    async publish(channel, message) {
      await link.call('publish', (client) => client.publish(keyOf(channel), message));
    },
    subscribe: (channel, listener, onGap) => listeners.add(keyOf(channel), listener, onGap),
    swap(next) {
      const previous = current;
      current = next;
      attend(next);
      subscribe(listeners.channels());
      return previous;
    },
  };
}
