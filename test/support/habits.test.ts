/** Habits of the tests themselves. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const TEST = fileURLToPath(new URL('..', import.meta.url));
const FILES = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(`${TEST}${name}`, 'utf8') }));

/** `while (…) await pause(…)`, in its usual spellings. */
const OWN_WAIT = /while \([^\n]*\)\s*\{?\s*await (?:new Promise[^\n]*setTimeout|pause\(|sleep\()/;
/** A clock written out. */
const OWN_CLOCK = /\bmonotonicMs: \(\) =>/;
const NUMBERED = /\b(?:it|test|describe)(?:\.\w+)*\(\s*['"`](?:[A-Z]{1,2}\d{1,2}\b|\d+[.):]\s)/;

/** @returns the files in which it stands, this one aside */
function filesWith(pattern: RegExp): string[] {
  return FILES.filter(({ name, text }) => !name.endsWith('habits.test.ts') && pattern.test(text)).map(
    ({ name }) => name,
  );
}

describe('every test', () => {
  it('waits by waitFor or expect.poll, and by no loop of its own', () => {
    expect(OWN_WAIT.test('while (!done) await new Promise((resolve) => setTimeout(resolve, 5));')).toBe(true);
    expect(filesWith(OWN_WAIT)).toEqual([]);
  });

  it('has its time from test-clock.ts', () => {
    expect(OWN_CLOCK.test('const clock = { now: () => nowMs, monotonicMs: () => nowMs };')).toBe(true);
    expect(filesWith(OWN_CLOCK)).toEqual(['support/test-clock.ts']);
  });

  it('says in its title what happens, without a number of some list', () => {
    expect(NUMBERED.test("it('A9 never holds a key', () => {")).toBe(true);
    expect(filesWith(NUMBERED)).toEqual([]);
  });
});

describe('a test that asserts nothing', () => {
  it.fails('fails', () => {});
  it.concurrent
    .fails('fails beside others', () => {});
  it.concurrent
    .fails('fails beside others, whoever asserts meanwhile', async () => {
      expect(1).toBe(1);
    });
  it.concurrent('passes beside others by what it asserts itself', async ({ expect: own }) => {
    own(1).toBe(1);
  });
});
