import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRefusal } from '../../src/platform/read-refusal.js';

const TOKEN = 'tok/en"1';
const read = (body: unknown, type = 'application/json') =>
  readRefusal(422, type, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), TOKEN);

describe("the platform's words about a refused request", () => {
  it.each([
    [
      { message: 'No.', errors: { dateFrom: ['bad'] } },
      { message: 'No.', errors: { dateFrom: ['bad'] } },
    ],
    [{ error: 'No.' }, { message: 'No.' }],
    [{ message: 7, error: 'No.' }, { message: 'No.' }],
    [{ error: { code: 7 } }, { message: null }],
    [{ errors: ['a'] }, { message: null, errors: ['a'] }],
    [{ errors: 'a' }, { message: null }],
    [[1], { message: null }],
    ['"text"', { message: null }],
    ['{"message":', { message: null }],
    ['', { message: null }],
  ])('%j is shown as %j', (body, wanted) => {
    expect(read(body)).toEqual({ status: 422, ...wanted });
  });

  it('are taken from plain text, and from no other kind', () => {
    expect(read(' No. \n', 'text/plain; charset=utf-8')).toEqual({ status: 422, message: 'No.' });
    expect(read('  ', 'text/plain')).toEqual({ status: 422, message: null });
    expect(read('<h1>No</h1>', 'text/html')).toEqual({ status: 422, message: null });
    expect(read('No.', 'text/plainer')).toEqual({ status: 422, message: null });
  });

  it('of more than 64 KiB are shown from the first message on, and are those of JSON alone', () => {
    const errors = Array.from({ length: 9000 }, (_, at) => `row ${at}`);
    expect(read({ errors: errors.slice(0, 9), message: 'No \\ “rows”.', rest: errors })).toEqual({
      ...{ status: 422, message: 'No \\ “rows”.' },
    });
    expect(read({ message: 'ä'.repeat(60_000), errors }).message).toMatch(/^ä{400,512}…?$/);
    expect(read({ message: `${TOKEN} is bad`, errors }).message).not.toContain(TOKEN);
    expect(read({ errors }).message).toBeNull();
    expect(read(`<script>{"message":"No."}</script>${' '.repeat(70_000)}`, 'text/html').message).toBeNull();
  });

  it('have at most 1 KiB together', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 3000 }),
        fc.string({ maxLength: 2000 }),
        (message, fault) => {
          const { message: shown, errors } = read({ message, errors: { a: fault } });
          const size =
            Buffer.byteLength(shown ?? '') +
            (errors === undefined ? 0 : Buffer.byteLength(JSON.stringify(errors)));
          expect(size).toBeLessThanOrEqual(1024);
        },
      ),
    );
  });

  it('never hold the token, in whatever spelling it came', () => {
    const spellings = [TOKEN, 'tok%2Fen%221'];
    for (const said of spellings) {
      for (const body of [
        { message: `[token ${said}] No.` },
        { error: said },
        { message: 'No.', errors: { [said]: ['bad'] } },
        { message: 'No.', errors: { a: [`you sent ${said}`] } },
      ]) {
        const shown = JSON.stringify(read(body));
        for (const spelling of [...spellings, JSON.stringify(TOKEN).slice(1, -1)])
          expect(shown).not.toContain(spelling);
        expect(read(body).message ?? '').not.toContain(said);
      }
      expect(read(said, 'text/plain').message).toBe('[redacted]');
    }
    // PHP writes a slash with a backslash before it.
    expect(read('{"message":"tok\\/en\\"1"}').message).toBe('[redacted]');
  });
});
