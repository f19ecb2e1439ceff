/** Way 2: the platform's token request (document, "Token request"). */
import Type from 'typebox';
import type { Dispatcher } from 'undici';
import type { TokenRequestSecrets } from '../../config/token-request.js';
import { GatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { recordForm } from '../../lib/record.js';
import { timeoutSignal } from '../../lib/time.js';

export interface MintOptions extends TokenRequestSecrets {
  readonly agent: Dispatcher;
  readonly baseUrl: URL;
  readonly tokenPath: string;
  readonly grantType: string;
  readonly timeoutMs: number;
}

export interface Minted {
  readonly secret: string;
  /** Seconds, as the platform said; null when it did not. */
  readonly expiresInS: number | null;
}

const MAX_ANSWER_BYTES = 65_536;
/** A hundred years: beyond it, sums of times leave the calendar. */
const MAX_LIFETIME_S = 3_155_760_000;

/**
 * Asks for a token.
 * @throws GatewayError `credential_unavailable`; the platform's answer is never part of it, for it may hold secrets
 */
export async function mintToken(options: MintOptions): Promise<Minted> {
  const signal = timeoutSignal(options.timeoutMs);
  let status: number;
  let text: string;
  try {
    const response = await options.agent.request({
      origin: options.baseUrl.origin,
      path: options.baseUrl.pathname.replace(/\/$/, '') + options.tokenPath,
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        'x-request-id': randomId(),
      },
      body: JSON.stringify(tokenRequest(options)),
      signal,
    });
    status = response.statusCode;
    text = await readText(response.body);
  } catch (error) {
    throw unavailable('the token request could not be made', error);
  }
  if (status !== 200 && status !== 201)
    throw unavailable(`the token request was answered with status ${status}`);
  return readAnswer(text);
}

/**
 * `client_id` goes as a number when it is all digits: some platforms of this kind check its type. What a number
 * would change (a leading zero, too many digits) stays text.
 */
function tokenRequest(options: MintOptions): object {
  const clientId = options.clientId.read();
  return {
    grant_type: options.grantType,
    username: options.username.read(),
    password: options.password.read(),
    client_id: /^(0|[1-9][0-9]{0,14})$/.test(clientId) ? Number(clientId) : clientId,
    client_secret: options.clientSecret.read(),
  };
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Its members may be anything; which of them is the token, and what is none, is judged below. */
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
  if (answer === null)
    throw unavailable('the token request was answered with something that is no JSON object');
  const secret = answer.access_token ?? answer.token;
  if (!TokenText.is(secret)) throw unavailable('the answer to the token request holds no access_token');
  return { secret, expiresInS: readSeconds(answer.expires_in) };
}

/** A number, or one as text; what is no lifetime, such as 0, counts as not said. */
function readSeconds(value: unknown): number | null {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^[0-9.]+$/.test(value));
  const seconds = isNumber ? Math.floor(Number(value)) : 0;
  return seconds >= 1 ? Math.min(seconds, MAX_LIFETIME_S) : null;
}

function unavailable(internal: string, cause?: unknown): GatewayError {
  return new GatewayError('credential_unavailable', { internal, cause });
}
