/** What a request is after, as far as fetching is concerned, and what came of it. */

import type { GatewayError } from '../errors.js';
import type { CallReport } from '../platform/slot.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { Part } from '../report/part.js';
import type { Unit } from './look-up.js';
import type { Patience } from './store-patience.js';

/** What one request is after, as far as fetching is concerned. */
export interface Errand {
  readonly report: CanonicalReport;
  readonly series: string;
  /** days: cut by day · whole: one answer for the period */
  readonly mode: 'days' | 'whole';
  readonly team: string;
  readonly signal: AbortSignal;
  readonly patience: Patience;
  /** Whether a piece that somebody else brought will do. */
  readonly satisfies: (part: Part, unit: Unit) => boolean;
  /** What was known of a piece before, by key. */
  readonly known: ReadonlyMap<string, Part>;
  readonly onTry?: (report: CallReport) => void;
}

/** A piece, or why there is none although the platform answered. */
export type Piece = Part | GatewayError;

/** What came of an errand for some pieces. */
export interface Haul {
  readonly pieces: ReadonlyMap<string, Piece>;
  /** own: this errand asked the platform · other: somebody else had it under way, or had just brought it */
  readonly by: 'own' | 'other';
  readonly stored: boolean;
  /** Whether the pieces may be kept at all: not when the platform said no-store, nor of what may be no report. */
  readonly keep: boolean;
}
