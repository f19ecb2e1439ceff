/** Results of checks, except that all is well. */
import type { Check } from './checks.js';

export type CheckResult = Omit<Check, 'name'>;

const found =
  (level: Check['level']) =>
  (says: string, advice: string): CheckResult => ({ level, says, do: advice });

export const notWell = found('not well');
export const warning = found('warning');
export const skipped = (says: string): CheckResult => ({ level: 'skipped', says, do: null });
