/** A few real calls through the demo gateway, each checked against the platform's truth, and what they cost. */
import { explainCache } from '../../api/operations/cache.js';
import { uptimeMs } from '../../lib/time.js';
import type { TruthQuery } from '../../simulator/simulator.js';
import type { Demo } from './start-demo.js';

/** A day so long ago by the platform's calendar, `YYYY-MM-DD`. */
type DayOf = (ago: number) => string;

/** First and last day, as days ago by the platform's calendar. */
type Days = readonly [first: number, last: number];

/** One call of the tour. */
interface Step {
  readonly title: string;
  /** Of the report. */
  readonly query: string;
  /** How many platform calls it costs. */
  readonly calls: number;
  /** How many more the gateway makes behind the answer, to compare. */
  readonly behind?: number;
  /** How many it would cost an app that asks the platform itself; 1 when left out. */
  readonly direct?: number;
  /** By how many people it is asked, one after the other; 1 when left out. */
  readonly people?: number;
  /** Ranges that are asked for before it. */
  readonly before?: readonly Days[];
  /** 200 when left out. */
  readonly status?: number;
  /** The rows are held against the platform's own of these days. */
  readonly truth?: Days;
  /** Another check. @returns what is worth telling. @throws Error that says what is wrong */
  readonly check?: (text: string) => string;
}

interface Report {
  readonly data: readonly Record<string, unknown>[];
  readonly meta: { readonly totals?: Record<string, unknown> };
}

const REPORT = '/api/v1/report/campaigns/get';
const PEOPLE = 50;

/** Ranges of different lengths and ends that bring the report through its probation. */
const PROBATION: readonly Days[] = [
  [29, 13],
  [28, 14],
  [32, 15],
  [34, 16],
];

/** In their order: each builds on what the ones before have brought into the cache. */
function stepsOf(day: DayOf, range: (days: Days) => string): Step[] {
  const rows = (...truth: Days) => ({ query: range(truth), truth });
  return [
    {
      ...rows(20, 7),
      title: 'A report nobody asked for before: the gateway asks the platform with its token.',
      calls: 1,
    },
    {
      ...rows(20, 7),
      title: 'The same question, spelt differently by another app: answered from memory.',
      query: `dateTo=${day(7)}&byDate=true&dateFrom=${day(20)}&byCampaign=0&advertiserId=1`,
      calls: 0,
    },
    {
      title: 'The same report as CSV, for a spreadsheet: still no platform call.',
      query: `${range([20, 7])}&_format=csv`,
      calls: 0,
      check: checkCsv,
    },
    {
      ...rows(19, 6),
      title:
        'An overlapping range. Whether reports may be split by day is not known yet: asked as a whole, compared.',
      calls: 1,
    },
    {
      ...rows(30, 12),
      title: 'Another one. Where the answers overlap they agree, day by day: the report is on probation now.',
      calls: 1,
      behind: 1,
    },
    {
      ...rows(28, 8),
      title: 'A range nobody asked for, but every day of it is known: joined from days, no platform call.',
      before: PROBATION,
      calls: 0,
      behind: 1,
    },
    {
      ...rows(28, 5),
      title:
        'Three days more, two of them known: one call. The first joins are checked, so it brings the whole range.',
      calls: 1,
    },
    {
      title: 'With true totals: people who came on two days count once, so daily reach must not be summed.',
      query: `${range([20, 7])}&_totals=1`,
      calls: 1,
      // The first join of 14 days: those of each length are compared for themselves.
      behind: 1,
      direct: 2,
      check: checkTotals,
    },
    {
      title: 'An advertiser of another team: refused before the cache and before the platform.',
      query: range([20, 7]).replace('advertiserId=1', 'advertiserId=4'),
      calls: 0,
      direct: 0,
      status: 403,
    },
    {
      ...rows(28, 5),
      title: `What dashboards do all day: ${PEOPLE} people open the report of step 7.`,
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
  return `true reach ${reach.toLocaleString('en')}; the days added up would claim ${sum.toLocaleString('en')}`;
}

interface TourResult {
  readonly questions: number;
  /** How many of them were held against the platform's own numbers. */
  readonly checked: number;
  /** Platform calls, those that compare and check included. */
  readonly calls: number;
  /** Platform calls without the gateway. */
  readonly direct: number;
  readonly faults: readonly string[];
}

/** @param print told line by line what happens */
export async function tour(demo: Demo, print: (line: string) => void): Promise<TourResult> {
  const { simulator } = demo;
  const day = (ago: number) =>
    new Date(Date.parse(simulator.today) - ago * 86_400_000).toISOString().slice(0, 10);
  const range = ([first, last]: Days) => `advertiserId=1&byDate=1&dateFrom=${day(first)}&dateTo=${day(last)}`;
  const faults: string[] = [];
  const steps = stepsOf(day, range);
  const atStart = simulator.callCount;
  let [questions, direct] = [0, 0];
  for (const [index, step] of steps.entries()) {
    const { title, query, people = 1, behind = 0, before = [], status = 200 } = step;
    if (before.length > 0) await passProbation(demo, before.map(range), print);
    // Each of them would be one call without the gateway.
    questions += before.length + people;
    direct += before.length + (step.direct ?? 1);
    const callsBefore = simulator.callCount;
    let answer = await ask(demo, query);
    for (let person = 1; person < people; person++) answer = await ask(demo, query);
    // Until then its platform calls are not all made.
    await demo.settled();
    const cost = simulator.callCount - callsBefore;
    print(`${index + 1}. ${title}`);
    print(`   GET ${REPORT}?${query}`);
    const compared = behind === 0 ? '' : `, and ${behind} behind the answer, to compare`;
    print(
      `   ${answer.status} · ${answer.cacheStatus} · ${answer.ms.toFixed(1)} ms · platform calls: ${cost - behind}${compared}`,
    );
    const { note, fault } = judge(demo, step, answer.text, day);
    if (note !== undefined) print(`   ${note}`);
    const wrong = [
      answer.status === status ? null : `status ${answer.status} instead of ${status}`,
      cost === step.calls + behind ? null : `${cost} platform calls instead of ${step.calls + behind}`,
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

/** Asks the demo gateway as an app would. @returns the answer, and how long it took */
async function ask({ gatewayUrl, key }: Demo, query: string) {
  const startedAt = uptimeMs();
  const response = await fetch(`${gatewayUrl}${REPORT}?${query}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const text = await response.text();
  const cacheStatus = response.headers.get('cache-status')?.replace('dsp-gateway; ', '');
  const ms = uptimeMs() - startedAt;
  return { status: response.status, cacheStatus: cacheStatus ?? 'no cache involved', text, ms };
}

/** What is worth telling of an answer, or what is wrong with it. */
function judge(demo: Demo, { truth, check, status }: Step, text: string, day: DayOf) {
  try {
    if (truth !== undefined) {
      const [dateFrom, dateTo] = [day(truth[0]), day(truth[1])];
      return { note: sameRows(demo, text, { advertiserId: 1, dateFrom, dateTo, byDate: true }) };
    }
    if (status === 403 && !text.includes('"advertiser_forbidden"'))
      throw new Error('another error than advertiser_forbidden');
    return { note: check?.(text) };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

/** The gateway's rows are the platform's: every member of the truth is there with its value. */
function sameRows({ simulator }: Demo, text: string, query: TruthQuery): string {
  const { data } = JSON.parse(text) as Report;
  const expected = simulator.truth(query);
  if (data.length !== expected.length) throw new Error(`${data.length} rows instead of ${expected.length}`);
  const wrong = expected.findIndex((row, index) =>
    Object.entries(row).some(([name, value]) => data[index]?.[name] !== value),
  );
  if (wrong >= 0) throw new Error(`row ${wrong + 1} is not the platform's`);
  return `checked: ${data.length} rows, each value is the platform's own`;
}

/** It happens once for a kind of report, not with every question. */
async function passProbation(
  demo: Demo,
  queries: readonly string[],
  print: (line: string) => void,
): Promise<void> {
  const before = demo.simulator.callCount;
  for (const query of queries) {
    await ask(demo, query);
    await demo.settled();
  }
  const [query = ''] = queries;
  const { policy } = await demo.admin.ask(explainCache, { query: { endpoint: 'campaigns/get', query } });
  if (policy.divisibility?.state !== 'proven') throw new Error('the report was not proven divisible by day');
  print(
    `   (Probation: ${queries.length} more ranges were answered as a whole and compared with the join of their days.`,
  );
  print(
    `   It took ${demo.simulator.callCount - before} platform calls, once for this kind of report: it is proven now.)`,
  );
  print('');
}
