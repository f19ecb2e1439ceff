/**
 * What the gateway counts of itself over time: of all requests by the minute, kept a day, and of each team by the hour, kept 90
 * days. Each process counts in memory and adds it now and then to the documents that all processes share.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { flushAtEnd, oneAtATime, repeat } from '../../lib/repeat.js';
import { uptimeMs } from '../../lib/time.js';
import type { Documents } from '../../store/port.js';
import { createOutbox } from './outbox.js';
import { ALL, toBatches } from './places.js';
import { createPageReader, type TimedCells } from './read-pages.js';
import {
  cellsOfSteps,
  endOf,
  fineSteps,
  hourSteps,
  ledgerRow,
  type Range,
  type Steps,
  seriesOf,
  shareLeft,
  shownBudget,
} from './shape.js';
import { createSeriesTally, type SeriesTally } from './tally.js';

/** A team of which a series is asked for. */
export interface SeriesTeam {
  readonly id: string;
  /** Platform calls it may cause a day; null: not known, as of one that was deleted. */
  readonly callsPerDay: number | null;
  /** The team itself is shown its present life; operators all lives of the id. */
  readonly lives: 'present' | 'all';
}

export interface Series extends Pick<SeriesTally, 'add'> {
  /** A try of a platform call. */
  addCall(team: string): void;
  /** @param team null: all requests together. @throws StoreUnavailable, here and below */
  read(range: Range, team: SeriesTeam | null): Promise<ShownSeries>;
  /** Each team of which anything was counted, by its id, all lives together. */
  ledger(range: Range, titleOf: (id: string) => string | undefined): Promise<readonly LedgerRow[]>;
  /** Writes what was counted so far. @returns whether the store took it all. Never rejects */
  flush(): Promise<boolean>;
  /** Writes what is left, as long as the store takes it within a few seconds. */
  close(): Promise<void>;
}

export type ShownSeries = ReturnType<typeof shown>;
export type LedgerRow = { readonly id: string; readonly name: string } & NonNullable<
  ReturnType<typeof ledgerRow>
>;

export interface SeriesOptions {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many wait for a place among the platform's calls, and what the platform still allows, where it says so. */
  readonly traffic: {
    readonly budget: { readonly queued: number };
    readonly pace: { status(): { readonly remaining: number } | null };
  };
  /** A team in its present life, as `nameInLife` writes it. Absent: the id. */
  readonly nameOf?: (team: string) => string;
  /** Letters and digits, of this process alone; made up when not given. */
  readonly writer?: string;
}

/** What a busy process loses when it is killed. After a quiet time the first counts are written at the next look. */
const FLUSH_EVERY_MS = 10_000;
const LOOK_EVERY_MS = 1000;
const CLOSE_TRIES = 3;

export function createSeries(options: SeriesOptions): Series {
  const { clock, logger, traffic, nameOf = (team) => team } = options;
  const tally = createSeriesTally(clock, nameOf);
  const outbox = createOutbox(options);
  const pages = createPageReader({ ...options, outbox });
  let restsUntilMs = 0;

  function collect(): void {
    const counted = tally.take();
    if (counted !== null) outbox.add(toBatches(counted));
  }

  const flushOutbox = oneAtATime(outbox.flush);
  function flush(): Promise<boolean> {
    collect();
    return flushOutbox();
  }

  const looks = repeat(LOOK_EVERY_MS, async () => {
    tally.queued(traffic.budget.queued);
    if (uptimeMs() < restsUntilMs) return;
    collect();
    if (outbox.isEmpty()) return;
    restsUntilMs = uptimeMs() + FLUSH_EVERY_MS;
    await flush();
  });

  return {
    add: tally.add,
    addCall(team) {
      tally.addCall(team, traffic.pace.status()?.remaining ?? null);
      tally.queued(traffic.budget.queued);
    },
    async read(range, team) {
      collect();
      if (team !== null) {
        const steps = hourSteps(range, clock.now());
        const former = team.lives === 'all' ? (await pages.teams(steps)).get(team.id) : undefined;
        const names = new Set([nameOf(team.id), ...(former ?? [])]);
        return showTeam(range, steps, await pages.hours(steps, [...names]), team);
      }
      const steps = fineSteps(range, clock.now());
      const found = range === '30d' ? await pages.hours(steps, [ALL]) : await pages.minutes(steps);
      const cells = cellsOfSteps(steps, found);
      return shown(range, steps, seriesOf(cells, shownBudget(cells)));
    },
    async ledger(range, titleOf) {
      collect();
      const steps = hourSteps(range, clock.now());
      const rows: LedgerRow[] = [];
      for (const [id, names] of await pages.teams(steps)) {
        const row = ledgerRow(steps, await pages.hours(steps, names));
        if (row !== null) rows.push({ id, name: titleOf(id) ?? id, ...row });
      }
      return rows;
    },
    flush,
    async close() {
      await looks.stop();
      if (!(await flushAtEnd(flush, CLOSE_TRIES)))
        logger.warn('the last seconds of the series are lost: the store does not take them');
    },
  };
}

function showTeam(range: Range, steps: Steps, found: TimedCells, { callsPerDay }: SeriesTeam): ShownSeries {
  const left =
    callsPerDay === null ? Array<null>(steps.count).fill(null) : shareLeft(steps, found, callsPerDay);
  return shown(range, steps, seriesOf(cellsOfSteps(steps, found), left));
}

function shown(range: Range, steps: Steps, series: ReturnType<typeof seriesOf>) {
  return {
    range,
    from: new Date(steps.fromMs).toISOString(),
    to: new Date(endOf(steps)).toISOString(),
    stepSeconds: steps.stepMs / 1000,
    points: steps.count,
    series,
  };
}
