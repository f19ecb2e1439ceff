/**
 * Stage: the platform refused a part of a report, which says nothing of the report. So the whole is asked for, once
 * for all who want the same: what the platform says to that is its answer.
 */

import type { Purges } from '../cache/purges.js';
import type { PartRefusals } from '../divisibility/part-refusals.js';
import { GatewayError } from '../errors.js';
import type { CallDeadline } from '../platform/deadline.js';
import { rowsRef } from '../report/keys.js';
import type { Range } from '../report/period.js';
import type { Errand, Haul, Piece } from './fetch-context.js';
import type { Claim, Claims } from './fetch-locks.js';
import type { LookUp, Unit } from './look-up.js';
import type { Fetched } from './read-answer.js';

/** What is held while a call is under way. */
export interface Turn {
  claim: Claim<Haul> | null;
  /** Found in the store after the claim. */
  readonly brought: Map<string, Piece>;
}

export interface ObtainWholeOptions {
  readonly claims: Claims<Haul>;
  readonly lookUp: LookUp;
  readonly purges: Purges;
  readonly partRefusals: PartRefusals;
  /** Longest time one call takes, waiting included. */
  readonly callMs: number;
  fetchOnce(
    errand: Errand,
    choose: (deadline: CallDeadline) => Promise<Range | null>,
  ): Promise<Fetched | null>;
  /** Takes what others brought, or waits for what they have under way. */
  settleForOthers(turn: Turn, errand: Errand): Promise<Haul>;
  /** Keeps an answer, and ends the turn's claim with it. */
  finish(turn: Turn, errand: Errand, fetched: Fetched): Promise<Haul>;
  readonly background: (work: Promise<unknown>) => void;
}

/**
 * @param part the turn whose range was refused; null when the kind is known to refuse parts. Its claim is ended.
 * @throws GatewayError `upstream_error` when the team may not cause the call that the refusal of a part needs
 */
export type ObtainWhole = (errand: Errand, units: readonly Unit[], part: Turn | null) => Promise<Haul>;

export function createObtainWhole(options: ObtainWholeOptions): ObtainWhole {
  const { claims, lookUp, purges, partRefusals } = options;

  return async function obtainWhole(errand, units, part) {
    const turn: Turn = { claim: null, brought: new Map() };
    try {
      part?.claim?.prolong(options.callMs);
      const fetched = await options.fetchOnce(errand, (deadline) => choose(turn, errand, units, deadline));
      if (fetched === null) {
        // Somebody else asks for the whole, or has: whoever waits for the part has to look, and so does this one.
        await dropAll(part);
        return await options.settleForOthers(turn, errand);
      }
      if (part !== null && fetched.kind === 'answer') options.background(partRefusals.learn(errand.report));
      const haul = await options.finish(turn, errand, fetched);
      await part?.claim?.succeed(haul);
      return haul;
    } catch (error) {
      if (!isShareSpent(error)) {
        await turn.claim?.fail(error);
        throw error;
      }
      await Promise.all([dropAll(turn), dropAll(part)]);
      throw part === null ? error : partRefused(error);
    }
  };

  /** It is this call's turn: claim the whole, look again, and say whether it is left to be asked for. */
  async function choose(
    turn: Turn,
    errand: Errand,
    units: readonly Unit[],
    deadline: CallDeadline,
  ): Promise<Range | null> {
    const range = partRefusals.wholeOf(errand.report) as Range;
    const ref = rowsRef(errand.series, range.from, range.to);
    const key = ref.id;
    const whole: Unit = { ref, key, claim: key, ...range };
    const claim = await claims.take([whole.claim], purges.seq, deadline, errand.patience);
    turn.claim = claim;
    if (claim.mine.length === 0) return null;
    const { found } = await lookUp.read(errand.report, [...units, whole], errand.patience);
    const refusal = found.get(key);
    if (refusal?.header.form === 'refusal' && errand.satisfies(refusal, whole)) {
      turn.brought.set(key, refusal);
    } else {
      for (const unit of units) {
        const day = found.get(unit.key);
        if (day === undefined || !errand.satisfies(day, unit)) return range;
        turn.brought.set(unit.key, day);
      }
    }
    await dropAll(turn);
    return null;
  }
}

async function dropAll(turn: Turn | null): Promise<void> {
  await turn?.claim?.drop(turn.claim.mine);
}

/** What one team has used up is nothing to others who wait for its call: they may make it themselves. */
export function isShareSpent(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.code === 'upstream_budget_exhausted';
}

function partRefused(cause: GatewayError): GatewayError {
  return new GatewayError('upstream_error', {
    detail:
      "The platform refused a part of the period, which says nothing of the whole, and the team's share of platform calls does not allow to ask for the whole.",
    ...(cause.options.retryAfterS === undefined ? {} : { retryAfterS: cause.options.retryAfterS }),
    cause,
  });
}
