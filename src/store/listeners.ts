import { nextTurn } from '../lib/time.js';
import type { Bus } from './port.js';
import type { StoreLog } from './refused.js';

type Listener = (message: string) => void;

interface ListenersOptions {
  readonly logger: StoreLog;
  readonly onFirst?: (channel: string) => void;
  /** A channel has no listener any more. */
  readonly onLast?: (channel: string) => void;
}

/** The listeners of each channel in this process. */
export function createListeners({ logger, onFirst, onLast }: ListenersOptions) {
  const channels = new Map<string, Set<{ readonly listener: Listener; readonly onGap: () => void }>>();

  return {
    /** @returns removes the listener. A function may be added more than once. */
    add(channel: string, listener: Listener, onGap: () => void = () => {}) {
      const entry = { listener, onGap };
      const entries = channels.get(channel);
      if (entries !== undefined) entries.add(entry);
      else {
        channels.set(channel, new Set([entry]));
        onFirst?.(channel);
      }
      return () => {
        const left = channels.get(channel);
        if (left?.delete(entry) !== true || left.size > 0) return;
        channels.delete(channel);
        onLast?.(channel);
      };
    },
    /** An error of a listener is logged, and does not affect the others. */
    deliver(channel: string, message: string) {
      for (const { listener } of [...(channels.get(channel) ?? [])]) {
        try {
          listener(message);
        } catch (error) {
          logger.error({ err: error, channel }, 'a listener failed on a message');
        }
      }
    },
    /** Messages of these channels may have been lost. */
    tellOfGap(names: readonly string[]) {
      for (const name of names) for (const { onGap } of channels.get(name) ?? []) onGap();
    },
    has: (channel: string) => channels.has(channel),
    channels: () => [...channels.keys()],
  };
}

/** For a single process. Messages arrive after the publisher's turn, as from a network. */
export function createLocalBus(logger: StoreLog): Bus {
  const listeners = createListeners({ logger });
  return {
    publish: async (channel, message) => nextTurn(() => listeners.deliver(channel, message)),
    subscribe: listeners.add,
  };
}
