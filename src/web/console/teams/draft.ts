/** The values of the form of a team, and its body. Pure. */
import { bodyOf, type Values, valuesOf } from '../../ui/form-values.js';
import type { FieldsOf } from '../fields-of.js';
import { type GuardDraft, guardDraftOf, guardOf } from './guard.js';
import { FORMATS, LIMITS, type Team } from './team.js';

type TeamFields = FieldsOf<'POST /admin/v1/teams'>;

export const IDENTITY: TeamFields = [
  { name: 'name', label: 'Name', help: 'A name for people. Default: the id.' },
  { name: 'id', label: 'Id', help: 'Lower-case letters, digits and hyphens. It cannot be changed.' },
  {
    name: 'defaultFormat',
    label: 'Default format',
    options: FORMATS,
    help: 'Format of reports if a request names none.',
  },
];

export const LIMIT_FIELDS: TeamFields = LIMITS.map(({ name, title, unit, usual }) => ({
  name: `limits.${name}` as const,
  label: `${title} (${unit})`,
  help: `Default: ${usual}.`,
  is: 'number' as const,
  usual,
  placeholder: String(usual),
}));

export const ADDRESSES: TeamFields = [
  {
    name: 'ipAllow',
    label: 'Addresses',
    is: 'lines',
    usual: [],
    help: 'One per line, such as 10.0.0.0/8 or 2001:db8::1. Default: any address.',
  },
];

const TYPED = [...IDENTITY, ...LIMIT_FIELDS, ...ADDRESSES];

/** With the typed values by field name. */
export interface Draft extends Values {
  readonly scopes: readonly string[];
  readonly all: boolean;
  readonly advertisers: readonly number[];
  readonly guard: GuardDraft;
}

/** @param team null for a new one */
export function draftOf(team: Team | null): Draft {
  return {
    ...valuesOf(TYPED, team ?? { defaultFormat: 'json' }),
    scopes: team?.scopes ?? ['report:read'],
    all: team?.advertisers === '*',
    advertisers: team === null || team.advertisers === '*' ? [] : team.advertisers,
    guard: guardDraftOf(team?.writeGuard),
  };
}

function teamOf(draft: Draft): Record<string, unknown> {
  const { scopes, all, advertisers, guard } = draft;
  const typed = { id: '', ...bodyOf(TYPED, draft) };
  return {
    name: typed.id,
    ...typed,
    scopes,
    advertisers: all ? '*' : advertisers,
    ...(guard === 'another' ? {} : { writeGuard: guardOf(guard) }),
  };
}

/** The body of a new team, which omits a null guard. */
export function newTeamOf(draft: Draft): Record<string, unknown> {
  const { writeGuard, ...body } = teamOf(draft);
  return writeGuard === null ? body : { ...body, writeGuard };
}

/** Only changed members, so that concurrent changes by others stay. */
export function changesOf(before: Draft, after: Draft): Record<string, unknown> {
  const { limits, ...body } = changed(teamOf(before), teamOf(after)) as { limits?: object };
  return limits === undefined ? body : { ...body, limits: changed(teamOf(before).limits, limits) };
}

function changed(was: unknown, is: object): Record<string, unknown> {
  const same = ([name, value]: [string, unknown]) =>
    JSON.stringify(value) === JSON.stringify((was as Values)[name]);
  return Object.fromEntries(Object.entries(is).filter((member) => !same(member)));
}
