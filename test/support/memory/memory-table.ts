import type { View } from '../../../src/store/embedded/environment.js';
import { createDraft, type Draft, type Table } from '../../../src/store/embedded/table.js';
import { newStamp } from '../../../src/store/stamp.js';

interface MemoryRecord {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly stamp: number;
}

/** A table of the embedded store in a map: what it holds can be put back as it was, or a part of it dropped. */
export class MemoryTable implements Table {
  #records = new Map<string, MemoryRecord>();
  #sorted: readonly MemoryRecord[] | null = null;

  readonly #view: View = {
    get: (key) => this.#records.get(key.toString('latin1'))?.value ?? null,
    has: (key) => this.#records.has(key.toString('latin1')),
    stampOf: (key) => this.#records.get(key.toString('latin1'))?.stamp ?? 0,
    range: ({ from, to, limit, reverse = false }) => {
      this.#sorted ??= [...this.#records.values()].sort((one, other) => Buffer.compare(one.key, other.key));
      const within = this.#sorted.filter(
        ({ key }) => Buffer.compare(from, key) <= 0 && Buffer.compare(key, to) < 0,
      );
      return (reverse ? within.reverse() : within).slice(0, limit);
    },
  };

  read<T>(use: (view: View) => T): T {
    return use(this.#view);
  }

  async change<T>(apply: (draft: Draft) => T): Promise<T> {
    const draft = createDraft(this.#view);
    const result = draft.attempt(apply);
    for (const { key, value } of draft.writes()) {
      const id = key.toString('latin1');
      if (value === null) this.#records.delete(id);
      else this.#records.set(id, { key, value, stamp: newStamp() });
    }
    this.#sorted = null;
    return result;
  }

  /** Drops the records whose keys begin with one of these letters. */
  drop(letters: string): void {
    for (const id of this.#records.keys()) if (letters.includes(id[0] ?? '')) this.#records.delete(id);
    this.#sorted = null;
  }

  /** @returns puts back what is there now */
  save(): () => void {
    const saved = [...this.#records];
    return () => {
      this.#records = new Map(saved);
      this.#sorted = null;
    };
  }
}
