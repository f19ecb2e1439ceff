/** The signed-in team, and the advertisers it may see. */

import { useCallback, useMemo, useState } from 'preact/hooks';
import type { AnswerTo } from '../../api/operations/table.js';
import { type Signed, useGet, useSigned } from '../ui/session.js';
import { isId } from './question.js';

type TeamSession = AnswerTo<'GET /gateway/v1/session'>;

export type Advertisers = AnswerTo<'GET /gateway/v1/advertisers'>;
export type Advertiser = Advertisers['advertisers'][number];

export const useTeam = (): Signed<TeamSession> => useSigned<TeamSession>();

/** Advertisers that the team may see, most recently seen first. */
export const SEEN = '/gateway/v1/advertisers?limit=1000';

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
