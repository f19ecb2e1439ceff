/** Who may what, by the claims of a sign-in and the list `auth.oidc.people`. Pure. */
import type { AdminRole, PersonRule } from '../../config/sign-in-settings.js';

/** A claim as kept: other kinds, such as objects, match no rule. */
type Value = string | number | boolean;
export type Claims = Readonly<Record<string, Value | readonly Value[]>>;

export interface Grant {
  /** Role in the console; null: none. */
  readonly admin: AdminRole | null;
  /** Teams as which the person may act. */
  readonly teams: readonly string[] | '*';
  /** Whether the person may make keys of these teams. */
  readonly keys: boolean;
}

/** Each right is that of the first matching rule that names it. */
export function grantFor(claims: Claims, people: readonly PersonRule[]): Grant {
  const fitting = people.filter(({ when }) =>
    Object.entries(when).every(([name, value]) =>
      holds(Object.hasOwn(claims, name) ? claims[name] : undefined, value),
    ),
  );
  const first = <Name extends 'admin' | 'teams' | 'keys'>(name: Name) =>
    fitting.find((rule) => rule[name] !== undefined)?.[name];
  return { admin: first('admin') ?? null, teams: first('teams') ?? [], keys: first('keys') ?? false };
}

/** Of one type and letter by letter: the number 1 is not the text 1. */
function holds(claim: Claims[string] | undefined, value: Value): boolean {
  return Array.isArray(claim) ? claim.includes(value) : claim === value;
}

export const givesNothing = ({ admin, teams }: Grant): boolean => admin === null && teams.length === 0;

export const isOfTeam = ({ teams }: Grant, id: string): boolean => teams === '*' || teams.includes(id);

/**
 * The claims that the list names, as they are judged later.
 * @param onlyNamed of lists, only the values that the list names, where all of them are too many to keep
 */
export function keptClaims(
  claims: Readonly<Record<string, unknown>>,
  people: readonly PersonRule[],
  onlyNamed = false,
): Claims {
  const named = new Map<string, Set<Value>>();
  for (const [name, value] of people.flatMap(({ when }) => Object.entries(when)))
    named.set(name, (named.get(name) ?? new Set()).add(value));
  const kept = [...named].flatMap(([name, wanted]): [string, Claims[string]][] => {
    const claim = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (isValue(claim)) return [[name, claim]];
    if (!Array.isArray(claim)) return [];
    return [[name, claim.filter((one) => isValue(one) && (!onlyNamed || wanted.has(one)))]];
  });
  return Object.fromEntries(kept);
}

function isValue(claim: unknown): claim is Value {
  return typeof claim === 'string' || typeof claim === 'number' || typeof claim === 'boolean';
}
