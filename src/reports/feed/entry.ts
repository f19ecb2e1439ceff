/** Entries of the feed of changes as one line of text each: what a write of a month tells, and what a change of a team's list does. */
import type { Told } from '../../store/changes-port.js';

/**
 * first: no revision was told before · restated: a newer one · final, reopened: the same one · void: an earlier one, or none, is
 * left · erased: likewise, with its advertiser
 */
export type ChangeKind = 'first' | 'restated' | 'final' | 'reopened' | 'void' | 'erased';

export interface DayChange {
  /** Of the month, from 1. */
  readonly day: number;
  /** Id of the revision that counts now; null: none is left. */
  readonly revision: string | null;
  /** Id of the one that counted before; null: none did. */
  readonly before: string | null;
  readonly kind: ChangeKind;
  /** The day is final now. */
  readonly isFinal: boolean;
  /** The day was final before. */
  readonly afterFinal: boolean;
  /** Token or columns differ, so the platform need not have changed the data. */
  readonly isMethod: boolean;
}

/** The difference that a write made in a month. */
export interface DaysEntry {
  readonly type: 'days';
  readonly series: string;
  /** `2026-03` */
  readonly month: string;
  /** Time of the write, epoch milliseconds. */
  readonly at: number;
  /** Of the fetch: days that one call brought share it, also across months. */
  readonly txid: string;
  /** By day, ascending; at least one. */
  readonly changes: readonly DayChange[];
  /** Of erased days: their month, which would tell it, may be gone. */
  readonly report?: ErasedReport;
}

/** What filters and rights are judged by. */
export interface ErasedReport {
  readonly endpoint: string;
  readonly account: string | null;
  readonly split: readonly string[];
}

/** Advertisers that a team may read since then, and those that it may not any more. */
export interface GrantsEntry {
  readonly type: 'grants';
  /** With its life, see `nameInLife`. */
  readonly team: string;
  readonly at: number;
  readonly given: readonly number[];
  readonly taken: readonly number[];
}

const LETTERS = { first: 'i', restated: 'r', final: 'f', reopened: 'o', void: 'v', erased: 'e' } as const;
const KINDS = new Map(Object.entries(LETTERS).map(([kind, letter]) => [letter, kind as ChangeKind]));

/** @param entry with names of `[\w:-]` */
export function encodeEntry(entry: DaysEntry | GrantsEntry): Told {
  const at = entry.at.toString(36);
  if (entry.type === 'grants') {
    const { team, given, taken } = entry;
    const list = [...given.map((id) => `+${id}`), ...taken.map((id) => `-${id}`)];
    return { text: `g ${team} ${at} ${list.join()}`, count: list.length };
  }
  const { series, month, txid, changes, report } = entry;
  const of = report === undefined ? '' : ` ${reportText(report)}`;
  return {
    text: `d ${series} ${month} ${at} ${txid} ${changes.map(changeText).join()}${of}`,
    count: changes.length,
  };
}

const reportText = ({ endpoint, account, split }: ErasedReport) =>
  encodeURIComponent(JSON.stringify([endpoint, account, ...split]));

/** @returns null for another text */
function reportIn(text: string): ErasedReport | null {
  try {
    const [endpoint, account, ...split] = JSON.parse(decodeURIComponent(text)) as unknown[];
    const isText = (one: unknown) => typeof one === 'string';
    if (!isText(endpoint) || !(account === null || isText(account)) || !split.every(isText)) return null;
    return { endpoint, account, split } as ErasedReport;
  } catch {
    return null;
  }
}

function changeText({ day, revision, before, kind, isFinal, afterFinal, isMethod }: DayChange): string {
  const flags = `${LETTERS[kind]}${isFinal ? 'F' : ''}${afterFinal ? 'A' : ''}${isMethod ? 'M' : ''}`;
  return `${String(day).padStart(2, '0')}:${revision ?? '-'}:${before ?? '-'}:${flags}`;
}

/** Times have at most ten digits: a later one is no Date. */
const DAYS = /^d ([\w-]+) (\d{4}-(?:0[1-9]|1[0-2])) ([0-9a-z]{1,10}) ([0-9a-z]+) (\S+)(?: (\S+))?$/;
const GRANTS = /^g ([\w:-]+) ([0-9a-z]{1,10}) (\S+)$/;
const CHANGE = /^(0[1-9]|[12]\d|3[01]):([0-9a-z]{1,10}|-):([0-9a-z]{1,10}|-):([irfove])(F?)(A?)(M?)$/;
const GRANT = /^[+-](?:0|[1-9]\d{0,15})$/;

/** Whether an entry is of days of another series than the one with these first characters, without decoding it. */
export const isOfOther = (text: string, series: string): boolean =>
  text.startsWith('d ') && !text.startsWith(series, 2);

/** @returns null for what is no entry of this release */
export function decodeEntry(text: string): DaysEntry | GrantsEntry | null {
  const [, series, month, atDays, txid, days, of] = DAYS.exec(text) ?? [];
  if (series !== undefined) {
    const changes = (days as string).split(',').map(changeOf);
    const report = of === undefined ? undefined : reportIn(of);
    if (changes.includes(null) || report === null) return null;
    const at = Number.parseInt(atDays as string, 36);
    return {
      type: 'days',
      series,
      month: month as string,
      at,
      txid: txid as string,
      changes: changes as DayChange[],
      ...(report && { report }),
    };
  }
  const [, team, at, grants] = GRANTS.exec(text) ?? [];
  if (team === undefined) return null;
  const list = (grants as string).split(',');
  if (!list.every((one) => GRANT.test(one))) return null;
  const idsOf = (sign: string) =>
    list.filter((one) => one.startsWith(sign)).map((one) => Number(one.slice(1)));
  return {
    type: 'grants',
    team,
    at: Number.parseInt(at as string, 36),
    given: idsOf('+'),
    taken: idsOf('-'),
  };
}

function changeOf(text: string): DayChange | null {
  const [, day, revision, before, kind, final, after, method] = CHANGE.exec(text) ?? [];
  if (day === undefined) return null;
  return {
    day: Number(day),
    revision: revision === '-' ? null : (revision as string),
    before: before === '-' ? null : (before as string),
    kind: KINDS.get(kind as (typeof LETTERS)[ChangeKind]) as ChangeKind,
    isFinal: final === 'F',
    afterFinal: after === 'A',
    isMethod: method === 'M',
  };
}
