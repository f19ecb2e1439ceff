/** What is in the form of a team, and the body it becomes. Pure. */
import { type GuardDraft, guardDraftOf, guardOf } from './guard.js';
import { linesOf } from './lines.js';
import { LIMITS, type LimitName, type Team } from './team.js';

export interface Draft {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly all: boolean;
  readonly advertisers: readonly number[];
  /** As typed; empty: the usual one. */
  readonly limits: Readonly<Record<LimitName, string>>;
  /** One a line. */
  readonly ipAllow: string;
  readonly defaultFormat: string;
  readonly guard: GuardDraft;
}

/** @param team null for a new one */
export function draftOf(team: Team | null): Draft {
  const limits = LIMITS.map(({ name }) => [name, team === null ? '' : String(team.limits[name])]);
  return {
    id: team?.id ?? '',
    name: team?.name ?? '',
    scopes: team?.scopes ?? ['report:read'],
    all: team?.advertisers === '*',
    advertisers: team === null || team.advertisers === '*' ? [] : team.advertisers,
    limits: Object.fromEntries(limits) as Record<LimitName, string>,
    ipAllow: team?.ipAllow.join('\n') ?? '',
    defaultFormat: team?.defaultFormat ?? 'json',
    guard: guardDraftOf(team?.writeGuard),
  };
}

/** What is typed goes to the gateway as it is, which alone judges it. */
function bodyOf(draft: Draft): Record<string, unknown> {
  const { id, name, scopes, all, advertisers, limits, ipAllow, defaultFormat, guard } = draft;
  const numbers = LIMITS.map((limit) => {
    const typed = limits[limit.name].trim();
    return [limit.name, typed === '' ? limit.usual : Number(typed)];
  });
  return {
    id: id.trim(),
    name: name.trim() === '' ? id.trim() : name.trim(),
    scopes,
    advertisers: all ? '*' : advertisers,
    limits: Object.fromEntries(numbers),
    ipAllow: linesOf(ipAllow),
    defaultFormat,
    ...(guard === 'another' ? {} : { writeGuard: guardOf(guard) }),
  };
}

/** Of a new team: a guard that there is not is left out. */
export function newTeamOf(draft: Draft): Record<string, unknown> {
  const { writeGuard, ...body } = bodyOf(draft);
  return writeGuard === null ? body : { ...body, writeGuard };
}

/** What differs from the team alone: what somebody else changes meanwhile stays as they made it. */
export function changesOf(before: Draft, after: Draft): Record<string, unknown> {
  const [was, is] = [bodyOf(before), bodyOf(after)];
  const changed = Object.entries(is).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(was[name]),
  );
  const body = Object.fromEntries(changed);
  if (body.limits === undefined) return body;
  const limits = Object.entries(is.limits as object).filter(
    ([name, value]) => value !== (was.limits as Record<string, unknown>)[name],
  );
  return { ...body, limits: Object.fromEntries(limits) };
}
