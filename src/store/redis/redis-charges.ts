import type { Charge, Charges } from '../charges-port.js';
import { checkCharge, checkNote, wholeMs } from '../check-input.js';
import { StoreUnavailable } from '../port.js';
import { tooManyOpen } from '../too-many-open.js';
import { awaitReplicas, type ReplicaWait } from './await-replicas.js';
import type { Replicas } from './durable-scripts.js';
import type { Keys } from './keys.js';

export interface RedisChargesOptions extends ReplicaWait {
  readonly keys: Keys;
}

/** How they are laid out is said in charge-scripts.ts. */
export function createRedisCharges(options: RedisChargesOptions): Charges {
  const { link } = options;
  const { charges: keys } = options.keys;
  const confirm = (id: string, replicas: Replicas) =>
    awaitReplicas(keys[0], replicas, { charge: id }, options);

  return {
    async charge(ask) {
      checkCharge(ask);
      const { id, purse, amount, max, note, ttlMs } = ask;
      const ms = wholeMs(ttlMs, 1);
      const kept = `${amount}\n${purse}\n${note}`;
      const reply = await link.call((client) => client.dgwCharge(...keys, id, purse, amount, max, ms, kept));
      if (reply[0] === 'full') throw tooManyOpen();
      const [kind, text, ...replicas] = reply;
      const charged = Number(text);
      if (kind !== 'made') return { kind, charged };
      const unconfirmed = await confirm(id, replicas as unknown as Replicas);
      return unconfirmed === null ? { kind, charged } : { kind, charged, unconfirmed };
    },
    async note(id, note) {
      checkNote(note);
      const [isOpen, ...replicas] = await link.call((client) => client.dgwNoteCharge(...keys, id, note));
      if (isOpen === 0) return false;
      await confirm(id, replicas as unknown as Replicas);
      return true;
    },
    async end(id, how) {
      const [wasOpen, ...replicas] = await link.call((client) => client.dgwEndCharge(...keys, id, how));
      await confirm(id, replicas);
      return wasOpen === 1;
    },
    charged: async (purse) => Number(await link.call((client) => client.dgwCharged(...keys, purse))),
    async open() {
      const found = await link.call((client) => client.hgetall(keys[2]));
      return Object.entries(found).map(([id, kept]) => readCharge(id, kept));
    },
  };
}

/** @throws StoreUnavailable */
function readCharge(id: string, kept: string): Charge {
  const read = /^(\d+)\n([^\n]*)\n([\s\S]*)$/.exec(kept);
  if (read === null) throw new StoreUnavailable('a charge in the store has an unknown form');
  const [, amount, purse = '', note = ''] = read;
  return { id, purse, amount: Number(amount), note };
}
