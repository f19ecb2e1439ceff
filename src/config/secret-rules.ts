/** What each secret may be: one rule, held to at the start and whenever its file changes. */

export interface SecretFault {
  /** What it was, without a letter of it. */
  readonly was: string;
  readonly allowed: string;
}

/** @returns one fault per part that is wrong, none when the value is right */
export type SecretRule = (value: string) => readonly SecretFault[];

const TOKEN = /^[\x21-\x7e]+$/;
/** Longer ones do not fit the header they travel in. */
const MAX_TOKEN = 16_384;
/** Shorter ones can be guessed. */
const MIN_ADMIN_TOKEN = 16;
const ALLOWED_ADMIN_TOKEN = `a token of ${MIN_ADMIN_TOKEN} printable ASCII characters or more`;

const platformToken: SecretRule = (value) => {
  if (!TOKEN.test(value)) return [notAscii(value)];
  const allowed = `the token alone, of at most ${MAX_TOKEN} characters`;
  return value.length <= MAX_TOKEN ? [] : [{ was: sizeOf(value), allowed }];
};

/** Of `ADMIN_TOKEN` and of every named admin token. */
export const adminToken: SecretRule = (value) => {
  if (!TOKEN.test(value)) return [notAscii(value)];
  if (value.length < MIN_ADMIN_TOKEN || value.length > MAX_TOKEN)
    return [{ was: sizeOf(value), allowed: ALLOWED_ADMIN_TOKEN }];
  return [];
};

/** A comma list; the first seals, all open. */
export const masterKey: SecretRule = (value) =>
  value
    .split(',')
    .map((key) => key.trim())
    .flatMap((key, index) =>
      /^[A-Za-z0-9+/_-]{42,43}={0,1}$/.test(key) && Buffer.from(key, 'base64').length === 32
        ? []
        : [
            {
              was: `a secret whose key ${index + 1} has ${key.length} characters`,
              allowed: '32 bytes in base64 (openssl rand -base64 32)',
            },
          ],
    );

const redisUrl: SecretRule = (value) => {
  // A parser drops blanks and line breaks that others would send.
  const isAddress = TOKEN.test(value) && URL.canParse(value) && /^rediss?:$/.test(new URL(value).protocol);
  return isAddress ? [] : [{ was: sizeOf(value), allowed: 'a redis:// or rediss:// address' }];
};

/** Any text but what editors and shells add to it unseen. */
const line: SecretRule = (value) =>
  /[\p{Cc}\uFEFF]/u.test(value)
    ? [
        {
          was: `${sizeOf(value)}, among them a line break, a control character or a byte order mark`,
          allowed: 'one line of text',
        },
      ]
    : [];

const RULES: ReadonlyMap<string, SecretRule> = new Map([
  ['PLATFORM_TOKEN', platformToken],
  ['ADMIN_TOKEN', adminToken],
  ['GATEWAY_MASTER_KEY', masterKey],
  ['REDIS_URL', redisUrl],
  ['REDIS_REGISTRY_URL', redisUrl],
]);

/** @param name the setting's name, e.g. `ADMIN_TOKEN` */
export function ruleOf(name: string): SecretRule {
  return RULES.get(name) ?? line;
}

function notAscii(value: string): SecretFault {
  return { was: `${sizeOf(value)}, some not printable ASCII`, allowed: 'the token alone' };
}

/** The one thing that is told of a value. */
export function sizeOf(value: string): string {
  return `a secret of ${value.length} characters`;
}
