/** Messages between the processes of one gateway, and within the only one. */
import Type, { type Static } from 'typebox';
import { randomId } from '../../chance.js';
import { nextTurn, startTicks, stopTicks } from '../../time.js';
import { createListeners } from '../listeners.js';
import type { StoreLog } from '../log.js';
import type { Bus } from '../port.js';
import type { Environment } from './environment.js';
import { createGroupCommit } from './group-commit.js';
import { numberKey } from './keys.js';
import { fromBytes, toBytes } from './stored-json.js';

const MESSAGES = 'm';
const HEAD = Buffer.from('B');
/** The number of the next message. */
const Head = Type.Integer();
const Message = Type.Object({ from: Type.String(), channel: Type.String(), text: Type.String() });

/** Whoever is further behind has lost messages, as is allowed. */
const KEPT_MAX = 10_000;
/** One look is one read of the map: a microsecond. */
const LOOK_EVERY_MS = 20;

export interface ClosableBus extends Bus {
  close(): void;
}

/** Numbered records: listeners of this process are told at once, those of others when they look. */
export function createLmdbBus(
  environment: Pick<Environment, 'read' | 'write'>,
  logger: StoreLog,
): ClosableBus {
  const self = randomId();
  const listeners = createListeners({ logger });
  const nextIn = (bytes: Buffer | null | undefined) => (bytes == null ? 1 : fromBytes(Head, bytes));
  const publish = createGroupCommit<Static<typeof Message>, void>({
    environment,
    head: HEAD,
    apply(draft, message) {
      const number = nextIn(draft.get(HEAD));
      draft.set(HEAD, toBytes(number + 1));
      draft.set(numberKey(MESSAGES, number), toBytes(message));
      if (number > KEPT_MAX) draft.set(numberKey(MESSAGES, number - KEPT_MAX), null);
    },
    finish: () => {},
  });
  let seen = environment.read((view) => nextIn(view.get(HEAD)?.value));

  function look(): void {
    const [next, messages] = environment.read((view) => {
      const head = nextIn(view.get(HEAD)?.value);
      if (head <= seen) return [head, []];
      return [head, view.range({ from: numberKey(MESSAGES, seen), to: numberKey(MESSAGES, head) })];
    });
    seen = next;
    for (const { value } of messages) {
      const { from, channel, text } = fromBytes(Message, value);
      if (from !== self) listeners.deliver(channel, text);
    }
  }

  const timer = startTicks(() => {
    try {
      look();
    } catch (error) {
      logger.warn({ err: error }, 'messages of the other processes could not be read');
    }
  }, LOOK_EVERY_MS);
  timer.unref();

  return {
    async publish(channel, text) {
      nextTurn(() => listeners.deliver(channel, text));
      await publish({ from: self, channel, text });
    },
    subscribe: listeners.add,
    close: () => stopTicks(timer),
  };
}

/** Of a process that is the only one. They arrive after the publisher's turn, as from a network. */
export function createLocalBus(logger: StoreLog): ClosableBus {
  const listeners = createListeners({ logger });
  return {
    async publish(channel, message) {
      nextTurn(() => listeners.deliver(channel, message));
    },
    subscribe: listeners.add,
    close() {},
  };
}
