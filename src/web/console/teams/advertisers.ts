/** Advertisers by name, as far as the gateway has seen them. */
import { useMemo } from 'preact/hooks';
import { useGet } from '../../ui/session.js';
import type { Advertiser } from './team.js';

export interface AdvertiserNames {
  /** Those seen last come first. */
  readonly all: readonly Advertiser[];
  nameOf(id: number): string | null;
}

/** All that the gateway remembers, in one call: searching is done here, and nobody waits while typing. */
export function useAdvertisers(): AdvertiserNames {
  const { value } = useGet<{ advertisers: Advertiser[] }>('/admin/v1/advertisers?limit=10000');
  return useMemo(() => {
    const all = value?.advertisers ?? [];
    const names = new Map(all.map(({ id, name }) => [id, name]));
    return { all, nameOf: (id) => names.get(id) ?? null };
  }, [value]);
}
