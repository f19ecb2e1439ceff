/**
 * Tallies of all scopes: what this process saw is gathered in memory, and added now and then to what all replicas have seen, one
 * document a scope.
 */
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { type Scope, scopeId } from '../finality/scope.js';
import { mergeDocument } from '../store/merge-document.js';
import type { Documents } from '../store/port.js';
import { addScope } from './scopes.js';
import { decodeTally, encodeTally, forget, KEPT_DAYS, merge, NO_TALLY, type Tally } from './tally.js';

export interface Tallies {
  /** Costs no call and no wait. */
  add(scope: Scope, tally: Tally): void;
  /** Never rejects; what the store does not take is tried again. */
  flush(): Promise<void>;
  /** What all have seen, and this process. @throws StoreUnavailable */
  read(scope: Scope): Promise<Tally>;
  /** Of which something is not written down yet. */
  unwritten(): Scope[];
}

export interface TalliesOptions {
  readonly documents: Documents;
  readonly now: () => number;
  readonly logger: Logger;
}

const DAY_MS = 86_400_000;
/** Scopes of which something waits to be written, and those of which this process remembers what is written. */
const MAX_WAITING = 2000;
const REMEMBERED = 500;

interface Waiting {
  readonly scope: Scope;
  readonly tally: Tally;
}

export function createTallies({ documents, now, logger }: TalliesOptions): Tallies {
  let waiting = new Map<string, Waiting>();
  let underWay = new Map<string, Waiting>();
  const known = new LRUCache<string, Tally>({ max: REMEMBERED });
  let isFull = false;
  let flushing = Promise.resolve();

  function refuse(): void {
    if (!isFull) logger.warn('there is no room to measure the truth of further reports');
    isFull = true;
  }

  function wait(id: string, { scope, tally }: Waiting): void {
    const before = waiting.get(id)?.tally;
    if (before === undefined && waiting.size >= MAX_WAITING) refuse();
    else waiting.set(id, { scope, tally: merge(before ?? NO_TALLY, tally) });
  }

  async function write(id: string, { scope, tally }: Waiting): Promise<void> {
    const today = Math.floor(now() / DAY_MS);
    const before = known.get(id);
    if (before !== undefined && encodeTally(merge(before, tally)) === encodeTally(before)) return;
    if (!(await addScope(documents, scope, today))) return refuse();
    const all = await mergeDocument<Tally>(documents, {
      ...{ key: documentOf(id), ttlMs: KEPT_DAYS * DAY_MS, decode: decodeTally, encode: encodeTally },
      add: (others) => forget(merge(others ?? NO_TALLY, tally), today),
    });
    if (all !== null) known.set(id, all);
  }

  async function writeAll(): Promise<void> {
    underWay = waiting;
    waiting = new Map();
    for (const [id, one] of underWay) {
      try {
        await write(id, one);
      } catch (error) {
        wait(id, one);
        logger.debug({ err: error }, 'what was measured of truth waits for the store');
      }
    }
    underWay = new Map();
  }

  return {
    add: (scope, tally) => wait(scopeId(scope), { scope, tally }),
    flush() {
      flushing = flushing.then(writeAll);
      return flushing;
    },
    async read(scope) {
      const id = scopeId(scope);
      const text = await documents.get(documentOf(id));
      const all = text === null ? null : decodeTally(text);
      return [underWay, waiting].reduce(
        (sum, own) => merge(sum, own.get(id)?.tally ?? NO_TALLY),
        all ?? NO_TALLY,
      );
    },
    unwritten: () => [...underWay.values(), ...waiting.values()].map(({ scope }) => scope),
  };
}

const documentOf = (id: string) => `truth:${id}`;
