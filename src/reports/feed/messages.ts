/**
 * Makes the messages of the feed from its entries (State Protocol of Durable Streams), from what history has of the days. Rows are
 * read apart, for readers that want them.
 */
import { LRUCache } from 'lru-cache';
import { uptimeMs } from '../../lib/time.js';
import type { Days } from '../days/days.js';
import type { Erasures } from '../history/erasures.js';
import { sumRows } from '../history/read.js';
import type { MonthReport, Revision, Revisions } from '../history/revision.js';
import { showId } from '../rows/answer-meta.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { type DayChange, type DaysEntry, decodeEntry, type ErasedReport, type GrantsEntry } from './entry.js';

/** One message. Its JSON is `head`, the rows if there are any, and `tail`. */
export interface Message {
  readonly key: string;
  /** Up to the end of the members of `value`. */
  readonly head: string;
  readonly tail: string;
  /** It has a `value`, which may get rows. */
  readonly hasValue: boolean;
  /** Account ids of the report and of its rows; null: unknown, and no team with a list may see it. */
  readonly accounts: readonly string[] | null;
  /** The tail for teams that may not see all accounts of the rows before; null: the same. */
  readonly old: { readonly accounts: readonly string[]; readonly tailWithout: string } | null;
  /** Where its rows are; null: it has none to show. */
  readonly rows: { readonly series: string; readonly date: string; readonly revision: string } | null;
}

/** An entry as readers see it: the same for all of them. */
export interface MadeEntry {
  readonly entry: DaysEntry | GrantsEntry | null;
  /** Null: unknown, as the month is gone. */
  readonly report: ErasedReport | null;
  /** By place of the change in the entry. Made once, and again after an erasure. */
  messages(): Promise<readonly Message[]>;
}

export interface MakeOptions {
  readonly days: Pick<Days, 'states' | 'rows'>;
  readonly erasures: Pick<Erasures, 'isErased' | 'version'>;
}

const SHOWN_SERIES_CHARS = 22;
/** A longer query is left out. */
const REPORT_BYTES = 1024;
/** Of rows of a day in a message. */
const ROWS_BYTES = 262_144;
const REPORTS = 10_000;
const GONE_MS = 60_000;
const SUMS = 20_000;

/** What the rows of a revision tell. */
interface Known {
  readonly accounts: readonly string[];
  /** Exact decimals. */
  readonly totals: Readonly<Record<string, string>>;
}

export const shownSeries = (series: string): string => series.slice(0, SHOWN_SERIES_CHARS);

export type MakeEntry = ReturnType<typeof createMessages>;

export function createMessages(options: MakeOptions) {
  const { days, erasures } = options;
  const reports = new LRUCache<string, MonthReport>({ max: REPORTS });
  /** When series were found without their month. */
  const gone = new LRUCache<string, number>({ max: REPORTS });
  const readKnown = createReadKnown(options);

  /** @throws StoreUnavailable */
  async function statesOf(entry: DaysEntry) {
    const dates = entry.changes.map((change) => dateOf(entry, change));
    const states = await days.states(entry.series, dates);
    const report = states[0]?.report ?? null;
    if (report !== null) reports.set(entry.series, report);
    return states;
  }

  /** A month that is gone is not looked for again with each entry of it. @throws StoreUnavailable */
  async function readReport(entry: DaysEntry): Promise<MonthReport | null> {
    if (uptimeMs() - (gone.get(entry.series) ?? Number.NEGATIVE_INFINITY) < GONE_MS) return null;
    const report = (await statesOf(entry))[0]?.report ?? null;
    if (report === null) gone.set(entry.series, uptimeMs());
    return report;
  }

  /** @throws StoreUnavailable */
  async function make(entry: DaysEntry): Promise<readonly Message[]> {
    const states = await statesOf(entry);
    const found = entry.changes.map((change, at) => {
      const { asked = [], revisions = [], report = null } = states[at] ?? {};
      const [now, old] = [byId(revisions, change.revision), byId(revisions, change.before)];
      return { entry, change, date: dateOf(entry, change), asked, report, now, old };
    });
    const wanted = found.flatMap(({ date, asked, now, old }) =>
      [now, old].flatMap((revision) => (revision === undefined ? [] : [{ day: date, revision, asked }])),
    );
    const known = await readKnown(entry.series, wanted);
    return found.map((one) => {
      const [after, before] = [one.now, one.old].map((it) => it && known.get(`${one.date} ${it.id}`));
      return messageOf({ ...one, after, before });
    });
  }

  return {
    /**
     * @param text of an entry; of a newer release it has no messages
     * @throws StoreUnavailable
     */
    async open(text: string): Promise<MadeEntry> {
      const entry = decodeEntry(text);
      if (entry === null) return { entry, report: null, messages: async () => [] };
      if (entry.type === 'grants') return { entry, report: null, messages: async () => grantsOf(entry) };
      const report = entry.report ?? reports.get(entry.series) ?? (await readReport(entry));
      let made: Promise<readonly Message[]> | null = null;
      let version = 0;
      return {
        entry,
        report,
        messages() {
          if (version !== erasures.version()) made = null;
          version = erasures.version();
          made ??= make(entry).catch((error: unknown) => {
            // The next reader tries again.
            made = null;
            throw error;
          });
          return made;
        },
      };
    },
    rowsOf: createReadRows(options),
  };
}

/** Entries count by their changes, and what a newer release wrote as one. */
export function sizeOf({ entry }: Pick<MadeEntry, 'entry'>): number {
  return entry?.type === 'days' ? entry.changes.length : 1;
}

const dateOf = ({ month }: DaysEntry, { day }: DayChange) => `${month}-${String(day).padStart(2, '0')}`;

interface KnownWanted {
  readonly day: string;
  readonly revision: Revision;
  readonly asked: readonly string[];
}

/** @returns reads what can still be read of revisions, by date and id. It throws StoreUnavailable */
function createReadKnown({ days, erasures: { isErased } }: MakeOptions) {
  const memory = new LRUCache<string, Known>({ max: SUMS });
  return async (series: string, wanted: readonly KnownWanted[]): Promise<ReadonlyMap<string, Known>> => {
    const nameOf = ({ day, revision }: KnownWanted) => `${day} ${revision.id}`;
    const missing = wanted.filter((one) => !memory.has(`${series} ${nameOf(one)}`));
    const entries = missing.length === 0 ? [] : await days.rows(series, missing);
    const all = new Map<string, Known>();
    for (const [at, one] of missing.entries()) {
      const rows = entries[at] ?? null;
      if (rows === null) continue;
      const known = { accounts: rows.header.accounts, totals: await totalsOf(rows) };
      memory.set(`${series} ${nameOf(one)}`, known);
      all.set(nameOf(one), known);
    }
    const found = new Map<string, Known>();
    for (const one of wanted) {
      const known = all.get(nameOf(one)) ?? memory.get(`${series} ${nameOf(one)}`);
      if (known !== undefined && !isErased({ ...one.revision, asked: one.asked, held: known.accounts }))
        found.set(nameOf(one), known);
    }
    return found;
  };
}

/** @returns reads rows as JSON, in order; null where they can no longer be read, or are too large. It throws StoreUnavailable */
function createReadRows({ days, erasures: { isErased } }: MakeOptions) {
  async function read({ series, date, revision: id }: NonNullable<Message['rows']>): Promise<string | null> {
    const [state] = await days.states(series, [date]);
    const revision = byId(state?.revisions ?? [], id);
    if (state === undefined || revision === undefined || revision.void !== undefined) return null;
    const [rows = null] = await days.rows(series, [{ day: date, revision }]);
    if (rows === null || rows.body.length > ROWS_BYTES) return null;
    if (isErased({ ...revision, asked: state.asked, held: rows.header.accounts })) return null;
    return `[${rows.body.toString().replaceAll('\n', '')}]`;
  }

  return (wanted: readonly Message['rows'][]): Promise<(string | null)[]> =>
    Promise.all(wanted.map((one) => (one === null ? null : read(one))));
}

function byId(revisions: Revisions, id: string | null): Revision | undefined {
  return id === null ? undefined : revisions.find((one) => one.id === id);
}

async function totalsOf(rows: Entry<RowsHeader>): Promise<Record<string, string>> {
  const sums = await sumRows(rows);
  return Object.fromEntries(Object.entries(sums).map(([column, sum]) => [column, String(sum)]));
}

interface Parts {
  readonly entry: DaysEntry;
  readonly change: DayChange;
  readonly date: string;
  readonly asked: readonly string[];
  readonly report: MonthReport | null;
  /** The revision that it tells of, if history still has it; its rows, if they can be read; those of the one before. */
  readonly now: Revision | undefined;
  readonly after: Known | undefined;
  readonly before: Known | undefined;
}

function messageOf(parts: Parts): Message {
  const { entry, change, date, now, after, before } = parts;
  const key = `${shownSeries(entry.series)} ${date}`;
  const start = `{"type":"day","key":${JSON.stringify(key)}`;
  const accounts = accountsOf(parts);
  const own = new Set(accounts);
  const isOldForeign = before?.accounts.some((account) => !own.has(account)) === true;
  const same = {
    key,
    accounts,
    tail: tailOf(parts, before?.totals),
    old: isOldForeign ? { accounts: before.accounts, tailWithout: tailOf(parts, undefined) } : null,
  };
  if (change.revision === null) return { ...same, head: start, hasValue: false, rows: null };
  const value = JSON.stringify(shownValue(parts));
  const isReadable = after !== undefined && now?.void === undefined;
  return {
    ...same,
    head: `${start},"value":${value.slice(0, -1)}`,
    hasValue: true,
    rows: isReadable ? { series: entry.series, date, revision: change.revision } : null,
  };
}

function tailOf({ entry, change }: Parts, totals: Known['totals'] | undefined): string {
  const operation = change.revision === null ? 'delete' : change.before === null ? 'insert' : 'update';
  const headers = {
    operation,
    timestamp: new Date(entry.at).toISOString(),
    txid: entry.txid,
    kind: change.kind,
    ...(change.afterFinal && { afterFinal: true }),
    ...(change.isMethod && { method: true }),
  };
  const old = change.before !== null && { old_value: { revision: change.before, totals } };
  const end = change.revision === null ? '' : '}';
  return `${end},${JSON.stringify({ ...old, headers }).slice(1)}`;
}

/** That a day is gone is told to teams that may ask for it. Rows that cannot be read may name any account. */
function accountsOf({ entry, change, asked, after, before }: Parts): readonly string[] | null {
  if (change.revision === null) {
    const account = entry.report?.account ?? null;
    return asked.length > 0 ? asked : account !== null ? [account] : (before?.accounts ?? null);
  }
  const found = [...asked, ...(after?.accounts ?? [])];
  return after === undefined || found.length === 0 ? null : [...new Set(found)];
}

function shownValue({ entry, change, date, report, now, after }: Parts): object {
  const id = change.revision as string;
  const knownAt = new Date(Number.parseInt(id, 36)).toISOString();
  const query = report?.query ?? null;
  const isShown = query !== null && query.length <= REPORT_BYTES;
  return {
    series: shownSeries(entry.series),
    ...(isShown && { report: query }),
    ...(report && {
      endpoint: report.endpoint,
      advertiserId: showId(report.account),
      split: report.split,
    }),
    date,
    revision: id,
    knownAt,
    final: change.isFinal,
    ...(now && { ageDays: now.ageDays, rowCount: now.rowCount }),
    ...(after && { totals: after.totals }),
    ...(isShown && { query: `${query}&dateFrom=${date}&dateTo=${date}&_asOf=${knownAt}` }),
  };
}

function grantsOf({ at, given, taken }: GrantsEntry): Message[] {
  const messageOf = (id: number, operation: 'insert' | 'delete'): Message => {
    const headers = { operation, timestamp: new Date(at).toISOString() };
    const message = { type: 'grant', key: String(id), value: { advertiserId: id }, headers };
    return {
      key: `grant ${id}`,
      head: JSON.stringify(message),
      tail: '',
      hasValue: false,
      accounts: [],
      old: null,
      rows: null,
    };
  };
  return [...taken.map((id) => messageOf(id, 'delete')), ...given.map((id) => messageOf(id, 'insert'))];
}
