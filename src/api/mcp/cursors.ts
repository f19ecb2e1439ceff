/**
 * Cursors of results in several pages. Nothing is stored: a cursor has the arguments of its tool, and the state that its first
 * page showed. It is signed, so that it serves only the team and access it was given to; its arguments are checked again.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { digest } from '../../reports/query/platform-call.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import { nameInLife } from '../../teams/auth/team.js';

/** The next page of a result. */
export interface Cursor {
  /** Of the tool, without a cursor. */
  readonly args: object;
  /** First row of the page. */
  readonly fromRow: number;
  /** Digest of all rows of the result; see `Page`. */
  readonly state: string;
  /** Time as of which its rows can be read again, epoch milliseconds; null: only the current ones can. */
  readonly atMs: number | null;
}

const LIFE_MS = 15 * 60_000;
/** An assistant has to repeat it, letter by letter. */
const MAX_CHARS = 2000;
const SIGNATURE_CHARS = 22;
const CURSOR = /^([\w-]{22})\.(([0-9a-z]+)\.([0-9a-z]+)\.([0-9a-z]*)\.([\w-]{22})\.([\w-]+))$/;

export interface CursorsOptions {
  /** Secret of all replicas, read at each use. */
  readonly pepper: () => Buffer;
  readonly clock: Pick<Clock, 'now'>;
}

export function createCursors({ pepper, clock }: CursorsOptions) {
  /** Binds a cursor to its tool and to the team's life, advertisers and scopes: it ends when one of them changes. */
  function sign({ team: { id, advertisers, scopes }, key: { life } }: Caller, tool: string, text: string) {
    const granted = advertisers === '*' ? '*' : [...advertisers].sort((a, b) => a - b).join();
    const bound = digest([tool, nameInLife(id, life), granted, [...scopes].sort().join(), text]);
    return createHmac('sha256', pepper())
      .update(`cursor ${bound}`)
      .digest('base64url')
      .slice(0, SIGNATURE_CHARS);
  }

  return {
    charsFor,
    /** @returns null if it would be too long */
    write(caller: Caller, tool: string, cursor: Cursor): string | null {
      if (charsFor(cursor.args) === 0) return null;
      const text = textOf(cursor, Math.floor(clock.now()) + LIFE_MS);
      return `${sign(caller, tool, text)}.${text}`;
    },
    /** @throws GatewayError `cursor_expired` */
    read(caller: Caller, tool: string, cursor: string): Cursor {
      const [, signature = '', text = '', ...parts] = CURSOR.exec(cursor) ?? [];
      const isSigned =
        text !== '' && timingSafeEqual(Buffer.from(signature), Buffer.from(sign(caller, tool, text)));
      const [fromRow = '', untilMs = '', atMs = '', state = '', args = ''] = parts;
      if (!isSigned || clock.now() >= Number.parseInt(untilMs, 36)) throw new GatewayError('cursor_expired');
      return {
        args: JSON.parse(inflateRawSync(Buffer.from(args, 'base64url')).toString()) as object,
        fromRow: Number.parseInt(fromRow, 36),
        state,
        atMs: atMs === '' ? null : Number.parseInt(atMs, 36),
      };
    },
  };
}

/** @returns length of the longest cursor with these arguments; 0 if it would be too long */
function charsFor(args: object): number {
  const longest = { args, fromRow: Number.MAX_SAFE_INTEGER, atMs: Number.MAX_SAFE_INTEGER };
  const text = textOf({ ...longest, state: '0'.repeat(22) }, Number.MAX_SAFE_INTEGER);
  const chars = SIGNATURE_CHARS + 1 + text.length;
  return chars <= MAX_CHARS ? chars : 0;
}

function textOf({ args, fromRow, state, atMs }: Cursor, untilMs: number): string {
  const packed = deflateRawSync(JSON.stringify(args)).toString('base64url');
  const numbers = [fromRow, untilMs, atMs].map((one) => one?.toString(36) ?? '');
  return [...numbers, state, packed].join('.');
}
