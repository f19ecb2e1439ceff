/** Calls that are about a report: made once and tied together. */

import type { Logger } from 'pino';
import type { Advertisers } from '../advertisers/create-advertisers.js';
import type { Finality } from '../finality/create-finality.js';
import type { History } from '../history/create-history.js';
import { createPins, type Pins, type PinsOptions } from '../pins/create-pins.js';
import { repeat } from '../repeat.js';
import type { Store } from '../store/port.js';
import type { Truth } from '../truth/create-truth.js';
import type { WorkerPool } from '../workers/worker-pool.js';
import { type AskReport, type AskReportOptions, createAskReport } from './asked-report.js';
import { isGone, type Lives } from './describe-pin.js';
import type { ExplainAsked } from './explain.js';
import type { LookUp } from './look-up.js';
import { createPinReport, type PinReport, type PinReportOptions } from './pin-report.js';
import { createPreviewPurge, type PreviewPurge } from './preview-purge.js';
import { createShowAdvertisers, type ShowAdvertisers } from './show-advertisers.js';
import { createShowDiff, type ShowDiff, type ShowDiffOptions } from './show-diff.js';
import { createShowExplanation, type ShowExplanation } from './show-explanation.js';
import { createShowFinality, type ShowFinality, type ShowFinalityOptions } from './show-finality.js';
import { createShowLearned, type ShowLearned, type ShowLearnedOptions } from './show-learned.js';
import { createShowPins, type ShowPins } from './show-pins.js';
import { createShowRevisions, type ShowRevisions } from './show-revisions.js';
import { createShowTruth, type ShowTruth } from './show-truth.js';

export interface AskingOptions
  extends AskReportOptions,
    Pick<ShowDiffOptions, 'canonical' | 'now'>,
    Pick<PinReportOptions, 'report' | 'readPast' | 'rulesOf'> {
  readonly policy: ShowFinalityOptions['policy'] & PinReportOptions['policy'] & ShowLearnedOptions['policy'];
  readonly learner: ShowDiffOptions['learner'] & ShowLearnedOptions['learner'];
  readonly history: History;
  readonly finality: Finality;
  readonly truth: Truth;
  readonly lookUp: LookUp;
  readonly explainAsked: ExplainAsked;
  readonly advertisers: Advertisers;
  readonly store: Pick<Store, 'pins'>;
  readonly workerPool: Pick<WorkerPool, 'format' | 'encode'>;
  readonly lives: Lives;
  readonly isErased: PinsOptions['isErased'];
  readonly logger: Logger;
}

export interface Asking {
  readonly askReport: AskReport;
  readonly showRevisions: ShowRevisions;
  readonly showDiff: ShowDiff;
  readonly showFinality: ShowFinality;
  readonly showTruth: ShowTruth;
  readonly showLearned: ShowLearned;
  readonly previewPurge: PreviewPurge;
  readonly showExplanation: ShowExplanation;
  readonly pins: Pins;
  readonly pinReport: PinReport;
  readonly showPins: ShowPins;
  readonly showAdvertisers: ShowAdvertisers;
  /** Erases what was known of an account, pins among it; see {@link History.erase}. */
  readonly eraseHistory: History['erase'];
  /** Ends what it does by itself. */
  stopAsking(): Promise<void>;
}

const SWEEP_EVERY_MS = 3_600_000;

export function createAsking(options: AskingOptions): Asking {
  const { history, store, workerPool, lives, advertisers, logger } = options;
  const pins = createPins({ store: store.pins, encode: workerPool.encode, isErased: options.isErased });
  const asking = { ...options, ...history, pins, askReport: createAskReport(options) };
  const showPins = createShowPins(asking);
  const sweep = repeat(SWEEP_EVERY_MS, async () => {
    try {
      await pins.sweep((owner) => isGone(owner, lives));
      await pins.removeErased();
      await advertisers.removeGone();
    } catch (error) {
      logger.warn(
        { err: error },
        'pins and names of advertisers that are over could not be removed; trying again in an hour',
      );
    }
  });
  return {
    ...{ askReport: asking.askReport, pins, showPins },
    pinReport: createPinReport(asking),
    showAdvertisers: createShowAdvertisers(asking),
    showRevisions: createShowRevisions(asking),
    showExplanation: createShowExplanation(asking),
    showFinality: createShowFinality({ ...asking, scopesOf: options.finality.scopesOf }),
    showTruth: createShowTruth({ ...asking, scopesOf: options.truth.scopesOf }),
    showLearned: createShowLearned(asking),
    previewPurge: createPreviewPurge(asking),
    showDiff: createShowDiff({ ...asking, findPin: showPins.find }),
    async eraseHistory(advertiserId, audit) {
      const days = await history.erase(advertiserId, audit);
      try {
        await pins.removeErased();
        await advertisers.removeGone();
        return days;
      } catch (error) {
        logger.warn(
          { err: error },
          'pins and names that were erased could not be removed; trying again in an hour',
        );
        return null;
      }
    },
    stopAsking: sweep.stop,
  };
}
