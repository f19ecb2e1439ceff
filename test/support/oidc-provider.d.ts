/** What the tests use of it; the package has no types of its own. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  interface Account {
    readonly accountId: string;
    claims(): object;
  }
  export default class Provider {
    constructor(
      issuer: string,
      options: {
        readonly findAccount: (context: unknown, sub: string) => Account;
        readonly [name: string]: unknown;
      },
    );
    callback(): RequestListener;
  }
}
