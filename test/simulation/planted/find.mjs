/**
 * Plants each fault in a copy of the program, and says which seed finds it.
 * `node test/simulation/planted/find.mjs [seeds]`
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const COPIED = ['src', 'test', 'config', 'package.json', 'tsconfig.json', 'vitest.config.ts'];
const seeds = Number(process.argv[2] ?? 50);
const faults = JSON.parse(readFileSync('test/simulation/planted/faults.json', 'utf8'));

for (const { name, file, from, to } of faults) {
  const folder = mkdtempSync(join(tmpdir(), 'dgw-planted-'));
  try {
    for (const one of COPIED) cpSync(one, join(folder, one), { recursive: true });
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    const path = join(folder, file);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace(from, () => to),
    );
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [
        'node_modules/vitest/vitest.mjs',
        'run',
        'test/simulation/simulation.test.ts',
        '-t',
        'seed',
        '--bail=1',
      ],
      { cwd: folder, encoding: 'utf8', env: { ...process.env, SEEDS: String(seeds) } },
    );
    const seed = /SEED=(\d+)/.exec(stdout + stderr)?.[1];
    process.stdout.write(`${name}: ${seed === undefined ? `not found in ${seeds} seeds` : `seed ${seed}`}\n`);
    if (seed === undefined) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
