/**
 * Accounts whose history was erased, as numbered records beside the purges. Data requested before such a record is void,
 * wherever it is stored and however late it is appended. So concurrent appends cannot restore it, and the erasure takes effect
 * before the rows are removed (`days/erase-days.ts`).
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { areOfOneRegistry, type Purges } from '../cache/purges.js';
import type { Report } from '../query/canonicalize.js';

const ERASURES_RECORD = 'erasures';
/** The oldest, whose rows are removed by then, are dropped. */
const MAX_RECORDS = 1000;

const ErasureList = recordForm(
  Type.Array(
    Type.Object({
      /** Number of its purge. */
      seq: Type.Integer(),
      advertiserId: Type.String(),
      /** Epoch milliseconds. */
      at: Type.Integer(),
      /** All rows were removed, and no older write can follow. */
      done: Type.Optional(Type.Literal(true)),
    }),
  ),
);
export type Erasure = RecordOf<typeof ErasureList>[number];

/** Accounts of stored data. */
export interface KeptAccounts {
  /** The newest purge known before the fetch. */
  readonly seq: number;
  /** Start of the fetch, epoch milliseconds. */
  readonly fetchedFrom: number;
  /** Accounts that the report names. */
  readonly asked: readonly string[];
  /** Accounts that the answer holds. */
  readonly held: readonly string[];
  readonly rowCount: number;
}

export type Erasures = ReturnType<typeof createErasures>;

export function createErasures(registry: Registry, purges: Pick<Purges, 'append'>) {
  let [known, version] = [read(), 0];
  registry.onChange(ERASURES_RECORD, () => {
    known = read();
    version += 1;
  });

  function read(): readonly Erasure[] {
    const text = registry.get(ERASURES_RECORD)?.value;
    return text === undefined ? [] : ErasureList.read(text, ERASURES_RECORD);
  }

  return {
    /** Grows with every change: what was made of data before may show what is erased now. */
    version: () => version,
    isErased: (kept: KeptAccounts): boolean =>
      known.some((one) => isBefore(kept, one) && concerns(one.advertiserId, kept)),
    /** Erasures whose rows may not be removed yet. */
    open: (): readonly Erasure[] => known.filter(({ done }) => done !== true),
    /** @param audit a line stored with it. @throws StoreUnavailable */
    append: (advertiserId: string, at: number, audit: string): Promise<void> =>
      purges.append({ advertiserId }, audit, (seq) => {
        const all = [...read(), { seq, advertiserId, at }].slice(-MAX_RECORDS);
        const { revision = 0 } = registry.get(ERASURES_RECORD) ?? {};
        return [[ERASURES_RECORD, JSON.stringify(all), revision]];
      }),
    /** Marks erasures as complete. @throws StoreUnavailable */
    close: (done: readonly Erasure[]): Promise<void> =>
      updateRecord(registry, ERASURES_RECORD, (text) => {
        if (text === null) return null;
        const seqs = new Set(done.map(({ seq }) => seq));
        const all = ErasureList.read(text, ERASURES_RECORD);
        return { text: JSON.stringify(all.map((one) => (seqs.has(one.seq) ? { ...one, done: true } : one))) };
      }),
  };
}

/** By number; by time if the registry was replaced since. */
function isBefore(kept: KeptAccounts, { seq, at }: Erasure): boolean {
  return areOfOneRegistry(kept.seq, seq) ? kept.seq < seq : kept.fetchedFrom <= at;
}

/** Data without any account may belong to any advertiser. */
function concerns(advertiserId: string, { asked, held, rowCount }: KeptAccounts): boolean {
  if (asked.includes(advertiserId) || held.includes(advertiserId)) return true;
  return asked.length === 0 && held.length === 0 && rowCount > 0;
}

/** @returns all accounts that a report names; a value may contain several */
export function requestedAccounts({ account, accounts }: Report): readonly string[] {
  const named = accounts.flatMap(({ values }) => values.flatMap((value) => value.split(/\D+/)));
  return [...new Set([...(account === null ? [] : [account]), ...named])].filter((one) => one !== '').sort();
}
