import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

export type Child = ChildProcessByStdio<Writable, Readable, null>;

export const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Runs a script of this folder, or one that is named by its path, in a process of its own. It uses the built code, as real processes do. */
export async function startScript(name: string, ...args: string[]): Promise<Child> {
  await access(script('../../../dist/modules/store/embedded/embedded-store.js')).catch(() => {
    throw new Error('dist/ is missing: run npm run build first (npm test does)');
  });
  return spawn(process.execPath, [script(name), ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
}

export async function firstLine(child: Child): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.includes('\n')) break;
  }
  return text.split('\n')[0] ?? '';
}

export async function kill(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
