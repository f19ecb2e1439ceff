/** What a stage of the hardening run is: one kind of trouble, done for its share of the time. */

/** One line of the table. */
export interface CaseResult {
  /** As 'Redis stands still (SIGSTOP) under load'. */
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
  /** When its share of the time is over, milliseconds since the Unix epoch. */
  readonly until: number;
  /** Decides what is chance. */
  readonly seed: number;
  /** Tells of the progress. */
  readonly say: (line: string) => void;
  /** Milliseconds until `until`; asked between cases. */
  readonly timeLeft: () => number;
  /** The folder for pictures; none are made where it is absent. */
  readonly pictures?: string;
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

/** Another one first with each seed, so that short runs do not always leave out the same. */
export function fromAnother<T>(all: readonly T[], seed: number): readonly T[] {
  const first = seed % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}
