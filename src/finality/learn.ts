/**
 * Learns behind answers when numbers change no more. What is seen is gathered in memory and added now and then to what all
 * replicas have seen, one document a scope; a window that comes out of it is shared by the registry.
 */
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { mergeDocument } from '../store/merge-document.js';
import type { Documents } from '../store/port.js';
import {
  decodeEvidence,
  type Evidence,
  encodeEvidence,
  evidenceOf,
  forget,
  includes,
  merge,
  NO_EVIDENCE,
  type Observation,
} from './evidence.js';
import type { LearnedRules } from './rules.js';
import { type Scope, scopeId } from './scope.js';
import { type Window, type WindowRules, windowOf } from './window.js';
import type { Windows } from './windows.js';

/** lost: of scopes that there was no room for. */
export type FinalityEvent = 'changed' | 'widened' | 'narrowed' | 'lost';

export interface Learning {
  /** Costs no call and no wait. */
  note(scope: Scope, observations: readonly Observation[]): void;
  /** Adds what was seen so far to what all have. Never rejects; what the store does not take is tried again. */
  flush(): Promise<void>;
  /** What all have seen, and this process. @throws StoreUnavailable */
  read(scope: Scope): Promise<Evidence>;
  /** Of which something is not written down yet. */
  unwritten(): Scope[];
}

export interface LearningOptions {
  readonly documents: Documents;
  readonly windows: Windows;
  readonly rules: Pick<LearnedRules, 'widen' | 'shared'>;
  readonly window: WindowRules;
  readonly now: () => number;
  readonly logger: Logger;
  readonly onEvent: (event: FinalityEvent, count: number) => void;
}

const DAY_MS = 86_400_000;
const KEPT_MS = 500 * DAY_MS;
/** Scopes of which something waits to be written, and those of which this process remembers what is written. */
const MAX_WAITING = 2000;
const REMEMBERED = 500;

interface Waiting {
  readonly scope: Scope;
  readonly evidence: Evidence;
}

export function createLearning(options: LearningOptions): Learning {
  const { rules, onEvent, logger, now } = options;
  const share = createShare(options);
  let waiting = new Map<string, Waiting>();
  let underWay = new Map<string, Waiting>();
  const known = new LRUCache<string, Evidence>({ max: REMEMBERED });
  let flushing: Promise<void> | null = null;
  let isAway = false;

  const windowNow = (evidence: Evidence) => windowOf(evidence, options.window, Math.floor(now() / DAY_MS));

  function wait(id: string, one: Waiting): void {
    const before = waiting.get(id)?.evidence ?? NO_EVIDENCE;
    waiting.set(id, { scope: one.scope, evidence: merge(before, one.evidence) });
  }

  async function writeAll(): Promise<void> {
    underWay = waiting;
    waiting = new Map();
    for (const [id, one] of underWay) {
      try {
        const all = await addTo(options.documents, id, one.evidence, Math.floor(now() / DAY_MS));
        if (all === null) continue;
        known.set(id, all);
        await share(one.scope, all.since, windowNow(all));
        isAway = false;
      } catch (error) {
        wait(id, one);
        if (!isAway) logger.warn({ err: error }, 'what was learned of finality waits for the store');
        isAway = true;
      }
    }
    underWay = new Map();
  }

  return {
    note(scope, observations) {
      const evidence = observations.reduce((sum, one) => merge(sum, evidenceOf(one)), NO_EVIDENCE);
      const id = scopeId(scope);
      if (evidence.dates.size === 0 || includes(known.get(id) ?? NO_EVIDENCE, evidence)) return;
      onEvent('changed', observations.filter(({ changed, ageThen }) => changed && ageThen > 0).length);
      // At once: a late change makes days provisional that were final a moment ago.
      rules.widen(scope, windowNow(evidence).days);
      if (waiting.size >= MAX_WAITING && !waiting.has(id)) return onEvent('lost', 1);
      wait(id, { scope, evidence });
    },
    async flush() {
      // What is under way may have begun before the last look.
      await flushing;
      if (waiting.size === 0) return;
      flushing ??= writeAll().finally(() => {
        flushing = null;
      });
      await flushing;
    },
    async read(scope) {
      const id = scopeId(scope);
      const text = await options.documents.get(documentOf(id));
      const all = text === null ? null : decodeEvidence(text);
      return [underWay, waiting].reduce(
        (sum, own) => merge(sum, own.get(id)?.evidence ?? NO_EVIDENCE),
        all ?? NO_EVIDENCE,
      );
    },
    unwritten: () => [...underWay.values(), ...waiting.values()].map(({ scope }) => scope),
  };
}

/** Shares the window that comes out of what was seen, where it is another. */
function createShare({ windows, rules, window: { restatementDays }, onEvent, logger }: LearningOptions) {
  return async function share(scope: Scope, since: number, window: Window): Promise<void> {
    const before = windows.get(scope);
    if (before === null || !isSame(before, window)) await windows.put(scope, since, window);
    const after = windows.get(scope);
    if (after === null) return onEvent('lost', 1);
    rules.shared(scope, after.days);
    const was = before?.days ?? restatementDays;
    if (was === after.days) return;
    onEvent(after.days > was ? 'widened' : 'narrowed', 1);
    const { endpoint, split, account } = scope;
    logger.info(
      { endpoint, split, advertiserId: account, before: was, after: after.days },
      'days were seen to change for a longer, or a shorter, time than before; finality.mode says whether freshness goes by it',
    );
  };
}

const documentOf = (id: string) => `finality:${id}`;

/** @returns all that is known now; null where a later release has written it. @throws StoreUnavailable */
const addTo = (documents: Documents, id: string, evidence: Evidence, today: number) =>
  mergeDocument(documents, {
    ...{ key: documentOf(id), ttlMs: KEPT_MS, decode: decodeEvidence, encode: encodeEvidence },
    add: (before) => forget(merge(before ?? NO_EVIDENCE, evidence), today),
  });

function isSame(one: Window, other: Window): boolean {
  return (
    one.days === other.days &&
    one.settledFrom === other.settledFrom &&
    one.lateOn === other.lateOn &&
    one.calm === other.calm
  );
}
