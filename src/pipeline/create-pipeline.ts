/** The steps of the request's path, made once and tied together. */

import { createAdvertisers } from '../advertisers/create-advertisers.js';
import type { Identify } from '../auth/identify.js';
import { createCacheTier, type TierFault } from '../cache/tier.js';
import type { MovableClock } from '../clock.js';
import { createFinality, type FinalityOptions } from '../finality/finality.js';
import { createTruth, type TruthOptions } from '../finality/truth.js';
import { createAcceptedEmpty } from '../history/accepted-empty.js';
import { createHistory, type History, type HistoryOptions } from '../history/create-history.js';
import { createRetention, type RetentionEdge } from '../history/retention.js';
import type { TeamLimits } from '../limits/team-limits.js';
import type { CanonicalReport, CanonicalRules } from '../report/canonicalize.js';
import { dayAt, startOfDay } from '../report/days.js';
import type { FreshnessRules } from '../report/freshness.js';
import { parameterTable } from '../report/parameters.js';
import type { Store } from '../store/port.js';
import { createWorkerPool, type WorkerPool } from '../workers/worker-pool.js';
import { type Admit, createAdmit } from './admit.js';
import { type AnswerQuery, createAnswerQuery } from './answer.js';
import { createBackground } from './background.js';
import { type Asking, type AskingOptions, createAsking } from './create-asking.js';
import { createFetching, type FetchingOptions } from './create-fetching.js';
import { createExplain, createExplainQuery, type Explain } from './explain.js';
import { createFetchLocks } from './fetch-locks.js';
import { createFetchPlanned } from './fetch-planned.js';
import type { FetchResult } from './fetch-result.js';
import { type AnswerMemory, createAnswerMemory, type L1 } from './finished.js';
import { createLookUp } from './look-up.js';
import { createQueries, type Queries } from './queries.js';
import { createQueryParser } from './query.js';
import { createReadPast } from './read-past.js';
import { createReplacements } from './replacements.js';
import { createReply, type Reply } from './reply.js';
import { createReport } from './report.js';
import { createSharedTries } from './shared-tries.js';

export interface PipelineOptions
  extends Omit<
    FetchingOptions,
    | 'tier'
    | 'lookUp'
    | 'replacements'
    | 'workerPool'
    | 'background'
    | 'truth'
    | 'isRecorded'
    | 'history'
    | 'retention'
    | 'accepted'
    | 'onDays'
    | 'onRows'
    | 'onCut'
  > {
  readonly store: Store;
  readonly clock: MovableClock;
  readonly identify: Identify;
  readonly limits: TeamLimits;
  /** Which teams there are, and were. */
  readonly lives: AskingOptions['lives'];
  /** Platform calls that this process may make at once, as of now. */
  readonly maxConcurrent: () => number;
  readonly l1: L1;
  readonly metrics: FetchingOptions['metrics'] &
    HistoryOptions['metrics'] &
    FinalityOptions['metrics'] &
    TruthOptions['metrics'] & { storeFault(fault: TierFault): void };
  readonly credential: HistoryOptions['credential'];
  readonly erasures: HistoryOptions['erasures'];
}

export interface Pipeline extends Pick<Asking, 'previewPurge' | 'eraseHistory'> {
  /** For calls about reports, and about what was learned of them. */
  readonly asking: Asking;
  readonly admit: Admit;
  readonly queries: Queries;
  readonly memory: AnswerMemory;
  readonly answerQuery: AnswerQuery;
  readonly reply: Reply;
  readonly now: () => number;
  readonly canonical: CanonicalRules;
  readonly explain: Explain;
  /** An answer as JSON as a table in pages. */
  readonly table: WorkerPool['table'];
  /** Whether some report came as one page of several lately. */
  readonly isPaged: () => boolean;
  readonly acceptEmpty: History['acceptEmpty'];
  /** Beyond which age the platform has forgotten, by endpoint. Never rejects. */
  readonly retentionEdges: () => Promise<readonly RetentionEdge[]>;
  /** Requests that wait for what others have under way. */
  readonly waiting: () => number;
  /** Waits for work that outlives its request. */
  settled(): Promise<void>;
  /** Lets go of what it holds. */
  close(): Promise<void>;
}

/** Requests of one process that may wait for others' calls at once. */
const MAX_WAITING = 10_000;

export function createPipeline(options: PipelineOptions): Pipeline {
  const { config, store, clock, logger, purges, platform, metrics } = options;
  const { now } = clock;
  const [{ timeoutMs }, { compressMinBytes }] = [config.platform, config.cache];
  const background = createBackground(logger);
  const workerPool = createWorkerPool();
  const tier = createCacheTier({
    ...{ store: store.cache, encode: workerPool.encode, logger },
    onFault: metrics.storeFault,
  });
  const { finality, truth, policy, history, retention, accepted, advertisers, ...past } = createPast({
    ...{ ...options, workerPool, background: background.add },
    isSplit: (asked) => learner.status(asked).state === 'proven',
  });
  const lookUp = createLookUp({ tier, purges });
  const replacements = createReplacements({ bus: store.bus, logger });
  const locks = createFetchLocks<FetchResult>({
    ...{ leases: store.leases, bus: store.bus, logger },
    maxWaiting: MAX_WAITING,
  });
  const tries = createSharedTries<FetchResult>(MAX_WAITING);
  const { fetchDays, learner, partRefusals, crossChecks, selections, explorer, isPaged } = createFetching({
    ...{ ...options, policy, replacements },
    ...{ tier, lookUp, workerPool, background, truth, isRecorded: history.isRecorded },
    ...{ history, retention, accepted },
    ...{ onDays: history.record, onRows: advertisers.sighted, onCut: history.voidCut },
  });
  const fetchPlanned = createFetchPlanned({
    ...{ platform, locks, tries, lookUp, purges, fetchDays, policy, callMs: timeoutMs },
    background: background.add,
  });
  const report = createReport({
    ...{ lookUp, fetchPlanned, learner, partRefusals, purges, policy, crossChecks, selections, replacements },
    ...{ timeoutMs, maxConcurrent: options.maxConcurrent, now, logger, background: background.add },
  });
  const canonical = canonicalRules(options);
  const memory = createAnswerMemory({
    ...{ l1: options.l1, purges, now, background: background.add },
    onCheckDue(question) {
      const check = crossChecks.hit(question);
      if (check !== null) background.add(check);
    },
  });
  const parse = createQueryParser({ canonical, policy, now, rulesOf: policy.rulesFor, compressMinBytes });
  const stampOf = (asked: CanonicalReport) =>
    `${learner.stampOf(asked)}${finality.stampOf(asked)}${retention.endedMs(asked.endpoint)}`;
  const [admit, rulesOf] = [createAdmit(options), policy.rulesFor];
  const readPast = createReadPast({ ...history, learner, canonical, rulesOf });
  const explainQuery = createExplainQuery({
    ...{ parse, lookUp, learner, partRefusals, crossChecks, purges, policy, now, selections, replacements },
  });
  const asking = createAsking({
    ...{ admit, parse, history, learner, canonical, now, store, workerPool, logger, report, readPast },
    ...{ finality, truth, advertisers, policy, lookUp, explainQuery },
    ...{ lives: options.lives, isErased: options.erasures.isErased },
  });
  const { previewPurge, eraseHistory } = asking;
  return {
    admit,
    asking,
    ...{ previewPurge, eraseHistory },
    queries: createQueries({ parse, stampOf, now }),
    ...{ memory, now },
    answerQuery: createAnswerQuery({
      ...{ report, workerPool, memory, policy, now, isRecorded: history.isRecorded, readPast },
      expectedChange: finality.expectedChange,
    }),
    reply: createReply(now, background.add),
    ...{ canonical, explain: createExplain({ parse }, explainQuery), table: workerPool.table },
    ...{ isPaged, retentionEdges: retention.edges, acceptEmpty: history.acceptEmpty },
    waiting: () => locks.waiting + tries.waiting,
    settled: () => background.settled().then(past.flush),
    async close() {
      for (const part of [explorer, locks, replacements]) part.stop();
      await asking.stop();
      await past.close();
      await workerPool.close();
    },
  };
}

/** What is known of reports over time, and what is learned from it: when the days of a report are final. */
function createPast(
  options: PipelineOptions &
    Pick<FinalityOptions, 'background'> &
    Pick<TruthOptions, 'isSplit'> & { readonly workerPool: WorkerPool },
) {
  const { config, store, clock } = options;
  const finality = createFinality(options);
  const truth = createTruth({
    ...{ ...options, documents: store.documents, now: clock.now, timezoneOf: options.policy.timezoneOf },
    off: config.history.enabled ? null : 'history.enabled is false.',
  });
  const accepted = createAcceptedEmpty(options.registry, options.purges);
  const history = createHistory({
    ...options,
    accepted,
    encode: options.workerPool.encode,
    rulesOf: finality.rulesFor,
    onSights(report, sights) {
      finality.observed(report, sights);
      truth.observed(report, sights);
    },
    onFinals: finality.finalized,
  });
  const retention = createRetention({
    ...{ documents: store.documents, logger: options.logger },
    declaredDays: config.platform.retentionDays ?? null,
    endpoints: () => options.policy.endpoints.keys(),
  });
  function rulesFor(report: CanonicalReport): FreshnessRules {
    const [rules, edgeEndedMs] = [finality.rulesFor(report), retention.endedMs(report.endpoint)];
    return edgeEndedMs === 0 ? rules : { ...rules, edgeEndedMs };
  }
  const advertisers = createAdvertisers({
    ...{ ...options, documents: store.documents, accountFields: options.policy.accountFields },
  });
  return {
    ...{ finality, truth, history, retention, accepted, advertisers },
    policy: { ...options.policy, rulesFor },
    async flush() {
      await Promise.all([finality.flush(), truth.flush(), retention.flush(), advertisers.flush()]);
    },
    async close() {
      await history.close();
      await Promise.all([finality.close(), truth.close(), retention.close(), advertisers.close()]);
    },
  };
}

function canonicalRules({ policy, clock }: PipelineOptions): CanonicalRules {
  const { accountFields, accountPattern, nonAccounts, timezoneOf } = policy;
  return {
    table: parameterTable(accountFields),
    endpoints: policy.endpoints,
    accountFields,
    accountPattern,
    nonAccounts,
    todayOf: (account) => dayAt(clock.now(), timezoneOf(account)),
    startOfDayOf: (account, day) => startOfDay(day, timezoneOf(account)),
  };
}
