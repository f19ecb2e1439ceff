/** Calls through the demo gateway, compared with the simulator's data, with their cost in platform calls. */
import { uptimeMs } from '../../lib/time.js';
import type { TruthQuery } from '../../simulator/simulator.js';
import type { Demo } from './start-demo.js';

/** The day `ago` days before the platform's today, `YYYY-MM-DD`. */
type DayOf = (ago: number) => string;

/** First and last day, in days before the platform's today. */
type Days = readonly [first: number, last: number];

interface Step {
  readonly title: string;
  readonly query: string;
  readonly calls: number;
  /** Expected platform calls in the background, for comparison. */
  readonly background?: number;
  /** Platform calls of an app without the gateway; default 1. */
  readonly direct?: number;
  /** Number of people who request it, one after another; default 1. */
  readonly people?: number;
  /** Default 200. */
  readonly status?: number;
  /** Days whose rows are compared with the platform's. */
  readonly truth?: Days;
  /** Another check. @returns a note to print. @throws Error if it fails */
  readonly check?: (text: string) => string;
}

interface Report {
  readonly data: readonly Record<string, unknown>[];
  readonly meta: { readonly totals?: Record<string, unknown> };
}

const REPORT = '/api/v1/report/campaigns/get';
const PEOPLE = 50;

/** In order: each builds on the cache of the ones before. */
function stepsOf(day: DayOf, range: (days: Days) => string): Step[] {
  const rows = (...truth: Days) => ({ query: range(truth), truth });
  return [
    {
      ...rows(20, 7),
      title:
        'A new report: one platform call. Then four weeks and parts of them are fetched, to see that a day has the same numbers in each.',
      calls: 1,
      background: 6,
    },
    {
      ...rows(20, 7),
      title: 'The same report, spelled differently by another app: served from the cache.',
      query: `dateTo=${day(7)}&byDate=true&dateFrom=${day(20)}&byCampaign=0&advertiserId=1`,
      calls: 0,
    },
    {
      title: 'The same report as CSV: still no platform call.',
      query: `${range([20, 7])}&_format=csv`,
      calls: 0,
      check: checkCsv,
    },
    {
      // No whole weeks: the first join of those is compared with the platform.
      ...rows(27, 8),
      title: 'A new range with all days cached: joined from days, no platform call.',
      calls: 0,
    },
    {
      ...rows(28, 5),
      title: 'Two more days: one call. The first joins are verified, so it fetches the whole range.',
      calls: 1,
    },
    {
      title: 'With true totals: a person seen on two days counts once, so daily reach must not be summed.',
      query: `${range([20, 7])}&_totals=1`,
      calls: 1,
      direct: 2,
      check: checkTotals,
    },
    {
      title: 'An advertiser of another team: refused before cache and platform.',
      query: range([20, 7]).replace('advertiserId=1', 'advertiserId=4'),
      calls: 0,
      direct: 0,
      status: 403,
    },
    {
      ...rows(28, 5),
      title: `A dashboard: ${PEOPLE} people open the report of step 5.`,
      people: PEOPLE,
      calls: 0,
      direct: PEOPLE,
    },
  ];
}

function checkCsv(text: string): string {
  const lines = text.trimEnd().split('\r\n');
  if (lines.length !== 15) throw new Error(`${lines.length} lines instead of 15`);
  return `first lines: ${lines.slice(0, 2).join(' | ')}`;
}

function checkTotals(text: string): string {
  const { data, meta } = JSON.parse(text) as Report;
  const sum = data.reduce((total, row) => total + Number(row.reach), 0);
  const reach = Number(meta.totals?.reach);
  if (!(reach > 0 && reach < sum)) throw new Error('total reach is not below the sum of days');
  return `true reach ${reach.toLocaleString('en')}; the sum of the days would be ${sum.toLocaleString('en')}`;
}

/** @returns `checked` answers were compared with the platform; `direct` platform calls would be made without the gateway */
export async function tour(demo: Demo, print: (line: string) => void) {
  const { simulator } = demo;
  const day = (ago: number) =>
    new Date(Date.parse(simulator.today) - ago * 86_400_000).toISOString().slice(0, 10);
  const range = ([first, last]: Days) => `advertiserId=1&byDate=1&dateFrom=${day(first)}&dateTo=${day(last)}`;
  const faults: string[] = [];
  const steps = stepsOf(day, range);
  const atStart = simulator.callCount;
  let [questions, direct] = [0, 0];
  for (const [index, step] of steps.entries()) {
    const { title, query, people = 1, background = 0, status = 200 } = step;
    // Each of them would be one call without the gateway.
    questions += people;
    direct += step.direct ?? 1;
    const callsBefore = simulator.callCount;
    let answer = await ask(demo, query);
    for (let person = 1; person < people; person++) answer = await ask(demo, query);
    // Includes background platform calls.
    await demo.settled();
    const cost = simulator.callCount - callsBefore;
    print(`${index + 1}. ${title}`);
    print(`   GET ${REPORT}?${query}`);
    const compared = background === 0 ? '' : `, and ${background} in the background for comparison`;
    print(
      `   ${answer.status} · ${answer.cacheStatus} · ${answer.ms.toFixed(1)} ms · platform calls: ${cost - background}${compared}`,
    );
    const { note, fault } = judge(demo, step, answer.text, day);
    if (note !== undefined) print(`   ${note}`);
    const wrong = [
      answer.status === status ? null : `status ${answer.status} instead of ${status}`,
      cost === step.calls + background
        ? null
        : `${cost} platform calls instead of ${step.calls + background}`,
      fault ?? null,
    ].filter((one) => one !== null);
    for (const one of wrong) {
      faults.push(`${index + 1}: ${one}`);
      print(`   WRONG: ${one}`);
    }
    print('');
  }
  const checked = steps.filter(({ truth }) => truth !== undefined).length;
  return { questions, checked, calls: simulator.callCount - atStart, direct, faults };
}

async function ask({ gatewayUrl, key, ending }: Demo, query: string) {
  const startedAt = uptimeMs();
  const response = await fetch(`${gatewayUrl}${REPORT}?${query}`, {
    signal: ending,
    headers: { authorization: `Bearer ${key}` },
  });
  const text = await response.text();
  const cacheStatus = response.headers.get('cache-status')?.replace('dsp-gateway; ', '');
  const ms = uptimeMs() - startedAt;
  return { status: response.status, cacheStatus: cacheStatus ?? 'no cache involved', text, ms };
}

function judge(demo: Demo, { truth, check, status }: Step, text: string, day: DayOf) {
  try {
    if (truth !== undefined) {
      const [dateFrom, dateTo] = [day(truth[0]), day(truth[1])];
      return { note: sameRows(demo, text, { advertiserId: 1, dateFrom, dateTo, byDate: true }) };
    }
    if (status === 403 && !text.includes('"advertiser_forbidden"'))
      throw new Error('not the error advertiser_forbidden');
    return { note: check?.(text) };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

/** @throws Error unless the rows equal those of the platform */
function sameRows({ simulator }: Demo, text: string, query: TruthQuery): string {
  const { data } = JSON.parse(text) as Report;
  const expected = simulator.truth(query);
  if (data.length !== expected.length) throw new Error(`${data.length} rows instead of ${expected.length}`);
  const wrong = expected.findIndex((row, index) =>
    Object.entries(row).some(([name, value]) => data[index]?.[name] !== value),
  );
  if (wrong >= 0) throw new Error(`row ${wrong + 1} differs from the platform`);
  return `checked: ${data.length} rows, all values equal those of the platform`;
}
