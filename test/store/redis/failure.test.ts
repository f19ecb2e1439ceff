import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import { answersOf, describeFailure, isAnswer, unavailable } from '../../../src/store/redis/failure.js';

const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });

describe('failures in words', () => {
  it.each([
    [reply('WRONGTYPE Operation against a key'), 'WRONGTYPE Operation against a key'],
    [
      reply("ERR unknown command 'AUTHX', with args beginning with: 'user' 'secret'"),
      "ERR unknown command 'AUTHX'",
    ],
    [
      reply("ERR unknown command 'A', with args beginning with: 'two\nlines' 'secret'"),
      "ERR unknown command 'A'",
    ],
    [
      new AggregateError([
        new Error('connect ECONNREFUSED ::1:1'),
        new Error('connect ECONNREFUSED 127.0.0.1:1'),
      ]),
      'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
    ],
    [
      Object.assign(reply('EXECABORT Transaction discarded'), {
        previousErrors: [reply('OOM no memory'), reply('another')],
      }),
      'OOM no memory',
    ],
    [
      Object.assign(reply('EXECABORT Transaction discarded'), { previousErrors: [] }),
      'EXECABORT Transaction discarded',
    ],
    ['not an error', 'an unknown failure'],
  ])('%s', (error, words) => {
    expect(describeFailure(error)).toBe(words);
  });

  it('carry nothing of the error that they were made from', () => {
    const error = Object.assign(reply('WRONGPASS'), { command: { name: 'auth', args: ['user', 'secret'] } });
    const shown = unavailable('Redis refused', error);
    expect(shown).toBeInstanceOf(StoreUnavailable);
    expect(shown.message).toBe('Redis refused: WRONGPASS');
    expect(shown.cause).toBeUndefined();
    expect(Object.keys(shown).sort()).toEqual(['name', 'why']);
  });
});

describe('isAnswer', () => {
  it('is true for what the server said, and for nothing else', () => {
    expect([reply('ERR'), new Error('Connection is closed.'), 'ERR'].map(isAnswer)).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('answersOf', () => {
  it('gives the answers of a pipeline, or its first error', () => {
    expect(answersOf([[null, 1], [null, 'two']])).toEqual([1, 'two']); // biome-ignore format: one thought
    expect(() => answersOf([[null, 1], [reply('first'), null], [reply('second'), null]])).toThrow('first'); // biome-ignore format: one thought
    expect(answersOf(null)).toEqual([]);
  });

  it('gives null for a key of another type', () => {
    expect(answersOf([[reply('WRONGTYPE Operation against a key'), null], [null, 1]])).toEqual([null, 1]); // biome-ignore format: one thought
  });
});
