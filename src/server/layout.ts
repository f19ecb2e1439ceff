/**
 * Waits for processes of an earlier release to end, whose days lie elsewhere in the store: each would fetch what the other has. A
 * later release removes this file.
 */
import type { Logger } from 'pino';
import { parseObject } from '../lib/json.js';
import { sleep } from '../lib/time.js';
import { type Presence, whenAway } from '../store/port.js';

/** Of the days of reports. Each process reports its own; one without it has an earlier layout. */
export const LAYOUT = 2;

const LOOK_EVERY_MS = 1000;

/**
 * @param hold called once if there are such processes, or while the store does not tell; its result is called when there are none
 * @param presence of the store
 */
export async function awaitOthers(
  presence: Pick<Presence, 'list'>,
  logger: Logger,
  hold: () => Promise<() => Promise<void>>,
  everyMs = LOOK_EVERY_MS,
): Promise<void> {
  let release: (() => Promise<void>) | null = null;
  let isTold = false;
  for (;;) {
    const others = await presence.list().catch(whenAway(() => null));
    const old = others?.filter(({ info }) => !isOfLayout(info)) ?? [];
    if (others !== null && old.length === 0) break;
    if (old.length > 0 && !isTold) {
      isTold = true;
      logger.error(
        { processes: old.length },
        'processes of an earlier release use this store: waiting until they have ended; scale the gateway to 0, then start this release',
      );
    }
    release ??= await hold();
    await sleep(everyMs);
  }
  await release?.();
}

function isOfLayout(info: string): boolean {
  const { layout } = { ...parseObject(info) } as { readonly layout?: unknown };
  return typeof layout === 'number' && layout >= LAYOUT;
}
