/** What a stage of the hardening run is: one kind of trouble, done for its share of the time. */

/** One line of the table. */
export interface CaseResult {
  readonly name: string;
  /** What was done, one sentence. */
  readonly what: string;
  /** How often it was done in this run. */
  readonly times: number;
  readonly result: 'held' | 'failed' | 'not run';
  /** The longest time, with its unit, or '-'. */
  readonly worst: string;
  /** Why it failed, or why it was not run; figures; the seed. */
  readonly note?: string;
}

export interface StageInput {
  /** Decides what is chance. */
  readonly seed: number;
  /** Tells of the progress. */
  readonly say: (line: string) => void;
  /** Milliseconds until its share of the time is over; asked between cases. */
  readonly timeLeft: () => number;
}

export interface Stage {
  /** As `--only` names it, and its file in `stages/`. */
  readonly name: string;
  readonly title: string;
  /** Its share of the time, beside the weights of the others. */
  readonly weight: number;
  /** Ends what it started, also when it throws; a throw is a failed line of its own. */
  run(input: StageInput): Promise<readonly CaseResult[]>;
}

export const notRun = (name: string, what: string, note = 'time was up'): CaseResult => ({
  name,
  what,
  times: 0,
  result: 'not run',
  worst: '-',
  note,
});

/** Another one first with each seed, so that short runs do not always leave out the same. */
export function fromAnother<T>(all: readonly T[], seed: number): readonly T[] {
  const first = seed % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}
