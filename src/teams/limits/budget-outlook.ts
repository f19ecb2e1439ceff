/** Outlook on the daily platform calls of teams: forecast, header, and thresholds, which one of all replicas reports once a day. */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { Clock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Bus, Documents } from '../../store/port.js';
import type { Team } from '../auth/team.js';
import { type BudgetUse, exhaustedAtMs } from './forecast.js';

/** In percent. The header is sent from the first one on. */
const THRESHOLDS = [80, 95] as const;
const [DAY_MS, MINUTE_MS] = [86_400_000, 60_000];
const CHANNEL = 'budget';
const NEARLY_SPENT = 'a team has used most of its platform calls of this UTC day';

export interface Forecast {
  /** Percent of the budget, rounded down. */
  readonly used: number;
  /** At this pace; null: not today, or already exhausted. */
  readonly exhaustedAt: string | null;
}

/** The last outlook of a team, made by any replica. */
const Outlook = recordForm(
  Type.Object({
    team: Type.String(),
    limit: Type.Number(),
    used: Type.Number(),
    minute: Type.Number(),
    /** Empty until the first forecast is made. */
    header: Type.String({ pattern: '^[ -~]*$' }),
  }),
);

interface OutlookOptions {
  readonly store: { readonly documents: Pick<Documents, 'create'>; readonly bus: Bus };
  /** Calls left today. */
  readonly leftOf: (team: Team) => Promise<number>;
  /** @throws StoreUnavailable */
  readonly hoursOf: (team: string) => Promise<BudgetUse['calls']>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly onThreshold: (percent: (typeof THRESHOLDS)[number]) => void;
}

export function createBudgetOutlook({ store, leftOf, hoursOf, clock, logger, onThreshold }: OutlookOptions) {
  const outlooks = new Map<string, RecordOf<typeof Outlook>>();
  const minuteNow = () => Math.floor(clock.now() / MINUTE_MS);

  store.bus.subscribe(CHANNEL, (message) => {
    const heard = Outlook.parse(message);
    if (heard !== null) outlooks.set(heard.team, heard);
  });

  /** @returns the outlook of today, made for the current limit */
  function knownOf({ id, limits }: Team) {
    const known = outlooks.get(id);
    if (known?.limit !== limits.upstreamCallsPerDay) return undefined;
    return dayOf(known.minute) === dayOf(minuteNow()) ? known : undefined;
  }

  /** @returns null before the first call of the day. @throws StoreUnavailable */
  async function forecast(team: Team, known?: number): Promise<Forecast | null> {
    const left = known ?? (await leftOf(team));
    const limit = team.limits.upstreamCallsPerDay;
    const used = limit - left;
    if (used <= 0) return null;
    const calls = left <= 0 ? null : await hoursOf(team.id);
    const atMs = calls && exhaustedAtMs({ used, limit, calls }, clock.now());
    return { used: percentOf(team, left), exhaustedAt: atMs === null ? null : new Date(atMs).toISOString() };
  }

  /** After each charge, and before each answer. Reads the store if the use is unknown, once a minute, and at a threshold. */
  function look(team: Team, used: number | null): void {
    const [known, minute] = [knownOf(team), minuteNow()];
    const before = known?.minute === minute ? known.used : 0;
    if (used !== null && !THRESHOLDS.some((percent) => before < percent && percent <= used)) return;
    const limit = team.limits.upstreamCallsPerDay;
    const outlook = { team: team.id, limit, used: used ?? 0, minute, header: known?.header ?? '' };
    // Kept before the renewal: of calls that arrive together, one reads the store.
    outlooks.set(team.id, outlook);
    renew(team, outlook).catch((error: unknown) => {
      logger.warn({ err: error, team: team.id }, 'failed to forecast a budget; retrying in a minute');
    });
  }

  async function renew(team: Team, outlook: RecordOf<typeof Outlook>): Promise<void> {
    // With the calls of other replicas.
    const left = await leftOf(team);
    if (outlook.used === 0 && percentOf(team, left) < THRESHOLDS[0]) return;
    const made = await forecast(team, left);
    if (made === null) return;
    const renewed = { ...outlook, used: made.used, header: headerOf(made) };
    // Unless there is a later one.
    if (outlooks.get(team.id) === outlook) outlooks.set(team.id, renewed);
    for (const percent of THRESHOLDS) {
      const name = `budget-threshold:${percent}:${team.id}:${dayOf(outlook.minute)}`;
      if (made.used < percent || (await store.documents.create(name, '', 2 * DAY_MS)) !== null) continue;
      onThreshold(percent);
      logger.warn({ team: team.id, percent, ...made }, NEARLY_SPENT);
    }
    await store.bus.publish(CHANNEL, JSON.stringify(renewed));
  }

  return {
    forecast,
    /** Whether a team may have used up its calls of today: by what replicas told of the last threshold, without the store. */
    isNearlySpent: (team: Team): boolean => (knownOf(team)?.used ?? 0) >= THRESHOLDS[1],
    charged: (team: Team, left: number): void => look(team, percentOf(team, left)),
    /** @returns the value of `gateway-budget`; undefined below the first threshold */
    header(team: Team): string | undefined {
      const known = knownOf(team);
      if (known === undefined || known.used >= THRESHOLDS[0]) look(team, known?.used ?? null);
      return known?.header || undefined;
    },
  };
}

const dayOf = (minute: number) => Math.floor((minute * MINUTE_MS) / DAY_MS);
const percentOf = ({ limits: { upstreamCallsPerDay: limit } }: Team, left: number) =>
  Math.floor((100 * (limit - left)) / limit);

/** A dictionary of RFC 9651; the time is of the UTC day. */
function headerOf({ used, exhaustedAt }: Forecast): string {
  return `used=${used}${exhaustedAt === null ? '' : `, exhausted-at="${exhaustedAt.slice(11, 16)}Z"`}`;
}
