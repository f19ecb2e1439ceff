/** What a look finds where it is not simply well. */
import type { Check } from '../../telemetry/checks.js';

export type Found = Omit<Check, 'name'>;

export const notWell = (says: string, advice: string): Found => ({ level: 'not well', says, do: advice });
export const warning = (says: string, advice: string): Found => ({ level: 'warning', says, do: advice });
export const skipped = (says: string): Found => ({ level: 'skipped', says, do: null });
