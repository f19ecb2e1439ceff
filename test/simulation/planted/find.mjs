/**
 * Plants each fault in a copy of the program, and says which seed finds it, and by what.
 * `node test/simulation/planted/find.mjs [seeds] [part of the name of a fault]`
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runnerImport } from 'vite';

const COPIED = ['src', 'test/simulation', 'test/support', 'config', 'package.json'];
const LINKED = ['node_modules', 'dist'];
const [seeds = '200', wanted = ''] = process.argv.slice(2);
const faults = JSON.parse(readFileSync('test/simulation/planted/faults.json', 'utf8'));

for (const { name, edits } of faults.filter((fault) => fault.name.includes(wanted))) {
  const folder = mkdtempSync(join(tmpdir(), 'dgw-planted-'));
  try {
    for (const one of COPIED) cpSync(one, join(folder, one), { recursive: true });
    for (const one of LINKED) symlinkSync(resolve(one), join(folder, one));
    for (const edit of edits) plant(folder, edit);
    const found = await find(join(folder, 'test/simulation/play-seed.ts'));
    const [first = ''] = found?.failures[0]?.split('\n') ?? [];
    process.stdout.write(`${name}: ${found === null ? `not found in ${seeds} seeds` : first}\n`);
    if (found === null) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function plant(folder, { file, from, to }) {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${file} does not hold once: ${from}`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
}

async function find(path) {
  const { module } = await runnerImport(path, { configFile: false, logLevel: 'error' });
  for (let seed = 1; seed <= Number(seeds); seed += 1) {
    const played = await module.playSeed(seed);
    if (played.failures.length > 0) return played;
  }
  return null;
}
