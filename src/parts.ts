/** The parts behind the planes: each is made by its room, and given here what it needs of the others. */
import { createPurges } from './cache/purges.js';
import type { SecretFileFault } from './config/secret.js';
import { type FoundationOptions, openFoundation } from './foundation.js';
import { createGateway } from './gateway.js';
import { gaugesOf } from './gauges.js';
import { createGatewayHealth, heldToken, watchHealth } from './health.js';
import { createErasures } from './history/erasures.js';
import { createLimits } from './limits/limits.js';
import { createIdempotency } from './pass-through/idempotency.js';
import { createPipeline } from './pipeline/compose.js';
import { createL1 } from './pipeline/finished.js';
import { createPlatformClient } from './platform/client.js';
import type { CallReport } from './platform/slot.js';
import { createTraffic, type Traffic } from './platform/traffic.js';
import { createSeries, type Series } from './series/create-series.js';
import { createTail } from './tail/tail.js';
import { createMetrics, type Metrics } from './telemetry/metrics.js';
import { createUsage, type Usage } from './usage/usage.js';
import type { UsageField } from './usage/usage-day.js';
import { VERSION } from './version.js';

export interface PartsOptions extends FoundationOptions {
  /** Files of secrets whose present content is not in use. */
  readonly secretFaults?: () => readonly SecretFileFault[];
}

export type Parts = Awaited<ReturnType<typeof createParts>>;

/** @throws StoreUnavailable, SealError when the registry cannot be read or opened */
export async function createParts(options: PartsOptions) {
  const { config, store, clock, log, secretFaults = () => [] } = options;
  const { logger } = log;
  const foundation = await openFoundation(options);
  const { policy, registry, directory, identify, agent, credential, nameOf } = foundation;
  const usage = createUsage({ counters: store.counters, clock, logger, nameOf });
  const purges = createPurges(registry);
  const erasures = createErasures(registry, purges);
  const l1 = createL1(config.cache.l1MaxBytes);
  const health = createGatewayHealth(() => ({ l1, budget: traffic.budget }));
  const self = { id: health.id, info: () => JSON.stringify(health.own()) };
  const limits = createLimits({ store, clock, logger, teamOf: directory.team, self });
  const { replicas, shares } = limits;
  const traffic = createTraffic({ settings: config.platform, replicas, bus: store.bus, clock, logger });
  const watched = { store, registry, replicas, outlook: credential.outlook };
  const series = createSeries({ documents: store.documents, clock, logger, traffic, nameOf });
  const metrics = createMetrics(gaugesOf({ ...foundation, ...watched, traffic, l1, secretFaults }));
  const platform = createPlatformClient({
    ...traffic,
    agent,
    rules: foundation.platformRules,
    tokens: credential.tokenRecovery,
    shares,
    clock,
    logger,
    retry: config.platform.retry,
    userAgent: `dsp-gateway/${VERSION}`,
    onCall: countCalls({ metrics, usage, series, ...traffic }),
  });
  const callMs = config.platform.timeoutMs;
  const idempotency = createIdempotency({ ...store, clock, logger, callMs });
  const pipeline = createPipeline({
    ...{ config, policy, store, clock, logger, registry, purges, erasures },
    platform,
    identify,
    l1,
    metrics,
    ...traffic,
    limits: limits.teams,
    lives: directory,
    credential: () => credential.keeper.vault().active?.fingerprint ?? null,
    onReport: credential.referenceReports.note,
  });
  health.holds(heldToken(credential.keeper, clock.now));
  watchHealth(health, { ...watched, ...traffic, ...pipeline });
  return {
    ...foundation,
    ...traffic,
    secretFaults,
    usage,
    series,
    tail: createTail({ bus: store.bus, clock, logger }),
    purges,
    erasures,
    l1,
    health,
    limits,
    metrics,
    platform,
    idempotency,
    pipeline,
    gateway: createGateway({ ...foundation, ...pipeline, limits: limits.teams }),
  };
}

interface CallCounters extends Pick<Traffic, 'recentCalls'> {
  readonly metrics: Metrics;
  readonly usage: Usage;
  readonly series: Series;
}

function countCalls({ metrics, usage, series, recentCalls }: CallCounters): (call: CallReport) => void {
  return (call) => {
    recentCalls.add();
    metrics.platformCall(call);
    usage.add(call.team, ONE_CALL);
    series.addCall(call.team);
  };
}

const ONE_CALL: ReadonlyMap<UsageField, number> = new Map([['upstreamCalls', 1]]);
