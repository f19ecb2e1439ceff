/** Results of doctor checks that are not simply well. */
import type { Check } from '../../telemetry/checks.js';

export type CheckResult = Omit<Check, 'name'>;

export const notWell = (says: string, advice: string): CheckResult => ({
  level: 'not well',
  says,
  do: advice,
});
export const warning = (says: string, advice: string): CheckResult => ({
  level: 'warning',
  says,
  do: advice,
});
export const skipped = (says: string): CheckResult => ({ level: 'skipped', says, do: null });
