/** Builds what is older than its sources, and nothing after `npm ci`, which has built it: `npm test` begins with it. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = ['src', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];

/** Of a folder with all that is in it: a file that was removed changes the time of its folder. */
function newest(path) {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return Math.max(mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}

const sourcesMs = Math.max(...SOURCES.map(newest));
const isStale = (file) => !existsSync(file) || statSync(file).mtimeMs < sourcesMs;

// A build of the program empties `dist`.
const parts = isStale('dist/cli.js')
  ? ['build']
  : [
      ...(isStale('dist/modules/cli.js') ? ['build:modules'] : []),
      ...(isStale('dist/web/explorer/licences.md') ? ['build:web'] : []),
    ];
for (const part of parts) execFileSync('npm', ['run', '--silent', part], { stdio: 'inherit' });
if (parts.length === 0) process.stdout.write('dist is newer than src: nothing to build\n');
