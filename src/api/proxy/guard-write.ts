/** Finds the guard of a write and checks the write before anything is sent. */
import type { Config } from '../../config/load.js';
import { GatewayError } from '../../errors.js';
import { clip } from '../../lib/http/problem.js';
import { limitOf } from '../../teams/write-guard/amount.js';
import { type Check, check, checksumOf, checkWrite } from '../../teams/write-guard/check-write.js';
import { guardUnavailable } from '../../teams/write-guard/reservations.js';
import { isWriteGuard, ruleFor } from '../../teams/write-guard/rule.js';
import { isWrite } from './checks.js';
import type { Charge, DayLimit, Guarding, PassContext, Question } from './passage.js';

/** For teams without a guard. */
export type DefaultGuard = Config['writeGuard']['default'];

type Asker = Pick<PassContext, 'caller' | 'rule' | 'method' | 'path'>;
type Asked = Pick<Question, 'pairs' | 'query' | 'body' | 'parsed' | 'fault' | 'keyed' | 'givenChecksum'>;

/** @throws GatewayError `write_guard_unavailable` for a guard with members unknown to this release */
export function guardingOf(
  { caller: { team }, rule, method, path }: Asker,
  fallback: DefaultGuard,
): Guarding {
  if (!isWrite(method, rule)) return { kind: 'read' };
  const { writeGuard } = team;
  if (writeGuard === undefined) {
    if (fallback === 'allow') return { kind: 'open' };
    return {
      kind: 'closed',
      check: check('writeGuard.default', false, 'the team has no write guard', 'a write guard'),
    };
  }
  if (!isWriteGuard(writeGuard)) {
    throw guardUnavailable(
      'Another release of the gateway wrote the write guard of the team, and this one does not know all that it says; nothing was sent.',
    );
  }
  const found = ruleFor(writeGuard, method, path);
  if (found !== null) return { kind: 'ruled', ...found };
  const listed = Object.keys(writeGuard).join(', ') || 'none';
  return { kind: 'closed', check: check('route', false, `${method} ${path}`, listed) };
}

export interface Verdict {
  readonly checks: readonly Check[];
  /** null where the day has no limit. */
  readonly day: DayLimit | null;
  /** Budget to reserve before sending; null for a write without a rule. */
  readonly charge: Charge | null;
}

export function judgeWrite(guarding: Guarding, asker: Asker, asked: Asked): Verdict {
  const given = asked.givenChecksum;
  const own = given === null ? null : checksumOfWrite(asker, asked);
  const sum = given === null || own === null ? [] : [check('checksum', own === given, own, given)];
  if (guarding.kind === 'closed') return { checks: [guarding.check, ...sum], day: null, charge: null };
  if (guarding.kind !== 'ruled') return { checks: sum, day: null, charge: null };
  const { rule, route } = guarding;
  const { checks, amount } = checkWrite(rule, {
    query: asked.pairs.map(({ name }) => name),
    body: asked.parsed ?? asked.fault ?? 'there is none',
    hasIdempotencyKey: asked.keyed !== null,
  });
  const { maxPerDay, currency } = rule.budget ?? {};
  const day = maxPerDay === undefined ? null : { route, max: limitOf(maxPerDay), currency };
  const charge = { route, amount, max: day?.max ?? null, currency };
  return { checks: [...checks, ...sum], day, charge };
}

/** The body of a write with a checksum, or of a dry run, has been read. */
export function checksumOfWrite(
  { caller, method, path }: Asker,
  { query, body }: Pick<Question, 'query' | 'body'>,
): string {
  const target = query === '' ? path : `${path}?${query}`;
  return checksumOf({ team: caller.team.id, method, target, body });
}

/** @throws GatewayError `write_guard_refused`, with every failed rule */
export function refuse(checks: readonly Check[]): void {
  const [first, ...others] = checks.filter(({ passed }) => !passed);
  if (first !== undefined) throw refusal(first, others);
}

export function refusal(first: Check, others: readonly Check[] = []): GatewayError {
  const said = clip(
    `The rule ${first.rule} refuses this write: ${first.value}; allowed is ${first.limit}`,
    180,
  );
  return new GatewayError('write_guard_refused', {
    detail: `${said}${said.endsWith('…') ? '' : '.'} Nothing was sent.`,
    errors: [first, ...others].map(({ rule, value, limit }) => ({
      param: rule,
      message: `${value}; allowed is ${limit}`,
    })),
  });
}
