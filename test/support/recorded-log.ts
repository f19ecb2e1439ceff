import { type Logger, pino } from 'pino';

export type LoggedLine = Readonly<Record<string, unknown>> & { readonly level: string; readonly msg: string };

export interface RecordedLog {
  readonly logger: Logger;
  /** Every line so far, debug included. */
  readonly lines: readonly LoggedLine[];
  /** The messages of one level. */
  messages(level: 'debug' | 'info' | 'warn' | 'error'): string[];
  /** All of it, as it would be written. */
  readonly text: string;
}

/** A real logger that writes into memory. */
export function createRecordedLog(): RecordedLog {
  const written: string[] = [];
  const logger = pino(
    { level: 'debug', base: null, timestamp: false, formatters: { level: (label) => ({ level: label }) } },
    { write: (line) => void written.push(line) },
  );
  const lines = () => written.map((line) => JSON.parse(line) as LoggedLine);
  return {
    logger,
    get lines() {
      return lines();
    },
    messages: (level) =>
      lines()
        .filter((line) => line.level === level)
        .map(({ msg }) => msg),
    get text() {
      return written.join('');
    },
  };
}
