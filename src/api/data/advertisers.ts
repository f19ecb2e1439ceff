/** The advertisers of a team, with their names: `GET /gateway/v1/advertisers`. */

import type { KnownAdvertisers } from '../../reports/learn/advertisers.js';
import type { Reports } from '../../reports/reports.js';
import type { Team } from '../../teams/auth/team.js';
import { readQuery } from '../http/read-query.js';
import { getOwnAdvertisers } from '../operations/own.js';
import { type AskCall, readParameters, unlessAway } from './ask.js';

export interface ShownAdvertiser {
  readonly id: number;
  /** Null: in no platform answer yet. */
  readonly name: string | null;
  /** Null: granted, but in no platform answer yet. */
  readonly lastSeenAt: string | null;
}

/** The maximum that a team may be granted. */
const MAX_LIMIT = 10_000;

/** @throws GatewayError as for a report; 400 `invalid_query`; `not_ready` */
export async function teamAdvertisers(g: Reports, call: AskCall) {
  const { team } = await g.admit(call);
  const given = Object.fromEntries(readParameters(call.query, ['search', 'limit']));
  const { search, limit = MAX_LIMIT } = readQuery(getOwnAdvertisers.query, given);
  const shown = await findAdvertisers(g, search, limit, team.advertisers);
  call.trace.mark('answer');
  return shown;
}

/** On both planes. @throws GatewayError `not_ready` */
export async function findAdvertisers(
  { advertisers }: Reports,
  search = '',
  limit: number,
  granted: Team['advertisers'],
): Promise<{ readonly advertisers: readonly ShownAdvertiser[] }> {
  const all = visibleOf(await unlessAway(advertisers.read()), granted);
  return { advertisers: all.filter(isFoundBy(search)).sort(byTimeAndId).slice(0, limit) };
}

/** Keeps ids and names of other teams from a limited team: it gets only the advertisers of its own list. */
function visibleOf(book: KnownAdvertisers, granted: Team['advertisers']): ShownAdvertiser[] {
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

/** By the start of the id, or any part of the name, ignoring case and accents. */
function isFoundBy(search: string): (one: ShownAdvertiser) => boolean {
  const sought = folded(search.trim());
  return ({ id, name }) => String(id).startsWith(sought) || (name !== null && folded(name).includes(sought));
}

function folded(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/** Most recently seen first, never seen last. */
function byTimeAndId(left: ShownAdvertiser, right: ShownAdvertiser): number {
  const [a, b] = [left.lastSeenAt ?? '', right.lastSeenAt ?? ''];
  return a === b ? left.id - right.id : a < b ? 1 : -1;
}
