/**
 * Which tests are quick: all that stay within this process. A test that starts processes of the system — a Redis, the
 * built command line, helm — needs more time and more of the machine, be it by itself or by a helper it imports.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const TEST = fileURLToPath(new URL('..', import.meta.url));
/** Imports that bring a value; a type starts nothing. */
const IMPORTED = /^(?:import|export)\b(?!\s+type\b)[^;]*?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm;
const STARTERS = ['node:child_process', 'node:cluster'];

/** @returns the files of all tests below a folder, by whether they stay within this process; relative to it */
export function kindsOfTests(folder: string = TEST): { readonly quick: string[]; readonly real: string[] } {
  const tests = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .sort();
  const real = tests.filter((name) => startsProcesses(join(folder, name), folder, new Set()));
  return { quick: tests.filter((name) => !real.includes(name)), real };
}

/** Helpers are looked into; what is tested is not, for it starts nothing that it is not told to. */
function startsProcesses(file: string, folder: string, seen: Set<string>): boolean {
  if (seen.has(file) || statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
  seen.add(file);
  const imported = [...readFileSync(file, 'utf8').matchAll(IMPORTED)].map(
    ([, one, other]) => one ?? other ?? '',
  );
  return imported.some((name) => {
    if (!name.startsWith('.')) return STARTERS.includes(name);
    const path = resolve(dirname(file), name.replace(/\.js$/, '.ts'));
    return path.startsWith(folder) && startsProcesses(path, folder, seen);
  });
}
