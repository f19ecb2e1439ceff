/** The store of the simulation keeps what the port promises, as the real ones do. */
import { createMemoryServer } from '../support/memory/memory-store.js';
import { createStandingClock } from '../support/test-clock.js';
import { describeStore } from './conformance.js';
import { createTestLog } from './test-log.js';

describeStore(
  'redis',
  async (options) => {
    const clock = createStandingClock();
    const server = createMemoryServer({ clock, logger: createTestLog(), ...options });
    return {
      store: server.handle(),
      another: async () => server.handle(),
      elapse: async (ms) => clock.pass(ms),
      close: async () => {},
    };
  },
  'in memory',
);
