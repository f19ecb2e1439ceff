/** The answer to a dry run of a write: nothing is sent, nothing is reserved. */
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { sortedJson } from '../../reports/rows/json.js';
import { showAmount } from '../../teams/write-guard/amount.js';
import type { Brake } from '../../teams/write-guard/brake.js';
import { type Check, check } from '../../teams/write-guard/check-write.js';
import type { Reservations } from '../../teams/write-guard/reservations.js';
import { nullable, text, titled } from '../openapi/schemas.js';
import { dayCheck } from './charge-write.js';
import { checksumOfWrite, type Verdict } from './guard-write.js';
import type { DayLimit, PassContext, Question } from './passage.js';

export interface DryRunOptions {
  readonly reservations: Pick<Reservations, 'left'>;
  readonly brake: Brake;
}

export const DRY_RUN_ANSWER = titled('DryRun', {
  dryRun: Type.Literal(true),
  wouldBeSent: Type.Boolean({ description: 'Whether all checks passed.' }),
  method: Type.String(),
  path: Type.String(),
  query: text('The query that would be sent.'),
  body: Type.Unknown({ description: 'The body, with members sorted by name; null if it is not JSON.' }),
  checks: Type.Array(
    Type.Object({
      rule: text('E.g. budget.maxPerCall.'),
      passed: Type.Boolean(),
      value: text('Value in the request.'),
      limit: text('Allowed value.'),
    }),
    { description: 'All checked rules; none for a team without a write guard.' },
  ),
  left: nullable(
    Type.Object({
      day: text("Today, in the platform's time zone."),
      amount: Type.Number({ description: 'Remaining budget of today.' }),
      max: Type.Number({ description: 'maxPerDay.' }),
      currency: nullable(Type.String()),
    }),
    'Null if no rule limits the day.',
  ),
  checksum: text('Send it as x-write-checksum with the same request.'),
  platformAsked: Type.Literal(false),
  note: Type.String(),
});

export const DRY_RUN_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'private, no-store',
};

const NOTE = 'Nothing was sent. The platform may still refuse a request that passes all checks here.';

/** @returns JSON; numbers in the body keep their spelling. @throws GatewayError `write_guard_unavailable` */
export async function answerDryRun(
  context: PassContext,
  question: Question,
  { checks: judged, day, charge }: Verdict,
  { reservations, brake }: DryRunOptions,
): Promise<string> {
  const { method, path, caller } = context;
  const { parsed, query } = question;
  const today = day === null ? null : await reservations.left(caller.team.id, day.route, day.max);
  const checks = [
    brakeCheck(brake, caller.team.id),
    ...judged,
    // An unreadable amount fails another check.
    ...(today === null || charge === null || charge.amount === null ? [] : [dayCheck(charge, today)]),
  ];
  const wouldBeSent = checks.every(({ passed }) => passed);
  const before = { dryRun: true, wouldBeSent, method, path, query };
  const left = today === null || day === null ? null : leftOf(day, today);
  const after = {
    checks,
    left,
    checksum: checksumOfWrite(context, question),
    platformAsked: false,
    note: NOTE,
  };
  const body = parsed === null ? 'null' : sortedJson(parsed);
  return `${JSON.stringify(before).slice(0, -1)},"body":${body},${JSON.stringify(after).slice(1)}`;
}

function brakeCheck(brake: Brake, team: string): Check {
  try {
    brake.check(team);
    return check('brake', true, 'writes are not stopped', 'writes are not stopped');
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return check('brake', false, error.options.detail ?? error.code, 'writes are not stopped');
  }
}

function leftOf({ max, currency }: DayLimit, { day, left }: { readonly day: string; readonly left: number }) {
  return {
    day,
    amount: Number(showAmount(Math.max(0, left))),
    max: Number(showAmount(max)),
    currency: currency ?? null,
  };
}
