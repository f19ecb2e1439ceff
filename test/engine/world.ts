/** What the model knows of the world, and what every answer must be in it. */
import { expect } from 'vitest';
import type { Simulator } from '../../src/simulator/simulator.js';
import { outcomeOf, type Reply, type ReportBody } from '../support/start-gateway.js';
import { DAY, HOUR, MINUTE } from '../support/test-clock.js';
import { csvRows } from './csv-rows.js';
import type { Replicas } from './replicas.js';

export interface Purge {
  readonly atMs: number;
  readonly advertiserId?: number;
  readonly from?: string;
  readonly to?: string;
}

export interface World {
  readonly simulator: Simulator;
  readonly replicas: Replicas;
  readonly timezone: string;
  readonly purges: Purge[];
  /** Some platform calls fail. */
  failing: boolean;
}

export interface Question {
  readonly replica: number;
  readonly advertiserId: number;
  readonly byDate: boolean;
  readonly byCampaign: boolean;
  readonly local: boolean;
  /** First day, counted back from today. */
  readonly ago: number;
  readonly length: number;
  readonly format: 'json' | 'csv' | 'ndjson';
  /** `_days=1` and `_totals=1`, for JSON. */
  readonly days: boolean;
  readonly totals: boolean;
  readonly directives: string | null;
}

/** A question with its days decided. */
export interface Asked extends Question {
  readonly dates: readonly string[];
  readonly atMs: number;
  /** Purges that were in force before it was asked. */
  readonly purges: readonly Purge[];
}

type Row = Readonly<Record<string, unknown>>;

const RESTATEMENT_DAYS = 5;
const REVALIDATE_MS = 10 * MINUTE;
const IF_ERROR_MS = 7 * DAY;

export function dayOf(atMs: number, timeZone: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(atMs);
}

export function shiftDay(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10);
}

function isFinalAt(date: string, atMs: number, timezone: string): boolean {
  return date < shiftDay(dayOf(atMs, timezone), -RESTATEMENT_DAYS);
}

/** How long a day with rows is fresh that was fetched at a moment. */
function freshMs(date: string, atMs: number, timezone: string): number {
  if (date >= dayOf(atMs, timezone)) return 5 * MINUTE;
  return isFinalAt(date, atMs, timezone) ? 30 * DAY : HOUR;
}

function decide(question: Question, world: World): Asked {
  const atMs = world.replicas.clock.now();
  const first = shiftDay(dayOf(atMs, world.timezone), -question.ago);
  const dates = Array.from({ length: question.length }, (_, index) => shiftDay(first, index));
  return { ...question, dates, atMs, purges: [...world.purges] };
}

function queryOf({ advertiserId, byDate, byCampaign, local, dates, format, ...flags }: Asked): string {
  return [
    `advertiserId=${advertiserId}&dateFrom=${dates[0]}&dateTo=${dates.at(-1)}&_format=${format}`,
    ...(byDate ? ['byDate=1'] : []),
    ...(byCampaign ? ['byCampaign=1'] : []),
    ...(local ? ['spentBased=local'] : []),
    ...(flags.days && format === 'json' ? ['_days=1'] : []),
    ...(flags.totals && format === 'json' ? ['_totals=1'] : []),
  ].join('&');
}

export async function ask(question: Question, world: World): Promise<void> {
  // Of a report and its totals the first failure is the answer; the other call goes on, and may still fail later.
  const asked = decide({ ...question, totals: question.totals && !world.failing }, world);
  const { all, key } = world.replicas;
  const gateway = all[question.replica % all.length] as (typeof all)[0];
  const headers = question.directives === null ? {} : { 'cache-control': question.directives };
  checkAnswer(asked, await gateway.report(key, queryOf(asked), { headers }), world);
}

const FAILURES = ['502 upstream_error', '503 upstream_circuit_open'];

function checkAnswer(asked: Asked, reply: Reply, world: World): void {
  if (reply.status !== 200) {
    const allowed = [
      ...(world.failing ? FAILURES : []),
      ...(asked.directives === 'only-if-cached' ? ['504 not_cached'] : []),
    ];
    expect(allowed, reply.text).toContain(outcomeOf(reply));
    return;
  }
  const { data, meta } = asked.format === 'json' ? reply.json<ReportBody>() : NO_BODY;
  if (meta !== null) checkMeta(asked, reply, { data, meta }, world);
  const days = asked.byDate ? meta?.days : undefined;
  if (days === undefined) checkRows(asked, reply, world);
  const rows = byDay(data);
  for (const { date, asOf } of days ?? []) {
    const truth = truthOf(asked, date, date, Date.parse(asOf), world);
    expect(rows.get(date) ?? [], `the rows of ${date} as of ${asOf}`).toEqual(truth);
  }
}

const NO_BODY = { data: [], meta: null };

interface Span {
  readonly from: string;
  readonly to: string;
}

/** What `_days=1`, or the body's own word, says of when its parts were fetched. */
function checkMeta(asked: Asked, reply: Reply, { data, meta }: ReportBody, world: World): void {
  const { dates } = asked;
  expect(meta.rowCount).toBe(data.length);
  expect(data.every(({ date }) => !asked.byDate || dates.includes(String(date)))).toBe(true);
  const order = data.map(({ date }) => String(date));
  expect(order).toEqual(order.toSorted());
  const whole = { asOf: meta.asOf, final: meta.final, stale: meta.stale };
  const period = { from: dates[0] as string, to: dates.at(-1) as string };
  if (!asked.days) {
    if (!asked.byDate && !asked.totals) checkPart(asked, reply, period, whole, data.length === 0, world);
    return;
  }
  expect(meta.days?.map(({ date }) => date)).toEqual(dates);
  const rows = byDay(data);
  for (const day of meta.days ?? []) {
    const last = rows.has(dates.at(-1) as string) || !asked.byDate;
    const empty = !last || (asked.byDate ? !rows.has(day.date) : data.length === 0);
    const span = asked.byDate ? { from: day.date, to: day.date } : period;
    if (asked.byDate || !asked.totals)
      checkPart(asked, reply, span, { ...day, final: isLast(day, asked) ? day.final : null }, empty, world);
    expect(day.final).toBe(isFinalAt(day.date, Date.parse(day.asOf), world.timezone));
  }
  const days = meta.days ?? [];
  if (asked.totals) {
    expect(meta.asOf <= (days.map(({ asOf }) => asOf).toSorted()[0] as string)).toBe(true);
    if (days.some(({ stale }) => stale)) expect(meta.stale).toBe(true);
    checkTotals(asked, meta.totals, meta.asOf, world);
  } else {
    expect(meta.asOf).toBe(days.map(({ asOf }) => asOf).toSorted()[0]);
    expect(meta.stale).toBe(days.some(({ stale }) => stale));
  }
  expect(meta.final).toBe(days.every(({ final }) => final));
}

function isLast({ date }: { readonly date: string }, { byDate, dates }: Asked): boolean {
  return byDate || date === dates.at(-1);
}

interface Shown {
  readonly asOf: string;
  readonly stale: boolean;
  /** Null: not to be looked at. */
  readonly final: boolean | null;
}

/** One part of an answer: as old as it may be, and what it says of itself. */
function checkPart(asked: Asked, reply: Reply, span: Span, shown: Shown, empty: boolean, world: World): void {
  const { timezone } = world;
  const asOfMs = Date.parse(shown.asOf);
  const ageMs = asked.atMs - asOfMs;
  const what = `${span.from} to ${span.to} as of ${shown.asOf}, asked at ${new Date(asked.atMs).toISOString()}`;
  expect(ageMs, what).toBeGreaterThanOrEqual(0);
  expect(asOfMs, `no part is older than a purge: ${what}`).toBeGreaterThanOrEqual(purgedUntil(asked, span));
  if (shown.final !== null) expect(shown.final, `final: ${what}`).toBe(isFinalAt(span.to, asOfMs, timezone));
  const longest = freshMs(span.to, asOfMs, timezone);
  // A whole entry is as fresh as its youngest day, and an empty end may be fresh for five minutes only.
  const shortest = empty ? 5 * MINUTE : freshMs(asked.dates.at(-1) as string, asOfMs, timezone);
  const rescued = isRescued(reply);
  // In place of what the platform failed to give, it is stale for this caller however young it is.
  const leastMs = WANTED_MS[asked.directives ?? ''];
  if (!shown.stale) expect(ageMs, `fresh: ${what}`).toBeLessThan(longest);
  else
    expect(ageMs, `stale: ${what}`).toBeGreaterThanOrEqual(
      rescued ? Math.min(shortest, leastMs ?? shortest) : shortest,
    );
  if (rescued && leastMs !== undefined && ageMs > leastMs)
    expect(shown.stale, `wanted fresher: ${what}`).toBe(true);
  const lenient = rescued || asked.directives?.startsWith('max-stale') === true;
  expect(ageMs, `too old: ${what}`).toBeLessThan(longest + (lenient ? IF_ERROR_MS : REVALIDATE_MS));
  if (asked.directives === 'no-cache' && !rescued) expect(ageMs, `no-cache: ${what}`).toBe(0);
  if (asked.directives === 'max-age=60' && !rescued)
    expect(ageMs, `max-age: ${what}`).toBeLessThanOrEqual(MINUTE);
}

/** How old an answer may be that is asked for with these directives. */
const WANTED_MS: Readonly<Record<string, number>> = { 'no-cache': 0, 'max-age=60': MINUTE };

function isRescued(reply: Reply): boolean {
  return reply.headers['cache-status']?.includes('stale-if-error') ?? false;
}

/** When the newest purge was that covers any of these days. */
function purgedUntil({ advertiserId, purges }: Asked, { from, to }: Span): number {
  const covering = purges.filter(
    (purge) =>
      (purge.advertiserId === undefined || purge.advertiserId === advertiserId) &&
      (purge.from === undefined || purge.from <= to) &&
      (purge.to === undefined || purge.to >= from),
  );
  return Math.max(Number.NEGATIVE_INFINITY, ...covering.map(({ atMs }) => atMs));
}

/** Without a word on when each day was fetched: it was at one of the calls that brought it. */
function checkRows(asked: Asked, reply: Reply, world: World): void {
  const rows = rowsOf(asked, reply);
  const oldestMs = asked.atMs - (Number(reply.headers.age) + 1) * 1000;
  const spans: Span[] = asked.byDate
    ? asked.dates.map((date) => ({ from: date, to: date }))
    : [{ from: asked.dates[0] as string, to: asked.dates.at(-1) as string }];
  const found = asked.byDate ? byDay(rows) : new Map([[spans[0]?.from as string, [...rows]]]);
  expect([...found.keys()].filter((date) => !asked.dates.includes(date))).toEqual([]);
  for (const span of spans) {
    const since = Math.max(oldestMs, purgedUntil(asked, span));
    const have = JSON.stringify((found.get(span.from) ?? []).map(sorted));
    const truths = fetchTimes(asked, span, world)
      .filter((atMs) => atMs >= since)
      .map((atMs) => JSON.stringify(truthOf(asked, span.from, span.to, atMs, world).map(sorted)));
    expect(truths, `the rows of ${span.from} to ${span.to} in ${asked.format}`).toContain(have);
  }
}

function rowsOf(asked: Asked, reply: Reply): readonly Row[] {
  if (asked.format === 'json') return reply.json<ReportBody>().data;
  if (asked.format === 'csv') return csvRows(reply.text);
  return reply.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}

function checkTotals(asked: Asked, totals: Row | undefined, asOf: string, world: World): void {
  const unsplit: Asked = { ...asked, byDate: false, byCampaign: false };
  const span = { from: asked.dates[0] as string, to: asked.dates.at(-1) as string };
  const since = Math.max(Date.parse(asOf), purgedUntil(asked, span));
  const truths = fetchTimes(unsplit, span, world)
    .filter((atMs) => atMs >= since)
    .map((atMs) => JSON.stringify(truthOf(unsplit, span.from, span.to, atMs, world).map(sorted)));
  expect(truths, 'the totals').toContain(JSON.stringify([sorted(totals ?? {})]));
}

/** When the platform was asked for these days of this series; once each. */
function fetchTimes(asked: Asked, { from, to }: Span, world: World): number[] {
  const times = world.simulator.calls
    .filter(({ status, query }) => {
      const sameSeries =
        query.advertiserId === String(asked.advertiserId) &&
        (query.byDate === '1') === asked.byDate &&
        (query.byCampaign === '1') === asked.byCampaign &&
        (query.spentBased === 'local') === asked.local;
      const [first, last] = [String(query.dateFrom), String(query.dateTo)];
      const covers = asked.byDate ? first <= from && last >= to : first === from && last === to;
      return status === 200 && sameSeries && covers;
    })
    .map(({ at }) => at);
  return [...new Set(times)];
}

function truthOf(asked: Asked, from: string, to: string, atMs: number, world: World): Row[] {
  const { advertiserId, byDate, byCampaign, local } = asked;
  const query = { advertiserId, byDate, byCampaign, spentBased: local ? 'local' : 'usd' } as const;
  return world.simulator.truth({ ...query, dateFrom: from, dateTo: to }, atMs) as unknown as Row[];
}

function byDay(rows: readonly Row[]): Map<string, Row[]> {
  const days = new Map<string, Row[]>();
  for (const row of rows) days.set(String(row.date), [...(days.get(String(row.date)) ?? []), row]);
  return days;
}

function sorted(row: Row): Row {
  return Object.fromEntries(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
