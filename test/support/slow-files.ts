/** Names the test files that took longer than their budget: information, no failure. */
import type { Reporter, TestModule } from 'vitest/node';

const BUDGET_S = 15;

export default class SlowFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const slow = modules
      .map((module) => {
        const { collectDuration, duration } = module.diagnostic();
        return { name: module.relativeModuleId, s: (collectDuration + duration) / 1000 };
      })
      .filter(({ s }) => s > BUDGET_S)
      .sort((a, b) => b.s - a.s);
    if (slow.length === 0) return;
    const lines = slow.map(({ name, s }) => `${s.toFixed(0).padStart(6)} s  ${name}\n`);
    process.stdout.write(`\nAbove the budget of ${BUDGET_S} s a file:\n${lines.join('')}`);
  }
}
