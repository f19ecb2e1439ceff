/** An identity provider on a socket of its own that answers as a test tells it, also wrongly. */
import { createHash, createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

type Claims = Readonly<Record<string, unknown>>;

export interface IdentityProvider {
  readonly issuer: string;
  /** Of the next sign-ins. */
  claims: Claims;
  /** Changes the id token of the next sign-ins. */
  alter: (claims: Record<string, unknown>) => Record<string, unknown>;
  /** Signs it. */
  sign: (header: object, claims: object) => string;
  /** Answers a path in another way. @returns whether it did */
  instead: (path: string, response: ServerResponse) => boolean;
  /** The provider's time, in milliseconds. */
  now: () => number;
  /** Of userinfo. */
  userinfo: Claims | null;
  readonly requests: string[];
  rotate(): void;
  /** Signs in as a browser does. @returns where the browser is sent */
  signIn(url: string): Promise<URL>;
  close(): Promise<void>;
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** @param path of the issuer, e.g. `/realms/company` */
export async function startIdentityProvider(now: () => number, path = ''): Promise<IdentityProvider> {
  const keyPair = () => ({ kid: randomUUID(), ...generateKeyPairSync('rsa', { modulusLength: 2048 }) });
  let key = keyPair();
  const codes = new Map<string, URLSearchParams>();
  const server = createServer((request, response) => {
    void answer(request.url ?? '', request, response);
  });

  const json = (response: ServerResponse, body: object, status = 200) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

  async function answer(target: string, request: AsyncIterable<Buffer>, response: ServerResponse) {
    const at = target.slice(path.length).split('?')[0] ?? '';
    provider.requests.push(at);
    if (provider.instead(at, response)) return;
    const base = provider.issuer;
    if (at === '/.well-known/openid-configuration')
      return json(response, {
        issuer: base,
        authorization_endpoint: `${base}/authorize`,
        token_endpoint: `${base}/token`,
        jwks_uri: `${base}/keys`,
        end_session_endpoint: `${base}/end`,
        ...(provider.userinfo && { userinfo_endpoint: `${base}/userinfo` }),
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        authorization_response_iss_parameter_supported: true,
      });
    if (at === '/keys')
      return json(response, {
        keys: [{ ...key.publicKey.export({ format: 'jwk' }), kid: key.kid, use: 'sig', alg: 'RS256' }],
      });
    if (at === '/userinfo') return json(response, { sub: provider.claims.sub, ...provider.userinfo });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    return token(new URLSearchParams(Buffer.concat(chunks).toString()), response);
  }

  function token(body: URLSearchParams, response: ServerResponse) {
    const asked = codes.get(body.get('code') ?? '');
    codes.delete(body.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(body.get('code_verifier') ?? '')
      .digest('base64url');
    if (asked?.get('code_challenge') !== challenge || asked.get('redirect_uri') !== body.get('redirect_uri'))
      return json(response, { error: 'invalid_grant', error_description: 'not the one who asked' }, 400);
    const iat = Math.floor(provider.now() / 1000);
    const claims = provider.alter({
      ...{
        iss: provider.issuer,
        aud: asked.get('client_id'),
        nonce: asked.get('nonce'),
        iat,
        exp: iat + 300,
      },
      ...provider.claims,
    });
    const id_token = provider.sign({ alg: 'RS256', kid: key.kid }, claims);
    return json(response, { access_token: randomUUID(), token_type: 'Bearer', expires_in: 300, id_token });
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const provider: IdentityProvider = {
    issuer: `http://localhost:${(server.address() as AddressInfo).port}${path}`,
    claims: { sub: 'ada', name: 'Ada Lovelace', groups: ['data'] },
    alter: (claims) => claims,
    sign(header, claims) {
      const text = `${encode(header)}.${encode(claims)}`;
      return `${text}.${createSign('RSA-SHA256').update(text).sign(key.privateKey, 'base64url')}`;
    },
    instead: () => false,
    now,
    userinfo: null,
    requests: [],
    rotate() {
      key = keyPair();
    },
    async signIn(url) {
      const asked = new URL(url).searchParams;
      const code = randomUUID();
      codes.set(code, asked);
      const back = new URL(asked.get('redirect_uri') ?? '');
      back.search = new URLSearchParams({
        code,
        state: asked.get('state') ?? '',
        iss: provider.issuer,
      }).toString();
      return back;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  onTestFinished(() => provider.close());
  return provider;
}
