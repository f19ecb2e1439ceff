/** The verdict and the notes, for `status` and `doctor` alike. */
import { minuteOf } from '../../lib/words.js';
import type { Vault } from '../../platform/credential/vault.js';
import type { Services } from '../../server/services.js';
import { joinFailures } from '../../telemetry/failures.js';
import { addLoads } from '../../telemetry/health.js';
import type { Measured } from '../../telemetry/measured.js';
import { describeRefused, joinRefused } from '../../telemetry/refused-keys.js';
import { verdictOf } from '../../telemetry/verdict.js';
import type { Readiness } from '../data/health.js';
import { describeLimited } from './limited-teams.js';

/** Keys that are still used though they are refused. */
const SHOWN_REFUSED = 5;

export type JudgeOptions = Pick<
  Services,
  'keeper' | 'health' | 'directory' | 'budgets' | 'limits' | 'measured' | 'incidents'
>;

/** @param more what is measured otherwise */
export async function judge(
  { health, measured, incidents }: JudgeOptions,
  { ready, worst }: Readiness,
  more: Partial<Pick<Measured, 'tried'>> = {},
) {
  const processes = health.processes();
  const { recentWithoutSlot } = addLoads(processes);
  const known = await incidents.list();
  const verdict = verdictOf({ ...measured, ...more, withoutSlot: () => recentWithoutSlot }, ready, worst, {
    since: health.own().since,
    failures: joinFailures(processes.map((one) => one.failures)),
    incidents: known,
  });
  return { verdict, incidents: known };
}

/** All but keys that end soon, of which `doctor` warns. */
export async function notesOf(options: JudgeOptions): Promise<readonly string[]> {
  const processes = options.health.processes();
  return [
    ...describeWentBack(options.keeper.vault()),
    ...describePending(options.keeper.vault()),
    ...(await describeLimited(options, processes)),
    ...joinRefused(processes.flatMap((one) => one.refusedKeys))
      .slice(0, SHOWN_REFUSED)
      .map(describeRefused),
  ];
}

/** @returns nothing unless an older token is in use again because the platform refused its successor */
function describeWentBack({ active, previous }: Vault): readonly string[] {
  if (active === null || active.refusedAt !== null || !previous?.refusedAt) return [];
  if (previous.createdAt <= active.createdAt) return [];
  const [added, refused] = [previous.createdAt, previous.refusedAt].map((at) => minuteOf(Date.parse(at)));
  return [
    `the gateway runs on the previous token ${active.fingerprint} again: the platform refused ${previous.fingerprint}, added ${added}, at ${refused} (to replace it: dsp-gateway token rotate)`,
  ];
}

/** @returns nothing without a token that waits for its activation */
function describePending({ pending }: Pick<Vault, 'pending'>): readonly string[] {
  if (pending === null) return [];
  const { verifiedAt, createdAt } = pending;
  const [kind, next] =
    verifiedAt === null ? ['an unverified', 'token verify'] : ['a verified', 'token activate'];
  const since = minuteOf(Date.parse(createdAt));
  return [
    `${kind} token is pending since ${since} (to go on: dsp-gateway ${next}; to drop it: dsp-gateway token discard)`,
  ];
}
