/** A few real calls through the demo gateway, each checked against the platform's truth, and what they cost. */
import { uptimeMs } from '../../lib/time.js';
import type { TruthQuery } from '../../simulator/simulator.js';
import type { Demo } from './start-demo.js';

// Asks the demo gateway as an app would.

interface Answer {
  readonly status: number;
  readonly cacheStatus: string;
  readonly text: string;
  readonly ms: number;
}

/** @param path with the query. @returns the answer, and how long it took */
async function ask(demo: Demo, path: string): Promise<Answer> {
  const startedAt = uptimeMs();
  const response = await fetch(demo.gatewayUrl + path, { headers: { authorization: `Bearer ${demo.key}` } });
  const text = await response.text();
  const cacheStatus = (response.headers.get('cache-status') ?? 'no cache involved').replace(
    'dsp-gateway; ',
    '',
  );
  return { status: response.status, cacheStatus, text, ms: uptimeMs() - startedAt };
}

// The calls of the tour: what each costs, and what its answer must be.

interface Judged {
  /** What is wrong with the answer. */
  readonly fault: string | null;
  /** What is worth telling. */
  readonly note?: string;
  /** It was held against the platform's own numbers. */
  readonly isChecked?: boolean;
}

/** One call of the tour. */
interface Step {
  readonly title: string;
  readonly path: string;
  /** How many platform calls it costs. */
  readonly calls: number;
  /** How many more the gateway makes behind the answer, to compare. */
  readonly behind?: number;
  /** How many it would cost an app that asks the platform itself. */
  readonly direct: number;
  /** By how many people it is asked, one after the other; 1 when left out. */
  readonly people?: number;
  /** Waited for before the call. @returns the questions it took */
  readonly after?: (demo: Demo, print: (line: string) => void) => Promise<number>;
  readonly status: number;
  readonly judge: (answer: Answer, demo: Demo) => Judged;
}

interface Report {
  readonly data: readonly Record<string, unknown>[];
  readonly meta: { readonly totals?: Record<string, unknown> };
}

const REPORT = '/api/v1/report/campaigns/get';

/** In their order: each builds on what the ones before have brought into the cache. */
function stepsOf(demo: Demo): Step[] {
  const day = dayOf(demo);
  return [...wholeReports(day), ...joinedReports(day), ...furtherCalls(day)];
}

/** A day so long ago by the platform's calendar, `YYYY-MM-DD`. */
type DayOf = (daysAgo: number) => string;

function dayOf({ simulator }: Demo): DayOf {
  return (daysAgo) => new Date(Date.parse(simulator.today) - daysAgo * 86_400_000).toISOString().slice(0, 10);
}

/** @param first and `last` as days ago */
function range(day: DayOf, first: number, last: number): string {
  return `advertiserId=1&byDate=1&dateFrom=${day(first)}&dateTo=${day(last)}`;
}

/** A call whose rows are held against the platform's own. */
function checked(
  day: DayOf,
  first: number,
  last: number,
): Pick<Step, 'path' | 'status' | 'direct' | 'judge'> {
  return {
    path: `${REPORT}?${range(day, first, last)}`,
    status: 200,
    direct: 1,
    judge: (answer, demo) =>
      sameRows(answer, demo, { advertiserId: 1, dateFrom: day(first), dateTo: day(last), byDate: true }),
  };
}

function wholeReports(day: DayOf): Step[] {
  return [
    {
      ...checked(day, 20, 7),
      title: 'A report nobody asked for before: the gateway asks the platform with its token.',
      calls: 1,
    },
    {
      ...checked(day, 20, 7),
      title: 'The same question, spelt differently by another app: answered from memory.',
      path: `${REPORT}?dateTo=${day(7)}&byDate=true&dateFrom=${day(20)}&byCampaign=0&advertiserId=1`,
      calls: 0,
    },
    {
      title: 'The same report as CSV, for a spreadsheet: still no platform call.',
      path: `${REPORT}?${range(day, 20, 7)}&_format=csv`,
      calls: 0,
      direct: 1,
      status: 200,
      judge: ({ text }) => {
        const lines = text.trimEnd().split('\r\n');
        return {
          fault: lines.length === 15 ? null : `${lines.length} lines instead of 15`,
          note: `first lines: ${lines.slice(0, 2).join(' | ')}`,
        };
      },
    },
  ];
}

function joinedReports(day: DayOf): Step[] {
  return [
    {
      ...checked(day, 19, 6),
      title:
        'An overlapping range. Whether reports may be split by day is not known yet: asked as a whole, compared.',
      calls: 1,
    },
    {
      ...checked(day, 30, 12),
      title: 'Another one. Where the answers overlap they agree, day by day: the report is on probation now.',
      calls: 1,
      behind: 1,
    },
    {
      ...checked(day, 28, 8),
      title: 'A range nobody asked for, but every day of it is known: joined from days, no platform call.',
      after: passProbation,
      calls: 0,
      behind: 1,
    },
    {
      ...checked(day, 28, 5),
      title:
        'Three days more, two of them known: one call. The first joins are checked, so it brings the whole range.',
      calls: 1,
    },
  ];
}

function furtherCalls(day: DayOf): Step[] {
  return [
    {
      title: 'With true totals: people who came on two days count once, so daily reach must not be summed.',
      path: `${REPORT}?${range(day, 20, 7)}&_totals=1`,
      calls: 1,
      // The first join of 14 days: those of each length are compared for themselves.
      behind: 1,
      direct: 2,
      status: 200,
      judge: judgeTotals,
    },
    {
      title: 'An advertiser of another team: refused before the cache and before the platform.',
      path: `${REPORT}?${range(day, 20, 7).replace('advertiserId=1', 'advertiserId=4')}`,
      calls: 0,
      direct: 0,
      status: 403,
      judge: ({ text }) => ({
        fault: text.includes('"advertiser_forbidden"') ? null : 'another error than advertiser_forbidden',
      }),
    },
    {
      ...checked(day, 28, 5),
      title: `What dashboards do all day: ${PEOPLE} people open the report of step 7.`,
      people: PEOPLE,
      calls: 0,
      direct: PEOPLE,
    },
  ];
}

const PEOPLE = 50;

/** Ranges of different lengths and ends, as days ago, that bring the report through its probation. */
const PROBATION: readonly (readonly [first: number, last: number])[] = [
  [29, 13],
  [28, 14],
  [32, 15],
  [34, 16],
];

/** It happens once for a kind of report, not with every question. @returns the questions it took */
async function passProbation(demo: Demo, print: (line: string) => void): Promise<number> {
  const before = demo.simulator.callCount;
  const { adminUrl, adminToken } = demo;
  const day = dayOf(demo);
  for (const [first, last] of PROBATION) {
    await ask(demo, `${REPORT}?${range(day, first, last)}`);
    await demo.settled();
  }
  const query = encodeURIComponent(range(day, 9, 9));
  const response = await fetch(`${adminUrl}/admin/v1/cache/explain?endpoint=campaigns/get&query=${query}`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  if (!(await response.text()).includes('"proven"'))
    throw new Error('the report was not proven to be divisible');
  print(
    `   (Probation: ${PROBATION.length} more ranges were answered as a whole and compared with the join of their days.`,
  );
  print(
    `   It took ${demo.simulator.callCount - before} platform calls, once for this kind of report: it is proven now.)`,
  );
  print('');
  return PROBATION.length;
}

/** The gateway's rows are the platform's: every member of the truth is there with its value. */
function sameRows({ text }: Answer, { simulator }: Demo, query: TruthQuery): Judged {
  const { data } = JSON.parse(text) as Report;
  const expected = simulator.truth(query);
  if (data.length !== expected.length) return { fault: `${data.length} rows instead of ${expected.length}` };
  const wrong = expected.findIndex((row, index) =>
    Object.entries(row).some(([name, value]) => data[index]?.[name] !== value),
  );
  return wrong < 0
    ? { fault: null, note: `checked: ${data.length} rows, each value is the platform's own`, isChecked: true }
    : { fault: `row ${wrong + 1} is not the platform's` };
}

function judgeTotals({ text }: Answer): Judged {
  const { data, meta } = JSON.parse(text) as Report;
  const sum = data.reduce((total, row) => total + Number(row.reach), 0);
  const reach = Number(meta.totals?.reach);
  const note = `true reach ${reach.toLocaleString('en')}; the days added up would claim ${sum.toLocaleString('en')}`;
  return { fault: reach > 0 && reach < sum ? null : 'total reach is not below the sum of days', note };
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
  const faults: string[] = [];
  let checked = 0;
  let questions = 0;
  let direct = 0;
  const atStart = demo.simulator.callCount;
  for (const [index, step] of stepsOf(demo).entries()) {
    // Each of them would be one call without the gateway.
    const further = (await step.after?.(demo, print)) ?? 0;
    const { behind = 0, people = 1 } = step;
    questions += further + people;
    direct += further + step.direct;
    const before = demo.simulator.callCount;
    let answer = await ask(demo, step.path);
    for (let person = 1; person < people; person++) answer = await ask(demo, step.path);
    // Until then its platform calls are not all made.
    await demo.settled();
    const cost = demo.simulator.callCount - before;
    const { fault, note, isChecked = false } = step.judge(answer, demo);
    if (isChecked) checked += 1;
    print(`${index + 1}. ${step.title}`);
    print(`   GET ${step.path}`);
    print(
      `   ${answer.status} · ${answer.cacheStatus} · ${answer.ms.toFixed(1)} ms · platform calls: ${cost - behind}${behind === 0 ? '' : `, and ${behind} behind the answer, to compare`}`,
    );
    if (note !== undefined) print(`   ${note}`);
    const wrong = [
      answer.status === step.status ? null : `status ${answer.status} instead of ${step.status}`,
      cost === step.calls + behind ? null : `${cost} platform calls instead of ${step.calls + behind}`,
      fault,
    ].filter((one) => one !== null);
    for (const one of wrong) {
      faults.push(`${index + 1}: ${one}`);
      print(`   WRONG: ${one}`);
    }
    print('');
  }
  return { questions, checked, calls: demo.simulator.callCount - atStart, direct, faults };
}
