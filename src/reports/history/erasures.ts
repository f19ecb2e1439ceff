/**
 * Accounts whose history was erased, as numbered records beside the purges: what was asked for before such a record does
 * not count, in whatever store it lies, and whoever appends it late. So an append under way cannot bring it back, and
 * nothing has to be found before the answer "erased" is true; removing the rows follows (`erase.ts`).
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { areOfOneRegistry, type Purges } from '../cache/purges.js';
import type { Report } from '../query/canonicalize.js';

const ERASURES_RECORD = 'erasures';
/** Beyond it the oldest, whose rows are long removed, are forgotten. */
const MAX_RECORDS = 1000;

const ErasureList = recordForm(
  Type.Array(
    Type.Object({
      /** Of the purge that went with it: an older fetch knew nothing of it. */
      seq: Type.Integer(),
      advertiserId: Type.String(),
      /** Epoch milliseconds. */
      at: Type.Integer(),
      /** All rows were removed after nobody could write any more. */
      done: Type.Optional(Type.Literal(true)),
    }),
  ),
);
export type Erasure = RecordOf<typeof ErasureList>[number];

/** What was kept of one day, or of a whole answer. */
export interface KeptAccounts {
  /** The newest purge known before the platform was asked. */
  readonly seq: number;
  /** When it was asked, epoch milliseconds. */
  readonly fetchedFrom: number;
  /** Accounts that the report names. */
  readonly asked: readonly string[];
  /** Accounts that the answer holds. */
  readonly held: readonly string[];
  readonly rowCount: number;
}

export type Erasures = ReturnType<typeof createErasures>;

export function createErasures(registry: Registry, purges: Pick<Purges, 'append'>) {
  let known = read();
  registry.onChange(ERASURES_RECORD, () => {
    known = read();
  });

  function read(): readonly Erasure[] {
    const text = registry.get(ERASURES_RECORD)?.value;
    return text === undefined ? [] : ErasureList.read(text, ERASURES_RECORD);
  }

  return {
    isErased: (kept: KeptAccounts): boolean =>
      known.some((one) => isBefore(kept, one) && concerns(one.advertiserId, kept)),
    /** Those whose rows may still lie somewhere. */
    open: (): readonly Erasure[] => known.filter(({ done }) => done !== true),
    /** @param audit a line stored with it. @throws StoreUnavailable */
    append: (advertiserId: string, at: number, audit: string): Promise<void> =>
      purges.append({ advertiserId }, audit, (seq) => {
        const all = [...read(), { seq, advertiserId, at }].slice(-MAX_RECORDS);
        const { revision = 0 } = registry.get(ERASURES_RECORD) ?? {};
        return [[ERASURES_RECORD, JSON.stringify(all), revision]];
      }),
    /** Notes that nothing is left of these. @throws StoreUnavailable */
    close: (done: readonly Erasure[]): Promise<void> =>
      updateRecord(registry, ERASURES_RECORD, (text) => {
        if (text === null) return null;
        const seqs = new Set(done.map(({ seq }) => seq));
        const all = ErasureList.read(text, ERASURES_RECORD);
        return { text: JSON.stringify(all.map((one) => (seqs.has(one.seq) ? { ...one, done: true } : one))) };
      }),
  };
}

/** By the number; where the registry is another by now, which kept its records, by the time. */
function isBefore(kept: KeptAccounts, { seq, at }: Erasure): boolean {
  return areOfOneRegistry(kept.seq, seq) ? kept.seq < seq : kept.fetchedFrom <= at;
}

/** What names no account, and whose rows name none, may be anybody's. */
function concerns(advertiserId: string, { asked, held, rowCount }: KeptAccounts): boolean {
  if (asked.includes(advertiserId) || held.includes(advertiserId)) return true;
  return asked.length === 0 && held.length === 0 && rowCount > 0;
}

/** @returns every account that a report names; a value as it was given may hold several */
export function requestedAccounts({ account, accounts }: Report): readonly string[] {
  const named = accounts.flatMap(({ values }) => values.flatMap((value) => value.split(/\D+/)));
  return [...new Set([...(account === null ? [] : [account]), ...named])].filter((one) => one !== '').sort();
}
