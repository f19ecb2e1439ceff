/** What brings days from the platform, for requests and for comparisons, and what is learned on the way. */
import type { Logger } from 'pino';
import type { Purges } from '../cache/purges.js';
import type { CacheTier } from '../cache/tier.js';
import { randomId } from '../chance.js';
import type { Clock } from '../clock.js';
import type { Config } from '../config/load.js';
import { createKinds } from '../divisibility/kinds.js';
import { createLearner, type DivisibilityEvent, type Learner } from '../divisibility/learn.js';
import { createPartRefusals, type PartRefusals } from '../divisibility/part-refusals.js';
import { createSelectable } from '../divisibility/selectable.js';
import { divisibilityId } from '../divisibility/state.js';
import { createLearnFrom } from '../divisibility/try-kind.js';
import type { Truth } from '../finality/truth.js';
import type { AcceptedEmpty } from '../history/accepted-empty.js';
import type { Retention } from '../history/retention.js';
import type { PlatformClient } from '../platform/client.js';
import type { Registry } from '../registry/replica.js';
import type { ReportSeries } from '../report/platform-call.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Store } from '../store/port.js';
import type { WorkerPool } from '../workers/worker-pool.js';
import type { Background } from './background.js';
import { createCaps } from './caps.js';
import { type CrossChecks, createCrossChecks } from './cross-check.js';
import { createExplorer, type Explorer, type ExplorerOptions } from './explore.js';
import { createFetchDays, type FetchDays } from './fetch-days.js';
import { createFetchForComparison } from './fetch-for-comparison.js';
import { createFetchReport } from './fetch-report.js';
import { createFetchUncapped, type FetchUncappedOptions } from './fetch-uncapped.js';
import { createKeep, type KeepOptions } from './keep.js';
import { createKnownCaps } from './known-caps.js';
import { createKnownShapes } from './known-shapes.js';
import { daysFound, type LookUp } from './look-up.js';
import { dayRef, dayRefs, type EntryRef } from './question.js';
import { noteReferenceReports, type ReferenceReport } from './reference-reports.js';
import type { Replacements } from './replacements.js';
import { createSelections, type SelectionEvent, type Selections } from './select.js';
import { createSettleLost, type SettleLostOptions } from './settle-lost.js';

export interface FetchingOptions {
  readonly config: Config;
  readonly policy: ReportPolicy;
  readonly registry: Registry;
  readonly purges: Purges;
  readonly platform: PlatformClient;
  readonly store: Pick<Store, 'leases' | 'documents'>;
  readonly tier: CacheTier;
  readonly lookUp: LookUp;
  readonly replacements: Replacements;
  readonly workerPool: WorkerPool;
  readonly background: Background;
  readonly truth: Pick<Truth, 'dependent' | 'served' | 'failed'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: {
    divisibility(event: DivisibilityEvent): void;
    crossCheck(): void;
    selection(event: SelectionEvent): void;
    exploration(): void;
  };
  /** See {@link ExplorerOptions}. */
  readonly isIdle: ExplorerOptions['isIdle'];
  readonly recentCalls: ExplorerOptions['recentCalls'];
  readonly isRecorded: ExplorerOptions['isRecorded'];
  readonly history: SettleLostOptions['history'];
  readonly retention: Retention;
  readonly accepted: AcceptedEmpty;
  /** Told of reports that a token can be proven with. */
  readonly onReport: (report: ReferenceReport) => void;
  /** See {@link KeepOptions.onDays}. */
  readonly onDays: KeepOptions['onDays'];
  /** See {@link KeepOptions.onRows}. */
  readonly onRows: KeepOptions['onRows'];
  /** See {@link FetchUncappedOptions.onCut}. Never rejects. */
  readonly onCut: (...cut: Parameters<FetchUncappedOptions['onCut']>) => Promise<void>;
}

export interface Fetching {
  readonly fetchDays: FetchDays;
  readonly learner: Learner;
  readonly partRefusals: PartRefusals;
  readonly crossChecks: CrossChecks;
  readonly selections: Selections;
  readonly explorer: Explorer;
  /** Whether some report came as one page of several lately. */
  readonly isPaged: () => boolean;
}

export function createFetching(options: FetchingOptions): Fetching {
  const { config, policy, registry, purges, platform, lookUp, replacements, background, truth, logger } =
    options;
  const { now } = options.clock;
  const callMs = config.platform.timeoutMs;
  const learner = createLearner({
    ...{ kinds: createKinds(registry), policy, now, logger },
    onEvent: options.metrics.divisibility,
    onDependent: truth.dependent,
  });
  const partRefusals = createPartRefusals({ registry, policy, now, logger });
  const selections = createSelections({
    ...{ lookUp, replacements, learner, partRefusals, purges, policy, now, logger },
    selectable: createSelectable({ registry, accountFields: policy.accountFields, now }),
    onEvent: options.metrics.selection,
  });
  const { fetchReport, isPaged } = fetchReportOf(options);
  const fetchDays = createFetchDays({
    ...{ platform, learner, partRefusals, purges, callMs, fetchReport },
    fetchUncapped: fetchUncappedOf(options),
    settleLost: createSettleLost({ ...options, learner, background: background.add }),
    keep: createKeep({
      ...{ tier: options.tier, lookUp, replacements, learner, policy, background: background.add },
      onRows: options.onRows,
      async onDays(report, fetched) {
        await Promise.all([options.onDays(report, fetched), selections.observe(report, fetched)]);
        explorer.used({ report, series: fetched.series });
      },
    }),
    // Learning asks for days itself: what it calls is made from this.
    learnFrom: (news) => learnFrom(news),
    background: background.add,
  });
  const fetchForComparison = createFetchForComparison({ platform, fetchDays, callMs });
  const learnFrom = createLearnFrom({ learner, fetchDays: fetchForComparison, policy });
  const readDays = async ({ report }: ReportSeries, refs: readonly EntryRef[]) =>
    daysFound(refs, (await lookUp.read(report, refs)).found);
  const explorer = explorerOf(options, { learner, readDays, fetchDays: fetchForComparison });
  const crossChecks = createCrossChecks({
    ...{ learner, policy, now, leases: options.store.leases, owner: randomId() },
    every: config.report.crossCheckEvery,
    fetchDays: fetchForComparison,
    readDays: (what) => readDays(what, dayRefs(what)),
    onCrossCheck: options.metrics.crossCheck,
    onUse: explorer.used,
    onServed: truth.served,
    onFailed: truth.failed,
  });
  return { fetchDays, learner, partRefusals, crossChecks, selections, explorer, isPaged };
}

function explorerOf(
  options: FetchingOptions,
  {
    readDays,
    ...rest
  }: Pick<ExplorerOptions, 'learner' | 'fetchDays'> & {
    readonly readDays: (
      what: ReportSeries,
      refs: readonly EntryRef[],
    ) => ReturnType<ExplorerOptions['readDays']>;
  },
) {
  return createExplorer({
    ...{ ...options, ...rest, now: options.clock.now, documents: options.store.documents },
    readDays: (what, dates) =>
      readDays(
        what,
        dates.map((date) => dayRef(what.series, date)),
      ),
    background: options.background.add,
    onExplore: options.metrics.exploration,
  });
}

function fetchReportOf(options: FetchingOptions) {
  const { config, policy, workerPool, clock, onReport, store, background, logger } = options;
  const declared = (endpoint: string) => policy.endpoints.get(endpoint)?.knownColumns ?? [];
  const shapes = createKnownShapes({
    ...{ documents: store.documents, declared, background: background.add, now: clock.now, logger },
  });
  const fetchReport = createFetchReport({
    shapes,
    ...{ workerPool, policy, now: clock.now },
    maxAnswerBytes: config.platform.maxAnswerBytes,
    maxRows: config.report.maxRows,
  });
  return { isPaged: shapes.isPaged, fetchReport: noteReferenceReports(fetchReport, policy, onReport) };
}

function fetchUncappedOf(options: FetchingOptions) {
  const { policy, registry, purges, background, clock, logger, onCut } = options;
  const { now } = clock;
  const known = createKnownCaps({
    ...{ registry, now, logger, background: background.add },
    kindOf: (report) => divisibilityId(report, policy.accountFields),
  });
  return createFetchUncapped({
    ...{ caps: createCaps({ policy, known, now }), purges, policy, now, logger },
    onCut: (what, cut) => background.add(onCut(what, cut)),
  });
}
