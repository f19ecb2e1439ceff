/**
 * Known columns of each endpoint, in a document shared by all replicas, and known paths of the rows by endpoint, method and split,
 * in this process. Both are bounded: without them an answer may be doubted, and is never wrong.
 */
import Type from 'typebox';
import { recordForm } from '../../lib/record.js';
import type { Documents } from '../../store/port.js';
import { createSharedTallies } from '../../store/shared-tallies.js';
import type { Gateway } from '../gateway.js';
import type { Report } from '../query/canonicalize.js';
import type { Digest } from '../rows/digest.js';
import type { KnownShape } from '../rows/judge-shape.js';
import { isReportFigure } from '../rows/row-names.js';

const MAX_KINDS = 1000;
const MAX_PLACES = 8;
const MAX_ENDPOINTS = 200;
const MAX_COLUMNS = 200;
const MAX_NAME_CHARS = 100;
const KEY = 'endpoint-columns';
const KEPT_MS = 400 * 86_400_000;
/** Duration of the condition about pages. */
const PAGED_MS = 86_400_000;

const SeenForm = recordForm(Type.Array(Type.Tuple([Type.String(), Type.Array(Type.String())])));
type Seen = ReadonlyMap<string, readonly string[]>;

export function createKnownShapes(
  documents: Documents,
  { policy, now, background, logger }: Pick<Gateway, 'policy' | 'now' | 'background' | 'logger'>,
) {
  const places = new Map<string, readonly string[]>();
  const onAway = (error: unknown) =>
    logger.debug({ err: error }, 'failed to share the known columns of endpoints');
  const tallies = createSharedTallies<string, Seen>({
    ...{ documents, everyMs: null, ttlMs: KEPT_MS, none: new Map(), merge: merged, onAway },
    documentOf: (key) => key,
    decode: (text) => {
      const pairs = SeenForm.parse(text);
      return pairs && new Map(pairs);
    },
    encode: (seen) => JSON.stringify([...seen]),
  });
  let pagedAtMs = Number.NEGATIVE_INFINITY;
  let loading: Promise<unknown> | null = null;
  const kindOf = ({ endpoint, method, split }: Report) => [method, endpoint, ...split].join(' ');
  const isPaged = () => now() < pagedAtMs + PAGED_MS;

  function notePage({ endpoint, split }: Report, paging: Digest['paging']): void {
    if (!isPaged())
      logger.warn(
        { endpoint, split, ...paging },
        'a platform report is one page of several: served with the warning pages_left and not cached; request larger pages if the platform has a parameter for that',
      );
    pagedAtMs = now();
  }

  return {
    /** Whether a report was one page of several lately. */
    isPaged,
    /** Reads the shared columns once. Never rejects. */
    load: (): Promise<unknown> => (loading ??= tallies.read(KEY).catch(onAway)),
    /** @param earlier columns of the entry to be replaced */
    of(report: Report, earlier: readonly string[]): KnownShape {
      const named = policy.endpoints.get(report.endpoint)?.knownColumns ?? [];
      const seen = tallies.atHand(KEY).get(report.endpoint) ?? [];
      // Without a figure they may be of a refusal that was mistaken for a report.
      const isUsable = named.length > 0 || holdsFigure(seen) || holdsFigure(earlier);
      const columns = isUsable ? [...named, ...seen, ...earlier] : [];
      return { places: places.get(kindOf(report)) ?? [], columns };
    },
    /** Call for answers without doubt. */
    note(
      report: Report,
      { place, columns, flaws, paging }: Pick<Digest, 'place' | 'columns' | 'flaws' | 'paging'>,
    ): void {
      if (paging !== null) notePage(report, paging);
      if (flaws.length > 0 || columns.length === 0) return;
      const kind = kindOf(report);
      const known = places.get(kind) ?? [];
      if (!known.includes(place) && known.length < MAX_PLACES) {
        if (places.size >= MAX_KINDS) places.clear();
        places.set(kind, [...known, place]);
      }
      const news = new Map([[report.endpoint, columns]]);
      const seen = tallies.atHand(KEY);
      if (!holdsFigure(columns) || merged(seen, news) === seen) return;
      tallies.add(KEY, news);
      background(tallies.flush());
    },
  };
}

/** By list: answers of one kind share theirs. */
const withFigure = new WeakMap<readonly string[], boolean>();

function holdsFigure(columns: readonly string[]): boolean {
  let isHeld = withFigure.get(columns);
  if (isHeld === undefined) {
    isHeld = columns.some(isReportFigure);
    withFigure.set(columns, isHeld);
  }
  return isHeld;
}

/** @returns `one` if there is nothing new */
function merged(one: Seen, other: Seen): Seen {
  let all = one;
  for (const [endpoint, columns] of other) {
    const before = all.get(endpoint) ?? [];
    if (before.length === 0 && all.size >= MAX_ENDPOINTS) continue;
    const fresh = columns.filter((name) => name.length <= MAX_NAME_CHARS && !before.includes(name));
    const after = [...before, ...fresh].slice(0, MAX_COLUMNS);
    if (after.length > before.length) all = new Map(all).set(endpoint, after);
  }
  return all;
}
