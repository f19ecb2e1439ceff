/** What an assistant pays for knowing the tools, and that nobody changes it unawares. */
import { describe, expect, it } from 'vitest';
import { INSTRUCTIONS, TOOLS } from '../../../src/api/mcp/tools.js';

/**
 * On the safe side: of this list the encodings o200k, cl100k and p50k of `gpt-tokenizer` 4 and `@anthropic-ai/tokenizer` 0.0.4
 * take 3.7 to 4.2 bytes for a token.
 */
const BYTES_OF_A_TOKEN = 3;

describe('the list of tools', () => {
  it('costs less than 2,500 tokens', () => {
    const tokens = Buffer.byteLength(JSON.stringify({ tools: TOOLS })) / BYTES_OF_A_TOKEN;
    expect(tokens).toBeLessThan(2500);
    expect(Buffer.byteLength(INSTRUCTIONS) / BYTES_OF_A_TOKEN).toBeLessThan(250);
  });

  it('is the one that was agreed upon', async () => {
    await expect(`${JSON.stringify({ tools: TOOLS }, null, 2)}\n`).toMatchFileSnapshot('tools-list.golden');
  });

  it('takes no argument that it does not name, at any depth', () => {
    const open: string[] = [];
    const look = (schema: unknown, place: string): void => {
      if (typeof schema !== 'object' || schema === null) return;
      const { type, additionalProperties } = schema as Record<string, unknown>;
      if (type === 'object' && additionalProperties !== false) open.push(place);
      for (const [name, value] of Object.entries(schema)) look(value, `${place}.${name}`);
    };
    for (const { name, inputSchema } of TOOLS) look(inputSchema, name);
    expect(open).toEqual([]);
    expect(TOOLS.every(({ annotations }) => annotations.readOnlyHint)).toBe(true);
  });
});
