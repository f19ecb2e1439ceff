/** Makes what a process has for reports, once, and ties the steps of the request's path to it. */
import { createAdvertisers } from '../advertisers/create-advertisers.js';
import type { Identify } from '../auth/authenticate.js';
import type { PurgeScope } from '../cache/purges.js';
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
import { createPins } from '../pins/create-pins.js';
import { isGone, type Lives } from '../pins/pin.js';
import { repeat } from '../repeat.js';
import type { ParseRules, Report } from '../report/canonicalize.js';
import { dayAt, startOfDay } from '../report/days.js';
import type { FreshnessRules } from '../report/freshness.js';
import type { Format } from '../report/output-options.js';
import { parameterTable } from '../report/parameters.js';
import type { ReportPolicy } from '../report-policy.js';
import { createWorkerPool } from '../workers/worker-pool.js';
import { createAdmit } from './admit.js';
import { createAnswerQuery } from './answer.js';
import type { NamedReport } from './ask.js';
import { createBackground, createOneATurn, createRefreshes } from './background.js';
import { fetchToLearn } from './call-platform.js';
import { createCaps, createKnownCaps } from './caps.js';
import { createCheckSchedule } from './check-schedule.js';
import { checkAfterHit } from './cross-check.js';
import { explain } from './explain.js';
import { createExplorer } from './explore.js';
import { createFetchLocks } from './fetch-locks.js';
import { createAnswerMemory, type L1 } from './finished.js';
import type { Gateway } from './gateway.js';
import { createWriteBehind } from './keep.js';
import { createKnownShapes } from './known-shapes.js';
import { createLookUp } from './look-up.js';
import { previewPurge } from './preview-purge.js';
import { createQueries } from './queries.js';
import { createQueryParser } from './query.js';
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
  readonly lives: Lives;
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
  const canonical = canonicalRules(options);
  const { compressMinBytes } = config.cache;
  const parse = createQueryParser({ canonical, policy, now, rulesOf: rulesFor, compressMinBytes });
  const behind = { policy, now, logger, background: background.add };
  const knownCaps = createKnownCaps(registry, (report) => divisibilityId(report, accountFields), behind);
  const g: Gateway = {
    ...{ config, logger, now, metrics, self: randomId(), policy, canonical },
    ...{ admit: createAdmit(options), parse, lives: options.lives },
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
    pins: createPins({ store: store.pins, encode: workerPool.encode, isErased: options.erasures.isErased }),
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
  const { parse, now, learner, finality, retention, background } = g;
  const memory = createAnswerMemory({
    ...{ l1: options.l1, purges: g.purges, now, background },
    onCheckDue(question) {
      const check = checkAfterHit(g, question);
      if (check !== null) background(check);
    },
  });
  const stampOf = (report: Report) =>
    `${learner.stampOf(report)}${finality.stampOf(report)}${retention.endedMs(report.endpoint)}`;
  const sweep = repeat(SWEEP_EVERY_MS, () => sweepPins(g));
  return {
    /** For calls about reports, and about what was learned of them. */
    reports: g,
    admit: g.admit,
    queries: createQueries({ parse, stampOf, now }),
    ...{ memory, now },
    answerQuery: createAnswerQuery(g, memory),
    reply: createReply(now, background),
    canonical: g.canonical,
    explain: (endpoint: string, query: string, format?: Format) => explain(g, endpoint, query, format),
    previewPurge: (scope: PurgeScope, named: NamedReport | null) => previewPurge(g, scope, named),
    /** An answer as JSON as a table in pages. */
    table: g.workerPool.table,
    /** Whether some report came as one page of several lately. */
    isPaged: g.shapes.isPaged,
    acceptEmpty: g.history.acceptEmpty,
    eraseHistory: (advertiserId: string, audit: string) => eraseHistory(g, advertiserId, audit),
    /** Beyond which age the platform has forgotten, by endpoint. Never rejects. */
    retentionEdges: retention.edges,
    /** Requests that wait for what others have under way. */
    waiting: () => g.locks.waiting + g.tries.waiting,
    settled,
    /** Lets go of what it holds. */
    async close(): Promise<void> {
      for (const part of [g.explorer, g.locks, g.replacements]) part.stop();
      await sweep.stop();
      await close();
    },
  };
}

const SWEEP_EVERY_MS = 3_600_000;

async function sweepPins({ pins, lives, advertisers, logger }: Gateway): Promise<void> {
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
}

/** Erases what was known of an account, its pins among it; see {@link History.erase}. */
async function eraseHistory(
  { history, pins, advertisers, logger }: Gateway,
  advertiserId: string,
  audit: string,
): Promise<number | null> {
  const days = await history.erase(advertiserId, audit);
  try {
    await pins.removeErased();
    await advertisers.removeGone();
    return days;
  } catch (error) {
    logger.warn({ err: error }, 'could not remove erased pins and advertiser names; trying again in an hour');
    return null;
  }
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
