/** Advertisers that answers have told of: all of them for operators, for a team those that it may see. */

import type { Book } from '../advertisers/book.js';
import type { Advertisers } from '../advertisers/create-advertisers.js';
import type { Team } from '../auth/team.js';
import { type FieldFault, invalidQuery } from '../errors.js';
import type { Admit } from './admit.js';
import { type AskCall, readParameters, unlessAway } from './ask.js';

export interface ShownAdvertiser {
  readonly id: number;
  /** Null: no answer has told it. */
  readonly name: string | null;
  /** Null: granted, and in no answer yet. */
  readonly lastSeenAt: string | null;
}

export interface AdvertisersAsked {
  readonly search?: string;
  readonly limit?: string;
}

export interface ShowAdvertisers {
  /** @throws GatewayError 400 `invalid_query`; `not_ready` */
  all(asked: AdvertisersAsked): Promise<ShownAdvertisers>;
  /** @throws GatewayError as for a report; 400 `invalid_query`; `not_ready` */
  ofTeam(call: AskCall): Promise<ShownAdvertisers>;
}

export interface ShownAdvertisers {
  readonly advertisers: readonly ShownAdvertiser[];
}

/** As many as a team may be granted. */
const MAX_LIMIT = 10_000;
const USUAL_LIMIT = '100';
const LONGEST_SEARCH = 200;

export function createShowAdvertisers({
  admit,
  advertisers,
}: {
  readonly admit: Admit;
  readonly advertisers: Pick<Advertisers, 'read'>;
}): ShowAdvertisers {
  const show = async (asked: AdvertisersAsked, granted: Team['advertisers'], usualLimit: string) => {
    const { search = '', limit = usualLimit } = asked;
    const faults = faultsOf(search, limit);
    if (faults.length > 0) throw invalidQuery(...faults);
    const all = visibleOf(await unlessAway(advertisers.read()), granted);
    return { advertisers: all.filter(isFoundBy(search)).sort(byTimeAndId).slice(0, Number(limit)) };
  };
  return {
    all: (asked) => show(asked, '*', USUAL_LIMIT),
    async ofTeam(call) {
      const { team } = await admit(call);
      const given = Object.fromEntries(readParameters(call.query, ['search', 'limit']));
      const shown = await show(given, team.advertisers, String(MAX_LIMIT));
      call.trace.mark('answer');
      return shown;
    },
  };
}

/** This is where a limited team is kept from ids and names of others: it is answered by its own list alone. */
function visibleOf(book: Book, granted: Team['advertisers']): ShownAdvertiser[] {
  const ids = granted === '*' ? [...book.keys()] : granted.map(String);
  return ids.map((id) => {
    const known = book.get(id);
    return {
      id: Number(id),
      name: known?.name?.text ?? null,
      lastSeenAt: known === undefined ? null : new Date(known.seen.at).toISOString(),
    };
  });
}

/** By the beginning of the id, or any part of the name, however it is written. */
function isFoundBy(search: string): (one: ShownAdvertiser) => boolean {
  const sought = folded(search.trim());
  return ({ id, name }) => String(id).startsWith(sought) || (name !== null && folded(name).includes(sought));
}

function folded(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/** Those seen last come first, and those never seen last. */
function byTimeAndId(left: ShownAdvertiser, right: ShownAdvertiser): number {
  const [a, b] = [left.lastSeenAt ?? '', right.lastSeenAt ?? ''];
  return a === b ? left.id - right.id : a < b ? 1 : -1;
}

function faultsOf(search: unknown, limit: unknown): FieldFault[] {
  const faults: FieldFault[] = [];
  if (typeof search !== 'string' || search.length > LONGEST_SEARCH)
    faults.push({
      param: 'search',
      message: `must be the beginning of an id or a part of a name, at most ${LONGEST_SEARCH} characters, once`,
    });
  if (typeof limit !== 'string' || !/^[1-9][0-9]{0,4}$/.test(limit) || Number(limit) > MAX_LIMIT)
    faults.push({ param: 'limit', message: `must be a whole number from 1 to ${MAX_LIMIT}` });
  return faults;
}
