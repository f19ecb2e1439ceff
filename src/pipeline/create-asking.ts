/** Calls that are about a report: made once and tied together. */
import type { Finality } from '../finality/create-finality.js';
import type { History } from '../history/create-history.js';
import { type AskReport, type AskReportOptions, createAskReport } from './asked-report.js';
import { createShowDiff, type ShowDiff, type ShowDiffOptions } from './show-diff.js';
import { createShowFinality, type ShowFinality, type ShowFinalityOptions } from './show-finality.js';
import { createShowRevisions, type ShowRevisions } from './show-revisions.js';

export interface AskingOptions
  extends AskReportOptions,
    Pick<ShowDiffOptions, 'learner' | 'canonical' | 'now'>,
    Pick<ShowFinalityOptions, 'policy'> {
  readonly history: History;
  readonly finality: Finality;
}

export interface Asking {
  readonly askReport: AskReport;
  readonly showRevisions: ShowRevisions;
  readonly showDiff: ShowDiff;
  readonly showFinality: ShowFinality;
}

export function createAsking(options: AskingOptions): Asking {
  const { history } = options;
  const asking = { ...options, ...history, askReport: createAskReport(options) };
  return {
    askReport: asking.askReport,
    showRevisions: createShowRevisions(asking),
    showDiff: createShowDiff(asking),
    showFinality: createShowFinality({ ...asking, scopesOf: options.finality.scopesOf }),
  };
}
