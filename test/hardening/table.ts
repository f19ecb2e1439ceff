/** The results as a table, and the table's place in a page: text in, text out. */
import type { CaseResult, Stage } from './stage.js';

export interface RunFacts {
  /** YYYY-MM-DD. */
  readonly date: string;
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
}

const BEGIN = '<!-- run:begin -->';
const END = '<!-- run:end -->';

/** @returns Markdown: what was run, the sums, and one table for each stage */
export function tableOf(facts: RunFacts, stages: readonly StageResult[]): string {
  const all = stages.flatMap(({ cases }) => cases);
  const count = (result: CaseResult['result']) => all.filter((one) => one.result === result).length;
  return [
    `Run on ${facts.date} for ${facts.minutes} minutes with seed ${facts.seed}: commit ${facts.commit}, Node ${facts.node}, ${facts.cores} cores.`,
    `Held: ${count('held')}, failed: ${count('failed')}, not run: ${count('not run')}.`,
    ...stages.flatMap(({ stage, cases }) => [
      '',
      `### ${stage.title}`,
      '',
      '| Case | What is done | Times | Result | Worst | Note |',
      '|---|---|--:|---|--:|---|',
      ...cases.map(rowOf),
    ]),
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

/**
 * @returns the page with the table between its markers, the rest as it was
 * @throws where the markers are not there exactly once each, in their order
 */
export function putTable(page: string, table: string): string {
  const [before, ...rest] = page.split(BEGIN);
  const [, ...after] = (rest[0] ?? '').split(END);
  if (rest.length !== 1 || after.length !== 1 || before?.includes(END))
    throw new Error(`the page needs ${BEGIN} and, behind it, ${END}, once each`);
  return `${before}${BEGIN}\n${table}\n${END}${after[0]}`;
}
