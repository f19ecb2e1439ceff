/** What callers and operators are told meanwhile. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, type Ask, ask, daysBefore, REPORT } from '../../../../support/ask.js';
import type { Gateway } from '../../../../support/processes.js';
import { waitFor } from '../../../../support/wait-for.js';
import type { World } from '../world.js';

const PAUSE_MS = 20;
/** Of days that change no more. */
const [OLDEST, NEWEST] = [60, 40];
/** Makes a team take room: a store goes on in what it has for as long as it can. */
const MANY = Array.from({ length: 1000 }, (_, at) => 100_000 + at);
/** Each team has another name, also in another probe. */
let teams = 0;

export interface Probe {
  /** How often each was told, by its status, with its code. */
  readonly changes: ReadonlyMap<string, number>;
  readonly reports: ReadonlyMap<string, number>;
  /** Teams whose making was acknowledged. */
  readonly made: ReadonlySet<string>;
  /** What has no place among answers: rows that are not true, connections that broke off. */
  readonly faults: readonly string[];
  stop(): Promise<void>;
}

/** Puts changes and reports, half of them afresh, to all gateways in turn. */
export async function startProbe(world: World): Promise<Probe> {
  const [changes, reports] = [new Map<string, number>(), new Map<string, number>()];
  const faults: string[] = [];
  const today = await world.sim.today();
  let [going, turn] = [true, 0];
  const made = new Set<string>();

  async function put(counts: Map<string, number>, url: string, options: Ask) {
    const answer = await ask(url, options).catch((error: unknown) => {
      faults.push(`${options.method ?? 'GET'} broke off: ${error instanceof Error ? error.message : error}`);
      return null;
    });
    if (answer === null) return null;
    const code = answer.status < 400 ? '' : ` ${codeOf(answer.text)}`;
    counts.set(`${answer.status}${code}`, (counts.get(`${answer.status}${code}`) ?? 0) + 1);
    return answer;
  }

  async function change(gateway: Gateway): Promise<void> {
    teams += 1;
    const json = { id: `p${teams}`, advertisers: MANY };
    const answer = await put(changes, `${gateway.admin}/admin/v1/teams`, {
      method: 'POST',
      bearer: gateway.adminToken,
      json,
    });
    if (answer?.status === 201) made.add(json.id);
  }

  async function report(gateway: Gateway): Promise<void> {
    const from = NEWEST + (turn % (OLDEST - NEWEST));
    const query = `advertiserId=1&byDate=1&dateFrom=${daysBefore(today, from)}&dateTo=${daysBefore(today, NEWEST)}`;
    const fault = await faultOfReport(world, query, () =>
      put(reports, `${gateway.data}${REPORT}?${query}`, {
        key: world.keys.free,
        headers: turn % 2 === 0 ? { 'cache-control': 'no-cache' } : {},
      }),
    );
    if (fault !== null) faults.push(fault);
  }

  const loops = [change, report].map(async (step) => {
    while (going) {
      turn += 1;
      await step(world.gateways[turn % world.gateways.length] as Gateway);
      await pause(PAUSE_MS);
    }
  });
  return {
    changes,
    reports,
    made,
    faults,
    async stop() {
      going = false;
      await Promise.all(loops);
    },
  };
}

/** @returns what is wrong with a report that came; null where nothing is, or none came */
async function faultOfReport(
  { sim }: Pick<World, 'sim'>,
  query: string,
  put: () => Promise<Answer | null>,
): Promise<string | null> {
  const answer = await put();
  if (answer === null || answer.status !== 200) return null;
  const truth = await sim.truth(query);
  const { data } = answer.json<{ data: unknown }>();
  const isTrue = JSON.stringify(data) === JSON.stringify(truth);
  const { age } = answer.headers;
  if (age !== undefined && !/^\d+$/.test(age)) return `age is ${age}`;
  return isTrue ? null : `rows are not true: ${JSON.stringify(data).slice(0, 100)}`;
}

function codeOf(text: string): string {
  try {
    return String((JSON.parse(text) as { code?: unknown }).code);
  } catch {
    return text.slice(0, 60);
  }
}

/** @returns teams that were made by the answers, and are not there, a line each */
export async function missingTeams(
  { gateways }: Pick<World, 'gateways'>,
  { made }: Probe,
): Promise<string[]> {
  const faults: string[] = [];
  for (const gateway of gateways) {
    for (const id of made) {
      const { status } = await ask(`${gateway.admin}/admin/v1/teams/${id}`, { bearer: gateway.adminToken });
      if (status !== 200) faults.push(`the team ${id} was made, and its reading answers ${status}`);
    }
  }
  return faults;
}

/** What was told that is none of these, a line each. */
export function others(
  what: string,
  counts: ReadonlyMap<string, number>,
  allowed: readonly string[],
): string[] {
  return [...counts]
    .filter(([told]) => !allowed.includes(told))
    .map(([told, times]) => `${what}: ${times}× ${told}`);
}

export const told = (counts: ReadonlyMap<string, number>) =>
  [...counts].map(([what, times]) => `${times}× ${what}`).join(', ');

/** Waits until so many more were told this; not any longer when the gateway has ended. */
export async function waitUntilTold(
  gateway: Gateway,
  counts: ReadonlyMap<string, number>,
  what: string,
  more = 3,
): Promise<void> {
  const before = counts.get(what) ?? 0;
  const isTold = () => (counts.get(what) ?? 0) >= before + more;
  // Its log is long; what a process says last, when it crashes, is short.
  const watched = { stdout: '', stderr: '', exited: gateway.exited };
  await waitFor(`${more} times ${what}`, isTold, watched).catch(async (error: Error) => {
    const exit = await Promise.race([gateway.exited, 'it runs']);
    throw new Error(
      `${error.message}; told was ${told(counts)}; ${JSON.stringify(exit)} ${gateway.stderr.slice(-900)}`,
    );
  });
}
