import { describe, expect, it } from 'vitest';
import { createLapsingMap } from '../../../src/store/embedded/lapsing-map.js';

function start() {
  const clock = { nowMs: 0, now: () => 0, monotonicMs: () => clock.nowMs };
  return { clock, map: createLapsingMap<number>(clock) };
}

describe('a map whose values lapse', () => {
  it('replaces a value without giving it more time, and only while it is there', () => {
    const { clock, map } = start();
    map.set('a', 1, 100);
    clock.nowMs = 60;
    map.replace('a', 2);
    map.replace('b', 2);
    expect(map.entries()).toEqual([['a', 2]]);
    clock.nowMs = 100;
    expect(map.get('a')).toBeUndefined();
    map.replace('a', 3);
    expect(map.entries()).toEqual([]);
  });

  it('keeps those that live while many others come and go', () => {
    const { clock, map } = start();
    map.set('kept', 1, 1_000_000);
    for (let at = 0; at < 5_000; at += 1) {
      clock.nowMs += 1;
      map.set(`short ${at}`, at, 1);
    }
    expect(map.entries()).toEqual([
      ['kept', 1],
      ['short 4999', 4999],
    ]);
    map.delete('kept');
    expect(map.get('kept')).toBeUndefined();
  });
});
