/** How many platform calls this process made in the last day, by the hour. */
export interface RecentCalls {
  add(): void;
  /** Of the last 24 hours, the present one included. */
  count(): number;
}

const HOUR_MS = 3_600_000;
const HOURS = 24;

export function createRecentCalls(now: () => number): RecentCalls {
  const byHour = new Map<number, number>();
  const hourNow = () => Math.floor(now() / HOUR_MS);
  return {
    add() {
      const hour = hourNow();
      byHour.set(hour, (byHour.get(hour) ?? 0) + 1);
      // A clock that was set back leaves hours that are still to come.
      for (const known of byHour.keys()) if (Math.abs(known - hour) >= HOURS) byHour.delete(known);
    },
    count() {
      const hour = hourNow();
      let sum = 0;
      for (const [known, calls] of byHour) if (known <= hour && known > hour - HOURS) sum += calls;
      return sum;
    },
  };
}
