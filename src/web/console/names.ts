/** Names beside ids, of teams, keys, people and advertisers. */
import { useMemo } from 'preact/hooks';
import type { NameOf } from '../../api/operations/audit-sentence.js';
import { useGet } from '../ui/session.js';
import { useAdvertisers } from './teams/advertisers.js';
import type { Team, TeamKey } from './teams/team.js';

/** @returns the name of an id, with the id; the id alone if there is no other name */
export function useNames(): NameOf {
  const teams = useGet<{ teams: readonly Team[] }>('/admin/v1/teams').value?.teams;
  const keys = useGet<{ keys: readonly TeamKey[] }>('/admin/v1/keys').value?.keys;
  const { nameOf: advertiser } = useAdvertisers();
  return useMemo(() => {
    const known = {
      team: new Map(teams?.map(({ id, name }) => [id, name])),
      key: new Map(keys?.map(({ id, label }) => [id, label])),
      person: new Map(keys?.map(({ maker = '', makerName }) => [maker, makerName])),
      advertiser: { get: (id: string) => advertiser(Number(id)) },
    };
    return (kind, id) => {
      const name = known[kind].get(id) || id;
      return name === id ? id : `${name} (${id})`;
    };
  }, [teams, keys, advertiser]);
}
