/** The teams a file declares, held to the schema of the admin API. */
import Type from 'typebox';
import type { FieldFault } from '../../errors.js';
import { NewTeam } from '../auth/team.js';
import { guardFaults } from '../write-guard/guard-faults.js';
import { addressFaults } from './address-faults.js';

export const MAX_TEAMS = 10_000;
export const TeamList = Type.Array(NewTeam, {
  maxItems: MAX_TEAMS,
  description: 'Teams, as POST takes them one by one.',
});

/** What the schema cannot say. `param` is a path such as `teams.1.id`. */
export function listFaults(teams: readonly NewTeam[]): FieldFault[] {
  const firstAt = new Map<string, number>();
  return teams.flatMap(({ id, ipAllow, writeGuard }, index) => {
    const first = firstAt.get(id);
    if (first === undefined) firstAt.set(id, index);
    return [
      ...(first === undefined
        ? []
        : [{ param: `teams.${index}.id`, message: `must be there once; teams.${first} is ${id}, too` }]),
      ...addressFaults(ipAllow, `teams.${index}.`),
      ...guardFaults(writeGuard, `teams.${index}.`),
    ];
  });
}
