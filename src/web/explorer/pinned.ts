/** A pin as a report of the page, and in words. Pure. */
import type { AnswerTo } from '../../api/operations/table.js';
import { moment } from '../ui/format.js';
import { titleOf } from './columns.js';
import { parametersOf, type Question, readQuestion, reportHref } from './question.js';

export type Pins = AnswerTo<'GET /gateway/v1/pins'>;
/** The call of all pins of the team. */
export const PINS = '/gateway/v1/pins?limit=1000';

/** The call of one pin. */
export const pinPath = (id: string): string => `/gateway/v1/pins/${encodeURIComponent(id)}`;

export type Pin = Pins['data'][number];

/** @returns null if the form of the page cannot ask for it: it has other parameters, or no advertiser */
export function questionOf({ endpoint, query }: Pick<Pin, 'endpoint' | 'query'>): Question | null {
  const asked = new URLSearchParams(query);
  const question = readQuestion(new URLSearchParams([['endpoint', endpoint], ...asked]));
  if (question === null || question.others.length > 0) return null;
  const known = { ...question, asOf: asked.get('_asOf') ?? '' };
  const isWhole = (all: Iterable<readonly string[]>) => JSON.stringify([...all].map(String).sort());
  return isWhole(parametersOf(known)) === isWhole(asked) ? known : null;
}

/**
 * The pages of what the platform changed of these rows since the time of their numbers, and of the numbers of now.
 * @returns null for what the page cannot show
 */
export function linksOf(id: string, pin: Omit<Pin, 'id'>) {
  const question = questionOf(pin);
  return {
    live: question && reportHref({ ...question, asOf: '' }),
    changed:
      question && pin.revision !== null
        ? reportHref({ ...question, asOf: '' }, { panel: 'diff', between: `${id},latest` })
        : null,
  };
}

/** The earlier time of its numbers, `Nov 20, 2026 14:00 UTC`; null: they are those of when it was pinned. */
export function thenOf({ query, knownAt }: Pick<Pin, 'query' | 'knownAt'>): string | null {
  return new URLSearchParams(query).has('_asOf') ? moment(knownAt) : null;
}

/** `by date and campaign` */
export function splitWords(split: readonly string[]): string {
  const names = split.map((one) => titleOf(one).toLowerCase());
  if (names.length === 0) return 'not split';
  return `by ${[names.slice(0, -1).join(', '), ...names.slice(-1)].filter((part) => part !== '').join(' and ')}`;
}
