/** The credential as the gateway wires it: keeper, rotation and tokenRecovery of one replica or several, and a platform. */
import { randomBytes } from 'node:crypto';
import { Agent } from 'undici';
import { onTestFinished } from 'vitest';
import { fixedSecret } from '../../../src/config/secret.js';
import type { Clock } from '../../../src/lib/clock.js';
import { createEvidence } from '../../../src/platform/credential/evidence.js';
import { createVaultKeeper } from '../../../src/platform/credential/keeper.js';
import { type Minted, mintToken } from '../../../src/platform/credential/mint.js';
import { Rotation } from '../../../src/platform/credential/rotation.js';
import { createSealer } from '../../../src/platform/credential/seal.js';
import { TokenRecovery } from '../../../src/platform/credential/token-recovery.js';
import { probeToken, type VerifyOptions } from '../../../src/platform/credential/verify-token.js';
import { saysError } from '../../../src/reports/rows/flaws.js';
import { startSimulator } from '../../../src/simulator/simulator.js';
import type { Simulator } from '../../../src/simulator/simulator-api.js';
import type { Switches } from '../../../src/simulator/switches.js';
import type { Leases, Store } from '../../../src/store/port.js';
import type { AuditRecord } from '../../../src/telemetry/audit.js';
import { openInMemory, openReplica, withoutBus } from '../../support/shared-registry.js';
import { createStandingClock } from '../../support/test-clock.js';

export const ALICE = { name: 'alice', address: '10.0.0.1' };
export const PEPPER = randomBytes(32);
export const PROBE = '/api/v1/report/campaigns/get?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-01';
const TOKEN_PATH = '/oauth/token';
const MASTER_KEY = fixedSecret('GATEWAY_MASTER_KEY', randomBytes(32).toString('base64'));

export interface CredentialOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly baseUrl: URL;
  /** Path and query of the probe; null for none. */
  readonly probe?: string | null;
  /** Reports that were never asked for. */
  readonly guesses?: readonly string[];
  /** Null for no token request; a function instead of the real one. */
  readonly mint?: 'request' | null | (() => Promise<Minted>);
  readonly account?: Simulator['account'];
  readonly leases?: Leases;
  /** Of one call; a verification has twice as long. */
  readonly timeoutMs?: number;
  readonly limitMs?: number;
  readonly compare?: VerifyOptions['compare'];
}

export type Credential = Awaited<ReturnType<typeof openCredential>>;

/** One replica on a store. */
async function openCredential(options: CredentialOptions) {
  const {
    store,
    clock,
    baseUrl,
    probe = PROBE,
    guesses = [],
    mint = 'request',
    account,
    timeoutMs = 10_000,
  } = options;
  const { registry, log } = await openReplica(store, { clock });
  const { logger } = log;
  const keeper = createVaultKeeper({ registry, sealer: createSealer(MASTER_KEY), clock, logger });
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  const ask = { agent, rules: { baseUrl, loginPaths: ['/login'] }, timeoutMs, clock, onCall: () => {} };
  const request = (): Promise<Minted> =>
    mintToken({
      ...ask,
      tokenPath: TOKEN_PATH,
      grantType: 'platform_dsp',
      username: fixedSecret('PLATFORM_USERNAME', account?.username ?? 'me'),
      password: fixedSecret('PLATFORM_PASSWORD', account?.password ?? 'pass'),
      clientId: fixedSecret('PLATFORM_CLIENT_ID', String(account?.clientId ?? 7)),
      clientSecret: fixedSecret('PLATFORM_CLIENT_SECRET', account?.clientSecret ?? 'secret'),
    });
  const rotation = new Rotation({
    keeper,
    pepper: () => PEPPER,
    clock,
    mintToken: mint === 'request' ? request : mint,
    probeTargets: async () =>
      probe === null
        ? { targets: [], configured: false, guesses }
        : { targets: [probe], configured: true, guesses },
    compare: options.compare ?? (async () => ({ compared: 0, missing: null })),
    probe: (target, secret, signal) => probeToken(target, secret, { ...ask, signal, saysError }),
    limitMs: options.limitMs ?? 2 * timeoutMs,
  });
  const evidence = createEvidence(keeper, clock, logger);
  const tokenRecovery = new TokenRecovery({
    keeper,
    rotation,
    evidence,
    canMint: mint !== null,
    leases: options.leases ?? store.registryLeases,
    clock,
    logger,
  });
  return { registry, keeper, rotation, tokenRecovery, evidence, log, clock };
}

export type Scene = Awaited<ReturnType<typeof openScene>>;

/** A simulated platform, a store in memory without messages, and one replica. */
export async function openScene(
  options: Partial<Omit<CredentialOptions, 'clock'>> & { readonly switches?: Partial<Switches> } = {},
) {
  const clock = createStandingClock();
  const simulator = await startSimulator({ clock, switches: { rateLimitPerMinute: 0, ...options.switches } });
  onTestFinished(() => simulator.close());
  const store = withoutBus(await openInMemory(clock));
  const common = { store, clock, baseUrl: new URL(simulator.url), account: simulator.account, ...options };
  const audit = async () =>
    (await store.registry.readAudit(1000)).map(({ text }) => JSON.parse(text) as AuditRecord).toReversed();
  return {
    ...(await openCredential(common)),
    clock,
    simulator,
    store,
    /** Another replica on the same store. */
    another: (more: Partial<CredentialOptions> = {}) => openCredential({ ...common, ...more }),
    /** How often the platform was asked for a token. */
    mints: () => simulator.calls.filter(({ path }) => path === TOKEN_PATH).length,
    audit,
    /** Actions of the audit, oldest first. */
    actions: async () => (await audit()).map(({ action }) => action),
  };
}

/** The secrets in the slots, for a look at the whole vault at once. */
export function secretsIn({ keeper }: Pick<Credential, 'keeper'>) {
  const { active, pending, previous } = keeper.vault();
  return {
    active: active?.secret ?? null,
    pending: pending?.secret ?? null,
    previous: previous?.secret ?? null,
  };
}

export const staged = (secret: string, expiresAt: string | null = null) => ({
  secret,
  source: 'staged' as const,
  expiresAt,
});
