/** The command line in this process: arguments, environment and standard input in, all it says out. */
import { PassThrough } from 'node:stream';
import { faultOf } from '../../src/cli/exit.js';
import { plainText } from '../../src/cli/plain-text.js';
import { createProgram } from '../../src/cli/program.js';
import type { Input, Terminal } from '../../src/cli/terminal.js';
import type { Env } from '../support/processes.js';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  json<T = Record<string, unknown>>(): T;
}

/** @param input standard input: a text is a pipe that ends, a stream is taken as it is */
export async function runCli(
  args: readonly string[],
  env: Env = {},
  input: string | Input = '',
  changes: Partial<Terminal> = {},
): Promise<Ran> {
  let [stdout, stderr, code] = ['', '', 0];
  const program = createProgram({
    env,
    input: typeof input === 'string' ? new PassThrough().end(input) : input,
    print: (text) => {
      stdout += text;
    },
    deliver: async (text) => {
      stdout += text;
    },
    ready: async () => {},
    say: (text) => {
      stderr += text;
    },
    nowMs: () => Date.now(),
    ...changes,
  });
  await program.parseAsync([...args], { from: 'user' }).catch(async (error: unknown) => {
    const fault = await faultOf(error);
    for (const line of fault.lines) stderr += `${plainText(line)}\n`;
    code = fault.code;
  });
  return { code, stdout, stderr, json: <T>() => JSON.parse(stdout) as T };
}
