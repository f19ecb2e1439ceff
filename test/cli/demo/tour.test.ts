import { expect, it, onTestFinished } from 'vitest';
import { startDemo } from '../../../src/cli/demo/start-demo.js';
import { tour } from '../../../src/cli/demo/tour.js';

it('counts what is asked behind an answer with the question it belongs to, however slow the platform is', async () => {
  const demo = await startDemo({ PORT: '0', ADMIN_PORT: '0' });
  onTestFinished(() => demo.stop());
  demo.simulator.set({ latencyMs: 300 });
  const lines: string[] = [];
  const { faults } = await tour(demo, (line) => void lines.push(line));
  expect(faults, lines.join('\n')).toEqual([]);
});
