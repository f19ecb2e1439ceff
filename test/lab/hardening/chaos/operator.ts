/** Operators at work: keys issued and revoked, a team's advertisers changed, purges, tokens rotated. */
import { setTimeout as pause } from 'node:timers/promises';
import { chanceOf } from '../../../simulation/chance-of-seed.js';
import { type Answer, ask, type IssuedKey } from '../../../support/ask.js';
import type { Gateway } from '../../../support/processes.js';
import { type Change, type Changes, lostChanges } from './changes.js';
import { type Fleet, TEAMS, type TeamId } from './fleet.js';
import { put, questionOf } from './load.js';
import { LONGEST_MS, type Oracle, type Rules } from './oracle.js';

export interface Operator {
  readonly rules: Rules;
  /** Changes acknowledged, refused. */
  readonly done: number;
  readonly refused: number;
  /** Longest time for which a revoked key was let in while the store answered, milliseconds. */
  readonly longestAcceptedMs: number;
  stop(): Promise<void>;
  /** What was acknowledged is there, on every gateway. @returns what is not */
  lost(): Promise<string[]>;
}

export interface OperatorOptions {
  readonly changes: Changes;
  readonly fleet: Fleet;
  readonly oracle: () => Oracle;
  readonly seed: number;
  readonly today: string;
  /** What refuses a change is explained by the fault. */
  readonly mayRefuse: () => boolean;
}

const LISTS = [[4], [4, 5]];
/** How long a key is tried after it was revoked. */
const TRIED_MS = 1_500;
const EVERY_MS = 250;
/** A new key is known everywhere within a second, and on a busy machine later. */
const KNOWN_MS = 5_000;

export function startOperator(options: OperatorOptions): Operator {
  const { fleet, oracle, seed, today, mayRefuse, changes } = options;
  const { policies, tokens, revoked } = changes;
  const chance = chanceOf(seed, 'operator');
  const watching = new Set<Promise<void>>();
  let [isGoing, done, refused, longestAcceptedMs] = [true, 0, 0, 0];

  async function ordered(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    json?: object,
    passed: readonly number[] = [],
  ): Promise<Answer | null> {
    const { admin: url, adminToken } = chance.pick(fleet.gateways);
    const startedMs = performance.now();
    let answer: Answer | null = null;
    try {
      answer = await ask(`${url}/admin/v1${path}`, {
        method,
        bearer: adminToken,
        ...(json === undefined ? {} : { json }),
      });
    } catch (error) {
      oracle().fault(`${method} ${path}: ${error}`);
    }
    const tookMs = performance.now() - startedMs;
    if (tookMs > LONGEST_MS) oracle().fault(`${method} ${path} took ${Math.round(tookMs)} ms`);
    if (answer !== null && passed.includes(answer.status)) return answer;
    if (answer !== null && answer.status < 300) {
      done += 1;
      return answer;
    }
    refused += 1;
    // Of 409 nothing was done: a change before it was refused for being late, was made all the same, and is not known here yet.
    if (answer !== null && !(mayRefuse() && [409, 503].includes(answer.status)))
      oracle().fault(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 200)}`);
    return null;
  }

  async function changePolicy(): Promise<void> {
    const change: Change<readonly number[]> = {
      value: chance.pick(LISTS),
      sentAt: Date.now(),
      ackedAt: null,
    };
    policies.push(change);
    if ((await ordered('PATCH', '/teams/moving', { advertisers: change.value })) !== null)
      change.ackedAt = Date.now();
  }

  /** A gateway that has not heard of the key yet, knows none of this id. */
  async function revoke(id: string): Promise<Answer | null> {
    const untilMs = performance.now() + KNOWN_MS;
    for (;;) {
      const isLast = performance.now() > untilMs;
      const answer = await ordered('DELETE', `/keys/${id}`, undefined, isLast ? [] : [404]);
      if (answer?.status !== 404) return answer;
      await pause(100);
    }
  }

  async function revokeOne(): Promise<void> {
    const issued = (await ordered('POST', '/teams/one/keys', {}))?.json<IssuedKey>();
    if (issued === undefined) return;
    fleet.secrets.add(issued.key);
    const change: Change<IssuedKey> = { value: issued, sentAt: Date.now(), ackedAt: null };
    revoked.push(change);
    if ((await revoke(issued.id)) === null) return;
    const deadSince = Date.now();
    change.ackedAt = deadSince;
    const watch = Promise.all(fleet.gateways.map((gateway) => tryDead(gateway, issued.key, deadSince)));
    const ended: Promise<void> = watch.then(() => void watching.delete(ended));
    watching.add(ended);
  }

  async function tryDead(gateway: Gateway, key: string, deadSince: number): Promise<void> {
    const { options, ...call } = questionOf(chanceOf(deadSince, 'dead'), today);
    for (let sentAt = Date.now(); isGoing && sentAt < deadSince + TRIED_MS; sentAt = Date.now()) {
      const answer = await put(fleet, oracle(), gateway, {
        ...call,
        deadSince,
        options: { ...options, key },
      });
      if (answer?.status === 200 && oracle().holdsAt(deadSince) < deadSince + 2 * LONGEST_MS)
        longestAcceptedMs = Math.max(longestAcceptedMs, sentAt - deadSince);
      await pause(100);
    }
  }

  async function rotate(): Promise<void> {
    const token = await fleet.sim.issueToken();
    fleet.secrets.add(token);
    const change: Change<string> = { value: token, sentAt: Date.now(), ackedAt: null };
    tokens.push(change);
    const answer = await ordered('POST', '/token/rotate', { token, force: true });
    if (answer !== null) change.ackedAt = Date.now();
  }

  const purge = async () =>
    void (await ordered('POST', '/cache/purge', { advertiserId: chance.between(1, 6) }));
  const work = [changePolicy, revokeOne, purge, purge, rotate];
  const working = (async () => {
    while (isGoing) {
      await chance.pick(work)();
      await pause(chance.below(2 * EVERY_MS));
    }
  })();

  const allows = (team: TeamId, list: readonly number[], advertiserId: number): boolean =>
    TEAMS[team] === '*' ||
    (team === 'moving' ? list : (TEAMS[team] as readonly number[])).includes(advertiserId);
  const inForce = (sentAt: number, doneAt: number) =>
    policies.filter(
      (one, at) =>
        one.sentAt <= doneAt &&
        !policies.slice(at + 1).some(({ ackedAt }) => ackedAt !== null && oracle().holdsAt(ackedAt) < sentAt),
    );
  return {
    rules: {
      mayHave: (team, id, sentAt, doneAt) =>
        inForce(sentAt, doneAt).some(({ value }) => allows(team, value, id)),
      mayLack: (team, id, sentAt, doneAt) =>
        inForce(sentAt, doneAt).some(({ value }) => !allows(team, value, id)),
    },
    get done() {
      return done;
    },
    get refused() {
      return refused;
    },
    get longestAcceptedMs() {
      return longestAcceptedMs;
    },
    async stop() {
      isGoing = false;
      await working;
      await Promise.all(watching);
    },
    lost: () => lostChanges(fleet, changes, today),
  };
}
