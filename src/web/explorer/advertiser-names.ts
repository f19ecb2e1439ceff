/** Names of advertisers in fields: from an id to a label, and back. Pure. */
import type { AnswerTo } from '../../api/operations/table.js';
import { isId } from './question.js';

export type Advertisers = AnswerTo<'GET /gateway/v1/advertisers'>;
export type Advertiser = Advertisers['advertisers'][number];

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
