import type { Command } from 'commander';
import { withExamples } from './define.js';
import type { Terminal } from './terminal.js';

export function addDemoCommand(program: Command, { env }: Terminal): void {
  const demo = program
    .command('demo')
    .description(
      'Simulator, gateway and a team with a key in one process, on the embedded store. PORT and ADMIN_PORT are honoured; ports that are taken are replaced by free ones.',
    )
    .option(
      '--once',
      'make a few real calls, say what they cost, and end; exit code 1 when an answer is wrong',
    )
    .action(async ({ once = false }: { once?: boolean }) => {
      const { runDemo } = await import('./run-demo.js');
      await runDemo(env, once);
    });
  withExamples(demo, ['demo', 'demo --once']);
}
