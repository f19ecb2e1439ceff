/** What is said about the commands is so: the page, the help, and the examples in both. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { examplesOf } from '../../src/cli/define.js';
import { ROOT } from '../support/processes.js';
import { cliPage, isAdminCommand, isTeamCommand, leaves, nameOf, program } from './cli-page.js';
import { runCli } from './run-cli.js';

const commands = leaves(program());
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');

it('docs/cli.md is what the commands say of themselves, however often they are defined', async () => {
  cliPage();
  await expect(cliPage()).toMatchFileSnapshot(join(ROOT, 'docs', 'cli.md'));
});

describe('every command', () => {
  it.each(commands.map((command) => [nameOf(command), command] as const))(
    '%s has help with examples that are its own',
    async (name, command) => {
      const { code, stdout } = await runCli([...name.split(' ').slice(1), '--help']);
      expect(code).toBe(0);
      expect(stdout).toContain(`Usage: ${name}`);
      expect(examplesOf(command).length).toBeGreaterThan(0);
      for (const example of examplesOf(command)) {
        expect(stdout).toContain(example);
        expect(example).toContain(name);
      }
      expect(stdout.includes('--admin-token-file')).toBe(isAdminCommand(command));
      expect(stdout.includes('--key-file')).toBe(isTeamCommand(command));
      // What would take a secret is refused, and not advertised.
      expect(stdout).not.toMatch(/--(token|password|secret|admin-token)\b(?!-file)/);
    },
  );
});

it('the examples of commands against the admin API are taken: they get as far as asking it', async () => {
  for (const command of commands.filter(isAdminCommand)) {
    for (const example of examplesOf(command)) {
      const [line = ''] = example
        .slice(example.indexOf('dsp-gateway ') + 'dsp-gateway '.length)
        .split(/ [|>] /);
      const reads = /--from-file|--write-guard|import|apply/.test(line);
      // That nobody answers is what these two have to say.
      const says = /^(status|doctor)\b/.test(line);
      // Without a session there is nothing to ask for.
      const isDone = line === 'logout';
      const HOME = join(ROOT, 'no-such-folder');
      const ran = await runCli(
        wordsOf(line),
        { ADMIN_TOKEN: 'x', GATEWAY_ADMIN_URL: 'http://127.0.0.1:1', HOME },
        'token',
      );
      // Files of the examples are not there; what is wrong with the line itself would be a 64.
      expect([example, ran.code]).toEqual([example, says ? 2 : reads ? 65 : isDone ? 0 : 69]);
    }
  }
});
