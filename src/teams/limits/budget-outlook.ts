/** Outlook on the daily platform calls of teams: forecast, header, and thresholds, told once a day by all replicas together. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import type { Documents } from '../../store/port.js';
import type { Team } from '../auth/team.js';
import { type BudgetUse, exhaustedAtMs } from './forecast.js';

/** In percent. The header is sent from the first one on. */
const THRESHOLDS = [80, 95] as const;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export interface Forecast {
  /** Percent of the budget, rounded down. */
  readonly used: number;
  /** At this pace; null: not today, or already exhausted. */
  readonly exhaustedAt: string | null;
}

interface Outlook {
  readonly day: number;
  /** The last reading of the hours. */
  readonly minute: number;
  readonly header: string;
}

interface OutlookOptions {
  readonly documents: Pick<Documents, 'create'>;
  /** A usual day and today, by hour. @throws StoreUnavailable */
  readonly hoursOf: (team: string) => Promise<Pick<BudgetUse, 'usual' | 'today'>>;
  readonly nameOf: (team: string) => string;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly onThreshold: (percent: number) => void;
}

export function createBudgetOutlook({
  documents,
  hoursOf,
  nameOf,
  clock,
  logger,
  onThreshold,
}: OutlookOptions) {
  /** By team. */
  const outlooks = new Map<string, Outlook>();
  const told = new Map<string, number>();
  /** Teams whose outlook is being renewed, with the last charge meanwhile. */
  const renewing = new Map<string, (() => void) | null>();
  const dayNow = () => Math.floor(clock.now() / DAY_MS);

  /** @returns null: there is none to make. @throws StoreUnavailable */
  async function forecast({ id, limits }: Team, left: number): Promise<Forecast | null> {
    const limit = limits.upstreamCallsPerDay;
    const used = limit - left;
    if (used <= 0) return null;
    const atMs = left <= 0 ? null : exhaustedAtMs({ used, limit, ...(await hoursOf(id)) }, clock.now());
    return { used: percentOf(limit, left), exhaustedAt: atMs === null ? null : new Date(atMs).toISOString() };
  }

  async function renew(team: Team, left: number): Promise<void> {
    const nowMs = clock.now();
    const day = dayNow();
    const made = await forecast(team, left);
    if (made === null) return;
    outlooks.set(team.id, { day, minute: Math.floor(nowMs / MINUTE_MS), header: headerOf(made) });
    for (const percent of THRESHOLDS) if (made.used >= percent) await tell(team, percent, day, made);
  }

  async function tell({ id }: Team, percent: number, day: number, made: Forecast): Promise<void> {
    const name = `budget-told:${percent}:${nameOf(id)}`;
    if (told.get(name) === day) return;
    const before = await documents.create(`${name}:${day}`, made.exhaustedAt ?? '', 2 * DAY_MS);
    told.set(name, day);
    if (before !== null) return;
    onThreshold(percent);
    logger.warn({ team: id, percent, ...made }, 'a team has used most of its platform calls of this UTC day');
  }

  return {
    forecast,
    /** After each charge. Reads the store once a minute, beyond the first threshold, and at a further one. Never throws. */
    charged,
    /** `gateway-budget`, or undefined below the first threshold. */
    header(team: string): string | undefined {
      const known = outlooks.size === 0 ? undefined : outlooks.get(team);
      return known?.day === dayNow() ? known.header : undefined;
    },
  };

  function charged(team: Team, left: number): void {
    const used = percentOf(team.limits.upstreamCallsPerDay, left);
    if (used < THRESHOLDS[0]) return;
    const known = outlooks.get(team.id);
    const [day, minute] = [dayNow(), Math.floor(clock.now() / MINUTE_MS)];
    const isTold = known?.day === day && THRESHOLDS.every((one) => used < one || wasTold(team.id, one, day));
    if (isTold && known.minute === minute) return;
    const isFirst = !renewing.has(team.id);
    renewing.set(team.id, isFirst ? null : () => charged(team, left));
    if (isFirst) void renewAlone(team, left);
  }

  /** Calls that arrive together must not each read the store. */
  async function renewAlone(team: Team, left: number): Promise<void> {
    try {
      await renew(team, left);
    } catch (error) {
      logger.warn({ err: error, team: team.id }, 'failed to forecast a budget; the next call retries');
    }
    const next = renewing.get(team.id);
    renewing.delete(team.id);
    next?.();
  }

  function wasTold(id: string, percent: number, day: number): boolean {
    return told.get(`budget-told:${percent}:${nameOf(id)}`) === day;
  }
}

const percentOf = (limit: number, left: number) => Math.floor((100 * (limit - left)) / limit);

/** A dictionary of RFC 9651; the time is of the UTC day. */
function headerOf({ used, exhaustedAt }: Forecast): string {
  return `used=${used}${exhaustedAt === null ? '' : `, exhausted-at="${exhaustedAt.slice(11, 16)}Z"`}`;
}
