/** The platform's credential, wired: vault, rotation, recovery, and the jobs that keep it valid. */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { Dispatcher } from 'undici';
import type { Config } from '../../config/load.js';
import { tokenRequestOf } from '../../config/secret.js';
import { randomShare } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import type { Job } from '../../store/jobs.js';
import type { Store } from '../../store/port.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { GATEWAY_ACTOR } from '../../telemetry/audit.js';
import type { InterpretRules } from '../interpret.js';
import type { AskOptions } from '../request.js';
import { createEvidence } from './evidence.js';
import { createFirstProof } from './first-proof.js';
import { createVaultKeeper, type VaultKeeper } from './keeper.js';
import { mintToken } from './mint.js';
import { expiryText, type Outlook, outlookOf, renewalLeadMs, renewalTime } from './outlook.js';
import { createReferenceReports, type ReferenceReports } from './reference-reports.js';
import { Rotation } from './rotation.js';
import type { Sealer } from './seal.js';
import { bootstrapToken, createTokenFile } from './token-file.js';
import { TokenRecovery } from './token-recovery.js';
import { isExpired, type Token } from './vault.js';
import {
  type CompareOptions,
  compareReports,
  type ProbeOptions,
  probeInTurn,
  probeToken,
  type TokenProof,
  type VerifyOptions,
} from './verify-token.js';

const WARNING_RECORD = 'expiry-warning';

/** The last warning. */
const Given = recordForm(
  Type.Object({ token: Type.String(), expiresAt: Type.String(), days: Type.Number() }),
);
type Given = RecordOf<typeof Given>;

/**
 * Warns that the active token is about to expire: once for each threshold, also across replicas and restarts.
 * @returns a job of the leader. It throws StoreUnavailable, SealError
 */
export function createExpiryWarning({
  registry,
  keeper,
  outlook,
  logger,
}: {
  readonly registry: Registry;
  readonly keeper: VaultKeeper;
  readonly outlook: () => Outlook;
  readonly logger: Logger;
}): () => Promise<void> {
  /** Saves a read of the registry. */
  let settled = '';
  return async () => {
    const { active } = keeper.vault();
    const now = outlook();
    if (active === null || now.warningDays === null) return;
    const given: Given = { token: active.id, expiresAt: active.expiresAt, days: now.warningDays };
    const text = JSON.stringify(given);
    if (settled === text) return;
    let isNew = false;
    await updateRecord(registry, WARNING_RECORD, (stored) => {
      const before = stored === null ? null : Given.read(stored, WARNING_RECORD);
      isNew =
        before === null ||
        before.token !== given.token ||
        before.expiresAt !== given.expiresAt ||
        before.days > given.days;
      return isNew ? { text: JSON.stringify({ ...before, ...given }) } : null;
    });
    settled = text;
    const { expiresAt, expiryKnown, daysLeft } = now;
    if (isNew) logger.error({ tokenId: active.id, expiresAt, expiryKnown, daysLeft }, warningText(now));
  };
}

function warningText(outlook: Outlook): string {
  const what = outlook.state === 'expired' ? 'has expired' : expiryText(outlook);
  const todo =
    outlook.renewsAt === null
      ? 'create another in the dashboard and rotate to it'
      : 'the automatic renewal is overdue: find out why it fails';
  return `the platform token ${what}; ${todo}`;
}

const MAX_RETRY_MS = 3_600_000;
/** A younger pending token is an operator's rotation in progress. */
const AT_WORK_MS = 86_400_000;

export interface RenewalOptions {
  readonly keeper: VaultKeeper;
  readonly rotation: Rotation;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly renewBeforeMs: number;
  /** From 0 to 1: how far into the first tenth of the remaining time this process waits. */
  readonly jitter?: number;
}

/**
 * Renews the active token by the token request (way 2), well before it expires, and not all gateways at once.
 * @returns a job of the leader. It throws StoreUnavailable, SealError
 */
export function createRenewal(options: RenewalOptions): () => Promise<void> {
  const { keeper, rotation, clock, logger, renewBeforeMs, jitter = randomShare() } = options;
  let retryAtMs = Number.NEGATIVE_INFINITY;

  /** The active token if it must be renewed now; an expired one is replaced by the recovery. */
  function dueToken(): Token | null {
    const { active } = keeper.vault();
    if (active === null || isExpired(active, clock.now())) return null;
    const atMs = renewalTime(active, renewBeforeMs);
    if (atMs === null) return null;
    return clock.now() >= atMs + (jitter * renewalLeadMs(active, renewBeforeMs)) / 10 ? active : null;
  }

  function isOperatorAtWork(): boolean {
    const { pending } = keeper.vault();
    return pending !== null && clock.now() - Date.parse(pending.createdAt) < AT_WORK_MS;
  }

  async function renew({ id, expiresAt }: Token): Promise<void> {
    logger.info({ tokenId: id, expiresAt }, 'renewing the platform token');
    await rotation.rotate(null, false, GATEWAY_ACTOR);
    if (dueToken() !== null) {
      logger.warn('the platform issued the same token with the same expiry; retrying later');
      return;
    }
    const { active } = keeper.vault();
    logger.info({ tokenId: active?.id, expiresAt: active?.expiresAt }, 'renewed the platform token');
  }

  return async () => {
    if (dueToken() === null || isOperatorAtWork() || clock.monotonicMs() < retryAtMs) return;
    // Another leader may have renewed it, without its message having arrived.
    await keeper.refresh();
    const token = dueToken();
    if (token === null) return;
    const retryMs = Math.min(MAX_RETRY_MS, Math.max(1000, renewalLeadMs(token, renewBeforeMs) / 10));
    retryAtMs = clock.monotonicMs() + retryMs;
    await renew(token).catch((error: unknown) => {
      logger.error({ err: error }, 'failed to renew the platform token; retrying later');
    });
    if (dueToken() === null) retryAtMs = Number.NEGATIVE_INFINITY;
  };
}

const DAY_MS = 86_400_000;
const TOKEN = 'PLATFORM_TOKEN';
const NO_TOKEN =
  'there is no platform token, so platform calls fail; give one by dsp-gateway token rotate, or set PLATFORM_TOKEN or the token request';
/** A token request and a verification, of two such calls, end before a client gives up after two minutes. */
const LONGEST_CALL_MS = 35_000;

interface CredentialOptions {
  readonly config: Config;
  readonly store: Store;
  readonly registry: Registry;
  readonly sealer: Sealer;
  readonly pepper: () => Buffer;
  readonly agent: Dispatcher;
  readonly rules: InterpretRules;
  readonly countRows: CompareOptions['countRows'];
  readonly saysError: ProbeOptions['saysError'];
  /** Reports that a working token should be able to read, the last one without an advertiser: paths and queries below the base URL. */
  readonly guessReports: () => readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

export type Credential = ReturnType<typeof createCredential>;

/** How platform calls are made that are about the token alone, and who is told of each. */
function createAsk({ config, agent, rules, clock }: CredentialOptions) {
  const listeners: AskOptions['onCall'][] = [];
  const onCall: AskOptions['onCall'] = (report) => {
    for (const listener of listeners) listener(report);
  };
  const ask: AskOptions = {
    ...{ agent, rules, timeoutMs: Math.min(config.platform.timeoutMs, LONGEST_CALL_MS), clock },
    // A refusal of a new token, or of the token request, says nothing of the active one.
    onCall: (report) =>
      onCall(report.outcome === 'credential-refused' ? { ...report, outcome: 'rejected' } : report),
  };
  return { ask, onCall, onOwnCall: (listener: AskOptions['onCall']): void => void listeners.push(listener) };
}

export function createCredential(options: CredentialOptions) {
  const { config, store, registry, sealer, pepper, clock, logger } = options;
  const { tokenPath, grantType, renewBeforeDays } = config.platform;
  const { ask, onCall, onOwnCall } = createAsk(options);
  const account = tokenRequestOf(config.secrets);
  const canMint = account !== null;
  const referenceReports = createReferenceReports(store.documents, clock);
  const keeper = createVaultKeeper({ registry, sealer, clock, logger });
  const evidence = createEvidence(keeper, clock, logger);
  const verify = verifyOptions(options, ask, referenceReports);
  const rotation = new Rotation({
    ...verify,
    keeper,
    pepper,
    clock,
    mintToken: canMint ? () => mintToken({ ...ask, ...account, tokenPath, grantType }) : null,
  });
  const parts = { keeper, rotation, pepper, clock, logger };
  const tokenRecovery = new TokenRecovery({ ...parts, evidence, canMint, leases: store.registryLeases });
  const renewBeforeMs = canMint ? renewBeforeDays * DAY_MS : null;
  const outlook = () =>
    outlookOf(keeper.vault(), { nowMs: clock.now(), proof: evidence.proof(), renewBeforeMs });

  const firstProof = createFirstProof({
    ...{ keeper, leases: store.registryLeases, clock },
    isUnproven: () => keeper.vault().active !== null && evidence.proof() === 'unproven',
    canAsk: () =>
      config.platform.probe !== undefined || referenceReports.hasAny() || options.guessReports().length > 1,
    prove: async () => proveActive((await targetsOf(verify, -1)).slice(0, 1)),
  });

  /** A refused token is replaced as by a request, and the new one is proven once. */
  async function proveActive(targets: readonly string[], mayReplace = true): Promise<TokenProof> {
    const { id, secret } = keeper.active();
    const proof = await probeInTurn(secret, targets, (target) =>
      probeToken(target, secret, { ...ask, onCall, saysError: options.saysError }),
    );
    if (proof.outcome === 'accepted') evidence.note(id, 'accepted');
    if (proof.outcome !== 'refused' || !(await tokenRecovery.refused(id)) || !mayReplace) return proof;
    return proveActive(targets, false);
  }

  /** Plants the token of way 1, or mints one by way 2 if none is active. Without either, the gateway waits for an operator. */
  async function establish(): Promise<void> {
    const secret = config.secrets.get(TOKEN)?.read();
    const isFirst = keeper.vault().active === null;
    if (secret !== undefined) await bootstrapToken(seedOf(secret, config), parts);
    const isEstablished = await tokenRecovery.ensure();
    // The configured call has already verified a planted token.
    firstProof.begin(isFirst && config.platform.probe !== undefined);
    if (isEstablished) return;
    logger.error(NO_TOKEN);
  }

  return {
    keeper,
    rotation,
    tokenRecovery,
    referenceReports,
    outlook,
    canMint,
    onOwnCall,
    /**
     * Probes the platform with the active token, and records the outcome.
     * @throws GatewayError `credential_unavailable` without an active token; SealError
     */
    proveActive: async (): Promise<TokenProof> => proveActive(await targetsOf(verify)),
    awaitedProof: firstProof.awaited,
    establish,
    /**
     * Establishes the credential once.
     * @param mayCall whether platform calls are allowed, and none is running
     * @returns the jobs that keep it valid
     */
    async start(mayCall: () => boolean) {
      const file = config.fileSecrets.find(({ name }) => name === TOKEN);
      // Before it is planted: the file may change meanwhile.
      const planted = file?.read();
      await establish();
      const led: Record<string, Job> = {
        'first proof of the token': () => firstProof.run(mayCall),
        'expiry warning': createExpiryWarning({ registry, keeper, outlook, logger }),
      };
      if (renewBeforeMs !== null) led['token renewal'] = createRenewal({ ...parts, renewBeforeMs });
      if (file !== undefined && planted !== undefined)
        led['token file'] = createTokenFile(file, planted, parts);
      const everywhere: Record<string, Job> = {
        'reference reports': referenceReports.flush,
        'evidence of the token': evidence.flush,
        'look at the token': firstProof.look,
      };
      return { everywhere, led };
    },
  };
}

/** @param end of the guesses, as of `slice` */
async function targetsOf({ probeTargets }: VerifyOptions, end?: number): Promise<readonly string[]> {
  const { targets, guesses } = await probeTargets();
  return [...targets, ...guesses.slice(0, end)];
}

function verifyOptions(
  { config, countRows, saysError, guessReports }: CredentialOptions,
  ask: AskOptions,
  referenceReports: ReferenceReports,
): VerifyOptions {
  const { probe, maxAnswerBytes } = config.platform;
  return {
    async probeTargets() {
      if (probe !== undefined) return { targets: [probe], configured: true, guesses: [] };
      const targets = (await referenceReports.list()).map(({ target }) => target);
      return { targets, configured: false, guesses: guessReports() };
    },
    probe: (target, secret, signal) => probeToken(target, secret, { ...ask, signal, saysError }),
    compare: (secret, activeSecret, signal) =>
      compareReports(secret, activeSecret, { ...ask, signal, referenceReports, countRows, maxAnswerBytes }),
    limitMs: 2 * ask.timeoutMs,
  };
}

function seedOf(secret: string, { platform: { tokenExpiresAt }, fileSecrets }: Config) {
  return {
    secret,
    source: fileSecrets.some(({ name }) => name === TOKEN) ? 'file' : 'seed',
    expiresAt: tokenExpiresAt === undefined ? null : new Date(tokenExpiresAt).toISOString(),
  } as const;
}
