/** What a watch means now: may its team see the report, can its days be read, which of them are due, and what that costs. */
import { CATALOGUE } from '../../errors/catalogue.js';
import { GatewayError } from '../../errors.js';
import { whenAway } from '../../store/port.js';
import type { Directory } from '../../teams/auth/directory.js';
import type { Team } from '../../teams/auth/team.js';
import { checkQuery, checkTeam } from '../../teams/policy/authorize.js';
import { modeOf } from '../cache/decide.js';
import { daysFound } from '../cache/look-up.js';
import type { Gateway } from '../gateway.js';
import { inWords } from '../learn/state.js';
import { dayAt, dayNumber, daysBetween, isoDay } from '../query/days.js';
import type { Query } from '../query.js';
import { dayRef, type ReportQuestion } from '../question.js';
import { createLastReads } from './last-reads.js';
import { isOver, type Price, planWatch, priceOf, type WatchPlan, watchedDays } from './plan.js';
import { createWatchBook, type Watch } from './watch-book.js';

/** proving: the kind is not proven divisible by day · done: all days of a fixed period are too old */
export type WatchState = 'proving' | 'watching' | 'done';

/** A watch that its team may have. */
export interface Judged {
  readonly question: ReportQuestion;
  readonly state: WatchState;
  /** Why its days are not read now, for people; null: they are read when due. */
  readonly reason: string | null;
  /** When its days may be others, epoch milliseconds. */
  readonly untilMs: number;
  readonly watched: Parameters<typeof priceOf>[0];
}

/** For people. */
export interface ShownWatch extends Price, Pick<Judged, 'state' | 'reason'> {
  readonly watch: Watch;
  /** Of the period; null while the team may not see the report. */
  readonly period: { readonly from: string | null; readonly to: string | null } | null;
  /** Times in epoch milliseconds. */
  readonly readAt: number | null;
  readonly nextReadAt: number | null;
  readonly failed: { readonly at: number; readonly message: string } | null;
}

type Kinds = Pick<Gateway, 'policy' | 'learner' | 'now'>;
type Used = Kinds & Pick<Gateway, 'parse' | 'lookUp'>;

export interface WatchParts {
  readonly registry: Parameters<typeof createWatchBook>[0];
  readonly documents: Parameters<typeof createLastReads>[0];
  readonly teams: Pick<Directory, 'team' | 'life'>;
}

export type Watches = ReturnType<typeof createWatches>;

export function createWatches(g: Used, { registry, documents, teams }: WatchParts) {
  const lastReads = createLastReads(documents);
  return {
    book: createWatchBook(registry),
    lastReads,
    teams,
    judge: (query: Query, maxAgeDays: number): Judged => judge(g, query, maxAgeDays),
    /** As of now. @throws GatewayError if the team may not watch, or not see the report any more */
    judgeFor: (team: Team, watch: Watch): Judged => judge(g, queryOf(g, team, watch), watch.maxAgeDays),
    /** @returns null if the store cannot be read */
    plan: (judged: Judged, nowMs: number): Promise<WatchPlan | null> => planOf(g, judged, nowMs),
    /** @returns in the order given */
    async show(team: Team, owner: string, watches: readonly Watch[]): Promise<readonly ShownWatch[]> {
      const lastOf = await lastReads.of(owner);
      const shown: ShownWatch[] = [];
      for (const watch of watches) {
        const { readAt = null, failed } = lastOf(watch.id);
        const found = await foundOf(g, team, watch);
        const restsUntil = failed?.restsUntil ?? 0;
        const { nextMs, ...rest } = found;
        shown.push({
          ...{ watch, ...rest, readAt },
          nextReadAt: nextMs === null ? null : Math.max(nextMs, restsUntil),
          failed: failed === undefined ? null : { at: failed.at, message: failed.message },
        });
      }
      return shown;
    },
  };
}

const NEEDED_SCOPES = ['report:read', 'report:watch'] as const;

function queryOf({ parse }: Pick<Gateway, 'parse'>, team: Team, { endpoint, query }: Watch): Query {
  checkTeam({ team });
  for (const scope of NEEDED_SCOPES)
    if (!team.scopes.includes(scope))
      throw new GatewayError('scope_missing', { detail: `The team no longer has the scope ${scope}.` });
  const call = { endpoint, query, method: 'GET', accept: undefined, acceptEncoding: undefined } as const;
  const parsed = parse(call, null, team.defaultFormat);
  checkQuery({ team }, parsed.access);
  return parsed;
}

function judge(g: Kinds, query: Query, maxAgeDays: number): Judged {
  // Also of a team that asks for the platform's bytes: days are read as rows.
  const question: ReportQuestion = { ...query.question, form: 'rows' };
  const { report } = question;
  const watched = {
    from: dayNumber(report.from as string) as number,
    to: dayNumber(report.to as string) as number,
    today: dayAt(g.now(), g.policy.timezoneOf(report.account)),
    maxAgeDays,
    rules: g.policy.rulesFor(report),
    plan: g.policy.plan,
  };
  const known = { question, watched, untilMs: query.readOn.untilMs };
  const isRelative = Number.isFinite(query.meansUntilMs);
  if (!isRelative && isOver(watched)) return { ...known, state: 'done', reason: null };
  const status = g.learner.status(report);
  const { mode, because } = modeOf(question, g.policy, status);
  if (mode === 'days') return { ...known, state: 'watching', reason: null };
  const isKnown = status.pinned || status.state === 'proven' || !g.policy.endpoints.has(report.endpoint);
  const reason = isKnown ? `Not cached by day: ${because}.` : inWords(g.learner.show(report), g.now());
  return { ...known, state: status.state === 'proven' ? 'watching' : 'proving', reason };
}

async function planOf({ lookUp, learner }: Used, judged: Judged, nowMs: number): Promise<WatchPlan | null> {
  const { question, watched } = judged;
  const { report, series } = question;
  const days = watchedDays(watched);
  if (days === null) return { ranges: [], nextMs: null };
  const refs = daysBetween(isoDay(days.from), isoDay(days.to)).map((date) => dayRef(series, date));
  const { found, degraded } = await lookUp.read(report, refs);
  if (degraded) return null;
  const { generation } = learner.status(report);
  const known = daysFound(refs, found);
  return planWatch({ ...watched, nowMs }, (day) => {
    const header = known.get(isoDay(day))?.header;
    return header?.splitFrom?.generation === generation ? header : undefined;
  });
}

type Found = Pick<ShownWatch, 'state' | 'reason' | 'period' | keyof Price> & {
  readonly nextMs: number | null;
};

async function foundOf(g: Used, team: Team, watch: Watch): Promise<Found> {
  let judged: Judged;
  try {
    judged = judge(g, queryOf(g, team, watch), watch.maxAgeDays);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const nothing = { period: null, callsPerDay: 0, days: 0, nextMs: null };
    return { state: 'watching', reason: wordsOf(error), ...nothing };
  }
  const { state, reason, watched, question, untilMs } = judged;
  const { from, to } = question.report;
  const found = { state, reason, period: { from, to }, ...priceOf(watched) };
  if (state !== 'watching' || reason !== null) return { ...found, nextMs: null };
  const plan = await planOf(g, judged, g.now()).catch(whenAway(() => null));
  return { ...found, nextMs: plan === null ? null : (plan.nextMs ?? untilMs) };
}

/** An error in a sentence, for people. */
export function wordsOf({ code, options: { detail, errors = [] } }: GatewayError): string {
  const [first] = errors;
  if (detail !== undefined) return detail;
  return first === undefined ? CATALOGUE[code].meaning : `${first.param} ${first.message}.`;
}
