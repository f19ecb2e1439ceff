/**
 * Pins in the environment of the history. The keys, with the digest (16 bytes) of the owner:
 * `I` owner: the index
 * `P` owner · name: a body
 * `O` owner: marks an owner; the value is its name
 */
import { hash } from 'node:crypto';
import type { PinStore } from '../pins-port.js';
import { orDamaged } from './environment.js';
import { wholeTable } from './records.js';
import { removeRange, type Table } from './table.js';

const [INDEX, BODY, OWNER] = ['I', 'P', 'O'] as const;

export function pinsOver(table: Table): PinStore {
  return {
    async read(owner, names = []) {
      const { indexKey, bodyKey } = keysOf(owner);
      return table.read((view) => ({
        stamp: view.stampOf(indexKey),
        index: orDamaged(() => view.get(indexKey)),
        bodies: names.map((name) => orDamaged(() => view.get(bodyKey(name)))),
      }));
    },
    write(owner, { stamp, index, added, removed }) {
      const { indexKey, bodyKey, ownerKey } = keysOf(owner);
      return table.change((draft) => {
        if (draft.stampOf(indexKey) !== stamp) return false;
        draft.set(indexKey, index);
        if (!draft.has(ownerKey)) draft.set(ownerKey, Buffer.from(owner));
        for (const name of removed) draft.set(bodyKey(name), null);
        for (const [name, body] of added) draft.set(bodyKey(name), body);
        return true;
      });
    },
    async list(after, limit) {
      const { from, to } = wholeTable(OWNER);
      const start = after === null ? from : Buffer.concat([keysOf(after).ownerKey, Buffer.of(0)]);
      return table
        .read((view) => view.range({ from: start, to, limit }))
        .map(({ value }) => value.toString());
    },
    async remove(owner) {
      const { indexKey, bodyKey, ownerKey } = keysOf(owner);
      // The index first: a reader meanwhile finds nothing instead of a part. The mark last: what is left is listed.
      await table.change((draft) => draft.set(indexKey, null));
      const from = bodyKey('');
      await removeRange(table, from, Buffer.concat([from, Buffer.of(0xff)]));
      await table.change((draft) => {
        if (!draft.has(indexKey)) draft.set(ownerKey, null);
      });
    },
  };
}

function keysOf(owner: string) {
  const digest = hash('sha256', owner, 'buffer').subarray(0, 16);
  const keyIn = (letter: string, rest = '') =>
    Buffer.concat([Buffer.from(letter), digest, Buffer.from(rest)]);
  return {
    indexKey: keyIn(INDEX),
    ownerKey: keyIn(OWNER),
    bodyKey: (name: string) => keyIn(BODY, name),
  };
}
