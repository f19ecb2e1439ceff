/**
 * Reads heads of requests that can be read in one way only, by a grammar much narrower than HTTP's: a GET of the usual
 * characters, one space where a space may stand, every line ended by CR LF, nothing but printable ASCII. Whatever it does
 * not read is no fault; it is for Node's parser, which knows the rest of HTTP. Pure.
 */

/** A request without a body, as Node's parser reads it. */
export interface PlainHead {
  readonly method: 'GET';
  readonly url: string;
  readonly httpVersion: '1.1';
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
  /** Whether the connection is to be closed after the answer. */
  readonly close: boolean;
  /** As received; undefined where there is none. */
  readonly forwardedFor: string | undefined;
  /** Where in the text the next request begins. */
  readonly end: number;
}

/**
 * Request line, header lines, an empty line. No character can be read as a part of two of its elements: so it takes time
 * in proportion to the text's length, whatever stands there.
 */
const HEAD =
  /GET (\/[A-Za-z0-9\-._~/?&=%+,:;@!$'()*[\]]*) HTTP\/1\.1\r\n((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [!-~]+(?: +[!-~]+)*\r\n)+)\r\n/y;

/** Of a name, and a port: no list, no user, no path. */
const HOST = /^(?:[A-Za-z0-9\-._~]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;

/** Names whose values are looked at here; all that is about the connection, or how far a message goes, is Node's. */
const LOOKED_AT: ReadonlyMap<string, 'host' | 'connection' | 'forwarded' | 'framing'> = new Map([
  ['host', 'host'],
  ['connection', 'connection'],
  ['x-forwarded-for', 'forwarded'],
  ['content-length', 'framing'],
  ['expect', 'framing'],
  ['http2-settings', 'framing'],
  ['keep-alive', 'framing'],
  ['proxy-connection', 'framing'],
  ['te', 'framing'],
  ['trailer', 'framing'],
  ['transfer-encoding', 'framing'],
  ['upgrade', 'framing'],
]);

/**
 * @param text bytes of a connection, one character each
 * @param from where in it a request begins
 * @param maxBytes longest head
 * @returns null for every other request, and for one that is not whole
 */
export function readPlainHead(text: string, from: number, maxBytes: number): PlainHead | null {
  HEAD.lastIndex = from;
  const found = HEAD.exec(text);
  if (found === null) return null;
  const end = HEAD.lastIndex;
  if (end - from > maxBytes) return null;
  const fields = readFields(found[2] as string);
  return fields === null
    ? null
    : { method: 'GET', url: found[1] as string, httpVersion: '1.1', ...fields, end };
}

/** @param lines each with its end */
function readFields(lines: string): Pick<PlainHead, 'rawHeaders' | 'close' | 'forwardedFor'> | null {
  const rawHeaders: string[] = [];
  let host: string | undefined;
  let connection: string | undefined;
  let forwardedFor: string | undefined;
  for (let at = 0; at < lines.length; ) {
    const colon = lines.indexOf(':', at);
    const end = lines.indexOf('\r', colon);
    const name = lines.slice(at, colon);
    const value = lines.slice(colon + 2, end);
    rawHeaders.push(name, value);
    at = end + 2;
    const kind = LOOKED_AT.get(name.toLowerCase());
    if (kind === undefined) continue;
    if (kind === 'host' && host === undefined) host = value;
    else if (kind === 'connection' && connection === undefined) connection = value.toLowerCase();
    else if (kind === 'forwarded' && forwardedFor === undefined) forwardedFor = value;
    else return null;
  }
  if (host === undefined || !HOST.test(host)) return null;
  if (connection !== undefined && connection !== 'keep-alive' && connection !== 'close') return null;
  return { rawHeaders, close: connection === 'close', forwardedFor };
}
