/** Way 2: the platform's token request (document, "Token request"). */
import Type from 'typebox';
import type { TokenRequestSecrets } from '../../config/secret.js';
import { GatewayError } from '../../errors.js';
import { recordForm } from '../../lib/record.js';
import { type AskOptions, askWithToken } from '../request.js';

export interface MintOptions extends TokenRequestSecrets, AskOptions {
  readonly tokenPath: string;
  readonly grantType: string;
}

export interface Minted {
  readonly secret: string;
  /** Seconds, as the platform said; null when it did not. */
  readonly expiresInS: number | null;
}

const MAX_ANSWER_BYTES = 65_536;
/** A hundred years: longer ones could exceed the range of dates. */
const MAX_LIFETIME_S = 3_155_760_000;

/** @throws GatewayError `credential_unavailable`, without the platform's answer, which may hold secrets */
export async function mintToken(options: MintOptions): Promise<Minted> {
  const request = {
    method: 'POST',
    target: options.tokenPath,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(tokenRequest(options)),
  };
  let status: number;
  let text: string;
  try {
    const asked = await askWithToken(request, null, options);
    status = asked.status;
    text = (await asked.read(MAX_ANSWER_BYTES)).toString('utf8');
  } catch (error) {
    throw unavailable('the token request failed', error);
  }
  if (status !== 200 && status !== 201)
    throw unavailable(`the platform answered the token request with status ${status}`);
  return readAnswer(text);
}

/**
 * `client_id` is sent as a number if it is all digits, as some platforms of this kind check its type; as text if a number
 * would change it (a leading zero, too many digits).
 */
function tokenRequest({ grantType, username, password, clientId, clientSecret }: MintOptions): object {
  const id = clientId.read();
  return {
    grant_type: grantType,
    username: username.read(),
    password: password.read(),
    client_id: /^(0|[1-9][0-9]{0,14})$/.test(id) ? Number(id) : id,
    client_secret: clientSecret.read(),
  };
}

/** Members are validated below. */
const Answer = recordForm(
  Type.Object({
    access_token: Type.Optional(Type.Unknown()),
    token: Type.Optional(Type.Unknown()),
    expires_in: Type.Optional(Type.Unknown()),
  }),
);
const TokenText = recordForm(Type.String({ pattern: '^[\\x21-\\x7e]{1,16384}$' }));

function readAnswer(text: string): Minted {
  const answer = Answer.parse(text);
  if (answer === null) throw unavailable('the answer to the token request is no JSON object');
  const secret = answer.access_token ?? answer.token;
  if (!TokenText.is(secret)) throw unavailable('the answer to the token request holds no access_token');
  return { secret, expiresInS: readSeconds(answer.expires_in) };
}

/** A number, also as text; null for a value that is no lifetime, such as 0. */
function readSeconds(value: unknown): number | null {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^[0-9.]+$/.test(value));
  const seconds = isNumber ? Math.floor(Number(value)) : 0;
  return seconds >= 1 ? Math.min(seconds, MAX_LIFETIME_S) : null;
}

function unavailable(internal: string, cause?: unknown): GatewayError {
  return new GatewayError('credential_unavailable', { internal, cause });
}
