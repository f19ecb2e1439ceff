import { describe, expect, it } from 'vitest';
import { createLocalBus } from '../../../src/store/listeners.js';
import { createTestLog } from '../test-log.js';

describe('the bus in memory', () => {
  it('does not deliver to one who has left meanwhile, and logs one who fails', async () => {
    const log = createTestLog();
    const bus = createLocalBus(log);
    const heard: string[] = [];
    const leave = bus.subscribe('news', () => heard.push('left'));
    bus.subscribe('news', () => {
      throw new Error('faulty');
    });
    bus.subscribe('news', (message) => heard.push(message));
    await bus.publish('news', 'one');
    leave();
    await new Promise(setImmediate);
    expect(heard).toEqual(['one']);
    expect(log.lines).toMatchObject([{ level: 'error', fields: { channel: 'news' } }]);
  });
});
