/**
 * Keeps package-lock.json whole: `npm install` against a registry that does not carry the builds for other
 * platforms leaves them out of the lock, and `npm ci` then refuses it everywhere. Run after `npm install`:
 *
 *   node .ci/complete-lock.mjs          adds what is missing
 *   node .ci/complete-lock.mjs --check  says what is missing, exit code 1
 */
import { readFileSync, writeFileSync } from 'node:fs';

const PATH = 'package-lock.json';
const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const PROCESSORS = ['arm64', 'x64', 'ia32', 'arm', 'ppc64', 'riscv64', 's390x', 'loong64', 'wasm32'];

const lock = JSON.parse(readFileSync(PATH, 'utf8'));
const missing = [];
for (const [name, { optionalDependencies = {}, dev, license }] of Object.entries(lock.packages)) {
  for (const [dependency, version] of Object.entries(optionalDependencies)) {
    const place = `node_modules/${dependency}`;
    if (lock.packages[place] !== undefined || lock.packages[`${name}/${place}`] !== undefined) continue;
    const words = dependency.split('/').at(-1).split('-');
    const os = SYSTEMS.find((system) => words.includes(system));
    const cpu = PROCESSORS.find((processor) => words.includes(processor)) ?? 'arm';
    const libc = words.includes('musl') ? ['musl'] : words.includes('gnu') ? ['glibc'] : undefined;
    missing.push(`${dependency}@${version}`);
    lock.packages[place] = { version, cpu: [cpu], dev, libc, license, optional: true, os: os && [os] };
  }
}
for (const one of missing) process.stdout.write(`${one}\n`);
if (process.argv.includes('--check')) {
  process.exitCode = missing.length === 0 ? 0 : 1;
} else if (missing.length > 0) {
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(PATH, `${JSON.stringify(lock, null, 2)}\n`);
}
