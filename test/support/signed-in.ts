/** Browsers that sign in at a gateway in this process. */
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { type IdentityProvider, startIdentityProvider } from './identity-provider.js';
import { type GatewayOptions, type SimulatedGateway, withGateway } from './start-gateway.js';
import { createTestClock, type TestClock } from './test-clock.js';

export const PUBLIC = { data: 'https://reports.company.example', admin: 'https://gateway.company.example' };
export type PlaneName = keyof typeof PUBLIC;

export const PEOPLE = [
  { when: { groups: 'admins' }, admin: 'owner', teams: '*' },
  { when: { groups: 'viewers' }, admin: 'viewer' },
  { when: { groups: 'data' }, teams: ['data'], keys: true },
  { when: { groups: 'two' }, teams: ['data', 'sales'] },
];

export interface SignInOptions extends GatewayOptions {
  readonly oidc?: object;
  readonly auth?: object;
  readonly provider?: IdentityProvider;
  readonly path?: string;
}

/** A gateway with the teams `data` and `sales`, and its provider. */
export async function withSignIn({ oidc, auth, path, ...options }: SignInOptions = {}): Promise<{
  readonly gateway: SimulatedGateway;
  readonly provider: IdentityProvider;
  readonly clock: TestClock;
}> {
  const clock = options.clock ?? createTestClock();
  const provider = options.provider ?? (await startIdentityProvider(clock.now, path));
  const own = { issuer: provider.issuer, clientId: 'dsp-gateway', people: PEOPLE };
  const urls = { publicUrl: PUBLIC.data, adminPublicUrl: PUBLIC.admin };
  const config = { ...options.config, auth: { ...auth, oidc: { ...own, ...urls, ...oidc } } };
  const gateway = await withGateway({ ...options, clock, config });
  if (options.sharedStore === undefined) {
    await gateway.addTeam({ id: 'data' });
    await gateway.addTeam({ id: 'sales' });
  }
  return { gateway, provider, clock };
}

type Headers = Readonly<Record<string, string>>;
export type Answer = LightMyRequestResponse;

/** Keeps cookies by name and path, and sends those of `SameSite=Strict` only from the gateway's own pages. */
export class Browser {
  readonly jar = new Map<string, { value: string; path: string; isStrict: boolean }>();
  csrf = '';

  constructor(
    public plane: FastifyInstance,
    readonly name: PlaneName,
    readonly origin: string = PUBLIC[name],
  ) {}

  async ask(url: string, headers: Headers = {}, isOwn = true, rest: object = {}): Promise<Answer> {
    const sent = [...this.jar].filter(
      ([, { path, isStrict }]) => url.startsWith(path) && (isOwn || !isStrict),
    );
    const cookie = sent.map(([name, { value }]) => `${name}=${value}`).join('; ');
    const answer = await this.plane.inject({
      ...{ method: 'GET', url, ...rest },
      headers: { host: new URL(this.origin).host, ...(cookie !== '' && { cookie }), ...headers },
    });
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) this.keep(line);
    return answer;
  }

  keep(line: string): void {
    const [pair = '', ...parts] = line.split('; ');
    const cut = pair.indexOf('=');
    const value = pair.slice(cut + 1);
    const path = parts.find((part) => part.startsWith('Path='))?.slice(5) ?? '/';
    if (parts.includes('Max-Age=0')) this.jar.delete(pair.slice(0, cut));
    else this.jar.set(pair.slice(0, cut), { value, path, isStrict: parts.includes('SameSite=Strict') });
  }

  /** @returns where the provider sends the browser back to */
  async begin(provider: IdentityProvider, to?: string): Promise<URL> {
    const query = to === undefined ? '' : `?to=${encodeURIComponent(to)}`;
    const answer = await this.ask(`/auth/login${query}`);
    if (answer.statusCode !== 302) throw new Error(`${answer.statusCode}: ${answer.body}`);
    return provider.signIn(String(answer.headers.location));
  }

  /** From the provider's page, which is another site. */
  finish = (back: URL, headers: Headers = {}): Promise<Answer> =>
    this.ask(back.pathname + back.search, headers, false);

  async signIn(provider: IdentityProvider, to?: string): Promise<Answer> {
    return this.finish(await this.begin(provider, to));
  }

  async session(): Promise<Answer> {
    const path = this.name === 'data' ? '/gateway/v1/session' : '/admin/v1/session';
    const answer = await this.ask(path);
    if (answer.statusCode === 200) this.csrf = answer.json<{ csrf: string }>().csrf;
    return answer;
  }

  write(method: string, url: string, payload?: object): Promise<Answer> {
    const headers = { origin: this.origin, 'x-csrf-token': this.csrf };
    return this.ask(url, headers, true, { method, ...(payload && { payload }) });
  }
}

export const codeOf = (answer: Answer): string =>
  answer.statusCode < 400
    ? String(answer.statusCode)
    : `${answer.statusCode} ${answer.json<{ code: string }>().code}`;
