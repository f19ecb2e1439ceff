/** Since when each scope is in use, or was explored last: one document, which all replicas agree by. */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../record.js';
import { mergeDocument } from '../store/merge-document.js';
import type { Documents } from '../store/port.js';

const KEY = 'explored';
const DAY_MS = 86_400_000;
export const MONTH_MS = 30 * DAY_MS;
/** Scopes that are remembered, and for how long one that is in use no more. */
const MAX_SCOPES = 2000;
const KEPT_MS = 180 * DAY_MS;

const ScopesForm = recordForm(
  Type.Object({ form: Type.Literal(1), since: Type.Record(Type.String(), Type.Integer()) }),
);
type Scopes = RecordOf<typeof ScopesForm>;

export interface ExploredScopes {
  /** Begins to remember it where it is new. @returns null where there is no room. @throws StoreUnavailable */
  sinceOf(id: string, nowMs: number): Promise<number | null>;
  /** @returns whether it was due, and is this caller's to explore. @throws StoreUnavailable */
  claim(id: string, nowMs: number): Promise<boolean>;
  /** It came to nothing. @param since as if it had been explored then. @throws StoreUnavailable */
  retry(id: string, since: number): Promise<void>;
}

export function createExploredScopes(documents: Documents): ExploredScopes {
  const change = (step: (since: Scopes['since']) => Scopes['since']) =>
    mergeDocument<Scopes>(documents, {
      ...{ key: KEY, ttlMs: KEPT_MS, decode: ScopesForm.parse, encode: JSON.stringify },
      add(before) {
        const known = before ?? { form: 1, since: {} };
        const since = step(known.since);
        return since === known.since ? known : { ...known, since };
      },
    });
  return {
    async sinceOf(id, nowMs) {
      const all = await change((since) => (Object.hasOwn(since, id) ? since : withScope(since, id, nowMs)));
      return all?.since[id] ?? null;
    },
    async claim(id, nowMs) {
      let isMine = false;
      await change((since) => {
        const known = since[id] ?? nowMs;
        isMine = nowMs - known >= MONTH_MS;
        return isMine ? { ...since, [id]: nowMs } : since;
      });
      return isMine;
    },
    async retry(id, at) {
      await change((since) => (Object.hasOwn(since, id) ? { ...since, [id]: at } : since));
    },
  };
}

function withScope(since: Scopes['since'], id: string, nowMs: number): Scopes['since'] {
  const kept = Object.entries(since).filter(([, at]) => nowMs - at < KEPT_MS);
  return kept.length >= MAX_SCOPES ? since : { ...Object.fromEntries(kept), [id]: nowMs };
}
