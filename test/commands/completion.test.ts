/** What a shell offers at a tab. */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { runCli } from './run-cli.js';

const scriptFor = async (shell: string) => (await runCli(['completion', shell])).stdout;

/** As bash does it when the tab key is pressed behind the last word. */
async function offered(...words: string[]): Promise<string[]> {
  const script = `${await scriptFor('bash')}
COMP_WORDS=(dsp-gateway "$@"); COMP_CWORD=$#; _dsp_gateway; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const text = execFileSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8' });
  return text.split('\n').filter((word) => word !== '');
}

describe('completion bash', () => {
  it('offers commands, those below them, and their options', async () => {
    expect(await offered('te')).toEqual(['teams']);
    expect(await offered('teams', '')).toEqual(['list', 'show', 'create', 'update', 'delete']);
    expect(await offered('teams', 'create', 'growth', '--max')).toEqual([
      '--max-range-days',
      '--max-concurrent',
    ]);
    expect(await offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(await offered('teams', 'create', '--tok')).toEqual([]);
  });

  it('leaves files to the shell where no word is known', async () => {
    expect(await offered('apply', '-f', 'te')).toEqual([]);
  });
});

it.each(['zsh', 'fish'])('completion %s names every command', async (shell) => {
  const script = await scriptFor(shell);
  for (const name of ['serve', 'forget-sealed', 'rotate', 'max-range-days']) expect(script).toContain(name);
});

it('refuses another shell, and says which there are', async () => {
  const { code, stderr } = await runCli(['completion', 'tcsh']);
  expect([code, stderr]).toEqual([65, expect.stringContaining('Allowed choices are bash, zsh, fish')]);
});
