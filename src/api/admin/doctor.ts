/** Checks of a running gateway for `dsp-gateway doctor`: all dependencies, each with a remedy. */
import type { FastifyInstance } from 'fastify';
import { VERSION } from '../../lib/package-root.js';
import { sentence, someOf } from '../../lib/words.js';
import type { Outlook } from '../../platform/credential/outlook.js';
import type { TokenProof } from '../../platform/credential/verify-token.js';
import type { Services } from '../../server/services.js';
import { type CheckResult, type Look, notWell, runChecks, skipped, warning } from '../../telemetry/checks.js';
import { rotate } from '../../telemetry/conditions.js';
import type { Finding } from '../../telemetry/finding.js';
import type { Verdict } from '../../telemetry/verdict.js';
import type { Readiness } from '../data/health.js';
import { runDoctor } from '../operations/overview.js';
import { describeKey, endingKeys, validKeys } from './ending-keys.js';
import { type JudgeOptions, judge, notesOf } from './judge.js';
import { serve } from './serve.js';

const MAX_NAMED = 5;

function directoryLooks({ directory, clock }: DoctorOptions): Readonly<Record<string, Look>> {
  return {
    teams: async () => {
      const teams = directory.teams();
      if (teams.length === 0)
        return warning(
          'There are no teams, so nobody can call.',
          'Run dsp-gateway teams create <id>, or if teams are missing, dsp-gateway registry import <backup>.',
        );
      const blind = teams.filter(
        ({ advertisers, scopes }) => advertisers.length === 0 && scopes.includes('report:read'),
      );
      if (blind.length > 0)
        return warning(
          `Of ${teams.length} teams, these may see no advertiser: ${named(blind.map(({ id }) => id))}.`,
          `Run dsp-gateway teams update ${blind[0]?.id} --advertisers <ids>.`,
        );
      const disabled = teams.filter((team) => team.disabled).length;
      return disabled === 0 ? `${teams.length}` : `${teams.length}, ${disabled} of them disabled`;
    },
    keys: async () => {
      const teams = directory.teams();
      const valid = (id: string) => validKeys(directory, id, clock.now());
      const keys = teams.flatMap(({ id }) => valid(id));
      const without = teams.filter(({ id, disabled }) => !disabled && valid(id).length === 0);
      const ending = endingKeys(directory, clock.now());
      const says = [
        ...(without.length === 0
          ? []
          : [`These teams have no valid key: ${named(without.map(({ id }) => id))}.`]),
        ...(ending.length === 0
          ? []
          : [`These keys end within 14 days: ${named(ending.map((key) => describeKey(key, clock.now())))}.`]),
      ];
      const [team = ending[0]?.teamId] = without.map(({ id }) => id);
      if (says.length > 0)
        return warning(
          says.join(' '),
          `Run dsp-gateway keys issue ${team}, and give the new key to the team.`,
        );
      return `${keys.length} valid`;
    },
  };
}

const named = (ids: readonly string[]): string => someOf(ids, MAX_NAMED);

type DoctorOptions = JudgeOptions &
  Pick<Services, 'config' | 'clock' | 'outlook' | 'proveActive' | 'circuit'>;

export function registerDoctor(
  app: FastifyInstance,
  options: DoctorOptions,
  readiness: () => Readiness,
): void {
  serve(app, runDoctor, async () => ({
    version: VERSION,
    checks: await checksOf(options, readiness),
    notes: [...(await notesOf(options))],
  }));
}

function checksOf(options: DoctorOptions, readiness: () => Readiness) {
  let tried = '; no call was made now: there is no token, or no report to verify it with.';
  let own = '';
  return runChecks({
    ...platformLooks(options, (what, hasFailed) => {
      tried = what;
      own = hasFailed ? ' One of these calls was made by doctor just now.' : '';
    }),
    ...partLooks(options, readiness, () => ({ tried, own })),
    ...directoryLooks(options),
  });
}

/** The platform call comes first: later checks use its result. @param note what was tried */
function platformLooks(
  options: DoctorOptions,
  note: (tried: string, hasFailed: boolean) => void,
): Readonly<Record<string, Look>> {
  const { config, clock, health, measured, outlook, proveActive, circuit } = options;
  const { origin } = new URL(config.platform.baseUrl);
  const replace = rotate(measured);
  let proof: TokenProof | null = null;
  return {
    'the token works': async () => {
      if (outlook().state === 'missing') return notWell('There is no platform token.', replace);
      proof = await proveActive();
      if (proof.target !== null)
        note(`; just tried ${origin}: ${proof.reason}.`, proof.outcome === 'unknown' && !proof.isOfReport);
      // So that a platform that is well again is not called failing until a caller needs it.
      if (proof.outcome === 'accepted') await circuit.answered();
      return proven(proof, replace);
    },
    'the verification call': async () =>
      config.platform.probe === undefined && proof?.target === null
        ? warning(sentence(proof.reason), 'Set PLATFORM_PROBE to the path of a cheap report.')
        : (config.platform.probe ??
          proof?.target ??
          'chosen by the gateway among the reports that teams use'),
    "the token's expiry": async () => expiry(outlook(), replace),
    'clock offset to the platform': async () => drift(proof?.platformNowMs ?? null, clock.now()),
    'time zone': async () => {
      const { timezone } = config.platform;
      const there = new Intl.DateTimeFormat('en-GB', {
        timeZone: timezone,
        dateStyle: 'medium',
        timeStyle: 'short',
      });
      return `the platform's day begins at midnight in ${timezone}; local time there: ${there.format(clock.now())}`;
    },
    versions: async () => versions(health.processes().map(({ version }) => version || 'an older one')),
  };
}

/** @param replace how to replace the token */
function proven({ outcome, reason, isSilent, target }: TokenProof, replace: string): string | CheckResult {
  if (outcome === 'accepted') return `${reason} (${target})`;
  if (outcome === 'refused') return notWell(`The platform refuses it: ${reason} (${target}).`, replace);
  if (target === null) return skipped(reason);
  if (isSilent)
    return warning(
      `It could not be verified: ${reason} (${target}).`,
      "Check that the platform is up, and that the gateway's machine reaches PLATFORM_BASE_URL; then repeat.",
    );
  return warning(
    `It could not be verified: ${reason} (${target}).`,
    "Check that the platform is up, that the gateway's machine reaches PLATFORM_BASE_URL, and that PLATFORM_PROBE, if set, names a report.",
  );
}

function expiry(
  { state, expiresAt, expiryKnown, daysLeft, renewsAt }: Outlook,
  replace: string,
): string | CheckResult {
  if (expiresAt === null) return skipped('there is no token');
  const assumed = expiryKnown === false ? ' (assumed: a year after it was first seen)' : '';
  const renewal = renewsAt === null ? '' : `; renewed automatically from ${renewsAt.slice(0, 10)}`;
  const says = `on ${expiresAt.slice(0, 10)}, in ${daysLeft} ${daysLeft === 1 ? 'day' : 'days'}${assumed}${renewal}`;
  if (state === 'expired') return notWell(`It expired on ${expiresAt.slice(0, 10)}${assumed}.`, replace);
  return state === 'expiring' ? warning(`It expires ${says}.`, replace) : says;
}

/** A larger drift visibly shifts days and ages. */
const DRIFT_MS = 60_000;

function drift(platformNowMs: number | null, nowMs: number): string | CheckResult {
  if (platformNowMs === null) return skipped('the platform did not send its time');
  const seconds = Math.round((nowMs - platformNowMs) / 1000);
  if (Math.abs(seconds) * 1000 <= DRIFT_MS) return `${Math.abs(seconds)} s apart`;
  const way = seconds > 0 ? 'ahead of' : 'behind';
  return warning(
    `The gateway's clock is ${Math.abs(seconds)} s ${way} the platform's, so days begin at the wrong time.`,
    'Synchronise it (NTP), unless its test clock was moved on purpose.',
  );
}

function versions(all: readonly string[]): string | CheckResult {
  const different = [...new Set(all)].sort();
  const count = `${all.length} ${all.length === 1 ? 'process' : 'processes'}`;
  if (different.length <= 1) return `${count}, version ${VERSION}`;
  return warning(
    `The ${count} have different versions: ${different.join(', ')}.`,
    'Finish the roll-out: they share a store, but not the new features.',
  );
}

const PARTS: Readonly<Record<Finding['part'], string>> = {
  credential: 'the token, in every process',
  store: 'store',
  platform: 'calls of the platform',
  slots: 'slots for platform calls',
  secrets: 'files of secrets',
  writes: 'writes',
  log: 'log',
  clock: 'clocks of this process and Redis',
  settings: 'settings of all processes',
  'sign-in': 'sign-in with company accounts',
  gateway: 'ready',
};

/** The known state of each part, without further calls. @param tried what came of the platform call, which was before */
function partLooks(
  options: DoctorOptions,
  readiness: () => Readiness,
  tried: () => { readonly tried: string; readonly own: string },
): Readonly<Record<string, Look>> {
  let judged: Awaited<ReturnType<typeof judge>> | null = null;
  return Object.fromEntries(
    Object.entries(PARTS).map(([part, name]) => [
      name,
      async () => {
        const { tried: what, own } = tried();
        judged ??= await judge(options, readiness(), { tried: what });
        const { verdict, incidents } = judged;
        const { findings, recovered } = verdict;
        const found = findings.find((finding) => finding.part === part);
        if (found === undefined) return recovered?.part === part ? recovered.says : 'nothing is wrong';
        const says =
          part === 'platform' && / calls (of the platform )?fail/.test(found.says)
            ? found.says + own
            : found.says;
        return { ...withIds(found, incidents), says };
      },
    ]),
  );
}

/** With failed requests of the incident that lasts. */
function withIds(
  { part: failed, ...found }: Verdict['findings'][number],
  incidents: Awaited<ReturnType<typeof judge>>['incidents'],
) {
  const { requestIds = [] } = incidents?.find(({ part, until }) => part === failed && until === null) ?? {};
  if (requestIds.length === 0) return found;
  return { ...found, details: `${found.details ?? ''} Requests: ${requestIds.join(', ')}.`.trim() };
}
