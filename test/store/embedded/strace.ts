import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** @throws where there is no strace and none can be installed: a check that looks at nothing must not pass */
export async function findStrace(): Promise<string> {
  const found = () =>
    run('strace', ['-V']).then(
      () => true,
      () => false,
    );
  if (await found()) return 'strace';
  if (process.getuid?.() === 0) {
    await run('apt-get', ['update']);
    await run('apt-get', ['install', '--yes', '--no-install-recommends', 'strace']);
  }
  if (await found()) return 'strace';
  throw new Error(
    'strace is needed to see in which order the disk is written: install it (apt-get install strace)',
  );
}
