/** Advertisers that the gateway has seen. */
import { useMemo } from 'preact/hooks';
import { useGet } from '../../ui/session.js';
import type { Advertiser } from './team.js';

export type AdvertiserNames = ReturnType<typeof useAdvertisers>;

/** All in one call, so that searching needs no further calls. `all`: most recently seen first. */
export function useAdvertisers() {
  const { value } = useGet<{ advertisers: Advertiser[] }>('/admin/v1/advertisers?limit=10000');
  return useMemo(() => {
    const all = value?.advertisers ?? [];
    const names = new Map(all.map(({ id, name }) => [id, name]));
    return { all, nameOf: (id: number) => names.get(id) ?? null };
  }, [value]);
}
