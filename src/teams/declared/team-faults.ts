/** Faults of teams beyond their schema. `param` is a place such as `teams.1.id`. Pure. */
import Type from 'typebox';
import type { FieldFault } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { NewTeam } from '../auth/team.js';
import { isAddressRange } from '../policy/authorize.js';
import { guardFaults } from '../write-guard/rule.js';

export const TeamList = Type.Array(NewTeam, {
  maxItems: 10_000,
  description: 'Teams, each as in POST /admin/v1/teams.',
});

export function listFaults(teams: readonly NewTeam[]): FieldFault[] {
  const firstAt = new Map<string, number>();
  return teams.flatMap(({ id, ipAllow, writeGuard }, index) => {
    const place = `teams.${index}.`;
    const faults = [...addressFaults(ipAllow, place), ...guardFaults(writeGuard, place)];
    const first = firstAt.get(id);
    if (first === undefined) firstAt.set(id, index);
    else faults.unshift({ param: `${place}id`, message: `must be unique; teams.${first} is also ${id}` });
    return faults;
  });
}

/** @param place path of the team in the body or file */
export function addressFaults(ipAllow: readonly string[] = [], place = ''): FieldFault[] {
  const allowed = 'an IPv4 or IPv6 address, or a range such as 10.0.0.0/8';
  return ipAllow.flatMap((range, index) =>
    isAddressRange(range) ? [] : [mustBe(`${place}ipAllow.${index}`, allowed)],
  );
}
