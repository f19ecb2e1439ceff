/** Says that the active token is about to expire: once for each threshold, by one replica, also across restarts. */
import type { Logger } from 'pino';
import Type from 'typebox';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { updateRecord } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import type { VaultKeeper } from './keeper.js';
import { expiryText, type Outlook } from './outlook.js';

const RECORD = 'expiry-warning';

/** The last warning that was given. */
const Given = recordForm(
  Type.Object({ token: Type.String(), expiresAt: Type.String(), days: Type.Number() }),
);
type Given = RecordOf<typeof Given>;

export interface ExpiryWarningOptions {
  readonly registry: Registry;
  readonly keeper: VaultKeeper;
  readonly outlook: () => Outlook;
  readonly logger: Logger;
}

/** @returns what is to be called now and then. It throws StoreUnavailable, SealError */
export function createExpiryWarning(options: ExpiryWarningOptions): () => Promise<void> {
  const { registry, keeper, logger } = options;
  /** Spares a look at the registry each time. */
  let settled = '';

  return async function warn() {
    const { active } = keeper.vault();
    const outlook = options.outlook();
    if (active === null || outlook.warningDays === null) return;
    const given: Given = { token: active.id, expiresAt: active.expiresAt, days: outlook.warningDays };
    const text = JSON.stringify(given);
    if (settled === text) return;
    let isOurs = false;
    await updateRecord(registry, RECORD, (stored) => {
      const before = stored === null ? null : Given.read(stored, RECORD);
      isOurs = before === null || isNews(before, given);
      return isOurs ? { text: JSON.stringify({ ...before, ...given }) } : null;
    });
    settled = text;
    if (isOurs) say(outlook, active.id);
  };

  function say(outlook: Outlook, token: string): void {
    const { expiresAt, expiryKnown, daysLeft, renewsAt } = outlook;
    const what = outlook.state === 'expired' ? 'has expired' : expiryText(outlook);
    const todo =
      renewsAt === null
        ? 'create another in the dashboard and rotate to it'
        : 'it should have been renewed by itself: see why that fails';
    logger.error({ tokenId: token, expiresAt, expiryKnown, daysLeft }, `the platform token ${what}; ${todo}`);
  }
}

function isNews(before: Given, now: Given): boolean {
  return before.token !== now.token || before.expiresAt !== now.expiresAt || before.days > now.days;
}
