import { createListeners } from '../listeners.js';
import type { StoreLog } from '../log.js';
import type { Bus } from '../port.js';

/** Messages within this process. They arrive after the publisher's turn, as from a network. */
export function createLocalBus(logger: StoreLog): Bus {
  const listeners = createListeners({ logger });
  return {
    async publish(channel, message) {
      setImmediate(listeners.deliver, channel, message);
    },
    subscribe: listeners.add,
  };
}
