/** The log: JSON lines by pino, written without blocking, and never with a secret in them. */
import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino } from 'pino';
import { createLogSink, type LogHealth, type LogSink } from './log-sink.js';

/** A line of the log as a person at a terminal reads it: time, level, what happened, and the rest as name=value. */
const COLOURS: Readonly<Record<string, number>> = {
  fatal: 31,
  error: 31,
  warn: 33,
  info: 32,
  debug: 36,
  trace: 90,
};

/** Control characters of a terminal, but for the line breaks of a stack. */
const UNSAFE = /(?!\n)\p{Cc}/gu;

interface PrettyOptions {
  readonly colours: boolean;
}

/** @param line of JSON, as pino writes it, with its line break. @returns the same line where it is none */
export function prettyLine(line: string, { colours }: PrettyOptions): string {
  const record = parsed(line);
  if (record === null) return line;
  const { level, time, msg, pid: _, err, ...rest } = record;
  const name = String(level);
  const shown = name.toUpperCase().padEnd(5);
  const fields = Object.entries(rest).map(([key, value]) => ` ${key}=${textOf(value)}`);
  const paint = colours ? `\u001b[${COLOURS[name] ?? 0}m${shown}\u001b[0m` : shown;
  const text = [msg === undefined ? '' : ` ${String(msg)}`, ...fields, stackOf(err)].join('');
  return `${clockOf(time)} ${paint}${text.replace(UNSAFE, '�')}\n`;
}

function parsed(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** The date is that of the day one is looking. */
const clockOf = (time: unknown) => (typeof time === 'string' ? time.slice(11, 23) : '');

function textOf(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

/** Below the line, for it is long. */
function stackOf(err: unknown): string {
  if (typeof err !== 'object' || err === null) return err === undefined ? '' : ` err=${textOf(err)}`;
  const { stack, message } = err as { readonly stack?: unknown; readonly message?: unknown };
  return `\n    ${String(stack ?? message ?? JSON.stringify(err)).replaceAll('\n', '\n    ')}`;
}

const REDACTED = '[redacted]';
/** A team key, whatever message it was pasted into. */
const KEYS = /dgw_[0-9A-Za-z]{20,}(_[0-9A-Za-z]+)?/g;
/** Up to the end of the word; quotes and backslashes belong to the line's own JSON. */
const BEARER = /\bBearer\s+[^\s"\\]{8,}/gi;
/** Shorter ones would be found in every line. */
const MIN_SECRET_LENGTH = 6;

interface LoggerOptions {
  readonly level: string;
  /** Where lines go; standard output when absent. */
  readonly stream?: DestinationStream;
  /** Secrets known now, replaced wherever they turn up. Read for every line, so they may change; see {@link Log.hide}. */
  readonly secrets?: () => readonly string[];
}

export interface Log {
  readonly logger: Logger;
  /**
   * Writes a line of JSON that is composed already, without its line break. It must hold nothing that a caller sent,
   * but for what {@link Log.clean} gave.
   */
  write(line: string): void;
  /** A text of a caller as it may stand in such a line: between the quotes of JSON, without the secrets that are known. */
  clean(text: string): string;
  /** From now on these secrets are hidden, in place of those before. */
  hide(secrets: readonly string[]): void;
  /** Whether lines arrive, and how many were lost. */
  health(): LogHealth;
  /** Writes out what is still held back, as long as that takes a moment only. To be awaited before the process ends. */
  close(): Promise<void>;
}

const MAX_CLEANED = 1000;

/** How long the end of a process may wait for the reader of its log. */
const CLOSE_MS = 2000;

export function createLog({ level, stream, secrets }: LoggerOptions): Log {
  let hidden: readonly string[] = [];
  /** Texts as they were cleaned of what is hidden now. */
  let cleaned = new Map<string, string>();
  const known = secrets ?? (() => hidden);
  const output: LogSink | null =
    stream === undefined ? createLogSink({ onRecovered: (lines) => tellLost(logger, lines) }) : null;
  const sink: DestinationStream = stream ?? (output as LogSink);
  // A person at a terminal reads lines, whatever collects logs reads JSON.
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
      hooks: {
        streamWrite: (line) => {
          const clean = scrub(line, known());
          return pretty === null ? clean : prettyLine(clean, pretty);
        },
        logMethod(args, log) {
          if (!isSaidElsewhere(args)) log.apply(this, args);
        },
      },
    },
    sink,
  );
  return {
    logger,
    write: (line) => {
      sink.write(pretty === null ? `${line}\n` : prettyLine(`${line}\n`, pretty));
    },
    clean(text) {
      const before = secrets === undefined ? cleaned.get(text) : undefined;
      if (before !== undefined) return before;
      const clean = scrub(JSON.stringify(text).slice(1, -1), known());
      if (cleaned.size >= MAX_CLEANED) cleaned.clear();
      cleaned.set(text, clean);
      return clean;
    },
    hide: (now) => {
      hidden = now;
      cleaned = new Map();
    },
    health: () => output?.health() ?? { ok: true, droppedLines: 0 },
    close: async () => output?.close(CLOSE_MS),
  };
}

/**
 * Lines of libraries: fastify's about each port, for `listening` names them all; reply-from's about a failed call, for
 * the line of the request has its cause.
 */
function isSaidElsewhere([first, message]: readonly unknown[]): boolean {
  return (
    message === 'response errored' || (typeof first === 'string' && first.startsWith('Server listening at '))
  );
}

function tellLost(logger: Logger, lines: number): void {
  logger.warn({ lines }, 'lines of this log could not be written and are lost');
}

function scrub(line: string, secrets: readonly string[]): string {
  let clean = line;
  for (const spelling of spellingsOf(secrets)) clean = clean.replaceAll(spelling, REDACTED);
  return clean.replace(KEYS, REDACTED).replace(BEARER, `Bearer ${REDACTED}`);
}

/** Of a list that does not change, made once. */
const spelt = new WeakMap<readonly string[], readonly string[]>();

function spellingsOf(secrets: readonly string[]): readonly string[] {
  const known = spelt.get(secrets);
  if (known !== undefined) return known;
  const all = secrets.filter(({ length }) => length >= MIN_SECRET_LENGTH).flatMap(spellings);
  spelt.set(secrets, all);
  return all;
}

/** As it stands in a URL, as JSON writes it in a line, and in a text that is JSON itself; longest first. */
function spellings(secret: string): string[] {
  const once = JSON.stringify(secret).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  const all = [secret, once, twice, encodeURIComponent(secret)];
  return [...new Set(all)].sort((a, b) => b.length - a.length);
}
