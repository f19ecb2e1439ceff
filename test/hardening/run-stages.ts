/** Runs stages one after another, each for its share of the time. */
import { type Options, type StageName, shareOf } from './arguments.js';
import type { CaseResult, Stage } from './stage.js';
import type { StageResult } from './table.js';

export interface RunnerPorts {
  readonly say: (line: string) => void;
  /** Loads a stage, or null where its file is not there. */
  readonly load: (name: StageName) => Promise<Stage | null>;
  readonly now: () => number;
  /** The folder for pictures; none are made where it is absent. */
  readonly pictures?: string;
}

/**
 * @returns a result for each stage that is there; one that throws has a failed line for it, and those behind it are
 * run all the same
 */
export async function runStages(
  { minutes, only, seed }: Pick<Options, 'minutes' | 'only' | 'seed'>,
  { say, load, now, ...folders }: RunnerPorts,
): Promise<readonly StageResult[]> {
  const stages: Stage[] = [];
  for (const name of only) {
    const stage = await load(name);
    if (stage === null) say(`${name}: no such stage is here yet, left out`);
    else stages.push(stage);
  }
  const endsAt = now() + minutes * 60_000;
  const results: StageResult[] = [];
  for (const [at, stage] of stages.entries()) {
    const startedMs = now();
    const weights = stages.slice(at).map(({ weight }) => weight);
    const until = now() + shareOf(endsAt - now(), weights);
    const tell = (line: string) => say(`${stage.name}: ${line}`);
    tell(`${stage.title}, for ${Math.round((until - now()) / 1000)} s`);
    const cases = await runOne(stage, { until, seed, say: tell, timeLeft: () => until - now(), ...folders });
    for (const { name, result, times, worst, note = '' } of cases)
      tell(`${result.toUpperCase()} ${name} (${times}×, worst ${worst}) ${note}`.trimEnd());
    results.push({ stage, cases, ms: now() - startedMs });
  }
  return results;
}

async function runOne(stage: Stage, input: Parameters<Stage['run']>[0]): Promise<readonly CaseResult[]> {
  try {
    return await stage.run(input);
  } catch (error) {
    const note = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return [
      {
        name: 'the stage itself',
        what: 'It ended by an error.',
        times: 1,
        result: 'failed',
        worst: '-',
        note,
      },
    ];
  }
}
