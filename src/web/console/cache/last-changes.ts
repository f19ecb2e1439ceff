/** The last changes of known days as points: which day, when it was seen, and how large the change was. Pure. */
import { whatHappened } from '../../../api/operations/change-words.js';
import type { AnswerTo } from '../../../api/operations/table.js';

export type LastChanges = AnswerTo<'GET /admin/v1/changes'>;
type Message = LastChanges['data'][number];

export interface ChangePoint {
  readonly key: string;
  readonly date: string;
  /** ISO. */
  readonly seenAt: string;
  /** Null: the message names none. */
  readonly advertiser: string | null;
  readonly report: string;
  readonly why: string;
  /** The measure that changed most, relative to its larger value; null: no sums are known. */
  readonly most: Readonly<{ name: string; before: number; now: number; share: number }> | null;
}

export function pointOf({ key, value = {}, old_value: old, headers }: Message): ChangePoint {
  const [series = '', date = ''] = key.split(' ');
  const { advertiserId = null, endpoint, split = [] } = value;
  return {
    key: `${key} ${headers.timestamp}`,
    date,
    seenAt: headers.timestamp,
    advertiser: advertiserId === null ? null : String(advertiserId),
    report: endpoint === undefined ? `series ${series}` : `${endpoint}, by ${split.join(', ')}`,
    why: whatHappened(headers),
    most: largest(old?.totals ?? {}, headers.operation === 'delete' ? {} : value.totals),
  };
}

type Totals = Readonly<Record<string, string>>;

/** @param now undefined: unknown; a sum that it lacks is 0 */
function largest(before: Totals, now: Totals | undefined): ChangePoint['most'] {
  let found: ChangePoint['most'] = null;
  if (now === undefined) return found;
  for (const [name, text] of Object.entries(before)) {
    const [old, next] = [Number(text), Number(now[name] ?? 0)];
    const scale = Math.max(Math.abs(old), Math.abs(next));
    const share = scale === 0 ? 0 : Math.abs(next - old) / scale;
    if (found === null || share > found.share) found = { name, before: old, now: next, share };
  }
  return found;
}

export interface Scale {
  /** 0 to 1. */
  readonly at: (value: number) => number;
  readonly marks: readonly number[];
}

/** Marks of a scale lie evenly, with some room at both ends. @param step values of marks are multiples of it */
export function scaleOf(values: readonly number[], step: number, most: number): Scale {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = Math.max(step, (high - low) * 0.08);
  const [from, to] = [low - room, high + room];
  const between = Math.max(1, Math.ceil((to - from) / step / most)) * step;
  const first = Math.ceil(from / step) * step;
  const marks = Array.from({ length: most + 1 }, (_, index) => first + index * between);
  return { at: (value) => (value - from) / (to - from), marks: marks.filter((mark) => mark <= to) };
}

/** The advertisers with most changes, and the rest as one group, without name. */
export function groupsOf(points: readonly ChangePoint[], most: number) {
  const counts = new Map<string | null, number>();
  for (const { advertiser } of points) counts.set(advertiser, (counts.get(advertiser) ?? 0) + 1);
  const named = [...counts].flatMap(([id, number]) => (id === null ? [] : [{ id, number }]));
  const shown = named.sort((a, b) => b.number - a.number).slice(0, most);
  const rest = points.length - shown.reduce((sum, { number }) => sum + number, 0);
  return rest === 0 ? shown : [...shown, { id: null, number: rest }];
}
