/** Judges each answer: the right rows, for a team that may see them, in time, without a secret. */
import type { Answer } from '../../../support/ask.js';
import type { Fleet, TeamId } from './fleet.js';

/** Longest wait for any answer: three times a call's limit, and what a busy machine adds. */
export const LONGEST_MS = 10_000;
/** The promise is a second, where the store answers; a busy machine may take longer. */
export const FOLLOWED_MS = 5_000;
const TOLD = 4;

export type Form = 'json' | 'csv' | 'mcp' | 'dry-run';

export interface Question {
  readonly team: TeamId;
  /** When the key it is asked with was revoked. */
  readonly deadSince?: number;
  readonly form: Form;
  readonly advertiserId: number;
  /** Of the report, as the platform is asked; '' where there is none. */
  readonly query: string;
}

export interface Told {
  readonly question: Question;
  readonly answer: Answer | null;
  readonly error: string;
  /** `Date.now()`. */
  readonly sentAt: number;
  readonly tookMs: number;
}

/** Whether a team may have been allowed, or not, an advertiser while a request was under way. */
export interface Rules {
  mayHave(team: TeamId, advertiserId: number, sentAt: number, doneAt: number): boolean;
  mayLack(team: TeamId, advertiserId: number, sentAt: number, doneAt: number): boolean;
}

export interface Oracle {
  /** Begins a case. @param codes the refusals that its fault explains */
  begin(codes: readonly string[]): void;
  /** The store is away from here on, or back: promises count from then. */
  storeIs(away: boolean): void;
  judge(told: Told): Promise<void>;
  /** When the promise to follow a change made at a moment holds. */
  holdsAt(changedAt: number): number;
  fault(text: string): void;
  readonly report: Report;
}

export interface Report {
  readonly violations: readonly string[];
  readonly answers: number;
  readonly rows: number;
  readonly refusals: ReadonlyMap<string, number>;
  /** Milliseconds, ascending. */
  readonly times: readonly number[];
}

type Row = Record<string, unknown>;

/** @param rules looked at with each answer */
export function createOracle(fleet: Pick<Fleet, 'secrets' | 'sim'>, rules: () => Rules): Oracle {
  const truths = new Map<string, Promise<string>>();
  let allowed = new Set<string>();
  let violations: string[] = [];
  let refusals = new Map<string, number>();
  let times: number[] = [];
  let [answers, rows, backAt, isAway] = [0, 0, 0, false];
  const fault = (text: string) => {
    if (violations.length < TOLD) violations.push(text);
  };
  const holdsAt = (changedAt: number) =>
    isAway ? Number.POSITIVE_INFINITY : Math.max(changedAt, backAt) + FOLLOWED_MS;

  /** CSV knows texts only. */
  function truthOf(query: string, asTexts: boolean): Promise<string> {
    const name = `${query} ${asTexts}`;
    const known =
      truths.get(name) ??
      fleet.sim.truth(query).then((all) => JSON.stringify(sorted(asTexts ? all.map(texts) : all)));
    truths.set(name, known);
    return known;
  }

  async function judge({ question, answer, error, sentAt, tookMs }: Told): Promise<void> {
    answers += 1;
    times.push(tookMs);
    const { team, form, advertiserId, query, deadSince } = question;
    const label = `${team} ${form} ${query}`;
    if (tookMs > LONGEST_MS) fault(`${label}: took ${Math.round(tookMs)} ms`);
    if (answer === null) return fault(`${label}: no answer: ${error}`);
    const all = `${answer.text}\n${JSON.stringify(answer.headers)}`;
    for (const secret of fleet.secrets) if (all.includes(secret)) fault(`${label}: a secret in the answer`);
    if (deadSince !== undefined) {
      const lateMs = sentAt - deadSince;
      if (answer.status === 200 && sentAt > holdsAt(deadSince))
        fault(`${label}: a revoked key was let in ${lateMs} ms later`);
      return;
    }
    const read = readAnswer(form, answer);
    const doneAt = sentAt + tookMs;
    if ('code' in read) {
      refusals.set(read.code, (refusals.get(read.code) ?? 0) + 1);
      if (read.code !== '403 advertiser_forbidden') {
        if (!allowed.has(read.code)) fault(`${label}: ${read.code}: ${answer.text.slice(0, 200)}`);
      } else if (!rules().mayLack(team, advertiserId, sentAt, doneAt))
        fault(`${label}: refused, and may see it`);
      return;
    }
    if (!rules().mayHave(team, advertiserId, sentAt, doneAt))
      return fault(`${label}: answered what the team may not see`);
    if (read.rows === null) return;
    rows += read.rows.length;
    const got = JSON.stringify(sorted(read.rows));
    const truth = await truthOf(query, form === 'csv');
    if (got !== truth)
      fault(`${label}: wrong rows: ${got.slice(0, 150)} where ${truth.slice(0, 150)} is true`);
  }

  return {
    begin(codes) {
      allowed = new Set(codes);
      [violations, refusals, times, answers, rows] = [[], new Map(), [], 0, 0];
    },
    storeIs(away) {
      isAway = away;
      backAt = Date.now();
    },
    judge,
    holdsAt,
    fault,
    get report() {
      return { violations, answers, rows, refusals, times: [...times].sort((a, b) => a - b) };
    },
  };
}

const sorted = (rows: readonly Row[]): Row[] =>
  rows.map((row) => Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))));

/** What a spreadsheet would take for a formula has a mark in front. */
const texts = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' && /^[=+\-@]/.test(value) ? `'${value}` : String(value),
    ]),
  );

/** RFC 4180, without line breaks in cells. */
function readCsv(text: string): string[][] {
  const lines = text.split('\r\n').filter((line) => line !== '');
  return lines.map((line) =>
    [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
      ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
    ),
  );
}

interface Tool {
  readonly result?: {
    readonly isError?: boolean;
    readonly structuredContent?: { columns?: string[]; rows?: unknown[][]; code?: string; status?: number };
  };
}

/** @returns rows, null where the answer has none to have; or status and code of a refusal */
function readAnswer(form: Form, answer: Answer): { readonly rows: Row[] | null } | { readonly code: string } {
  const { status, text } = answer;
  if (status !== 200) return { code: `${status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? 'without a code'}` };
  if (form === 'json') return { rows: answer.json<{ data: Row[] }>().data };
  if (form === 'csv') {
    const [header = [], ...lines] = readCsv(text);
    return { rows: lines.map((cells) => named(header, cells)) };
  }
  if (form === 'dry-run') {
    const { dryRun, platformAsked } = answer.json<{ dryRun?: unknown; platformAsked?: unknown }>();
    return dryRun === true && platformAsked === false ? { rows: null } : { code: 'no dry run' };
  }
  const { result } = answer.json<Tool>();
  const { columns = [], rows, code, status: told } = result?.structuredContent ?? {};
  return result?.isError === true || rows === undefined
    ? { code: `${told ?? '-'} ${code ?? text.slice(0, 200)}` }
    : { rows: rows.map((cells) => named(columns, cells)) };
}

const named = (names: readonly string[], cells: readonly unknown[]): Row =>
  Object.fromEntries(cells.map((cell, at) => [names[at] ?? '', cell]));
