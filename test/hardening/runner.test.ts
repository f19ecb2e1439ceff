import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readArguments, STAGES, shareOf } from './arguments.js';
import { runStages } from './run-stages.js';
import { type CaseResult, fromAnother, type Stage } from './stage.js';
import { putTable, tableOf } from './table.js';

const HELD: CaseResult = { name: 'a', what: 'b', times: 1, result: 'held', worst: '2 ms' };

describe('the command line of the hardening run', () => {
  it('has a default for everything', () => {
    expect(readArguments([], 7)).toEqual({ minutes: 10, only: STAGES, seed: 7, write: false, help: false });
  });

  it('takes values behind a space or =, and stages in the order in which they are run', () => {
    const given = ['--minutes', '0.5', '--only=soak,simulation', '--seed=3', '--write'];
    expect(readArguments(given, 7)).toEqual({
      minutes: 0.5,
      only: ['simulation', 'soak'],
      seed: 3,
      write: true,
      help: false,
    });
  });

  it.each([
    [['--minutes', '0'], "--minutes is '0'; allowed is a number above 0, at most 1440"],
    [['--minutes', 'ten'], "--minutes is 'ten'; allowed"],
    [['--minutes'], '--minutes needs a value'],
    [['--only', 'chaos,storm'], "--only names 'storm'; stages are simulation, fuzz, crash, chaos, soak"],
    [['--seed', '-1'], "--seed is '-1'; allowed is a whole number"],
    [['--seed=1', '--seed=2'], '--seed is given twice'],
    [['--write=yes'], "--write takes no value, and was given 'yes'"],
    [['--fast'], "unknown argument '--fast'; known are"],
  ])('refuses %j and says what is allowed', (given, says) => {
    expect(() => readArguments(given, 7)).toThrow(says);
  });

  it('names every fault at once', () => {
    expect(() => readArguments(['--minutes=x', '--only=y', '--seed=z', 'w'], 7)).toThrow(
      /unknown argument[^\n]*\n--minutes[^\n]*\n--only[^\n]*\n--seed/,
    );
  });
});

describe('the shares of the time', () => {
  it('come to all of it where each stage uses its own', () => {
    const weights = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(weights, fc.integer({ min: 1, max: 1e7 }), (all, ms) => {
        const whole = all.reduce((sum, weight) => sum + weight, 0);
        let left = ms;
        for (const [at, weight] of all.entries()) {
          const share = shareOf(left, all.slice(at));
          expect(share).toBeCloseTo((ms * weight) / whole, 3);
          left -= share;
        }
        expect(left).toBeCloseTo(0, 3);
      }),
    );
  });

  it('are nothing where no time is left', () => {
    expect(shareOf(-5, [1, 2])).toBe(0);
  });
});

describe('the runner', () => {
  const stageOf = (name: string, run: Stage['run']): Stage => ({ name, title: name, weight: 1, run });

  it('leaves out what is not there, makes a failed line of an error, and gives on what was left over', async () => {
    let nowMs = 0;
    const untils: number[] = [];
    const said: string[] = [];
    const stages: Record<string, Stage> = {
      simulation: stageOf('simulation', async ({ until }) => {
        untils.push(until);
        nowMs += 1_000;
        throw new Error('broken');
      }),
      soak: stageOf('soak', async ({ until }) => {
        untils.push(until);
        return [HELD];
      }),
    };
    const results = await runStages(
      { minutes: 1, only: ['simulation', 'chaos', 'soak'], seed: 1 },
      { say: (line) => said.push(line), load: async (name) => stages[name] ?? null, now: () => nowMs },
    );
    expect(untils).toEqual([30_000, 60_000]);
    expect(said).toContain('chaos: no such stage is here yet, left out');
    expect(results.map(({ stage, cases }) => [stage.name, ...cases.map(({ result }) => result)])).toEqual([
      ['simulation', 'failed'],
      ['soak', 'held'],
    ]);
    expect(results[0]?.cases[0]?.note).toContain('broken');
    expect(results.map(({ ms }) => ms)).toEqual([1_000, 0]);
  });
});

describe('the order of cases', () => {
  it('begins with each of them by some seed, goes on as they stand, and leaves none out', () => {
    const all = ['a', 'b', 'c'];
    const orders = [0, 1, 2, 3].map((seed) => fromAnother(all, seed).join(''));
    expect(orders).toEqual(['abc', 'bca', 'cab', 'abc']);
    expect(fromAnother([], 7)).toEqual([]);
  });
});

describe('the table', () => {
  const facts = { date: '2026-01-02', minutes: 3, seed: 4, commit: 'abc', node: '20.0.0', cores: 2 };

  it('has a line for each case, with what would break a cell made harmless', () => {
    const cases: CaseResult[] = [HELD, { ...HELD, result: 'not run', note: 'no | <b>\nhere \\' }];
    const text = tableOf(facts, { stage: { name: 's', title: 'The stage' }, cases, ms: 90_000 });
    expect(text).toContain('### The stage\n\nHeld: 1, failed: 0, not run: 1.\n');
    expect(text).toContain('1.5 minutes of a run of 3, with seed 4: commit abc, Node 20.0.0, 2 cores.');
    expect(text).toContain('| a | b | 1 | held | 2 ms |  |');
    expect(text).toContain('| a | b | 1 | **not run** | 2 ms | no \\| &lt;b> here \\\\ |');
  });

  it('goes between the marks of its stage, whatever stands there, and leaves the rest', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (before, old, table) => {
        fc.pre(![before, old, table].some((text) => text.includes('<!-- run:')));
        const page = `${before}<!-- run:s:begin -->${old}<!-- run:s:end -->tail`;
        expect(putTable(page, 's', table)).toBe(
          `${before}<!-- run:s:begin -->\n${table}\n<!-- run:s:end -->tail`,
        );
      }),
    );
  });

  it.each([
    '',
    '<!-- run:s:end --><!-- run:s:begin -->',
    '<!-- run:s:begin --><!-- run:s:begin --><!-- run:s:end -->',
    '<!-- run:other:begin --><!-- run:other:end -->',
  ])('has no place in %j', (page) => {
    expect(() => putTable(page, 's', 'table')).toThrow('once each');
  });
});
