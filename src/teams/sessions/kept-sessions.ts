/**
 * Sessions that a process accepts from memory while the store is away; they can only read. Those it opened itself meanwhile, until
 * they are stored; and those it checked shortly before the store went away, as others may have ended elsewhere.
 */
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';

/** Each needs a valid token. */
const MAX_OPENED = 100;
const MAX_CHECKED = 1000;
/** How long before the store's first failure a session must have been checked: a page asks more often. */
const CHECKED_WITHIN_MS = 60_000;

/** @param maxStaleMs how long a session that the store knows is accepted without it */
export function createKeptSessions<Kept>(maxStaleMs: number, clock: Pick<Clock, 'monotonicMs'>) {
  /** With the note to be made before they are stored. */
  const opened = createLastUsed<{ readonly kept: Kept; readonly note: () => Promise<void> }>(MAX_OPENED);
  const checked = createLastUsed<{ readonly kept: Kept; readonly atMs: number }>(MAX_CHECKED);
  let awaySinceMs: number | null = null;
  return {
    opened,
    /** The store answered. @param kept null: there is no such session */
    answered(document: string, kept: Kept | null): void {
      awaySinceMs = null;
      opened.delete(document);
      if (kept === null) checked.delete(document);
      else checked.set(document, { kept, atMs: clock.monotonicMs() });
    },
    /** The store did not answer. @returns null: the session is not known here */
    recall(document: string): Kept | null {
      const nowMs = clock.monotonicMs();
      awaySinceMs ??= nowMs;
      const own = opened.get(document);
      if (own !== undefined) return own.kept;
      const known = checked.get(document);
      if (known === undefined || nowMs - known.atMs > maxStaleMs) return null;
      return awaySinceMs - known.atMs > CHECKED_WITHIN_MS ? null : known.kept;
    },
    /** @returns whether it was opened here, and is not stored yet */
    forget(document: string): boolean {
      checked.delete(document);
      return opened.delete(document);
    },
  };
}
