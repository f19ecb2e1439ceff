/** The hardening run from its command line to its exit code. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { endFile } from '../support/after-file.js';
import { BadArguments, HELP, type Options, readArguments, type StageName } from './arguments.js';
import { runStages } from './run-stages.js';
import type { Stage } from './stage.js';
import { putTable, tableOf } from './table.js';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const PICTURES = fileURLToPath(new URL('../../docs/pictures', import.meta.url));
const PAGE = fileURLToPath(new URL('../../docs/hardening.md', import.meta.url));
/** As the shell's own for a command line that is wrong (`sysexits.h`). */
const USAGE = 64;

/** Ends every process that a stage has started and not ended, and removes its folders. */
export const endEverything = endFile;

/** @returns the exit code */
export async function main(given: readonly string[]): Promise<number> {
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  let options: Options;
  try {
    options = readArguments(given, Math.floor(Date.now() / 1000) % 10_000);
  } catch (error) {
    if (!(error instanceof BadArguments)) throw error;
    process.stderr.write(`${error.message}\n\n${HELP}`);
    return USAGE;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const startedAt = new Date();
  say(`seed ${options.seed}, ${options.minutes} minutes: ${options.only.join(', ')}`);
  try {
    const results = await runStages(options, {
      say,
      load: loadStage,
      now: Date.now,
      ...(options.write ? { pictures: PICTURES } : {}),
    });
    const facts = {
      date: startedAt.toISOString().slice(0, 10),
      minutes: options.minutes,
      seed: options.seed,
      commit: commitName(),
      node: process.versions.node,
      cores: availableParallelism(),
    };
    let page = await readFile(PAGE, 'utf8');
    for (const result of results) {
      const table = tableOf(facts, result);
      say(`\n${table}`);
      page = putTable(page, result.stage.name, table);
    }
    if (options.write) await writeFile(PAGE, page);
    const cases = results.flatMap((one) => one.cases);
    return cases.length === 0 || cases.some(({ result }) => result === 'failed') ? 1 : 0;
  } finally {
    await endEverything();
  }
}

async function loadStage(name: StageName): Promise<Stage | null> {
  if (!existsSync(`${HERE}stages/${name}.ts`)) return null;
  const { stage } = (await import(`./stages/${name}.ts`)) as { stage: Stage };
  return stage;
}

function commitName(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: HERE, encoding: 'utf8' }).trim();
  return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain', '--', '../../src', '../../test') === '' ? '' : '+'}`;
}
