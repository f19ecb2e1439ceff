import type { Command } from 'commander';
import { withExamples } from './define.js';
import { faultOf } from './exit.js';
import type { Terminal } from './terminal.js';

export function addServeCommand(program: Command, { env }: Terminal): void {
  const serve = program
    .command('serve')
    .description(
      'Run the gateway with the settings of the environment and of GATEWAY_CONFIG; all of them: config table.',
    )
    .action(async () => {
      const [{ loadConfig, proxySettings }, { serve: run }] = await Promise.all([
        import('../config/load.js'),
        import('../serve/serve.js'),
      ]);
      await run(loadConfig(env), proxySettings(env), faultOf);
    });
  withExamples(serve, [
    'PLATFORM_BASE_URL=https://platform.example PLATFORM_TOKEN_FILE=/run/secrets/token dsp-gateway serve',
  ]);
}
