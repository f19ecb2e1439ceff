/** The hardening run from its command line to its exit code. */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { endFile } from '../../support/after-file.js';
import { HELP, type Options, readArguments } from './arguments.js';
import type { CaseResult, Stage } from './stage.js';
import { type StageResult, tableOf } from './table.js';

const HERE = fileURLToPath(new URL('.', import.meta.url));
/** As the shell's own for a command line that is wrong (`sysexits.h`). */
const USAGE = 64;

/** Ends every process that a stage has started and not ended, and removes its folders. */
export const endEverything = endFile;

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** @returns the exit code */
export async function main(given: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = readArguments(given, Math.floor(Date.now() / 1000) % 10_000);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${HELP}`);
    return USAGE;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { minutes, seed, only } = options;
  const date = new Date().toISOString().slice(0, 10);
  say(`seed ${seed}, ${minutes} minutes: ${only.join(', ')}`);
  try {
    const results = await runStages(options);
    const [commit, cores] = [commitName(), availableParallelism()];
    const facts = { date, minutes, seed, commit, node: process.versions.node, cores };
    for (const result of results) say(`\n${tableOf(facts, result)}`);
    const cases = results.flatMap((one) => one.cases);
    return cases.length === 0 || cases.some(({ result }) => result === 'failed') ? 1 : 0;
  } finally {
    await endEverything();
  }
}

/** One after another, each for its share of the time; one that throws has a failed line, and those behind it are run. */
async function runStages({ minutes, only, seed }: Options): Promise<readonly StageResult[]> {
  const stages: Stage[] = [];
  for (const name of only) stages.push(((await import(`./stages/${name}.ts`)) as { stage: Stage }).stage);
  const endsAt = Date.now() + minutes * 60_000;
  const results: StageResult[] = [];
  for (const [at, stage] of stages.entries()) {
    const startedMs = Date.now();
    const weights = stages.slice(at).reduce((sum, { weight }) => sum + weight, 0);
    const until = startedMs + (Math.max(0, endsAt - startedMs) * stage.weight) / weights;
    const tell = (line: string) => say(`${stage.name}: ${line}`);
    tell(`${stage.title}, for ${Math.round((until - startedMs) / 1000)} s`);
    const cases = await stage
      .run({ seed, say: tell, timeLeft: () => until - Date.now() })
      .catch((error: Error): CaseResult[] => [
        {
          name: 'the stage itself',
          what: 'It ended by an error.',
          times: 1,
          worst: '-',
          result: 'failed',
          note: error.stack ?? String(error),
        },
      ]);
    for (const { name, result, times, worst, note = '' } of cases)
      tell(`${result.toUpperCase()} ${name} (${times}×, worst ${worst}) ${note}`.trimEnd());
    results.push({ stage, cases, ms: Date.now() - startedMs });
  }
  return results;
}

function commitName(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: HERE, encoding: 'utf8' }).trim();
  const isChanged = git('status', '--porcelain', '--', '../../../src', '../../../test') !== '';
  return `${git('rev-parse', '--short', 'HEAD')}${isChanged ? '+' : ''}`;
}
