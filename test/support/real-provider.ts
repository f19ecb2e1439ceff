/** The library of a real provider, which asks for a login by a form and for consent, on another host than the gateway. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { onTestFinished } from 'vitest';

export const CLIENT_SECRET = 'shared-with-the-provider';

interface RealProviderOptions {
  /** Addresses of the two planes in browsers. */
  readonly planes: { readonly data: string; readonly admin: string };
  /** Names and groups by what a person types as login. */
  readonly accounts: Readonly<Record<string, { readonly name: string; readonly groups: readonly string[] }>>;
  /** Whether it ends its own session, too. */
  readonly signsOut?: boolean;
}

/** Ends with the test. */
export async function startRealProvider({ planes, accounts, signsOut = true }: RealProviderOptions) {
  let handler: RequestListener = () => {};
  let isLost = false;
  const server = createServer((request, response) => {
    if (isLost && request.url === '/token') request.destroy();
    else handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'dsp-gateway',
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${planes.data}/auth/callback`, `${planes.admin}/auth/callback`],
        post_logout_redirect_uris: [`${planes.data}/explorer`, `${planes.admin}/`],
      },
    ],
    claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'profile', 'groups'],
    features: { rpInitiatedLogout: { enabled: signsOut } },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, ...accounts[sub] }) }),
    pkce: { required: () => true },
    cookies: { keys: ['a key of the test'] },
  });
  handler = provider.callback();
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return {
    issuer,
    close,
    /** From now on no code is exchanged, while the pages still answer. */
    loseTokens() {
      isLost = true;
    },
  };
}
