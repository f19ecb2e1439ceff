/**
 * No promise is left to itself: neither dropped as a statement nor handed to what expects no promise. Biome has no
 * types of other packages, so oxlint looks with TypeScript's own checker. Proof that it can fail: it must find what
 * is planted for it, of this code and of a package.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';

const PLANTED = `import { setTimeout as pause } from 'node:timers/promises';
import type { Registry } from '../../../store/registry/replica.js';
export function ofThisCode(registry: Registry): void {
  registry.refresh();
}
export function ofAPackage(): void {
  pause(1);
}
export function ofAList(names: readonly string[]): void {
  names.map(async (name) => name);
}
export function asAListener(listen: (heard: () => void) => void): void {
  listen(async () => {});
}
`;
const EXPECTED = [
  '4 no-floating-promises',
  '7 no-floating-promises',
  '10 no-floating-promises',
  '13 no-misused-promises',
];

/** @returns what oxlint found, as it says it, and `line rule` of each */
function lint(where) {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['node_modules/oxlint/bin/oxlint', '--type-aware', '--format=json', where],
    { encoding: 'utf8' },
  );
  let report;
  try {
    report = JSON.parse(stdout);
  } catch {
    throw new Error(`oxlint did not report (exit code ${status}): ${stdout}${stderr}`);
  }
  const found = report.diagnostics.map(({ code, filename, labels, message }) => {
    const { line, column } = labels[0].span;
    const rule = /\((.*)\)/.exec(code)?.[1] ?? code;
    return { text: `${filename}:${line}:${column} ${rule}: ${message}`, line, rule };
  });
  return { found, files: report.number_of_files };
}

const { found, files } = lint('.');
const faults = found.map(({ text }) => text);
const sources = readdirSync('src', { recursive: true }).filter((name) => /\.(ts|js)$/.test(name)).length;
if (files < sources) faults.push(`${files} files were looked at, and src alone has ${sources}`);

const folder = mkdtempSync('src/reports/rows/promises-');
try {
  writeFileSync(`${folder}/planted.ts`, PLANTED);
  const planted = lint(folder).found.map(({ line, rule }) => `${line} ${rule}`);
  for (const fault of EXPECTED) {
    if (!planted.includes(fault)) faults.push(`what was planted was not found: line ${fault}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}

for (const fault of faults) process.stderr.write(`${fault}\n`);
process.stdout.write(`promises: ${files} files, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
