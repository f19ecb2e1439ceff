/**
 * With little room on the disk, a change that only had to wait for another process was said to be refused for lack of
 * room and not made: and was made later all the same. An idempotency key whose note came so stayed open for a day.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { openEnvironment } from '../../src/store/embedded/environment.js';
import { firstLine, startScript } from '../store/embedded/child.js';
import { inFolder } from '../store/embedded/in-folder.js';
import { createTestLog } from '../store/test-log.js';

const run = promisify(execFile);
const [KEY, VALUE] = [Buffer.from('key'), Buffer.from('value')];

it('a write that waits too long for another process is not known to be refused', () =>
  inFolder(async (folder) => {
    // Less than the room that is left free for what must not be refused.
    await run('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', folder]);
    const options = {
      mapBytes: 2 ** 20,
      durable: true,
      timeoutMs: 200,
      logger: createTestLog(),
    };
    const environment = await openEnvironment({ folder, ...options });
    const holder = await startScript('hold-writers.mjs', folder);
    try {
      expect(await firstLine(holder)).toBe('held');
      const writing = environment.write([{ key: KEY, value: VALUE }]);
      await expect(writing).rejects.toMatchObject({ name: 'StoreUnavailable', why: 'away' });
      const gone = once(holder, 'exit');
      holder.stdin.end();
      await gone;
      await expect.poll(() => environment.read((view) => view.get(KEY))).toEqual(VALUE);
    } finally {
      holder.kill('SIGKILL');
      await environment.close();
      await run('umount', ['--lazy', folder]);
    }
  }));
