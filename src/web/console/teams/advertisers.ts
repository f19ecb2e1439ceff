/** Advertisers by name, as far as the gateway has seen them. */
import { useMemo } from 'preact/hooks';
import { useLoad } from '../../ui/load.js';
import { useAdmin } from '../admin.js';
import type { Advertiser } from './team.js';

export interface AdvertiserNames {
  /** Those seen last come first. */
  readonly all: readonly Advertiser[];
  nameOf(id: number): string | null;
}

/** All that the gateway remembers, in one call: searching is done here, and nobody waits while typing. */
export function useAdvertisers(): AdvertiserNames {
  const { api } = useAdmin();
  const { value } = useLoad('advertisers', (signal) =>
    api.get<{ advertisers: Advertiser[] }>('/admin/v1/advertisers?limit=10000', signal),
  );
  return useMemo(() => {
    const all = value?.advertisers ?? [];
    const names = new Map(all.map(({ id, name }) => [id, name]));
    return { all, nameOf: (id) => names.get(id) ?? null };
  }, [value]);
}
