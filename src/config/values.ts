/** Validators of string settings. */
import ipaddr from 'ipaddr.js';

export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

export function isBaseUrl(text: string): boolean {
  if (!isWebAddress(text)) return false;
  const { username, password, search, hash } = new URL(text);
  return username === '' && password === '' && search === '' && hash === '';
}

/** ipaddr.js also accepts `127.1` and `0x7f000001`, which are probably mistakes. */
function isAddress(text: string): boolean {
  return text.includes(':') ? ipaddr.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text);
}

export function isAddressOrRange(text: string): boolean {
  return isAddress(text) || ipaddr.isValidCIDR(text);
}

/** Whether it is an address of this machine shows when listening. */
export function isHost(text: string): boolean {
  return isAddress(text) || /^(?=.*[a-z])[a-z0-9.-]+$/i.test(text);
}

export function isTimezone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/** A calendar date, or a date and time with an offset (RFC 3339). */
export function isIsoDate(text: string): boolean {
  const shape = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;
  if (!shape.test(text) || Number.isNaN(Date.parse(text))) return false;
  // Date.parse turns 30 February into a day of March.
  const day = text.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

export function isPattern(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}

/** A user, a query or a fragment may hold a secret. */
export function shownAddress(text: string): string {
  return JSON.stringify(text.replace(/\/\/[^/]*@/, '//…@').replace(/[?#].*$/s, (rest) => `${rest[0]}…`));
}

/** An address that may hold a user and a password. */
export function hiddenAddress(text: string): string {
  return `an address of ${text.length} characters`;
}
