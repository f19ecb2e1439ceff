/** A script of this folder with all that it loads in one file: it starts in a sixth of the CPU time, and is the same code. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'vite';
import { ROOT } from '../../support/processes.js';
import { script } from './child.js';

export interface Bundle {
  readonly path: string;
  remove(): Promise<void>;
}

/** @param name of a `.mjs` file; what it loads from `dist/` must have been built */
export async function bundleScript(name: string): Promise<Bundle> {
  // Below the folder of package.json, which the program looks for; and one for each that asks.
  const outDir = join(ROOT, 'dist', `test-${process.pid}-${name}`);
  await build({
    configFile: false,
    logLevel: 'warn',
    root: ROOT,
    build: { ssr: script(name), outDir, target: 'node20', minify: false },
    // It has native code, which no bundle holds.
    ssr: { noExternal: true, external: ['lmdb'] },
  });
  return {
    path: join(outDir, name.replace(/\.mjs$/, '.js')),
    remove: () => rm(outDir, { recursive: true, force: true }),
  };
}
