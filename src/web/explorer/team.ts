/** The signed-in team, and the advertisers it may see. */

import { useCallback, useMemo, useState } from 'preact/hooks';
import type { AnswerTo } from '../../api/operations/table.js';
import { type Signed, useGet, useSigned } from '../ui/session.js';
import type { Advertiser, Advertisers } from './advertiser-names.js';

export type TeamSession = AnswerTo<'GET /gateway/v1/session'>;

export const useTeam = (): Signed<TeamSession> => useSigned<TeamSession>();

/** Advertisers that the team may see, most recently seen first. */
export const SEEN = '/gateway/v1/advertisers?limit=1000';

/** The advertisers to choose from, also by the names of reports that came since the page was opened. */
export function useAdvertisers() {
  const { value, loading } = useGet<Advertisers>(SEEN);
  const [told, setTold] = useState<ReadonlyMap<string, string>>(new Map());
  const tell = useCallback(
    (id: string, name: string) =>
      setTold((was) => (was.get(id) === name ? was : new Map([...was, [id, name]]))),
    [],
  );
  const advertisers = useMemo(() => {
    const seen = value?.advertisers ?? [];
    const further = [...told.keys()].filter((id) => !seen.some((one) => String(one.id) === id));
    const unseen = further.map((id) => ({ id: Number(id), name: null, lastSeenAt: null }));
    return [...seen, ...unseen].map(
      (one): Advertiser => ({ ...one, name: one.name ?? told.get(String(one.id)) ?? null }),
    );
  }, [value, told]);
  const nameOf = useMemo(() => {
    const names = new Map(advertisers.map(({ id, name }) => [String(id), name]));
    return (id: string) => names.get(id) ?? null;
  }, [advertisers]);
  return { advertisers, nameOf, loading, tell };
}
