/**
 * Records of one kind, one for each id, as parsed values. A text is parsed once while it is remembered; beyond a bound the oldest
 * records are deleted. Replicas share them; they change rarely.
 */
import type { RegistryRecord } from '../port.js';
import type { Registry } from './replica.js';
import { type RecordChange, updateRecord } from './update-record.js';

type Others = readonly (readonly [record: string, RegistryRecord])[];

/**
 * @param max records that are kept
 * @param read of a record's text, which is damaged where it throws
 * @param forget what is deleted with a write, of all other records; the oldest beyond the bound when not given
 */
export function createRecordBook<T>(
  registry: Registry,
  {
    prefix,
    max,
    read,
    forget = oldestBeyond(max),
  }: {
    readonly prefix: string;
    readonly max: number;
    readonly read: (text: string, record: string) => T;
    readonly forget?: (others: Others) => NonNullable<RecordChange['also']>;
  },
) {
  let values = new Map<string, { readonly text: string; readonly value: T }>();

  function valueIn(record: string, text: string): T {
    const known = values.get(record);
    if (known?.text === text) return known.value;
    const value = read(text, record);
    if (values.size > max) values = new Map();
    values.set(record, { text, value });
    return value;
  }

  return {
    /** @throws DamagedRecord */
    get(id: string): T | null {
      const text = registry.get(prefix + id)?.value;
      return text === undefined ? null : valueIn(prefix + id, text);
    },
    list: (): readonly (readonly [id: string, value: T])[] =>
      registry
        .list(prefix)
        .map(([record, { value }]) => [record.slice(prefix.length), valueIn(record, value)] as const),
    /**
     * @param step from the value before (null: there is none) to the one after; null or the same value leaves the record as it is.
     *   It may be called more than once.
     * @throws RegistryConflict; StoreUnavailable; DamagedRecord
     */
    change(id: string, step: (before: T | null) => T | null): Promise<void> {
      const record = prefix + id;
      return updateRecord(registry, record, (text) => {
        const before = text === null ? null : valueIn(record, text);
        const after = step(before);
        if (after === null || after === before) return null;
        const others = registry.list(prefix).filter(([other]) => other !== record);
        return { text: JSON.stringify(after), also: forget(others) };
      });
    },
  };
}

function oldestBeyond(max: number) {
  return (others: Others): [string, null][] =>
    [...others]
      .sort(([, a], [, b]) => a.revision - b.revision)
      .slice(0, Math.max(0, others.length + 1 - max))
      .map(([record]) => [record, null]);
}
