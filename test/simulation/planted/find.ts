/** Plants a fault in a copy of the program, and looks for a seed that finds it. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';
import type { playSeed } from '../play-seed.js';
import faults from './faults.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const COPIED = ['src', 'test/simulation', 'test/support', 'config', 'package.json'];
const LINKED = ['node_modules', 'dist'];

export type PlantedFault = (typeof faults)[number];

export const PLANTED: readonly PlantedFault[] = faults;

export interface Search {
  /** Seeds that were played, from 1 on. */
  readonly seeds: number;
  /** What the last of them said; null: none found it. */
  readonly found: string | null;
}

/** Needs the built program. @param goOn asked before each seed, with the number of those that were played */
export async function searchPlanted(
  { edits }: PlantedFault,
  goOn: (seeds: number) => boolean,
): Promise<Search> {
  const folder = mkdtempSync(join(tmpdir(), 'dgw-planted-'));
  try {
    for (const one of COPIED) cpSync(join(ROOT, one), join(folder, one), { recursive: true });
    for (const one of LINKED) symlinkSync(join(ROOT, one), join(folder, one));
    for (const edit of edits) plant(folder, edit);
    const { module } = await runnerImport<{ playSeed: typeof playSeed }>(
      join(folder, 'test/simulation/play-seed.ts'),
      { configFile: false, logLevel: 'error' },
    );
    let seeds = 0;
    while (goOn(seeds)) {
      seeds += 1;
      const [failure] = (await module.playSeed(seeds)).failures;
      if (failure !== undefined) return { seeds, found: failure.split('\n')[0] ?? failure };
    }
    return { seeds, found: null };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function plant(folder: string, { file, from, to }: PlantedFault['edits'][number]): void {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${file} does not hold once: ${from}`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
}
