import { inspect } from 'node:util';
import type { StoreLog } from '../../src/store/refused.js';

export interface TestLog extends StoreLog {
  readonly lines: { readonly level: string; readonly message: string; readonly fields: object }[];
  /** All that was logged, errors with all their members, as one text. */
  text(): string;
}

/** A log that keeps its lines. */
export function createTestLog(): TestLog {
  const lines: TestLog['lines'] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields });
  return {
    lines,
    text: () => inspect(lines, { depth: 10 }),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  };
}
