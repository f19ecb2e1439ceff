/** The report engine, wired: look-up, claims, fetching, learning, the gateway on top. Composed once, by services. */
import { randomUUID } from 'node:crypto';
import type { Identify } from './auth/identify.js';
import type { L1 } from './cache/l1.js';
import type { Purges } from './cache/purges.js';
import { createCacheTier } from './cache/tier.js';
import type { Clock } from './clock.js';
import type { Config } from './config/load.js';
import { createKinds } from './divisibility/kinds.js';
import { createLearner } from './divisibility/learn.js';
import { createPartRefusals } from './divisibility/part-refusals.js';
import { divisibilityId } from './divisibility/state.js';
import { createLearnFrom } from './divisibility/try-kind.js';
import { createGateway, type Gateway } from './gateway.js';
import type { TeamLimits } from './limits/team-limits.js';
import { createBackground } from './pipeline/background.js';
import { createCaps } from './pipeline/caps.js';
import { createAuditor } from './pipeline/cross-check.js';
import { createExplain, type Explain } from './pipeline/explain.js';
import { createFetchDays } from './pipeline/fetch-days.js';
import { createClaims } from './pipeline/fetch-locks.js';
import { createFetchReport } from './pipeline/fetch-report.js';
import { createFetchUncapped } from './pipeline/fetch-uncapped.js';
import { createGather } from './pipeline/gather.js';
import { createKnownCaps } from './pipeline/known-caps.js';
import { createLookUp, daysFound } from './pipeline/look-up.js';
import { dayUnits } from './pipeline/mode.js';
import { createObtain, type Haul } from './pipeline/obtain.js';
import { noteWitnesses, type SeenReport } from './pipeline/reference-reports.js';
import type { Finished } from './pipeline/render.js';
import type { PlatformClient } from './platform/client.js';
import type { Registry } from './registry/mirror.js';
import type { CanonicalRules } from './report/canonicalize.js';
import { dayAt, startOfDay } from './report/days.js';
import type { FreshnessRules } from './report/freshness.js';
import { parameterTable } from './report/parameters.js';
import type { Store } from './store/port.js';
import type { Log } from './telemetry/logger.js';
import type { Metrics } from './telemetry/metrics.js';
import { createCrew } from './workers/crew.js';

export interface EngineOptions {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly registry: Registry;
  readonly purges: Purges;
  readonly platform: PlatformClient;
  readonly identify: Identify;
  readonly limits: TeamLimits;
  /** Platform calls that this process may make at once, as of now. */
  readonly turns: () => number;
  readonly l1: L1<Finished>;
  readonly metrics: Metrics;
  /** Told of reports that a token can be proven with. */
  readonly onReport: (report: SeenReport) => void;
}

export interface Engine {
  readonly gateway: Gateway;
  readonly canonical: CanonicalRules;
  readonly explain: Explain;
  /** Waits for work that outlives its request. */
  settled(): Promise<void>;
  /** Lets go of what it holds. */
  close(): Promise<void>;
}

export function createEngine(options: EngineOptions): Engine {
  const { config, store, clock, log, registry, purges, platform, metrics, l1 } = options;
  const { logger } = log;
  const { endpoints, accountFields, mergeGapDays, maxDaysPerCall, auditEvery } = config.report;
  const { timeoutMs } = config.platform;
  const accountPattern = new RegExp(config.report.accountPattern);
  const rules = freshnessRules(config);
  const plan = { mergeGapDays, maxDaysPerCall };
  const negativeMs = config.report.freshness.negativeSeconds * 1000;
  const background = createBackground(logger);

  const crew = createCrew();
  const tier = createCacheTier({
    store: store.cache,
    encode: crew.encode,
    logger,
    onFault: metrics.storeFault,
  });
  const lookUp = createLookUp({ tier, purges, rules, negativeMs, now: clock.now });
  const claims = createClaims<Haul>({
    leases: store.leases,
    bus: store.bus,
    logger,
    maxWaiting: MAX_WAITING,
  });
  const learner = createLearner({
    kinds: createKinds(registry),
    rules,
    endpoints,
    accountFields,
    now: clock.now,
    logger,
    onEvent: metrics.divisibility,
  });
  const fetchReported = createFetchReport({
    platform,
    crew,
    now: clock.now,
    timezoneOf: (account) => timezoneOf(config, account),
    endpoints,
    accountPattern,
    timeoutMs,
    maxAnswerBytes: config.platform.maxAnswerBytes,
    maxRows: config.report.maxRows,
    rules,
  });
  const fetchReport = noteWitnesses(fetchReported, rules, options.onReport);
  const knownCaps = createKnownCaps({
    registry,
    kindOf: (report) => divisibilityId(report, accountFields),
    now: clock.now,
    logger,
    background: background.add,
  });
  const caps = createCaps({ endpoints, known: knownCaps, now: clock.now });
  const fetchUncapped = createFetchUncapped({ caps, purges, rules, now: clock.now, logger });
  const fetchDays = createFetchDays({ fetchReport, fetchUncapped, learner, purges, tier, rules });
  const partRefusals = createPartRefusals({ registry, accountFields, plan, now: clock.now, logger });
  const obtain = createObtain({
    claims,
    lookUp,
    tier,
    purges,
    fetchReport,
    learner,
    learnFrom: createLearnFrom({ learner, fetchDays, rules, maxDays: maxDaysPerCall }),
    fetchUncapped,
    partRefusals,
    rules,
    plan,
    negativeMs,
    callMs: timeoutMs,
    background: background.add,
  });
  const auditor = createAuditor({
    every: auditEvery,
    fetchDays,
    learner,
    rules,
    leases: store.leases,
    owner: randomUUID(),
    readDays: async (what) => {
      const units = dayUnits(what);
      return daysFound(units, (await lookUp.read(what.report, units)).found);
    },
    now: clock.now,
    onAudit: metrics.audit,
  });
  const gather = createGather({
    lookUp,
    obtain,
    learner,
    partRefusals,
    endpoints,
    rules,
    plan,
    timeoutMs,
    turns: options.turns,
    now: clock.now,
    logger,
    auditor,
    background: background.add,
  });
  const identity = { account: config.platform.account, baseUrl: new URL(config.platform.baseUrl).href };
  const canonical: CanonicalRules = {
    table: parameterTable(accountFields),
    accountFields,
    accountPattern,
    nonAccounts: config.report.nonAccountParameters,
    todayOf: (account) => dayAt(clock.now(), timezoneOf(config, account)),
    startOfDayOf: (account, day) => startOfDay(day, timezoneOf(config, account)),
  };
  const gateway = createGateway({
    identify: options.identify,
    limits: options.limits,
    canonical,
    crew,
    gather,
    l1,
    purges,
    rules,
    generationOf: (report) => learner.standing(report).generation,
    onJoinedHit: (question) => {
      const check = auditor.hit(question);
      if (check !== null) background.add(check);
    },
    negativeMs,
    compressMinBytes: config.cache.compressMinBytes,
    ...identity,
    now: clock.now,
  });
  const explain = createExplain({
    canonical,
    lookUp,
    learner,
    partRefusals,
    auditor,
    endpoints,
    rules,
    plan,
    negativeMs,
    ...identity,
    now: clock.now,
  });
  return {
    gateway,
    canonical,
    explain,
    settled: background.settled,
    async close() {
      claims.stop();
      await crew.close();
    },
  };
}

/** Requests of one process that may wait for others' calls at once. */
const MAX_WAITING = 10_000;

function timezoneOf({ platform }: Config, account: string | null): string {
  const { timezones, timezone } = platform;
  return (account !== null && Object.hasOwn(timezones, account) ? timezones[account] : undefined) ?? timezone;
}

function freshnessRules({ report }: Config): FreshnessRules {
  const { freshness } = report;
  return {
    restatementDays: report.restatementDays,
    currentMs: freshness.currentSeconds * 1000,
    restatingMs: freshness.restatingSeconds * 1000,
    finalMs: freshness.finalSeconds * 1000,
    emptyMs: freshness.emptySeconds * 1000,
    emptyFinalMs: freshness.emptyFinalSeconds * 1000,
    undeclaredMs: freshness.undeclaredSeconds * 1000,
    staleWhileRevalidateMs: freshness.staleWhileRevalidateSeconds * 1000,
    staleIfErrorMs: freshness.staleIfErrorSeconds * 1000,
  };
}
