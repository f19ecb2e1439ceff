/**
 * Figures of each endpoint, which are columns of numbers, in a document shared by all replicas; and paths of the rows by endpoint,
 * method and split, in this process. A figure is known once answers to two questions had it. Without it an answer may be doubted,
 * and is never wrong.
 */
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Documents } from '../../store/port.js';
import { createSharedTallies } from '../../store/shared-tallies.js';
import type { Base } from '../base.js';
import type { Report } from '../query/canonicalize.js';
import type { Period } from '../query/period.js';
import { buildPlatformCall, digest } from '../query/platform-call.js';
import type { Digest } from '../rows/digest.js';
import type { KnownShape } from '../rows/judge-shape.js';
import { holdsText } from '../rows/row-names.js';

const MAX_KINDS = 1000;
const MAX_PLACES = 8;
const MAX_ENDPOINTS = 200;
const MAX_COLUMNS = 200;
const MAX_NAME_CHARS = 100;
const QUESTIONS = 2;
const QUESTION_CHARS = 8;
/** Answers in a row, all of one shape, after which known figures are forgotten. */
const STRANGERS = 10;
const KEY = 'endpoint-figures';
const KEPT_MS = 400 * 86_400_000;
/** Duration of the condition about pages. */
const PAGED_MS = 86_400_000;

const SeenForm = recordForm(
  Type.Array(
    Type.Object({
      endpoint: Type.String(),
      /** How often figures were forgotten: those of an earlier epoch do not count. */
      epoch: Type.Number(),
      /** Each with the questions whose answers had it: two are enough. */
      columns: Type.Array(Type.Tuple([Type.String(), Type.Array(Type.String())])),
    }),
  ),
);
type SeenOf = RecordOf<typeof SeenForm>[number];
type Seen = ReadonlyMap<string, SeenOf>;

export function createKnownShapes(
  documents: Documents,
  { policy, now, background, logger }: Pick<Base, 'policy' | 'now' | 'background' | 'logger'>,
) {
  const places = new Map<string, readonly string[]>();
  /** Refused answers in a row, by endpoint. */
  const strangers = new Map<string, { readonly shape: string; readonly count: number }>();
  const onAway = (error: unknown) =>
    logger.debug({ err: error }, 'failed to share the known figures of endpoints');
  const tallies = createSharedTallies<string, Seen>({
    documents,
    everyMs: null,
    ttlMs: KEPT_MS,
    none: new Map(),
    merge: merged,
    onAway,
    documentOf: (key) => key,
    decode: (text) => {
      const all = SeenForm.parse(text);
      return all && new Map(all.map((seen) => [seen.endpoint, seen]));
    },
    encode: (seen) => JSON.stringify([...seen.values()]),
  });
  const pages = createPages({ now, logger });
  let loading: Promise<unknown> | null = null;
  const kindOf = ({ endpoint, method, split }: Report) => [method, endpoint, ...split].join(' ');

  function notePlace(report: Report, place: string): void {
    const kind = kindOf(report);
    const known = places.get(kind) ?? [];
    if (known.includes(place) || known.length >= MAX_PLACES) return;
    if (places.size >= MAX_KINDS) places.clear();
    places.set(kind, [...known, place]);
  }

  function add(seen: SeenOf): void {
    const all = tallies.atHand(KEY);
    const news = new Map([[seen.endpoint, seen]]);
    if (merged(all, news) === all) return;
    tallies.add(KEY, news);
    background(tallies.flush());
  }

  return {
    /** Whether a report was one page of several lately. */
    isPaged: pages.isPaged,
    /** Reads the shared figures once. Never rejects. */
    load: (): Promise<unknown> => (loading ??= tallies.read(KEY).catch(onAway)),
    of(report: Report): KnownShape {
      const named = policy.endpoints.get(report.endpoint)?.knownColumns ?? [];
      // Ids and names count only where nothing else is named.
      const figures = named.filter((column) => !holdsText(column, column));
      const seen = tallies.atHand(KEY).get(report.endpoint);
      return {
        places: places.get(kindOf(report)) ?? [],
        figures: [...(figures.length > 0 ? figures : named), ...(seen === undefined ? [] : knownOf(seen))],
      };
    },
    /** Call for each answer that may be a report. @param range asked for */
    note(
      report: Report,
      { from, to }: Period,
      { place, columns, newFigures, doubt, flaws, paging }: Digest,
    ): void {
      if (doubt === null) strangers.delete(report.endpoint);
      if (doubt === null && paging !== null) pages.note(report, paging);
      if (doubt === null && flaws.length === 0 && columns.length > 0) notePlace(report, place);
      if (newFigures.length === 0) return;
      const { method, target, body } = buildPlatformCall(report, from, to);
      const question = digest([method, target, body ?? '']).slice(0, QUESTION_CHARS);
      const { endpoint } = report;
      const { epoch } = tallies.atHand(KEY).get(endpoint) ?? { epoch: 0 };
      add({ endpoint, epoch, columns: newFigures.map((name) => [name, [question]]) });
    },
    /** Call for each answer that was refused for its columns. */
    noteStranger({ endpoint }: Report, shape: string): void {
      const seen = tallies.atHand(KEY).get(endpoint);
      if (seen === undefined || knownOf(seen).length === 0) return;
      const before = strangers.get(endpoint);
      const count = before?.shape === shape ? before.count + 1 : 1;
      strangers.set(endpoint, { shape, count });
      if (count < STRANGERS) return;
      strangers.delete(endpoint);
      add({ endpoint, epoch: seen.epoch + 1, columns: [] });
      logger.warn(
        { endpoint, figures: knownOf(seen).slice(0, 5) },
        'ten answers in a row had none of the known figures of an endpoint, and all had the same columns: forgot the figures',
      );
    },
  };
}

/** Whether reports come as one page of several. */
function createPages({ now, logger }: Pick<Base, 'now' | 'logger'>) {
  let pagedAtMs = Number.NEGATIVE_INFINITY;
  const isPaged = () => now() < pagedAtMs + PAGED_MS;
  return {
    isPaged,
    note({ endpoint, split }: Report, paging: Digest['paging']): void {
      if (!isPaged())
        logger.warn(
          { endpoint, split, ...paging },
          'a platform report is one page of several: served with the warning pages_left and not cached; request larger pages if the platform has a parameter for that',
        );
      pagedAtMs = now();
    },
  };
}

/** By identity: most answers see no change. */
const figuresOf = new WeakMap<SeenOf, readonly string[]>();

function knownOf(seen: SeenOf): readonly string[] {
  const known = figuresOf.get(seen);
  if (known !== undefined) return known;
  const made = seen.columns
    .filter(([, questions]) => questions.length >= QUESTIONS)
    .map(([column]) => column);
  figuresOf.set(seen, made);
  return made;
}

/** @returns `one` if there is nothing new */
function merged(one: Seen, other: Seen): Seen {
  let all = one;
  for (const [endpoint, seen] of other) {
    const before = all.get(endpoint);
    if (before === undefined && all.size >= MAX_ENDPOINTS) continue;
    const after = before === undefined ? mergedOf({ ...seen, columns: [] }, seen) : mergedOf(before, seen);
    if (after !== before) all = new Map(all).set(endpoint, after);
  }
  return all;
}

function mergedOf(one: SeenOf, other: SeenOf): SeenOf {
  if (one.epoch !== other.epoch) return one.epoch > other.epoch ? one : other;
  const columns = new Map(one.columns);
  let isNew = false;
  for (const [name, questions] of other.columns) {
    const before = columns.get(name) ?? [];
    const after = [...new Set([...before, ...questions])].slice(0, QUESTIONS);
    if (after.length === before.length || name.length > MAX_NAME_CHARS) continue;
    if (before.length === 0 && columns.size >= MAX_COLUMNS) continue;
    columns.set(name, after);
    isNew = true;
  }
  return isNew ? { ...one, columns: [...columns] } : one;
}
