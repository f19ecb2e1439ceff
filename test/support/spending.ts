/** A platform that says the same number of every day, until it is told another. */
import { daysBetween } from '../../src/reports/query/days.js';
import { periodOf } from '../reports/fetch/by-day.js';
import { type RawPlatform, sends, startRawPlatform } from './raw-platform.js';
import type { Reply } from './start-gateway.js';

export interface Spending {
  readonly platform: RawPlatform;
  readonly said: {
    /** `spent` of each day, and their sum where the report is not split. */
    spent: number;
    /** Awaited before a call is answered; what it is answered was decided when it came. */
    before: (period: readonly [from: string, to: string], isSplit: boolean) => Promise<unknown> | null;
  };
}

/** Ended with the test. */
export async function startSpending(): Promise<Spending> {
  const said: Spending['said'] = { spent: 10, before: () => null };
  const platform = await startRawPlatform((request, response) => {
    const [period, isSplit] = [periodOf(request), request.url?.includes('byDate') ?? false];
    const days = daysBetween(...period);
    const rows = isSplit
      ? days.map((date) => ({ date, advertiserId: 1, spent: said.spent }))
      : [{ advertiserId: 1, spent: days.length * said.spent }];
    const answer = sends(JSON.stringify(rows));
    void Promise.resolve(said.before(period, isSplit)).then(() => answer(request, response));
  });
  return { platform, said };
}

/** Every number of the rows, in order, whatever their format. */
export function spentIn({ text }: Pick<Reply, 'text'>): number[] {
  const rows = text.replace(/"totals":\{[^}]*\}/, '');
  return [...rows.matchAll(/(?:"spent":|^(?:[\d-]+,1,)?)(\d+)(?=[}\s])/gm)].map(([, spent]) => Number(spent));
}
