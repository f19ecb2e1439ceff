/**
 * Stage: brings pieces from the platform. Pieces are claimed when it is their call's turn, asked for, kept, and let
 * go of; whoever wants a piece that somebody else has under way waits for that one call and no other.
 */

import type { Purges } from '../cache/purges.js';
import type { CacheTier, TierWrite } from '../cache/tier.js';
import type { Learner } from '../divisibility/learn.js';
import type { PartRefusals } from '../divisibility/part-refusals.js';
import type { LearnFrom } from '../divisibility/try-kind.js';
import { GatewayError } from '../errors.js';
import type { CallDeadline } from '../platform/deadline.js';
import { dayNumber, isoDay } from '../report/days.js';
import type { FreshnessRules } from '../report/freshness.js';
import { bytesRef, dayRef, type EntryRef, rowsRef } from '../report/keys.js';
import type { Part, RowsHeader } from '../report/part.js';
import type { Range } from '../report/period.js';
import { type DayRange, type PlanRules, planCalls } from '../report/plan.js';
import { entryOf } from './entry-of.js';
import type { Errand, Haul, Piece } from './fetch-context.js';
import type { Claim, Claims } from './fetch-locks.js';
import type { FetchReport } from './fetch-report.js';
import { CAPPED, type FetchUncapped } from './fetch-uncapped.js';
import { daysFound, dayUnit, type LookUp, type Unit } from './look-up.js';
import { createObtainWhole, isShareSpent, type Turn } from './obtain-whole.js';
import { type Fetched, type FetchedAnswer, REMEMBERED } from './read-answer.js';

export type { Errand, Haul, Piece } from './fetch-context.js';

export interface ObtainOptions {
  readonly claims: Claims<Haul>;
  readonly lookUp: LookUp;
  readonly tier: CacheTier;
  readonly purges: Purges;
  readonly fetchReport: FetchReport;
  readonly learner: Learner;
  readonly learnFrom: LearnFrom;
  readonly fetchUncapped: FetchUncapped;
  readonly partRefusals: PartRefusals;
  readonly rules: FreshnessRules;
  readonly plan: PlanRules;
  readonly negativeMs: number;
  /** Longest time one call takes, waiting included. */
  readonly callMs: number;
  /** Keeps work that outlives its request, so that a graceful stop can wait for it. */
  readonly background: (work: Promise<unknown>) => void;
}

/** An answer may not be cut although its kind was thought to allow it: the report has to be taken as a whole. */
export class NotCuttable extends Error {
  override readonly name = 'NotCuttable';

  /**
   * @param by whose call it was
   * @param whole what the answer is good for as a whole, when it was for the whole period asked for
   * @param doubtful it may be no report at all: what is known already is better
   */
  constructor(
    reason: string,
    readonly by: Errand,
    readonly whole: Haul | null,
    readonly doubtful: boolean,
  ) {
    super(reason);
  }
}

/** Brings `units`, all of which lie in `range`. What it leaves undone is seen by who looks again. */
export type Obtain = (errand: Errand, units: readonly Unit[], range: Range) => Promise<Haul>;

export function createObtain(options: ObtainOptions): Obtain {
  const { claims, lookUp, tier, purges, fetchReport, learner, fetchUncapped, rules, partRefusals } = options;
  const obtainWhole = createObtainWhole({ ...options, fetchOnce, settleForOthers, finish });

  return async function obtain(errand, units, range) {
    const turn: Turn = { claim: null, brought: new Map() };
    const wanted = { others: units.map((unit) => unit.claim), epoch: purges.seq };
    // Whoever only waits needs no turn of the platform's, and must not wait for one.
    if (claims.areUnderWay(wanted.others, wanted.epoch)) return await follow(wanted, errand);
    if (errand.mode === 'days' && partRefusals.wholeOnly(errand.report) !== null)
      return await obtainWhole(errand, units, null);
    try {
      const fetched = await fetchOnce(errand, (deadline) => choose(turn, errand, units, range, deadline));
      if (fetched === null) return await settleForOthers(turn, errand);
      if (isRefusedPart(errand, fetched)) return await obtainWhole(errand, units, turn);
      return await finish(turn, errand, fetched);
    } catch (error) {
      if (isShareSpent(error)) await turn.claim?.drop(turn.claim.mine);
      else await turn.claim?.fail(error);
      throw error;
    }
  };

  /** What the platform says to a part is not what it says to the whole, where that can be asked for. */
  function isRefusedPart({ mode, report }: Errand, fetched: Fetched): boolean {
    if (mode !== 'days' || fetched.kind !== 'refusal') return false;
    return REMEMBERED.includes(fetched.refusal.header.status) && partRefusals.isPart(report, fetched.range);
  }

  async function finish(turn: Turn, errand: Errand, fetched: Fetched): Promise<Haul> {
    const answer = await fetchUncapped(errand, fetched, (half) => {
      turn.claim?.prolong(options.callMs);
      return fetchOnce(errand, async () => half);
    });
    return keep(turn, errand, answer);
  }

  /** It is this call's turn: claim, look again, and say what is left to be asked for. */
  async function choose(
    turn: Turn,
    errand: Errand,
    units: readonly Unit[],
    range: Range,
    deadline: CallDeadline,
  ): Promise<Range | null> {
    const claim = await claims.take(
      units.map((unit) => unit.claim),
      purges.seq,
      deadline,
      errand.patience,
    );
    turn.claim = claim;
    const held = new Set(claim.mine);
    const mine = units.filter((unit) => held.has(unit.claim));
    // Between the first look and the claim somebody may have brought some of it.
    const { found } =
      mine.length === 0
        ? { found: new Map<string, Part>() }
        : await lookUp.read(errand.report, mine, errand.patience);
    const left = mine.filter((unit) => {
      const part = found.get(unit.key);
      if (part === undefined || !errand.satisfies(part, unit)) return true;
      turn.brought.set(unit.key, part);
      return false;
    });
    const taken = new Set(claim.others);
    const chosen =
      left.length === units.length
        ? range
        : firstRange(
            left,
            units.filter((unit) => taken.has(unit.claim)),
            errand.mode,
            options.plan,
          );
    const dropped = mine.filter((unit) => chosen === null || !left.includes(unit) || !isWithin(unit, chosen));
    await claim.drop(dropped.map((unit) => unit.claim));
    return chosen;
  }

  /** Nothing was left to ask for: take what others brought, or wait for what they have under way. */
  async function settleForOthers({ claim, brought }: Turn, errand: Errand): Promise<Haul> {
    if (brought.size > 0 || claim === null || claim.others.length === 0) {
      return { pieces: brought, by: 'other', stored: false, keep: true };
    }
    return follow(claim, errand);
  }

  async function follow(wanted: Pick<Claim<Haul>, 'others' | 'epoch'>, errand: Errand): Promise<Haul> {
    const haul = await claims.wait(wanted, errand.signal);
    return { pieces: new Map(), stored: false, keep: true, ...haul, by: 'other' };
  }

  function fetchOnce(
    errand: Errand,
    chooseRange: (deadline: CallDeadline) => Promise<Range | null>,
  ): Promise<Fetched | null> {
    const { report, series, known, team, mode } = errand;
    return fetchReport({
      report,
      team,
      whole: mode === 'whole',
      choose: chooseRange,
      seq: () => purges.seq,
      generation: learner.standing(report).generation,
      earlier: (lastDay) => {
        const day = lastDay === null ? undefined : known.get(dayRef(series, lastDay).id);
        const whole = known.get(rowsRef(series, report.from.iso, report.to.iso).id);
        return (mode === 'days' ? day : whole)?.header ?? null;
      },
      ...(errand.onTry === undefined ? {} : { onTry: errand.onTry }),
    });
  }

  async function keep(turn: Turn, errand: Errand, fetched: Fetched): Promise<Haul> {
    if (errand.mode === 'days' && fetched.kind === 'answer' && fetched.days === null) {
      throw await keepAsWhole(errand, fetched);
    }
    const pieces = new Map<string, Piece>([...turn.brought, ...piecesOf(errand, fetched)]);
    const stored = fetched.storable && (await store(errand, fetched));
    const haul: Haul = { pieces, by: 'own', stored, keep: fetched.storable };
    await turn.claim?.succeed(haul);
    return haul;
  }

  /** The answer in hand is the whole, when it was for all of the period; the kind is not asked for days again for a day. */
  async function keepAsWhole(errand: Errand, fetched: FetchedAnswer): Promise<NotCuttable> {
    const reason = fetched.cuttable.ok ? CAPPED : fetched.cuttable.reason;
    // That a single day is capped says nothing of other series.
    const doubtful = fetched.doubt !== null;
    if (reason !== CAPPED && !doubtful) options.background(learner.couldNotCut(errand.report, reason));
    const { from, to } = errand.report;
    if (fetched.range.from !== from.iso || fetched.range.to !== to.iso) {
      return new NotCuttable(reason, errand, null, doubtful);
    }
    const asWhole: Errand = { ...errand, mode: 'whole' };
    const stored = fetched.storable && (await store(asWhole, fetched));
    const pieces = new Map(piecesOf(asWhole, fetched));
    return new NotCuttable(reason, errand, { pieces, by: 'own', stored, keep: fetched.storable }, doubtful);
  }

  async function store(errand: Errand, fetched: Fetched): Promise<boolean> {
    const { report, series } = errand;
    const entries = entriesOf(errand, fetched);
    const cut =
      fetched.kind === 'answer' && learner.standing(report).state !== 'refuted' ? fetched.days : null;
    if (cut === null) return write(errand, entries);
    const known = await knownDays(errand, cut);
    const written = await write(errand, [
      ...entries,
      ...cut.map((part) => entryOf(dayRefOf(series, part), part, rules)),
    ]);
    options.background(options.learnFrom({ report, series, fresh: cut, known }));
    return written;
  }

  /** @returns whether the store has taken it, as far as that was waited for */
  async function write({ patience }: Errand, entries: readonly TierWrite[]): Promise<boolean> {
    const writing = tier.write(entries);
    if (patience.isSpent) {
      options.background(writing);
      return false;
    }
    const written = await writing;
    patience.isSpent = !written;
    return written;
  }

  /** What was known of these days before they are written over. Days of a whole answer were not looked at yet. */
  async function knownDays(
    errand: Errand,
    days: readonly Part<RowsHeader>[],
  ): Promise<Map<string, Part<RowsHeader>>> {
    const { report, series, mode, patience } = errand;
    const units = days.map((part) => dayUnit(series, part.header.lastDay as string));
    return daysFound(
      units,
      mode === 'days' ? errand.known : (await lookUp.read(report, units, patience)).found,
    );
  }

  function entriesOf(errand: Errand, fetched: Fetched): TierWrite[] {
    if (fetched.kind === 'refusal') {
      const { rows, bytes } = wholeRefs(errand);
      const version = fetched.refusal.header.fetchStartedAt;
      return [rows, bytes].map((ref) => ({ ref, ...fetched.refusal, version, ttlMs: options.negativeMs }));
    }
    if (errand.mode === 'days') return [];
    return [...piecesWithRefs(errand, fetched)].flatMap(([ref, piece]) =>
      piece instanceof GatewayError ? [] : [entryOf(ref, piece, rules)],
    );
  }
}

function dayRefOf(series: string, { header }: Part<RowsHeader>): EntryRef {
  return dayRef(series, header.lastDay as string);
}

function wholeRefs({ series, report }: Errand): { rows: EntryRef; bytes: EntryRef } {
  const { from, to } = report;
  return { rows: rowsRef(series, from.iso, to.iso), bytes: bytesRef(series, from.iso, to.iso) };
}

/** A refusal is about the period that was asked for: whoever waits for days of it, within another, asks for himself. */
function piecesOf(errand: Errand, fetched: Fetched): [string, Piece][] {
  return piecesWithRefs(errand, fetched).map(([{ id }, piece]) => [id, piece]);
}

function piecesWithRefs(errand: Errand, fetched: Fetched): [EntryRef, Piece][] {
  const { rows, bytes } = wholeRefs(errand);
  if (fetched.kind === 'refusal') return [rows, bytes].map((ref) => [ref, fetched.refusal]);
  if (errand.mode === 'days')
    return (fetched.days ?? []).map((part) => [dayRefOf(errand.series, part), part]);
  const body = fetched.bytes;
  // Of an answer that is not JSON the bytes are all there is, whatever form was asked for.
  const table = fetched.rows ?? fetched.rowsFault ?? body;
  return [
    ...(body === null ? [] : [[bytes, body] as [EntryRef, Piece]]),
    ...(table === null ? [] : [[rows, table] as [EntryRef, Piece]]),
  ];
}

/** @param underWay what others are asking for: a call must not reach across it and bring it a second time */
function firstRange(
  left: readonly Unit[],
  underWay: readonly Unit[],
  mode: Errand['mode'],
  plan: PlanRules,
): Range | null {
  const [unit] = left;
  if (unit === undefined) return null;
  if (mode === 'whole') return { from: unit.from, to: unit.to };
  const days = left.map(numberOf).sort((a, b) => a - b);
  const { from, to } = planCalls(days, plan)[0] as DayRange;
  const wall = Math.max(from - 1, ...underWay.map(numberOf).filter((day) => day < to));
  const first = days.find((day) => day > wall) as number;
  return { from: isoDay(first), to: isoDay(to) };
}

function numberOf({ from }: Unit): number {
  return dayNumber(from as string) as number;
}

function isWithin(unit: Unit, range: Range): boolean {
  if (unit.from === null || range.from === null || unit.to === null || range.to === null) return true;
  return unit.from >= range.from && unit.to <= range.to;
}
