/** What calls about a report need of the gateway, and what the gateway does about pins by itself. */

import type { Logger } from 'pino';
import type { Advertisers } from '../advertisers/create-advertisers.js';
import type { Learner } from '../divisibility/learn.js';
import type { Finality } from '../finality/finality.js';
import type { Truth } from '../finality/truth.js';
import type { History } from '../history/create-history.js';
import { createPins, type PinsOptions } from '../pins/create-pins.js';
import { isGone, type Lives } from '../pins/pin.js';
import { repeat } from '../repeat.js';
import type { ParseRules } from '../report/canonicalize.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Store } from '../store/port.js';
import type { WorkerPool } from '../workers/worker-pool.js';
import type { Admit } from './admit.js';
import type { ExplainQuery } from './explain.js';
import type { GetReport } from './get-report.js';
import type { LookUp } from './look-up.js';
import { createPreviewPurge } from './preview-purge.js';
import type { ParseQuery } from './query.js';
import type { ReadPast } from './read-past.js';

export interface AskingOptions {
  readonly admit: Admit;
  readonly parse: ParseQuery;
  readonly report: GetReport;
  readonly readPast: ReadPast;
  readonly explainQuery: ExplainQuery;
  readonly lookUp: LookUp;
  readonly canonical: ParseRules;
  readonly policy: ReportPolicy;
  readonly learner: Pick<Learner, 'status' | 'list'>;
  readonly history: History;
  readonly finality: Finality;
  readonly truth: Truth;
  readonly advertisers: Advertisers;
  readonly workerPool: Pick<WorkerPool, 'format' | 'encode'>;
  readonly lives: Lives;
  readonly now: () => number;
  readonly store: Pick<Store, 'pins'>;
  readonly isErased: PinsOptions['isErased'];
  readonly logger: Logger;
}

/** Calls are functions of it. */
export type Asking = ReturnType<typeof createAsking>;

const SWEEP_EVERY_MS = 3_600_000;

export function createAsking({ store, isErased, logger, ...options }: AskingOptions) {
  const { history, workerPool, lives, advertisers } = options;
  const pins = createPins({ store: store.pins, encode: workerPool.encode, isErased });
  const sweep = repeat(SWEEP_EVERY_MS, async () => {
    try {
      await pins.sweep((owner) => isGone(owner, lives));
      await pins.removeErased();
      await advertisers.removeGone();
    } catch (error) {
      logger.warn(
        { err: error },
        'could not remove pins of deleted teams, or erased pins and advertiser names; trying again in an hour',
      );
    }
  });
  return {
    ...options,
    pins,
    previewPurge: createPreviewPurge(options),
    /** Erases what was known of an account, its pins among it; see {@link History.erase}. */
    async eraseHistory(advertiserId: string, audit: string): Promise<number | null> {
      const days = await history.erase(advertiserId, audit);
      try {
        await pins.removeErased();
        await advertisers.removeGone();
        return days;
      } catch (error) {
        logger.warn(
          { err: error },
          'could not remove erased pins and advertiser names; trying again in an hour',
        );
        return null;
      }
    },
    /** Ends what it does by itself. */
    stop: sweep.stop,
  };
}
