/** The results as tables, one for each stage. */
import type { CaseResult, Stage } from './stage.js';

export interface RunFacts {
  /** YYYY-MM-DD. */
  readonly date: string;
  /** Of the whole run, with its other stages. */
  readonly minutes: number;
  readonly seed: number;
  /** The short name of what was run, '+' behind it where files were changed since. */
  readonly commit: string;
  readonly node: string;
  /** Of the machine. */
  readonly cores: number;
}

export interface StageResult {
  readonly stage: Pick<Stage, 'name' | 'title'>;
  readonly cases: readonly CaseResult[];
  /** That the stage took. */
  readonly ms: number;
}

/** @returns Markdown: what was run, the sums, and a line for each case */
export function tableOf(facts: RunFacts, { stage, cases, ms }: StageResult): string {
  const count = (result: CaseResult['result']) => cases.filter((one) => one.result === result).length;
  return [
    `### ${stage.title}`,
    '',
    `Held: ${count('held')}, failed: ${count('failed')}, not run: ${count('not run')}.`,
    `Run on ${facts.date} for ${(ms / 60_000).toFixed(1)} minutes of a run of ${facts.minutes}, with seed ${facts.seed}: commit ${facts.commit}, Node ${facts.node}, ${facts.cores} cores.`,
    '',
    '| Case | What is done | Times | Result | Worst | Note |',
    '|---|---|--:|---|--:|---|',
    ...cases.map(rowOf),
  ].join('\n');
}

function rowOf({ name, what, times, result, worst, note = '' }: CaseResult): string {
  const shown = result === 'held' ? result : `**${result}**`;
  return `| ${[name, what, String(times), shown, worst, note].map(cell).join(' | ')} |`;
}

/** What would end a cell or a row, or be read as HTML, does not. */
function cell(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll('\\', '\\\\')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .trim();
}
