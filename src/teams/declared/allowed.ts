/** What a place in a file of teams may hold, in words. */
import type { TSchema } from 'typebox';
import { FORMATS, NewTeam, SCOPES, TeamLimits } from '../auth/team.js';
import { allowedInGuard } from './allowed-in-guard.js';

const MEMBERS: Readonly<Record<string, string>> = {
  id: 'lower-case letters, digits and hyphens, at most 40',
  name: 'text of 1 to 200 characters',
  scopes: `a list of ${SCOPES.join(', ')}, each once`,
  advertisers: 'a list of advertiser ids (whole numbers from 1), each once, or "*" for all',
  limits: `a mapping of ${Object.keys(TeamLimits.properties).join(', ')}`,
  ipAllow: 'a list of IPv4 or IPv6 addresses, or ranges such as 10.0.0.0/8',
  defaultFormat: `one of ${FORMATS.join(', ')}`,
  disabled: 'true or false',
  writeGuard: 'a mapping of at most 100 routes (POST /api/v1/campaign/create) to their rules',
};

const SCOPE = `one of ${SCOPES.join(', ')}`;
const ADVERTISER = `a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;

/** @param path e.g. `['teams', '0', 'limits', 'maxRangeDays']` */
export function allowedAt(path: readonly string[]): string {
  const [list, index, member, part, ...inner] = path;
  if (list === undefined) return 'a mapping with the member teams';
  if (list !== 'teams') return 'no member of this name; there is teams alone';
  if (index === undefined) return 'a list of teams';
  if (member === undefined) return `a mapping of ${Object.keys(NewTeam.properties).join(', ')}`;
  if (/^(api)?keys?$/i.test(member)) {
    return 'no key, ever; issue one by: dsp-gateway keys issue <team>';
  }
  const words = Object.hasOwn(MEMBERS, member) ? MEMBERS[member] : undefined;
  if (words === undefined)
    return `no member of this name; there are ${Object.keys(NewTeam.properties).join(', ')}`;
  if (part === undefined) return words;
  if (member === 'scopes') return SCOPE;
  if (member === 'advertisers') return ADVERTISER;
  if (member === 'limits') return allowedLimit(part);
  if (member === 'writeGuard') return allowedInGuard(inner);
  return words;
}

interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
}

function allowedLimit(name: string): string {
  const limits = TeamLimits.properties as Readonly<Record<string, TSchema & Bounds>>;
  const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
  return limit === undefined
    ? `no limit of this name; there are ${Object.keys(limits).join(', ')}`
    : `a whole number from ${limit.minimum} to ${limit.maximum}`;
}
