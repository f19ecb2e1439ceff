/**
 * Names the test files that got slower since an earlier run on this machine: information, no failure. A run of a busy machine
 * takes longer everywhere: a file counts as slower only against the others of its run.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

/** Seconds by test file. */
export type Seconds = Readonly<Record<string, number>>;

/** Shorter files are not named: nobody waits for them. */
const FROM_S = 15;
/** How much longer than the others of its run. */
const SLOWER = 1.5;
/** Fewer known files do not tell how busy the machine is. */
const NEEDED_FILES = 10;
const KEPT = 'node_modules/.cache/dsp-gateway/test-seconds.json';

/** @returns files that took longer than before, measured by what the run took longer as a whole; slowest first */
export function slowerFiles(
  took: Seconds,
  before: Seconds,
): { readonly name: string; readonly s: number; readonly beforeS: number }[] {
  const known = Object.entries(took).flatMap(([name, s]) => {
    const beforeS = before[name];
    return beforeS === undefined ? [] : [{ name, s, beforeS, ratio: s / beforeS }];
  });
  if (known.length < NEEDED_FILES) return [];
  const ratios = known.map(({ ratio }) => ratio).sort((a, b) => a - b);
  const usual = Math.max(1, ratios[Math.floor(ratios.length / 2)] as number);
  return known
    .filter(({ s, ratio }) => s > FROM_S && ratio > SLOWER * usual)
    .map(({ name, s, beforeS }) => ({ name, s, beforeS }))
    .sort((a, b) => b.s - a.s);
}

export default class SlowFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const took: Record<string, number> = {};
    for (const module of modules) {
      const { collectDuration, duration } = module.diagnostic();
      took[module.relativeModuleId] = Math.max(0.1, (collectDuration + duration) / 1000);
    }
    const before = readSeconds();
    const lines = slowerFiles(took, before).map(
      ({ name, s, beforeS }) => `${s.toFixed(0).padStart(6)} s instead of ${beforeS.toFixed(0)} s  ${name}\n`,
    );
    if (lines.length > 0) process.stdout.write(`\nSlower than before on this machine:\n${lines.join('')}`);
    keepSeconds({ ...before, ...took });
  }
}

/** @returns nothing on a machine that has run no tests yet */
function readSeconds(): Seconds {
  try {
    return JSON.parse(readFileSync(KEPT, 'utf8')) as Seconds;
  } catch {
    return {};
  }
}

function keepSeconds(seconds: Seconds): void {
  mkdirSync(dirname(KEPT), { recursive: true });
  writeFileSync(KEPT, JSON.stringify(seconds));
}
