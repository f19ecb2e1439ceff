import type { Command } from 'commander';
import { loadConfig, proxySettings } from '../config/load.js';
import { serve } from '../serve/serve.js';

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('Run the gateway with the settings of the environment and of GATEWAY_CONFIG.')
    .addHelpText(
      'after',
      '\nAll settings: dsp-gateway config table\nExample:\n  PLATFORM_BASE_URL=https://platform.example PLATFORM_TOKEN_FILE=/run/secrets/token dsp-gateway serve',
    )
    .action(() => serve(loadConfig(process.env), proxySettings(process.env)));
}
