/** The log: JSON lines by pino, written without blocking, and never with a secret in them. */
import { type DestinationStream, destination, type Logger, pino } from 'pino';

const REDACTED = '[redacted]';
/** A team key, whatever message it was pasted into. */
const KEYS = /dgw_[0-9A-Za-z]{20,}(_[0-9A-Za-z]+)?/g;
const BEARER = /\bBearer\s+[A-Za-z0-9._~+/=-]{8,}/gi;

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
      hooks: { streamWrite: (line) => scrub(line, secrets()) },
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
  let clean = line.replace(KEYS, REDACTED).replace(BEARER, `Bearer ${REDACTED}`);
  for (const secret of secrets) {
    if (secret.length >= 6 && clean.includes(secret)) clean = clean.replaceAll(secret, REDACTED);
  }
  return clean;
}
