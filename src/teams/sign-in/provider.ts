/** The identity provider, by OpenID Connect. The library is loaded by the first use: without `auth.oidc` it takes no memory. */
import type { CustomFetch, ServerMetadata } from 'openid-client';
import { type Dispatcher, fetch } from 'undici';
import type { Config } from '../../config/load.js';
import { isLoopback } from '../../config/sign-in-settings.js';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { startTicks, stopTicks, wallMs } from '../../lib/time.js';
import type { SignedIn } from './persons.js';

const TIMEOUT_S = 10;
/** Clocks of gateway and provider may be so far apart. */
const TOLERANCE_S = 120;
const TICK_MS = 1000;
const [FIRST_WAIT_MS, MOST_WAIT_MS] = [1000, 60_000];
const KNOWN_FOR_MS = 300_000;

/** What only the browser's cookie and the provider know of an attempt. */
export interface Checks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface ProviderOptions {
  readonly oidc: Config['auth']['oidc'];
  /** The client's secret, read at each use; null: a public client. */
  readonly secret: () => string | null;
  /** The connections to it. */
  readonly agent: Dispatcher;
  readonly clock: Clock;
  readonly timeoutS?: number;
}

/** What the provider says of itself: asked at the start, again and again while it fails, and now and then. */
function createDiscovery({ oidc, clock }: ProviderOptions, timeoutS: number, fetched: CustomFetch) {
  const { issuer = '', clientId = '' } = oidc;
  let metadata: ServerMetadata | null = null;
  let [fault, failures, askAtMs] = [null as string | null, 0, 0];
  let asking: Promise<void> | null = null;

  async function discover(): Promise<void> {
    const client = await import('openid-client');
    const isPlain = issuer.startsWith('http:') && isLoopback(issuer);
    const found = await client.discovery(new URL(issuer), clientId, undefined, client.None(), {
      [client.customFetch]: fetched,
      timeout: timeoutS,
      execute: isPlain ? [client.allowInsecureRequests] : [],
    });
    metadata = found.serverMetadata();
  }

  /** @param error null: it answered */
  function note(error: unknown): void {
    fault = error === null ? null : codeOf(error);
    failures = error === null ? 0 : failures + 1;
    const waitMs =
      error === null ? KNOWN_FOR_MS : Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), MOST_WAIT_MS);
    askAtMs = clock.monotonicMs() + waitMs;
  }

  /** One discovery at a time. */
  function ask(): Promise<void> {
    asking ??= discover()
      .then(() => note(null), note)
      .finally(() => {
        asking = null;
      });
    return asking;
  }

  const ticks = startTicks(() => {
    if (clock.monotonicMs() >= askAtMs) void ask();
  }, TICK_MS);
  ticks.unref();
  void ask();
  return {
    metadata: () => metadata,
    fault: () => fault,
    note,
    ask,
    stop: () => stopTicks(ticks),
  };
}

export function createProvider(options: ProviderOptions) {
  const { oidc, secret, agent, clock, timeoutS = TIMEOUT_S } = options;
  const { issuer = '', clientId = '', people } = oidc;
  const fetched = ((url, init) => fetch(url, { ...init, dispatcher: agent } as never)) as CustomFetch;
  const discovery = createDiscovery(options, timeoutS, fetched);
  const { note, fault } = discovery;

  /** Anew for each sign-in, with its keys: the library would keep keys that the provider has replaced. */
  async function open() {
    const client = await import('openid-client');
    if (discovery.metadata() === null) await discovery.ask();
    const metadata = discovery.metadata();
    if (metadata === null) throw unreachable(fault());
    const text = secret();
    const byPost = metadata.token_endpoint_auth_methods_supported?.includes('client_secret_post') ?? false;
    const auth =
      text === null ? client.None() : (byPost ? client.ClientSecretPost : client.ClientSecretBasic)(text);
    const skewS = Math.round((clock.now() - wallMs()) / 1000);
    const times = { [client.clockTolerance]: TOLERANCE_S, [client.clockSkew]: skewS };
    const config = new client.Configuration(metadata, clientId, times, auth);
    config.timeout = timeoutS;
    config[client.customFetch] = fetched;
    if (issuer.startsWith('http:')) client.allowInsecureRequests(config);
    // The signature of the id token is checked, not only the connection that it came by.
    client.enableNonRepudiationChecks(config);
    return { client, config };
  }

  return {
    /** Why the provider cannot be used, as a code; null: it answered last. */
    fault,
    /**
     * Where the browser signs in.
     * @param prompt which question the provider asks before; one that it says not to know becomes `login`
     * @throws GatewayError `not_ready`
     */
    async signInUrl(redirectUri: string, { state, nonce, verifier }: Checks, prompt?: string): Promise<URL> {
      // Nobody is sent to a provider that did not answer last.
      if (fault() !== null) await discovery.ask();
      if (fault() !== null) throw unreachable(fault());
      const { client, config } = await open();
      const { prompt_values_supported: known } = config.serverMetadata();
      const isKnown = prompt === undefined || !Array.isArray(known) || known.includes(prompt);
      return client.buildAuthorizationUrl(config, {
        ...(prompt !== undefined && { prompt: isKnown ? prompt : 'login' }),
        ...{ redirect_uri: redirectUri, scope: oidc.scopes.join(' '), state, nonce },
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
    },
    /**
     * Exchanges the code of a callback. No token is kept.
     * @param url the callback's address, with its query
     * @throws GatewayError `sign_in_failed`; `not_ready` if the provider does not answer
     */
    async exchange(url: URL, { state, nonce, verifier }: Checks): Promise<SignedIn> {
      const { client, config } = await open();
      try {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
        const tokens = await client.authorizationCodeGrant(config, url, { ...checks, idTokenExpected: true });
        const claims = tokens.claims();
        if (claims === undefined) throw new GatewayError('sign_in_failed');
        const named = people.flatMap(({ when }) => Object.keys(when));
        const hasAll = ['name', ...named].every((name) => Object.hasOwn(claims, name));
        const asksMore = !hasAll && config.serverMetadata().userinfo_endpoint !== undefined;
        const more = asksMore ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : {};
        note(null);
        return { issuer: claims.iss, sub: claims.sub, claims: { ...more, ...claims } };
      } catch (error) {
        if (error instanceof GatewayError) throw error;
        if (!AWAY.has(codeOf(error))) throw new GatewayError('sign_in_failed', saysOf(error));
        note(error);
        throw unreachable(fault());
      }
    },
    /** Where the browser ends its session at the provider; null: nowhere. */
    async signOutUrl(then: string): Promise<string | null> {
      if (discovery.metadata()?.end_session_endpoint === undefined) return null;
      const { client, config } = await open();
      return client.buildEndSessionUrl(config, { post_logout_redirect_uri: then }).href;
    },
    async close(): Promise<void> {
      discovery.stop();
      await agent.destroy();
    },
  };
}

const AWAY = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'unreachable']);

/** A code without the words of an error, whose causes hold tokens. */
function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && /^[A-Z_]{1,60}$/.test(code) ? code : 'unreachable';
}

const SHOWN_CHARS = 200;

/** The provider's own words, as text for the person who signs in. */
export function wordsOf(text: unknown): string {
  return typeof text === 'string' ? text.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, SHOWN_CHARS) : '';
}

function saysOf(error: unknown) {
  const { error: code, error_description: says } = error as Readonly<Record<string, unknown>>;
  const words = [wordsOf(code), wordsOf(says)].filter((text) => text !== '').join(': ');
  const detail = words === '' ? {} : { detail: `The identity provider says: ${wordsOf(words)}` };
  return { ...detail, internal: codeOf(error) };
}

function unreachable(fault: string | null): GatewayError {
  return new GatewayError('not_ready', {
    detail: 'The identity provider cannot be reached, so nobody can sign in with a company account now.',
    help: 'Try again in a minute; your operator sees the cause with dsp-gateway status.',
    internal: fault ?? 'unreachable',
    retryAfterS: 10,
  });
}
