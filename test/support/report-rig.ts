/** A platform, a gateway in front of it and a team that may see everything, for tests of reports. */
import { type Answer, type Ask, admin, ask, daysBefore, newTeam, REPORT, simulatorOf } from './ask.js';
import { type Gateway, type Platform, startGateway, startPlatform } from './processes.js';

export interface ReportRig {
  readonly platform: Platform;
  readonly gateway: Gateway;
  readonly sim: ReturnType<typeof simulatorOf>;
  readonly key: string;
  /** The platform's today, YYYY-MM-DD. */
  readonly today: string;
  /** A week whose days are all final, of advertiser 1. */
  readonly week: string;
  /** Asks for a campaign report; with the rig's own key unless told otherwise. */
  report(query: string, options?: Ask): Promise<Answer>;
  /** Empties the cache and forgets the platform's calls. */
  reset(): Promise<void>;
}

export interface Report {
  readonly data: Record<string, unknown>[];
  readonly meta: Record<string, unknown> & { readonly asOf: string };
}

export async function startReportRig(): Promise<ReportRig> {
  const platform = await startPlatform();
  const gateway = await startGateway(platform.env);
  const sim = simulatorOf(platform.url);
  const { key } = await newTeam(gateway, { id: 'reports' });
  const today = await sim.today();
  return {
    platform,
    gateway,
    sim,
    key,
    today,
    week: `advertiserId=1&dateFrom=${daysBefore(today, 20)}&dateTo=${daysBefore(today, 14)}`,
    report: (query, options = {}) => ask(`${gateway.data}${REPORT}?${query}`, { key, ...options }),
    async reset() {
      await admin(gateway, 'POST', '/cache/purge', { all: true });
      await sim.forget();
    },
  };
}
