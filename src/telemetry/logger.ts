/** The log: JSON lines by pino, written without blocking, and never with a secret in them. */
import { type DestinationStream, destination, type Logger, pino } from 'pino';

const REDACTED = '[redacted]';
/** A team key, whatever message it was pasted into. */
const KEYS = /dgw_[0-9A-Za-z]{20,}(_[0-9A-Za-z]+)?/g;
/** Up to the end of the word; quotes and backslashes belong to the line's own JSON. */
const BEARER = /\bBearer\s+[^\s"\\]{8,}/gi;
/** Shorter ones would be found in every line. */
const MIN_SECRET_LENGTH = 6;

export interface LoggerOptions {
  readonly level: string;
  /** Where lines go; standard output when absent. */
  readonly stream?: DestinationStream;
  /** Secrets known now, replaced wherever they turn up. Read for every line, so they may change. */
  readonly secrets: () => readonly string[];
}

export interface Log {
  readonly logger: Logger;
  /** Writes out what is still held back. */
  flush(): void;
}

export function createLog({ level, stream, secrets }: LoggerOptions): Log {
  const sink = stream ?? destination({ fd: 1, sync: false, minLength: 4096 });
  const timer = 'flush' in sink ? setInterval(() => flush(sink), 250) : null;
  timer?.unref();
  const logger = pino(
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
        streamWrite: (line) => scrub(line, secrets()),
        logMethod(args, log) {
          // reply-from's own line about a failed call; the line of the request has its cause.
          if (args[1] !== 'response errored') log.apply(this, args);
        },
      },
    },
    sink,
  );
  return {
    logger,
    flush: () => {
      if (timer !== null) clearInterval(timer);
      flush(sink);
    },
  };
}

function flush(sink: DestinationStream): void {
  if (!('flushSync' in sink)) return;
  try {
    (sink as { flushSync(): void }).flushSync();
  } catch (error) {
    // Standard output was not opened yet, or is gone: there is nowhere left to report to.
    if (!(error instanceof Error)) throw error;
  }
}

function scrub(line: string, secrets: readonly string[]): string {
  let clean = line;
  for (const secret of secrets) {
    if (secret.length < MIN_SECRET_LENGTH) continue;
    for (const spelling of spellings(secret)) clean = clean.replaceAll(spelling, REDACTED);
  }
  return clean.replace(KEYS, REDACTED).replace(BEARER, `Bearer ${REDACTED}`);
}

/** As it stands in a URL, as JSON writes it in a line, and in a text that is JSON itself; longest first. */
function spellings(secret: string): string[] {
  const once = JSON.stringify(secret).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  const all = [secret, once, twice, encodeURIComponent(secret)];
  return [...new Set(all)].sort((a, b) => b.length - a.length);
}
