/** Names of advertisers in fields: from an id to a label, and back. Pure. */
import type { AnswerTo } from '../../api/operations/table.js';
import { sortedBy } from '../ui/sort.js';
import { likeness } from './likeness.js';
import { isId } from './question.js';

export type Advertisers = AnswerTo<'GET /gateway/v1/advertisers'>;
export type Advertiser = Advertisers['advertisers'][number];

/** How an `input` event says that a suggestion was taken; some browsers say nothing. */
export const CHOSEN = 'insertReplacementText';

/** Its name, with the id if another has the same; without a name the id. */
export function labelOf({ id, name }: Advertiser, advertisers: readonly Advertiser[]): string {
  if (name === null) return String(id);
  return advertisers.some((other) => other.name === name && other.id !== id) ? `${name} (${id})` : name;
}

/** @returns the id of a typed name, or of the only name that begins so; any other text is unchanged */
export function idIn(text: string, advertisers: readonly Advertiser[]): string {
  const typed = text.trim();
  const sought = typed.toLowerCase();
  if (sought === '' || isId(sought)) return typed;
  const labels = advertisers.map((one) => ({ id: one.id, label: labelOf(one, advertisers).toLowerCase() }));
  const whole = labels.find(({ label }) => label === sought);
  const [only, ...more] = labels.filter(({ label }) => label.startsWith(sought));
  const found = whole ?? (more.length === 0 ? only : undefined);
  return found === undefined ? typed : String(found.id);
}

/** More would be a list to read. */
const MOST_OFFERS = 6;

/**
 * Advertisers to offer for a text that is no name and no id: those whose names contain all of its words, else those with
 * the nearest names.
 * @returns none if no name is known
 */
export function offersFor(text: string, advertisers: readonly Advertiser[]) {
  const named = advertisers.filter(({ name }) => name !== null);
  const labels = new Map(named.map((one) => [one, labelOf(one, advertisers).toLowerCase()]));
  const labelIn = (one: Advertiser) => labels.get(one) ?? '';
  const words = text.toLowerCase().split(/\s+/);
  const containing = named.filter((one) => words.every((word) => labelIn(one).includes(word)));
  if (containing.length > 0) return { contain: true, offers: containing.slice(0, MOST_OFFERS) };
  const nearest = sortedBy(named, (one) => likeness(text, labelIn(one)), true);
  return { contain: false, offers: nearest.slice(0, MOST_OFFERS) };
}
