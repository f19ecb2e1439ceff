import { type Answer, invalidAnswer, jsonAnswer } from './answer.js';
import { isJson, parseObject } from './php-input.js';
import type { Platform, PlatformCall } from './platform.js';

/** The documented grant type. */
const GRANT_TYPE = 'platform_dsp';

/** A token request with the documented JSON fields: 422 for invalid fields, 401 for wrong credentials. */
export function answerTokenRequest(platform: Platform, { headers, body }: PlatformCall): Answer {
  const sent = isJson(String(headers['content-type'] ?? '').toLowerCase()) ? parseObject(body) : {};
  const errors: Record<string, string[]> = {};
  for (const field of ['grant_type', 'username', 'password', 'client_secret']) {
    const value = sent[field];
    if (value === undefined || value === null || value === '')
      errors[field] = [`The ${field} field is required.`];
    else if (typeof value !== 'string') errors[field] = [`The ${field} field must be a string.`];
  }
  if (!errors.grant_type && sent.grant_type !== GRANT_TYPE)
    errors.grant_type = ['The selected grant_type is invalid.'];
  const clientIdError = checkClientId(sent.client_id, platform.switches.clientId);
  if (clientIdError) errors.client_id = [clientIdError];
  if (Object.keys(errors).length > 0) return invalidAnswer(errors);
  const { username, password, clientId, clientSecret } = platform.account;
  const known =
    sent.username === username &&
    sent.password === password &&
    sent.client_secret === clientSecret &&
    String(sent.client_id) === String(clientId);
  return known ? grant(platform) : jsonAnswer(401, { message: 'Client authentication failed.' });
}

function checkClientId(value: unknown, accepted: 'either' | 'number' | 'string'): string | undefined {
  if (value === undefined || value === null || value === '') return 'The client_id field is required.';
  if (typeof value === 'number' && Number.isInteger(value)) {
    return accepted === 'string' ? 'The client_id field must be a string.' : undefined;
  }
  if (typeof value === 'string' && /^\d+$/.test(value)) {
    return accepted === 'number' ? 'The client_id field must be a number.' : undefined;
  }
  return 'The client_id field must be an integer.';
}

function grant(platform: Platform): Answer {
  const { tokenAnswer, tokenTtlSeconds } = platform.switches;
  if (tokenAnswer === 'nonsense') return jsonAnswer(200, { status: 'ok', result: [] });
  const token = platform.tokens.issue(platform.now(), tokenTtlSeconds);
  const common = {
    token_type: 'Bearer',
    ...(tokenAnswer === 'no-expiry' ? {} : { expires_in: tokenTtlSeconds }),
  };
  return tokenAnswer === 'token'
    ? jsonAnswer(200, { ...common, token })
    : // No documented call uses the refresh token.
      jsonAnswer(200, { ...common, access_token: token, refresh_token: `refresh-${platform.tokens.count}` });
}
