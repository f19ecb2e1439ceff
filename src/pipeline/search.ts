/** What one request has found so far of the pieces it needs: found, acceptable, still open. */

import { GatewayError } from '../errors.js';
import type { Wish } from '../http/cache-directives.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { Part } from '../report/part.js';
import type { LookUp, Unit, Use } from './look-up.js';
import type { Haul, Piece } from './obtain.js';
import type { Patience } from './store-patience.js';

export interface Search {
  /** The last known piece of each key, acceptable or not. */
  readonly known: ReadonlyMap<string, Part>;
  /** Looks into the store. @returns whether the store was away */
  look(units: readonly Unit[]): Promise<boolean>;
  /**
   * Takes what a call brought; what may be no report is put aside, see `settleForDoubtful`.
   * @param by whose call it was: one's own began after the question came, whatever the clock did meanwhile
   * @returns whether something was put aside
   * @throws GatewayError when a piece cannot be read
   */
  take(pieces: ReadonlyMap<string, Piece>, by?: Haul['by']): boolean;
  /** Whether a piece that somebody else brought will do. */
  satisfies(part: Part, unit: Unit): boolean;
  /** Pieces that have to be brought before there is an answer. */
  open(): readonly Unit[];
  /** Pieces past freshness that may be given all the same, while a refresh runs behind. */
  stale(): readonly Unit[];
  /**
   * Whether the report is better taken as a whole: there is a fresh entry for all of it, or one and no day at all, as
   * it is with an answer that could not be cut.
   */
  isWhole(): boolean;
  /** The platform's refusal, when it refused. */
  refusal(): Part | null;
  /** Accepts old pieces for those still open. @returns whether there is one for each */
  settleForOld(): boolean;
  /** Accepts pieces that may be no report, where nothing better is known. */
  settleForDoubtful(): void;
  /** All pieces, in the order of the units. */
  parts(): Part[];
}

export interface SearchAsk {
  readonly report: CanonicalReport;
  readonly units: readonly Unit[];
  /** Where a refusal of the whole report would be remembered, when it is none of the units. */
  readonly refusalAt: Unit | null;
  readonly wish: Wish;
  readonly arrivedAt: number;
  /** What the request still waits for the store; all it may, when not given. */
  readonly patience?: Patience;
  /** Segments cut under another generation are void; null when the pieces are no segments. */
  readonly generation: string | null;
  /** Wholes that were joined from days cut under another generation are void. */
  readonly joinedUnder: string;
}

export function createSearch(ask: SearchAsk, lookUp: LookUp): Search {
  const { report, units, wish, arrivedAt } = ask;
  const known = new Map<string, Part>();
  const accepted = new Map<string, Part>();
  const stale = new Set<string>();
  const doubtful = new Map<string, Part>();
  const before = new Map<string, number>();
  let looked = false;
  let refusal: Part | null = null;
  let whole: Use = 'absent';

  function isVoid({ header }: Part): boolean {
    if (header.form === 'rows' && (header.joinedUnder ?? ask.joinedUnder) !== ask.joinedUnder) return true;
    return ask.generation !== null && header.form === 'rows' && header.cut?.generation !== ask.generation;
  }

  /** What the first look finds was there before the request, though both may be of the same millisecond. */
  function useOf(part: Part, { key }: Unit): Use {
    const { form, fetchStartedAt } = part.header;
    const use = lookUp.use(part, wish, arrivedAt);
    if (wish.maxAgeMs !== 0 || use !== 'fresh') return use;
    if (!looked) before.set(key, fetchStartedAt);
    if (before.get(key) !== fetchStartedAt) return use;
    return form === 'refusal' ? 'absent' : 'error-only';
  }

  /** A purge while the platform was asked reaches what was found before. */
  function isAccepted(unit: Unit): boolean {
    const part = accepted.get(unit.key);
    return part !== undefined && !lookUp.isPurged(part, report, unit);
  }

  function note(part: Part, unit: Unit): void {
    if (unit === ask.refusalAt && part.header.form === 'rows') {
      if ((part.header.joinedUnder ?? ask.joinedUnder) !== ask.joinedUnder) return;
      whole = useOf(part, unit);
      return;
    }
    if (isVoid(part)) return;
    const use = useOf(part, unit);
    if (use === 'absent') return;
    if (part.header.form === 'refusal') refusal = part;
    else {
      known.set(unit.key, part);
      if (use === 'error-only') return;
      accepted.set(unit.key, part);
      if (use === 'stale') stale.add(unit.key);
      else stale.delete(unit.key);
    }
  }

  return {
    known,
    async look(wanted) {
      const all = ask.refusalAt === null ? wanted : [...wanted, ask.refusalAt];
      const { found, degraded } = await lookUp.read(report, all, ask.patience);
      for (const unit of all) {
        const part = found.get(unit.key);
        if (part !== undefined) note(part, unit);
      }
      looked = true;
      return degraded;
    },
    take(pieces, by = 'other') {
      let isAside = false;
      for (const unit of ask.refusalAt === null ? units : [...units, ask.refusalAt]) {
        const piece = pieces.get(unit.key);
        if (piece === undefined) continue;
        if (piece instanceof GatewayError) throw piece;
        if (lookUp.isPurged(piece, report, unit)) continue;
        // What a call brings is taken even if its freshness is nil; only `no-cache` insists on a later fetch.
        const isLater = by === 'own' || piece.header.fetchStartedAt >= arrivedAt;
        if (wish.maxAgeMs === 0 && !isLater) continue;
        if (piece.header.form === 'refusal') refusal = piece;
        else if (unit === ask.refusalAt) continue;
        else if (piece.header.form === 'rows' && piece.header.doubt !== undefined) {
          doubtful.set(unit.key, piece);
          isAside = true;
        } else {
          known.set(unit.key, piece);
          accepted.set(unit.key, piece);
          stale.delete(unit.key);
        }
      }
      return isAside;
    },
    satisfies: (part, unit) => !isVoid(part) && useOf(part, unit) === 'fresh',
    open: () => units.filter((unit) => !isAccepted(unit)),
    stale: () => units.filter((unit) => stale.has(unit.key) && isAccepted(unit)),
    refusal: () => refusal,
    isWhole: () => whole === 'fresh' || (whole !== 'absent' && known.size === 0),
    settleForOld() {
      for (const unit of units) {
        if (isAccepted(unit)) continue;
        const part = known.get(unit.key);
        if (part === undefined || lookUp.isPurged(part, report, unit)) return false;
        if (lookUp.use(part, wish, arrivedAt) === 'absent') return false;
        accepted.set(unit.key, part);
      }
      return true;
    },
    settleForDoubtful() {
      for (const [key, part] of doubtful) accepted.set(key, part);
    },
    parts: () => units.map(({ key }) => accepted.get(key) as Part),
  };
}
