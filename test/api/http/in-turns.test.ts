import { describe, expect, it } from 'vitest';
import { inTurns } from '../../../src/api/http/in-turns.js';

describe('a large body on its way out', () => {
  it('comes whole, in small pieces, and never much of it in one turn of the event loop', async () => {
    const content = [3_000_000, 10, 0, 1_000_000].map((bytes, at) => Buffer.alloc(bytes, `${at}`));
    let turn = 0;
    let isOver = false;
    const count = () => {
      turn += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const perTurn = new Map<number, number>();
    const pieces: Buffer[] = [];
    for await (const piece of inTurns(content)) {
      pieces.push(piece);
      perTurn.set(turn, (perTurn.get(turn) ?? 0) + piece.length);
    }
    isOver = true;
    expect(Buffer.concat(pieces).equals(Buffer.concat(content))).toBe(true);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(65_536);
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(262_144);
  });
});
