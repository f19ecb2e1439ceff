/** Reads the history: rows of revisions, and states of days at one time. */

import { GatewayError } from '../../errors.js';
import { turn } from '../../lib/time.js';
import { whenAway } from '../../store/port.js';
import type { Days } from '../days/days.js';
import { shownAs } from '../rows/decimal.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../rows/entry.js';
import type { CapRules } from '../rows/freshness.js';
import { type Row, type Sums, startSums, sumsShown } from '../rows/sums.js';
import type { Erasures } from './erasures.js';
import {
  type DayStates,
  type KnownState,
  knownAt,
  type Moment,
  type Revisions,
  validRevisions,
  voidCut,
} from './revision.js';

export function rowsOf({ body }: Pick<Entry<RowsHeader>, 'body'>): Row[] {
  return rowsIn(body.toString());
}

/** @param text rows with commas between them */
function rowsIn(text: string): Row[] {
  const rows = JSON.parse(`[${text}]`) as object[];
  return rows.map((row) => new Map(Object.entries(row)));
}

/** Rows added up per turn of the event loop: about 2 ms. A day may have tens of thousands. */
const ROWS_A_TURN = 1_000;

/** @param bodies of entries. @returns of each, in order */
export async function addUp(bodies: readonly Buffer[]): Promise<Sums[]> {
  const all: Sums[] = [];
  let inTurn = ROWS_A_TURN;
  for (const body of bodies) {
    const sums = startSums();
    const texts = body.toString().split(ROW_SEPARATOR);
    for (let at = 0; at < texts.length; at += ROWS_A_TURN) {
      const some = texts.slice(at, at + ROWS_A_TURN);
      if (inTurn + some.length > ROWS_A_TURN) {
        await turn();
        inTurn = 0;
      }
      inTurn += some.length;
      for (const row of rowsIn(some.join())) sums.add(row);
    }
    all.push(sums.sums());
  }
  return all;
}

/** @returns sums by column, in order; columns with anything but numbers are left out */
export async function sumRows({
  body,
}: Pick<Entry<RowsHeader>, 'body'>): Promise<Record<string, number | string>> {
  const [sums] = (await addUp([body])) as [Sums];
  return Object.fromEntries(sumsShown(sums).map(([column, sum]) => [column, shownAs(sum)]));
}

export interface Readable {
  /** False: history is off. */
  readonly enabled: boolean;
  readonly days: Pick<Days, 'states' | 'rows'>;
  readonly isErased: Erasures['isErased'];
  /** Called with days that have revisions from truncated answers, which are not marked yet. */
  readonly onCut: (cut: StatesWanted) => void;
}

/** Days of a series. */
export interface StatesWanted {
  readonly series: string;
  /** ISO, in order. */
  readonly dates: readonly string[];
  /** Of their report. */
  readonly rules: CapRules;
}

/** What is known of days, besides their rows. Revisions from truncated answers are void. @throws StoreUnavailable */
export async function readStates(
  { days, onCut }: Pick<Readable, 'days' | 'onCut'>,
  { series, dates, rules }: StatesWanted,
): Promise<readonly DayStates[]> {
  const stored = await days.states(series, dates);
  const states = stored.map((one) => ({ ...one, revisions: voidCut(one.revisions, rules) }));
  const cut = dates.filter((_date, at) => states[at]?.revisions !== stored[at]?.revisions);
  if (cut.length > 0) onCut({ series, dates: cut, rules });
  return states;
}

/** @throws GatewayError `not_known_then` if history is off; `not_ready` if the store is unavailable */
export async function guarded<T>({ enabled }: Pick<Readable, 'enabled'>, work: () => Promise<T>): Promise<T> {
  if (!enabled)
    throw new GatewayError('not_known_then', {
      detail: 'History is off: history.enabled is false.',
      help: 'Request current data, or ask your operator to set history.enabled.',
    });
  return await work().catch(
    whenAway((cause): never => {
      throw new GatewayError('not_ready', { detail: 'The history store does not respond.', cause });
    }),
  );
}

export interface DaysWanted extends StatesWanted {
  /** Of the kind; revisions of another one are ignored. Null: the kind is not proven. */
  readonly generation: string | null;
  readonly moment: Moment;
  /** Error for unknown days, instead of `not_known_then`. */
  readonly unknown?: (dates: readonly string[]) => GatewayError;
}

export interface HistoricDay extends KnownState {
  readonly entry: Entry<RowsHeader>;
}

/**
 * States of a series' days at one time. Nothing is fetched.
 * @returns in the order of the dates
 * @throws GatewayError `not_known_then`; `not_ready` if the store is unavailable
 */
export async function readDays(g: Readable, wanted: DaysWanted): Promise<readonly HistoricDay[]> {
  const { series, dates, generation, moment } = wanted;
  return guarded(g, async () => {
    if (generation === null) throw notKept(...NOT_PROVEN);
    const states = await readStates(g, wanted);
    const known = states.map(({ revisions }) => validRevisions(revisions, generation));
    const chosen = known.map((revisions) => knownAt(revisions, moment));
    if (chosen.includes(null)) throw notKnown(wanted, known);
    const days = (chosen as KnownState[]).map((one, at) => ({ ...one, day: dates[at] as string }));
    const rows = await g.days.rows(series, days);
    return days.map(({ day, ...one }, at) => {
      const entry = rows[at] ?? null;
      if (entry === null) throw lost(dates.filter((_date, place) => rows[place] === null));
      const { asked } = states[at] as DayStates;
      if (g.isErased({ ...one.revision, asked, held: entry.header.accounts }))
        throw notKept(...erasedOf(day));
      return { ...one, entry };
    });
  });
}

function notKnown(wanted: DaysWanted, known: readonly Revisions[]): GatewayError {
  const { dates, moment } = wanted;
  const unknown = dates.filter((_date, at) => knownAt(known[at] as Revisions, moment) === null);
  if (wanted.unknown !== undefined) return wanted.unknown(unknown);
  const first = Math.max(...known.map((revisions) => revisions[0]?.knownFrom ?? Number.POSITIVE_INFINITY));
  const then = typeof moment === 'object' ? `at ${new Date(moment.at).toISOString()} ` : '';
  const missing = `No recorded data ${then}for ${listed(unknown)}.`;
  return Number.isFinite(first)
    ? notKept(`${missing} All of them are recorded from ${new Date(first).toISOString()} on.`)
    : notKept(
        `${missing} Some were never recorded.`,
        'Request them without _asOf: they are recorded from their next fetch on.',
      );
}

type Words = readonly [detail: string, help?: string];

const NOT_PROVEN: Words = [
  'Such a report has no history: it is not proven yet, or was disproved, that its single days add up.',
  'Request it without _asOf, or call POST /gateway/v1/learn; GET /gateway/v1/explain says whether such reports are cached by day. Then repeat.',
];

function lost(dates: readonly string[]): GatewayError {
  return notKept(
    `The recorded data for ${listed(dates)} can no longer be read.`,
    'Request current data, and report the requestId to your operator.',
  );
}

function erasedOf(date: string): Words {
  return [
    `The recorded data for ${date} was erased with its advertiser.`,
    'Request the report without _asOf to record it again.',
  ];
}

function notKept(...[detail, help]: Words): GatewayError {
  return new GatewayError('not_known_then', { detail, ...(help !== undefined && { help }) });
}

const SHOWN = 5;

/** Dates for a message, shortened. */
export function listed(dates: readonly string[]): string {
  const more = dates.length > SHOWN ? ` and ${dates.length - SHOWN} more days` : '';
  return dates.slice(0, SHOWN).join(', ') + more;
}
