import { createHmac } from 'node:crypto';

export type Account = ReturnType<typeof accountOf>;
export type Tokens = ReturnType<typeof createTokens>;

/** Access tokens derive from the seed, so that a restarted simulator accepts its dashboard token. */
export function createTokens(seed: number) {
  const expiry = new Map<string, number>();
  return {
    issue(now: number, ttlSeconds: number): string {
      const token = secret(seed, `token ${expiry.size + 1}`);
      expiry.set(token, now + ttlSeconds * 1000);
      return token;
    },
    accepts: (token: string, now: number) => now < (expiry.get(token) ?? 0),
    /** @param token absent: all. @throws RangeError for a token that was never issued */
    revoke(token?: string): void {
      if (token !== undefined && !expiry.has(token)) throw new RangeError('no such token was ever issued');
      for (const known of token === undefined ? [...expiry.keys()] : [token]) expiry.set(known, 0);
    },
    get count(): number {
      return expiry.size;
    },
  };
}

/** Credentials of the parent account, for dashboard and token requests. */
export function accountOf(seed: number) {
  return {
    username: 'parent@agency.example',
    password: secret(seed, 'password').slice(0, 20),
    clientId: 1000 + (Math.abs(seed) % 9000),
    clientSecret: secret(seed, 'client secret').slice(0, 40),
  };
}

/** @returns 86 URL-safe characters, like the platform's */
function secret(seed: number, purpose: string): string {
  return createHmac('sha512', `simulator ${seed}`).update(purpose).digest('base64url');
}
