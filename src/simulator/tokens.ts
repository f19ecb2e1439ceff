import { createHmac } from 'node:crypto';

/** The parent account: what its owner types into the dashboard, or sends in a token request. */
export interface Account {
  readonly username: string;
  readonly password: string;
  readonly clientId: number;
  readonly clientSecret: string;
}

/** The access tokens of the account. */
export interface Tokens {
  /** @returns a new token that is accepted from `now` until `ttlSeconds` later */
  issue(now: number, ttlSeconds: number): string;
  accepts(token: string, now: number): boolean;
  /**
   * Refuses one token, or all tokens issued so far, from now on.
   * @throws RangeError for a token that was never issued
   */
  revoke(token?: string): void;
  readonly count: number;
}

/** Secrets derive from the seed, so that a restarted simulator accepts its dashboard token. */
export function createTokens(seed: number): Tokens {
  const expiry = new Map<string, number>();
  return {
    issue(now, ttlSeconds) {
      const token = secret(seed, `token ${expiry.size + 1}`);
      expiry.set(token, now + ttlSeconds * 1000);
      return token;
    },
    accepts: (token, now) => now < (expiry.get(token) ?? 0),
    revoke(token) {
      if (token !== undefined && !expiry.has(token)) throw new RangeError('no such token was ever issued');
      for (const known of token === undefined ? [...expiry.keys()] : [token]) expiry.set(known, 0);
    },
    get count() {
      return expiry.size;
    },
  };
}

export function accountOf(seed: number): Account {
  return {
    username: 'parent@agency.example',
    password: secret(seed, 'password').slice(0, 20),
    clientId: 1000 + (Math.abs(seed) % 9000),
    clientSecret: secret(seed, 'client secret').slice(0, 40),
  };
}

/** @returns 86 URL-safe characters: opaque, like the platform's own */
function secret(seed: number, purpose: string): string {
  return createHmac('sha512', `simulator ${seed}`).update(purpose).digest('base64url');
}
