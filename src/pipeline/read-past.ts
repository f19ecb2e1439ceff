/** A report as it was known at a past moment: the step that stands in the place of fetching it. */
import type { Learner } from '../divisibility/learn.js';
import { GatewayError } from '../errors.js';
import type { ReadDays } from '../history/read-days.js';
import type { KnownDay, Past } from '../report/assemble-input.js';
import { daysBetween } from '../report/days.js';
import type { ReportQuestion } from './question.js';
import type { ReportAnswer } from './report.js';

export interface PastAnswer {
  readonly answer: ReportAnswer;
  readonly known: Past;
}

/**
 * @param question by date, for a period
 * @throws GatewayError `not_known_then`; `not_ready` while the store is away
 */
export type ReadPast = (question: ReportQuestion, atMs: number) => Promise<PastAnswer>;

export interface ReadPastOptions {
  readonly readDays: ReadDays;
  readonly learner: Pick<Learner, 'status'>;
}

export function createReadPast({ readDays, learner }: ReadPastOptions): ReadPast {
  return async ({ report, series }, atMs) => {
    const { state, generation } = learner.status(report);
    if (state !== 'proven')
      throw new GatewayError('not_known_then', {
        detail:
          'Reports of this kind have no history that may be shown: it is not proven yet, or was refuted, that they may be split by day. Ask for a few ranges of it without _asOf; `dsp-gateway cache explain` says how far that is.',
      });
    const dates = daysBetween(report.from.iso as string, report.to.iso as string);
    const days = await readDays({ series, dates, generation, moment: { at: atMs } });
    const known = days.map(({ revision, lacks }, at): [string, KnownDay] => {
      const { knownFrom, confirmedUntil } = revision;
      return [dates[at] as string, { knownFrom, confirmedUntil, lacks }];
    });
    return {
      known: { atMs, days: new Map(known) },
      answer: {
        parts: days.map(({ entry }) => entry),
        outcome: 'hit',
        days: { fetched: 0, total: dates.length },
        stored: false,
        degraded: false,
        storable: true,
        checkFromMs: null,
      },
    };
  };
}
