/** The signed-in team, and the advertisers it may see. */

import { useMemo } from 'preact/hooks';
import type { AnswerTo } from '../../api/operations/table.js';
import { type Signed, useGet, useSigned } from '../ui/session.js';

type TeamSession = AnswerTo<'GET /gateway/v1/session'>;

export type Advertisers = AnswerTo<'GET /gateway/v1/advertisers'>;
export type Advertiser = Advertisers['advertisers'][number];

export const useTeam = (): Signed<TeamSession> => useSigned<TeamSession>();

/** Advertisers that the team may see, most recently seen first. */
export const SEEN = '/gateway/v1/advertisers?limit=1000';

/** By id: of advertisers that the gateway has seen. */
export type AdvertiserNames = ReadonlyMap<string, string>;

export function useNames(): AdvertiserNames {
  const seen = useGet<Advertisers>(SEEN).value;
  return useMemo(() => {
    const named = seen?.advertisers.filter(({ name }) => name !== null) ?? [];
    return new Map(named.map(({ id, name }) => [String(id), name ?? '']));
  }, [seen]);
}
