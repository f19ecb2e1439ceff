/** Makes what a process has for reports, once, and ties the steps of the request's path to it. */
import { createAdvertisers } from '../advertisers/create-advertisers.js';
import type { Identify } from '../auth/identify.js';
import { createCacheTier, type TierFault } from '../cache/tier.js';
import { randomId } from '../chance.js';
import type { MovableClock } from '../clock.js';
import { createKinds } from '../divisibility/kinds.js';
import { createLearner } from '../divisibility/learn.js';
import { createPartRefusals } from '../divisibility/part-refusals.js';
import { createSelectable } from '../divisibility/selectable.js';
import { divisibilityId } from '../divisibility/state.js';
import { createLearnFrom } from '../divisibility/try-kind.js';
import { createFinality, type FinalityOptions } from '../finality/finality.js';
import { createTruth, type TruthOptions } from '../finality/truth.js';
import { createAcceptedEmpty } from '../history/accepted-empty.js';
import { createHistory, type HistoryOptions } from '../history/create-history.js';
import { createRetention } from '../history/retention.js';
import type { TeamLimits } from '../limits/team-limits.js';
import type { ParseRules, Report } from '../report/canonicalize.js';
import { dayAt, startOfDay } from '../report/days.js';
import type { FreshnessRules } from '../report/freshness.js';
import { parameterTable } from '../report/parameters.js';
import type { ReportPolicy } from '../report-policy.js';
import { createWorkerPool } from '../workers/worker-pool.js';
import { createAdmit } from './admit.js';
import { createAnswerQuery } from './answer.js';
import { createBackground, createOneATurn, createRefreshes } from './background.js';
import { fetchToLearn } from './call-platform.js';
import { createCaps } from './caps.js';
import { createCheckSchedule } from './check-schedule.js';
import { type AskingOptions, createAsking } from './create-asking.js';
import { checkAfterHit } from './cross-check.js';
import { createExplain, createExplainQuery } from './explain.js';
import { createExplorer } from './explore.js';
import { createFetchLocks } from './fetch-locks.js';
import { createAnswerMemory, type L1 } from './finished.js';
import type { Gateway } from './gateway.js';
import { type GetReport, getReport } from './get-report.js';
import { createWriteBehind } from './keep.js';
import { createKnownCaps } from './known-caps.js';
import { createKnownShapes } from './known-shapes.js';
import { createLookUp } from './look-up.js';
import { createQueries } from './queries.js';
import { createQueryParser } from './query.js';
import { createReadPast } from './read-past.js';
import { createReplacements } from './replacements.js';
import { createReply } from './reply.js';
import { createSharedTries } from './shared-tries.js';

export interface PipelineOptions
  extends Pick<HistoryOptions, 'credential' | 'erasures'>,
    Pick<FinalityOptions, 'registry'>,
    Pick<
      Gateway,
      | 'config'
      | 'store'
      | 'purges'
      | 'platform'
      | 'maxConcurrent'
      | 'isIdle'
      | 'recentCalls'
      | 'onReport'
      | 'logger'
    > {
  /** The rules of the configuration, without what was learned. */
  readonly policy: ReportPolicy;
  readonly clock: MovableClock;
  readonly identify: Identify;
  readonly limits: TeamLimits;
  /** Which teams there are, and were. */
  readonly lives: AskingOptions['lives'];
  readonly l1: L1;
  readonly metrics: Gateway['metrics'] &
    HistoryOptions['metrics'] &
    FinalityOptions['metrics'] &
    TruthOptions['metrics'] & { storeFault(fault: TierFault): void };
}

/** Requests of one process that may wait for others' calls at once. */
const MAX_WAITING = 10_000;

/** What reports need, and its end. */
function composeGateway(options: PipelineOptions) {
  const { config, store, clock, logger, registry, purges, metrics } = options;
  const { now } = clock;
  const { accountFields } = options.policy;
  const background = createBackground(logger);
  const workerPool = createWorkerPool();
  const tier = createCacheTier({
    ...{ store: store.cache, encode: workerPool.encode, logger },
    onFault: metrics.storeFault,
  });
  const finality = createFinality({ ...options, background: background.add });
  const retention = createRetention({
    ...{ documents: store.documents, logger },
    declaredDays: config.platform.retentionDays ?? null,
    endpoints: () => options.policy.endpoints.keys(),
  });
  function rulesFor(report: Report): FreshnessRules {
    const [rules, edgeEndedMs] = [finality.rulesFor(report), retention.endedMs(report.endpoint)];
    return edgeEndedMs === 0 ? rules : { ...rules, edgeEndedMs };
  }
  const policy = { ...options.policy, rulesFor };
  const truth = createTruth({
    ...{ documents: store.documents, timezoneOf: policy.timezoneOf, metrics, now, logger },
    isSplit: (report) => learner.status(report).state === 'proven',
    off: config.history.enabled ? null : 'history.enabled is false.',
  });
  const learner = createLearner({
    ...{ kinds: createKinds(registry), policy, now, logger },
    onEvent: metrics.divisibility,
    onDependent: truth.dependent,
  });
  const accepted = createAcceptedEmpty(registry, purges);
  const history = createHistory({
    ...{ ...options, accepted, encode: workerPool.encode },
    rulesOf: finality.rulesFor,
  });
  const advertisers = createAdvertisers({ ...options, documents: store.documents, accountFields });
  const behind = { policy, now, logger, background: background.add };
  const knownCaps = createKnownCaps(registry, (report) => divisibilityId(report, accountFields), behind);
  const g: Gateway = {
    ...{ config, logger, now, metrics, self: randomId(), policy },
    ...{ store, tier, lookUp: createLookUp(tier, purges), purges, workerPool },
    writeBehind: createWriteBehind(tier, background.add),
    replacements: createReplacements(store.bus, logger),
    platform: options.platform,
    tries: createSharedTries(MAX_WAITING),
    locks: createFetchLocks(store.leases, store.bus, logger, MAX_WAITING),
    ...{ maxConcurrent: options.maxConcurrent, isIdle: options.isIdle, recentCalls: options.recentCalls },
    background: background.add,
    turns: createOneATurn(),
    refreshes: createRefreshes(now, logger, background.add),
    learner,
    // The one circle: what is learned from fetches may need further fetches.
    learnFrom: createLearnFrom({
      learner,
      policy,
      fetchDays: (of, from, to) => fetchToLearn(g, of, from, to),
    }),
    partRefusals: createPartRefusals({ registry, policy, now, logger }),
    selectable: createSelectable({ registry, accountFields, now }),
    checks: createCheckSchedule(config.report.crossCheckEvery, { learner, policy, now }),
    explorer: createExplorer(store.documents),
    caps: createCaps(knownCaps, behind),
    shapes: createKnownShapes(store.documents, behind),
    ...{ history, retention, accepted, finality, truth, advertisers },
    onReport: options.onReport,
  };
  const learned = [finality, truth, retention, advertisers];
  return {
    g,
    /** Waits for work that outlives its request. */
    settled: () =>
      background
        .settled()
        .then(() => Promise.all(learned.map((part) => part.flush())))
        .then(() => {}),
    async close() {
      await history.close();
      await Promise.all(learned.map((part) => part.close()));
      await workerPool.close();
    },
  };
}

export type Pipeline = ReturnType<typeof createPipeline>;

export function createPipeline(options: PipelineOptions) {
  const { g, settled, close } = composeGateway(options);
  const { policy, now, learner, finality, retention, history, background, workerPool } = g;
  const report: GetReport = (question, context) => getReport(g, question, context);
  const canonical = canonicalRules(options);
  const memory = createAnswerMemory({
    ...{ l1: options.l1, purges: g.purges, now, background },
    onCheckDue(question) {
      const check = checkAfterHit(g, question);
      if (check !== null) background(check);
    },
  });
  const { compressMinBytes } = options.config.cache;
  const parse = createQueryParser({ canonical, policy, now, rulesOf: policy.rulesFor, compressMinBytes });
  const stampOf = (asked: Report) =>
    `${learner.stampOf(asked)}${finality.stampOf(asked)}${retention.endedMs(asked.endpoint)}`;
  const admit = createAdmit(options);
  const readPast = createReadPast({ ...history, learner, canonical, rulesOf: policy.rulesFor });
  const explainQuery = createExplainQuery(g);
  const asking = createAsking({
    ...{ ...g, admit, parse, canonical, report, readPast, explainQuery },
    ...{ lives: options.lives, isErased: options.erasures.isErased },
  });
  const { previewPurge, eraseHistory } = asking;
  return {
    admit,
    /** For calls about reports. */
    asking,
    ...{ previewPurge, eraseHistory },
    queries: createQueries({ parse, stampOf, now }),
    ...{ memory, now },
    answerQuery: createAnswerQuery({
      ...{ report, workerPool, memory, policy, now, isRecorded: history.isRecorded, readPast },
      expectedChange: finality.expectedChange,
    }),
    reply: createReply(now, background),
    ...{ canonical, explain: createExplain({ parse }, explainQuery) },
    /** An answer as JSON as a table in pages. */
    table: workerPool.table,
    /** Whether some report came as one page of several lately. */
    isPaged: g.shapes.isPaged,
    acceptEmpty: history.acceptEmpty,
    /** Beyond which age the platform has forgotten, by endpoint. Never rejects. */
    retentionEdges: retention.edges,
    /** Requests that wait for what others have under way. */
    waiting: () => g.locks.waiting + g.tries.waiting,
    settled,
    /** Lets go of what it holds. */
    async close(): Promise<void> {
      for (const part of [g.explorer, g.locks, g.replacements]) part.stop();
      await asking.stop();
      await close();
    },
  };
}

function canonicalRules({ policy, clock }: PipelineOptions): ParseRules {
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
