/** The log: JSON lines by pino, written without blocking, and never with a secret in them. */
import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino } from 'pino';
import { parseObject } from '../lib/json.js';
import { createLogSink, type LogHealth } from './log-sink.js';

const COLOURS: Readonly<Record<string, number>> = {
  fatal: 31,
  error: 31,
  warn: 33,
  info: 32,
  debug: 36,
  trace: 90,
};

/** Control characters except line breaks. */
const UNSAFE = /(?!\n)\p{Cc}/gu;

/** Formats a JSON line of pino for a terminal; other lines are unchanged. */
export function prettyLine(line: string, { colours }: { readonly colours: boolean }): string {
  const record = parseObject(line);
  if (record === null) return line;
  const { level, time, msg, pid: _, err, ...rest } = record;
  const name = String(level);
  const shown = name.toUpperCase().padEnd(5);
  const fields = Object.entries(rest).map(([key, value]) => ` ${key}=${textOf(value)}`);
  const paint = colours ? `\u001b[${COLOURS[name] ?? 0}m${shown}\u001b[0m` : shown;
  const text = [msg === undefined ? '' : ` ${String(msg)}`, ...fields, stackOf(err)].join('');
  return `${clockOf(time)} ${paint}${text.replace(UNSAFE, '�')}\n`;
}

const clockOf = (time: unknown) => (typeof time === 'string' ? time.slice(11, 23) : '');

function textOf(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

function stackOf(err: unknown): string {
  if (typeof err !== 'object' || err === null) return err === undefined ? '' : ` err=${textOf(err)}`;
  const { stack, message } = err as { readonly stack?: unknown; readonly message?: unknown };
  return `\n    ${String(stack ?? message ?? JSON.stringify(err)).replaceAll('\n', '\n    ')}`;
}

const REDACTED = '[redacted]';
/** A team key. */
const KEYS = /dgw_[0-9A-Za-z]{20,}(_[0-9A-Za-z]+)?/g;
/** Up to the end of the word; quotes and backslashes belong to the JSON of the line. */
const BEARER = /\bBearer\s+[^\s"\\]{8,}/gi;
/** Shorter ones would match by chance. */
const MIN_SECRET_LENGTH = 6;

interface LoggerOptions {
  readonly level: string;
  /** Default: standard output. */
  readonly stream?: DestinationStream;
  /** Secrets to redact, read for each line; see `hide`. */
  readonly secrets?: () => readonly string[];
}

export type Log = ReturnType<typeof createLog>;

const MAX_CLEANED = 1000;

/** Time limit of the flush. */
const CLOSE_MS = 2000;

export function createLog({ level, stream, secrets }: LoggerOptions) {
  let hidden: readonly string[] = [];
  /** Cached results of `clean`. */
  let cleaned = new Map<string, string>();
  const known = secrets ?? (() => hidden);
  const onRecovered = (lines: number) => logger.warn({ lines }, 'log lines were lost');
  const output = stream === undefined ? createLogSink({ onRecovered }) : null;
  const sink = stream ?? (output as DestinationStream);
  // Formatted lines on a terminal, else JSON.
  const pretty = stream === undefined && isatty(1) ? { colours: !process.env.NO_COLOR } : null;
  const logger: Logger = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: [
          'authorization',
          '*.authorization',
          '*.headers.authorization',
          '*.headers["x-api-key"]',
          '*.headers.cookie',
          'password',
          '*.password',
          'token',
          '*.secret',
        ],
        censor: REDACTED,
      },
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      hooks: {
        streamWrite: (line) => {
          const clean = scrub(line, known());
          return pretty === null ? clean : prettyLine(clean, pretty);
        },
        logMethod(args, log) {
          if (!isRedundant(args)) log.apply(this, args);
        },
      },
    },
    sink,
  );
  return {
    logger,
    /** Writes a JSON line, without line break. Text from callers must have passed `clean`. */
    write: (line: string) => {
      sink.write(pretty === null ? `${line}\n` : prettyLine(`${line}\n`, pretty));
    },
    /** Escapes a caller's text for a JSON string, and redacts known secrets. */
    clean(text: string): string {
      const before = secrets === undefined ? cleaned.get(text) : undefined;
      if (before !== undefined) return before;
      const clean = scrub(JSON.stringify(text).slice(1, -1), known());
      if (cleaned.size >= MAX_CLEANED) cleaned.clear();
      cleaned.set(text, clean);
      return clean;
    },
    /** Replaces the list of secrets to redact. */
    hide: (now: readonly string[]) => {
      hidden = now;
      cleaned = new Map();
    },
    /** Whether lines can be written, and how many were lost. */
    health: (): LogHealth => output?.health() ?? { ok: true, droppedLines: 0 },
    /** Flushes, within a time limit. To be awaited before the process ends. */
    close: async () => output?.close(CLOSE_MS),
  };
}

/** Where an expected fault came up says nothing. By name: the store's errors are of a room above. */
function describeError(error: Error): object {
  if (error?.name !== 'StoreUnavailable') return pino.stdSerializers.err(error);
  return { type: error.name, message: error.message };
}

/**
 * Redundant lines of libraries: Fastify's about each port (see `listening`), and reply-from's about a failed call (see the
 * request line).
 */
function isRedundant([first, message]: readonly unknown[]): boolean {
  return (
    message === 'response errored' || (typeof first === 'string' && first.startsWith('Server listening at '))
  );
}

function scrub(line: string, secrets: readonly string[]): string {
  let clean = line;
  for (const spelling of spellingsOf(secrets)) clean = clean.replaceAll(spelling, REDACTED);
  return clean.replace(KEYS, REDACTED).replace(BEARER, `Bearer ${REDACTED}`);
}

/** Cached by list. */
const spelt = new WeakMap<readonly string[], readonly string[]>();

function spellingsOf(secrets: readonly string[]): readonly string[] {
  const known = spelt.get(secrets);
  if (known !== undefined) return known;
  const all = secrets.filter(({ length }) => length >= MIN_SECRET_LENGTH).flatMap(spellings);
  spelt.set(secrets, all);
  return all;
}

/** Plain, URL-encoded, as JSON, and as JSON in JSON; longest first. */
function spellings(secret: string): string[] {
  const once = JSON.stringify(secret).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  const all = [secret, once, twice, encodeURIComponent(secret)];
  return [...new Set(all)].sort((a, b) => b.length - a.length);
}
