/**
 * A platform that restates: what it says of a day follows from a table that a test changes, and from a curve by which days
 * are completed with their age. It writes down what it was asked, when, and what it said.
 */
import { onTestFinished } from 'vitest';
import { startRawPlatform } from '../../support/raw-platform.js';
import { DAY, type TestClock } from '../../support/test-clock.js';
import { dayOf, shiftDay } from '../world.js';

export type Row = Readonly<Record<string, string | number>>;

/** A call that was answered. */
export interface Said {
  readonly advertiserId: number;
  readonly byCampaign: boolean;
  /** When it came, and when it was answered, by the clock of the test. */
  readonly cameMs: number;
  readonly saidMs: number;
  /** As a gateway shows them: by ISO date, also of days without rows. */
  readonly days: ReadonlyMap<string, readonly Row[]>;
}

export interface RestatingPlatform {
  readonly url: string;
  readonly token: string;
  readonly said: readonly Said[];
  /** Another version of these days of an advertiser, from now on. */
  restate(advertiserId: number, dates: readonly string[], version: number): void;
  /** From now on all rows have another column, campaigns other names, rows another order. */
  readonly ways: { column: boolean; renamed: boolean; reversed: boolean };
  /** How long a call takes. */
  latencyMs: number;
  /** Answers wait from now on. */
  hold(): void;
  release(): void;
  /** How many calls came so far. */
  readonly came: number;
}

export interface PlatformOptions {
  readonly clock: TestClock;
  readonly timezone: string;
  /** Percent of a day's numbers that are there at an age of so many days; the last stays. */
  readonly curve: readonly number[];
}

/**
 * Versions of a day: one has no rows at all, one lacks a campaign. A day that had rows keeps some: whether an emptied day is
 * believed is judged elsewhere (`test/reports/history/forgotten.test.ts`).
 */
export const VERSIONS = 6;
const EMPTY = 4;
const LACKING = 3;

/** Ended with the test. */
export async function startRestatingPlatform(options: PlatformOptions): Promise<RestatingPlatform> {
  const { clock } = options;
  const table = new Map<string, number>();
  const said: Said[] = [];
  const filled = new Set<string>();
  const held: (() => void)[] = [];
  let [holding, came] = [false, 0];
  const ways = { column: false, renamed: false, reversed: false };
  function rowsOf(advertiserId: number, date: string, atMs: number): Row[] {
    const name = `${advertiserId}|${date}`;
    const wanted = table.get(name) ?? 0;
    const version = wanted === EMPTY && filled.has(name) ? LACKING : wanted;
    const rows = campaignRows({ advertiserId, date, version, atMs, ways }, options);
    if (rows.length > 0) filled.add(name);
    return rows;
  }
  const raw = await startRawPlatform((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const { searchParams } = new URL(request.url ?? '', 'http://platform');
      const asked = (body === '' ? Object.fromEntries(searchParams) : JSON.parse(body)) as Record<
        string,
        unknown
      >;
      const [advertiserId, byCampaign] = [Number(asked.advertiserId), String(asked.byCampaign) === '1'];
      const cameMs = clock.now();
      const days = new Map(
        datesOf(String(asked.dateFrom), String(asked.dateTo)).map((date): [string, Row[]] => {
          const rows = rowsOf(advertiserId, date, cameMs);
          const shown = byCampaign ? rows : inOne(rows);
          return [date, ways.reversed ? shown.toReversed() : shown];
        }),
      );
      const answer = () => {
        clock.advance(platform.latencyMs);
        if (String(asked.byDate) === '1')
          said.push({ advertiserId, byCampaign, cameMs, saidMs: clock.now(), days });
        const text = JSON.stringify({ data: [...days.values()].flat().map(asThePlatformWrites) });
        response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      };
      came += 1;
      if (holding) held.push(answer);
      else answer();
    });
  });
  const platform: RestatingPlatform = {
    url: raw.url,
    token: raw.token,
    said,
    ways,
    latencyMs: 0,
    get came() {
      return came;
    },
    restate(advertiserId, dates, version) {
      for (const date of dates) table.set(`${advertiserId}|${date}`, version % VERSIONS);
    },
    hold() {
      holding = true;
    },
    release() {
      holding = false;
      for (const answer of held.splice(0)) answer();
    },
  };
  onTestFinished(() => platform.release());
  return platform;
}

export function datesOf(from: string, to: string): string[] {
  const dates: string[] = [];
  for (let date = from; date <= to; date = shiftDay(date, 1)) dates.push(date);
  return dates;
}

/** How many days old a day is at a moment; 0: it is not over. */
export function ageOf(date: string, atMs: number, timezone: string): number {
  return Math.round((Date.parse(dayOf(atMs, timezone)) - Date.parse(date)) / DAY);
}

interface OneDay {
  readonly advertiserId: number;
  readonly date: string;
  readonly version: number;
  readonly atMs: number;
  readonly ways: RestatingPlatform['ways'];
}

function campaignRows({ advertiserId, date, version, atMs, ways }: OneDay, options: PlatformOptions): Row[] {
  const age = ageOf(date, atMs, options.timezone);
  if (age < 0 || version === EMPTY) return [];
  const { curve } = options;
  const percent = curve[Math.min(age, curve.length - 1)] ?? 100;
  const seed = advertiserId * 131 + (Date.parse(date) / DAY) * 17;
  return [1, 2, 3]
    .filter((campaign) => version !== LACKING || campaign !== 2)
    .map((campaign): Row => {
      const full = 1000 + ((seed * 7919 + campaign * 104_729) % 90_000) + version * 37;
      const impressions = Math.floor((full * percent) / 100);
      return {
        date,
        campaignId: advertiserId * 100 + campaign,
        campaignName: ways.renamed && campaign === 1 ? 'Spring, again' : `Campaign ${campaign}`,
        advertiserId,
        currency: 'USD',
        impressions,
        clicks: Math.floor(impressions / 91),
        // In ten-thousandths, as the platform counts.
        spent: (impressions * 83 + campaign) / 10_000,
        ...(ways.column ? { viewable: Math.floor(impressions / 2) } : {}),
      };
    });
}

/** The row of a day of all campaigns. */
function inOne(rows: readonly Row[]): Row[] {
  const [first] = rows;
  if (first === undefined) return [];
  const sum = (column: string) =>
    rows.reduce((all, row) => all + Math.round(Number(row[column]) * 10_000), 0) / 10_000;
  const { campaignId: _, campaignName: __, ...rest } = first;
  return [
    Object.fromEntries(
      Object.entries(rest).map(([column, value]) =>
        ['impressions', 'clicks', 'spent', 'viewable'].includes(column)
          ? [column, sum(column)]
          : [column, value],
      ),
    ),
  ];
}

function asThePlatformWrites(row: Row): object {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      column === 'spent' ? (value as number).toFixed(4) : value,
    ]),
  );
}

/** Rows of an answer by their dates. */
export function rowsByDay(data: readonly Readonly<Record<string, unknown>>[]): Map<string, Row[]> {
  const days = new Map<string, Row[]>();
  for (const row of data as readonly Row[]) {
    const date = String(row.date);
    days.set(date, [...(days.get(date) ?? []), row]);
  }
  return days;
}
