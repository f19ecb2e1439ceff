/** How a platform may give a token back: in codings that still tell it. */
const percent = (text: string) => text.replace(/./g, (one) => `%${one.charCodeAt(0).toString(16)}`);
const base64 = (text: string) => Buffer.from(text).toString('base64');
/** As .NET and Gson write JSON. */
const escaped = (text: string, which: RegExp) =>
  text.replace(which, (one) => `\\u00${one.charCodeAt(0).toString(16).toUpperCase()}`);

export const SPELLINGS: Readonly<Record<string, (token: string) => string>> = {
  'percent-encoded': percent,
  'percent-encoded in capitals': (token) => percent(token).toUpperCase(),
  'percent-encoded in part': (token) => token[0] + percent(token.slice(1, 3)) + token.slice(3),
  'percent-encoded and escaped': (token) =>
    `\\u00${token.charCodeAt(0).toString(16)}${percent(token.slice(1))}`,
  'in base64': base64,
  'in base64 with its signs as escapes': (token) => escaped(base64(token), /[+/=]/g),
  'in base64 as escapes throughout': (token) => escaped(base64(token), /./g),
  'in base64 with its slashes after a backslash': (token) => base64(token).replaceAll('/', '\\/'),
  'in base64, percent-encoded': (token) => encodeURIComponent(base64(token)),
  'in base64 for URLs, percent-encoded throughout': (token) =>
    percent(Buffer.from(token).toString('base64url')),
  'in base64 for URLs': (token) => Buffer.from(token).toString('base64url'),
  'in base64 behind Bearer': (token) => base64(`Bearer ${token}`),
  'in base64 among others': (token) => base64(`ab:${token}:cd`),
  'in UTF-16': (token) => Buffer.from(token, 'utf16le').toString('latin1'),
  'in UTF-16, the other way': (token) => Buffer.from(token, 'utf16le').swap16().toString('latin1'),
};
