/**
 * Time and chance come from `src/lib/time.ts` and `src/lib/chance.ts` alone, so that the simulation can put its own in their
 * place. What runs in a browser has its own. Proof that it can fail: it must find each thing that is planted for it.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** The sources themselves, and what the machine has counted since it was started. */
const MAY = ['lib/time.ts', 'lib/chance.ts', 'lib/clock.ts'];
const CALLED = '(?:setTimeout|setInterval|setImmediate|clearTimeout|clearInterval|clearImmediate)';
/** What is not to be found, each with a line that has it. */
const FORBIDDEN = [
  [new RegExp(`(?<![.\\w])(?:globalThis\\.)?${CALLED}\\b(?!:)`), 'setTimeout(work, 5);'],
  [new RegExp(`(?<![.\\w])(?:globalThis\\.)?${CALLED}\\b(?!:)`), 'const { setImmediate } = globalThis;'],
  [new RegExp(`globalThis\\.${CALLED}`), 'globalThis.setTimeout(work, 5);'],
  [/['"](?:node:)?timers(?:\/promises)?['"]/, "import { setTimeout as pause } from 'node:timers/promises';"],
  [/['"](?:node:)?perf_hooks['"]/, "import { performance } from 'node:perf_hooks';"],
  [/\bperformance\b(?!')/, 'const startedMs = performance.now();'],
  [/\bDate\.now\b/, 'const nowMs = Date.now();'],
  [/\bnew Date\(\s*\)|(?<!new )\bDate\(\s*\)/, 'const now = new Date();'],
  [/\bhrtime\b|\bprocess\.uptime\b/, 'const ns = process.hrtime.bigint();'],
  [/\bAbortSignal\.timeout\b/, 'const signal = AbortSignal.timeout(5);'],
  [/\bMath\.random\b/, 'const share = Math.random();'],
  [/\b(?:randomUUID|randomBytes|randomInt|randomFill|randomFillSync|getRandomValues)\b/, 'randomUUID();'],
  [/\bcrypto\.getRandomValues\b/, 'crypto.getRandomValues(bytes);'],
];

/** The code without what is said about it. */
const withoutComments = (text) =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(/(?<=^|\s)\/\/.*$/gm, '');

/** @returns `file:line: what is there` of each source that is none */
function faultsIn(name, text) {
  return withoutComments(text)
    .split('\n')
    .flatMap((line, at) =>
      FORBIDDEN.some(([pattern]) => pattern.test(line)) ? [`${name}:${at + 1}: ${line.trim()}`] : [],
    );
}

const files = readdirSync('src', { recursive: true }).filter(
  (name) => /\.[cm]?[jt]sx?$/.test(name) && !name.startsWith('web/') && !MAY.includes(name),
);
const faults = files.flatMap((name) => faultsIn(`src/${name}`, readFileSync(`src/${name}`, 'utf8')));
for (const [, planted] of FORBIDDEN) {
  if (faultsIn('planted', `/** Said of it. */\n${planted}\n`).length !== 1)
    faults.push(`what was planted was not found: ${planted}`);
}
if (faultsIn('planted', 'socket.setTimeout(0); // not setTimeout(\n').length > 0)
  faults.push('a method of a socket was taken for a timer');

for (const fault of faults) process.stderr.write(`${fault}\n`);
process.stdout.write(`sources of time and chance: ${files.length} files, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
