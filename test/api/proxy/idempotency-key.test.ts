import { describe, expect, it } from 'vitest';
import { readIdempotencyKey } from '../../../src/api/proxy/idempotency-record.js';
import { codeOf } from '../../support/problems.js';

const sent = (...rawHeaders: string[]) => ({ rawHeaders });

describe('an idempotency key', () => {
  it('is the text of its header, in whatever capitals the name is', () => {
    expect(readIdempotencyKey(sent('host', 'x', 'Idempotency-Key', 'order 7'))).toBe('order 7');
    expect(readIdempotencyKey(sent('idempotency-key', '~'.repeat(255)))).toBe('~'.repeat(255));
  });

  it('is absent when there is no such header, even where a value looks like its name', () => {
    expect(readIdempotencyKey(sent('host', 'x'))).toBeNull();
    expect(readIdempotencyKey(sent('x-document', 'idempotency-key', 'host', 'x'))).toBeNull();
  });

  it.each([
    ['empty', ['idempotency-key', '']],
    ['too long', ['idempotency-key', 'a'.repeat(256)]],
    ['not ASCII', ['idempotency-key', 'é']],
    ['not printable', ['idempotency-key', 'a\tb']],
    ['given twice', ['idempotency-key', 'a', 'Idempotency-Key', 'a']],
  ])('that is %s is refused', (_how, rawHeaders) => {
    expect(codeOf(() => readIdempotencyKey(sent(...rawHeaders)))).toBe('invalid_request');
  });
});
