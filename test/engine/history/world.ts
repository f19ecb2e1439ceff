/** What happens in the model of history, and what every answer must be then. */
import { expect } from 'vitest';
import { outcomeOf, type Reply, type ReportBody, reportIn } from '../../support/start-gateway.js';
import type { TestClock } from '../../support/test-clock.js';
import { dayOf, shiftDay } from '../world.js';
import type { Gateways } from './gateways.js';
import { faultOf, keyOf, type Oracle, reasonOf, type Series, type ShownDay } from './oracle.js';
import { ageOf, datesOf, type RestatingPlatform, type Row, rowsByDay } from './platform.js';

export interface World {
  readonly clock: TestClock;
  readonly platform: RestatingPlatform;
  readonly gateways: Gateways;
  readonly oracle: Oracle;
  readonly timezone: string;
  readonly mode: 'observe' | 'learned';
  /** Keys of a team that may see all, and of one that may see advertiser 1. */
  readonly keys: { readonly all: string; readonly one: string };
  /** Rows by the revision that names them, and the other way. */
  readonly revisions: Map<string, string>;
  readonly pins: PinSeen[];
  /** Questions so far. */
  readonly asked: Asked[];
}

export interface PinSeen {
  readonly id: string;
  readonly asked: Asked;
  readonly knownAt: number;
  readonly rows: readonly Row[];
  /** As they were at first, by format. */
  readonly bytes: Readonly<Record<string, string>>;
}

/** Which days of which report, by whom, from which replica. */
export interface Question {
  readonly replica: number;
  readonly advertiserId: number;
  readonly byCampaign: boolean;
  readonly limited: boolean;
  /** First day, counted back from today. */
  readonly ago: number;
  readonly length: number;
}

export interface Asked extends Series {
  readonly replica: number;
  readonly limited: boolean;
  readonly from: string;
  readonly to: string;
}

export const RESTATEMENT_DAYS = 5;

export function decide({ ago, length, ...asked }: Question, { clock, timezone }: World): Asked {
  const from = shiftDay(dayOf(clock.now(), timezone), -ago);
  return { ...asked, from, to: shiftDay(from, length - 1) };
}

export function queryOf({ advertiserId, byCampaign, from, to }: Asked): string {
  const split = byCampaign ? '&byCampaign=1' : '';
  return `advertiserId=${advertiserId}&byDate=1${split}&dateFrom=${from}&dateTo=${to}`;
}

export const isForbidden = ({ limited, advertiserId }: Pick<Asked, 'limited' | 'advertiserId'>) =>
  limited && advertiserId !== 1;

const iso = (ms: number) => new Date(ms).toISOString();

export function report(asked: Asked, world: World, more: string, headers = {}): Promise<Reply> {
  const key = world.keys[asked.limited ? 'one' : 'all'];
  return world.gateways.at(asked.replica).report(key, `${queryOf(asked)}${more}`, { headers });
}

/** All that came of a command has come to rest, and is known to whom it concerns. */
export async function rest({ gateways, platform, oracle, clock }: World): Promise<void> {
  await gateways.settled();
  oracle.note(platform.said, clock.now(), gateways.outage.away);
  // Nothing happens in the same millisecond.
  clock.advance(1);
  await gateways.agreed();
}

/** An ordinary answer; when all has come to rest, its moment must give it again. */
export async function askNow(asked: Asked, world: World, directives: string | null): Promise<void> {
  world.asked.push(asked);
  const headers = directives === null ? {} : { 'cache-control': directives };
  const changedAfter = world.oracle.changedAfter(asked);
  const reply = await report(asked, world, '&_days=1', headers);
  if (isForbidden(asked)) {
    expect(outcomeOf(reply)).toBe('403 advertiser_forbidden');
    return;
  }
  const body = reportIn(reply);
  noteRevision(asked, body, world);
  checkFinal(body, changedAfter, world);
  await rest(world);
  checkPlatformSaid(asked, body, world);
  const { away } = world.gateways.outage;
  if (!away && !body.meta.stale && isWritten(asked, world)) await checkAgain(asked, body, world);
}

/** Whether the last look at each day was written down, so that history has what the answer has. */
function isWritten(asked: Asked, { oracle }: World): boolean {
  return datesOf(asked.from, asked.to).every((date) => oracle.sights(asked, date).at(-1)?.missed === false);
}

async function checkAgain(asked: Asked, now: ReportBody, world: World): Promise<void> {
  const reply = await report(asked, world, `&_days=1&_asOf=${now.meta.knownAt}`);
  expect(outcomeOf(reply), `as of ${now.meta.knownAt}, which was just given: ${reply.text}`).toBe('200');
  const then = reportIn(reply);
  expect(byDay(then), 'the rows as of meta.knownAt').toEqual(byDay(now));
  expect(then.meta.revision, 'the revision as of meta.knownAt').toBe(now.meta.revision);
}

/** Rows of each day without regard to their order. */
function byDay({ data }: Pick<ReportBody, 'data'>): Record<string, string> {
  const days = rowsByDay(data);
  return Object.fromEntries([...days].map(([date, rows]) => [date, keyOf(rows)]));
}

function checkPlatformSaid(asked: Asked, body: ReportBody, { platform }: World): void {
  for (const [date, key] of Object.entries(byDay(body)))
    expect(
      platform.said.some(
        (one) =>
          one.advertiserId === asked.advertiserId &&
          one.byCampaign === asked.byCampaign &&
          keyOf(one.days.get(date) ?? []) === key,
      ),
      `the platform said so of ${date}`,
    ).toBe(true);
}

/** Equal revisions have equal rows, and other rows another revision. */
function noteRevision(asked: Asked, body: ReportBody, { revisions }: World): void {
  const { revision } = body.meta;
  if (revision === undefined) return;
  const rows = JSON.stringify([asked.from, asked.to, keyOf(body.data as readonly Row[])]);
  expect(revisions.get(revision) ?? rows, 'equal revisions have equal rows').toBe(rows);
  expect(revisions.get(rows) ?? revision, 'equal rows have equal revisions').toBe(revision);
  revisions.set(revision, rows).set(rows, revision);
}

/** No day is final at an age at which days of its kind were seen to change later. */
function checkFinal({ meta }: ReportBody, changedAfter: number, { mode, timezone }: World): void {
  for (const { date, asOf, final } of meta.days ?? []) {
    const age = ageOf(date, Date.parse(asOf), timezone);
    const least = mode === 'learned' ? Math.max(RESTATEMENT_DAYS, changedAfter) : RESTATEMENT_DAYS;
    if (final) expect(age, `${date} as of ${asOf} is final`).toBeGreaterThan(least);
    else if (mode === 'observe') expect(age, `${date} as of ${asOf} is not final`).toBeLessThanOrEqual(least);
  }
  const provisional = meta.days?.find(({ final }) => !final)?.date;
  expect(meta.firstProvisionalDate).toBe(provisional);
  expect(meta.final).toBe(provisional === undefined);
}

/** @returns the report as it was known then; null where it was not, which is looked at too */
export async function askThen(asked: Asked, world: World, atMs: number): Promise<ReportBody | null> {
  const reply = await report(asked, world, `&_days=1&_asOf=${iso(atMs)}`);
  const outcome = outcomeOf(reply);
  if (isForbidden(asked)) {
    expect(outcome).toBe('403 advertiser_forbidden');
    return null;
  }
  if (world.gateways.outage.away) {
    expect(outcome).toBe('503 not_ready');
    return null;
  }
  const dates = datesOf(asked.from, asked.to);
  const all = dates.map((date) => world.oracle.sights(asked, date));
  if (outcome !== '200') {
    expect(outcome, reply.text).toBe('404 not_known_then');
    const days = new Map(dates.map((date, at) => [date, all[at] ?? []]));
    const { fault, sinceMs } = reasonOf(reply.json<{ detail: string }>().detail, atMs, days);
    expect(fault, reply.text).toBeNull();
    if (sinceMs === null) return null;
    // That is the first moment at which all days are known.
    expect(await askThen(asked, world, sinceMs), `as of ${iso(sinceMs)}`).not.toBeNull();
    expect(outcomeOf(await report(asked, world, `&_asOf=${iso(sinceMs - 1)}`))).toBe('404 not_known_then');
    return null;
  }
  const body = reportIn(reply);
  const rows = rowsByDay(body.data);
  expect(body.meta.days?.map(({ date }) => date)).toEqual(dates);
  for (const [at, shown] of (body.meta.days ?? []).entries()) {
    const fault = faultOf(shown as ShownDay, keyOf(rows.get(shown.date) ?? []), atMs, all[at] ?? []);
    expect(fault, `${shown.date} as of ${iso(atMs)}: ${JSON.stringify(shown)}`).toBeNull();
  }
  expect(body.meta.knownAt).toBe(iso(atMs));
  const warned = new Set(body.meta.warnings?.map(({ code }) => code));
  const isExact = body.meta.days?.every(({ exact }) => exact) ?? true;
  expect(warned.has('thinned') || warned.has('history_missed'), 'what is not exact is warned of').toBe(
    !isExact,
  );
  noteRevision(asked, body, world);
  return body;
}

export interface Moment {
  /** Counted back among the moments at which something came to be known. */
  readonly back: number;
  /** Milliseconds beside it. */
  readonly beside: number;
}

export function momentOf({ back, beside }: Moment, { oracle, clock }: World): number {
  const { moments } = oracle;
  const at = moments[moments.length - 1 - (back % Math.max(1, moments.length))] ?? clock.now() - 1;
  return Math.min(at + beside, clock.now());
}
