/** Callers: overlapping ranges by date, other kinds, fresh ones, CSV, tools and looked-at writes, of several teams. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Chance, chanceOf } from '../../../simulation/chance-of-seed.js';
import { type Answer, type Ask, ask, daysBefore, REPORT } from '../../../support/ask.js';
import { CAMPAIGN } from '../../../support/campaign.js';
import type { Gateway } from '../../../support/processes.js';
import { type Fleet, TEAMS, type TeamId } from './fleet.js';
import { LONGEST_MS, type Oracle, type Question } from './oracle.js';

const CALLERS = 10;
/** Days that change no more, before today. */
const [OLDEST, NEWEST] = [75, 40];
const ADVERTISERS = [1, 2, 3, 4, 5, 6];
/** Beyond the longest wait that is allowed, so that what is too late is still told by how much. */
const GIVE_UP_MS = 3 * LONGEST_MS;

interface Call extends Question {
  readonly path: string;
  /** With another key than the team's own where it names one. */
  readonly options: Ask;
}

export interface Load {
  stop(): Promise<void>;
}

/** @param thinkMs longest pause of a caller between two calls */
export function startLoad(fleet: Fleet, oracle: Oracle, seed: number, today: string, thinkMs = 40): Load {
  let isGoing = true;
  const callers = Array.from({ length: CALLERS }, async (_, index) => {
    const chance = chanceOf(seed, `caller ${index}`);
    while (isGoing) {
      const gateway = chance.pick(fleet.gateways);
      await put(fleet, oracle, gateway, questionOf(chance, today));
      await pause(chance.below(thinkMs));
    }
  });
  return {
    async stop() {
      isGoing = false;
      await Promise.all(callers);
    },
  };
}

/** Asks, and has the answer judged. @returns it, or null where there was none */
export async function put(
  fleet: Fleet,
  oracle: Oracle,
  gateway: Gateway,
  call: Call,
): Promise<Answer | null> {
  const { path, options, ...question } = call;
  const key = options.key ?? fleet.keys.get(question.team)?.key ?? '';
  const [sentAt, startedMs] = [Date.now(), performance.now()];
  const { answer, error } = await orNone(ask(gateway.data + path, { ...options, key }));
  await oracle.judge({ question, answer, error, sentAt, tookMs: performance.now() - startedMs });
  return answer;
}

/** Gives up on what never comes. */
async function orNone(asked: Promise<Answer>): Promise<{ answer: Answer | null; error: string }> {
  const end = new AbortController();
  const late = pause(GIVE_UP_MS, undefined, { signal: end.signal }).then(
    () => ({ answer: null, error: `nothing came in ${GIVE_UP_MS} ms` }),
    () => ({ answer: null, error: '' }),
  );
  const came = asked.then(
    (answer) => ({ answer, error: '' }),
    (error: unknown) => ({ answer: null, error: String(error) }),
  );
  try {
    return await Promise.race([came, late]);
  } finally {
    end.abort();
  }
}

export function questionOf(chance: Chance, today: string): Call {
  const team = chance.pick(Object.keys(TEAMS) as TeamId[]);
  // Mostly what the team may see, and now and then what it may not.
  const own: readonly number[] =
    team === 'moving' ? [4, 5] : TEAMS[team] === '*' ? ADVERTISERS : (TEAMS[team] as readonly number[]);
  const advertiserId = chance.pick(chance.is(0.85) ? own : ADVERTISERS);
  const from = chance.between(NEWEST, OLDEST);
  const to = Math.max(NEWEST, from - chance.between(0, 12));
  const period = { from: daysBefore(today, from), to: daysBefore(today, to) };
  const dice = chance.randomShare();
  const plain = `advertiserId=${advertiserId}&dateFrom=${period.from}&dateTo=${period.to}`;
  if (dice < 0.03) return mcp(team, advertiserId, period);
  if (dice < 0.06) return dryRun();
  const split = chance.pick([
    '&byDate=1',
    '&byDate=1',
    '&byDate=1',
    '&byDate=1&byCampaign=1',
    '&byCampaign=1',
    '',
  ]);
  const query = plain + split;
  const isCsv = chance.is(0.1);
  const headers: Record<string, string> = chance.is(0.3) ? { 'cache-control': 'no-cache' } : {};
  return {
    team,
    advertiserId,
    query,
    form: isCsv ? 'csv' : 'json',
    options: { headers },
    path: `${REPORT}?${query}${isCsv ? '&_format=csv' : ''}`,
  };
}

function mcp(team: TeamId, advertiserId: number, period: object): Call {
  const args = { advertiserId, period, split: ['date'] };
  const { from, to } = period as { from: string; to: string };
  return {
    team,
    advertiserId,
    form: 'mcp',
    path: '/mcp',
    query: `advertiserId=${advertiserId}&dateFrom=${from}&dateTo=${to}&byDate=1`,
    options: {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
      json: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'query_report', arguments: args },
      },
    },
  };
}

function dryRun(): Call {
  return {
    team: 'two',
    advertiserId: 2,
    form: 'dry-run',
    query: '',
    path: '/api/v1/campaign/create?_dryRun=1',
    options: { method: 'POST', json: { ...CAMPAIGN, userId: 2 } },
  };
}
