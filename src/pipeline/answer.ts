/** An answer on its way out: what its headers say, where it is from, and its body, which is made only when it is sent. */

import type { Coding } from '../http/negotiate.js';
import type { CacheStatus, Outcome } from '../outcome.js';
import type { Assembled } from '../report/assemble.js';
import type { Finished } from './render.js';

/** What of an answer its headers need. */
export type Shown = Omit<Assembled, 'body'> & { readonly coding: Coding };

/** Source of an answer. */
export interface Source {
  readonly outcome: Outcome;
  readonly tier: 'l1' | 'store';
  readonly stored: boolean;
  readonly degraded: boolean;
  /** False when the platform forbade to keep it. */
  readonly storable: boolean;
  readonly days: CacheStatus['days'];
}

export interface Answer {
  readonly shown: Shown;
  readonly source: Source;
  readonly body: () => Finished | Promise<Finished>;
}

/** A finished body of this process. */
export const FROM_L1: Source = {
  outcome: 'hit',
  tier: 'l1',
  stored: false,
  degraded: false,
  storable: true,
  days: null,
};
