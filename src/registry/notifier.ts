/** Who wants to hear of changes to which records of the registry. */
import type { Logger } from 'pino';

export interface Notifier {
  add(prefix: string, listener: () => void): void;
  notify(changed: ReadonlySet<string>): void;
}

export function createNotifier(logger: Logger): Notifier {
  const listeners: { prefix: string; listener: () => void }[] = [];
  return {
    add: (prefix, listener) => {
      listeners.push({ prefix, listener });
    },
    notify(changed) {
      for (const { prefix, listener } of listeners) {
        if (![...changed].some((id) => id.startsWith(prefix))) continue;
        try {
          listener();
        } catch (error) {
          // The others must hear of it all the same, for nobody is told twice.
          logger.error({ err: error, prefix }, 'a change of the registry could not be taken over');
        }
      }
    },
  };
}
