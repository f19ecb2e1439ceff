/** The alerts, by the real promtool: each fires when it should, says what it says, and is silent when it should be. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { ROOT, tempFolder } from '../support/processes.js';
import { findPrometheus, runTool } from '../support/prometheus.js';
import { ALERTS, type AlertCase } from './alerts.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const FILE = join(ROOT, 'helm', 'files', 'rules.yaml');
const { groups } = parse(await readFile(FILE, 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const INSTALL_MS = 300_000;

/** An annotation as it is told. */
function say(text: string, { labels, shown = '' }: AlertCase): string {
  return text
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, name: string) => labels?.[name] ?? '')
    .replaceAll(/\{\{ \$value[^}]*\}\}/g, shown);
}

function testOf(rule: Rule, one: AlertCase): object {
  const fires = one.labels === null ? [] : [one];
  const alerts = fires.map(() => ({
    exp_labels: { ...one.labels, ...rule.labels },
    exp_annotations: Object.fromEntries(
      Object.entries(rule.annotations).map(([name, text]) => [name, say(text, one)]),
    ),
  }));
  return {
    interval: '1m',
    input_series: Object.entries(one.series).map(([series, values]) => ({ series, values })),
    alert_rule_test: [{ eval_time: one.at, alertname: rule.alert, exp_alerts: alerts }],
  };
}

describe('the alerts', () => {
  it('are rules as Prometheus reads them', { timeout: INSTALL_MS }, async () => {
    const { code, output } = await runTool((await findPrometheus()).promtool, ['check', 'rules', FILE]);
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringContaining(`SUCCESS: ${rules.length} rules found`),
    });
  });

  it('say how grave they are, and what to do, in a place that there is', async () => {
    const page = await readFile(join(ROOT, 'docs', 'operations.md'), 'utf8');
    for (const { alert, labels, annotations } of rules) {
      expect(['critical', 'warning', 'info']).toContain(labels.severity);
      expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook']);
      expect(annotations.runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`);
      expect(page).toContain(`\n#### ${alert}\n`);
    }
  });

  it('have each a case in which they fire, and one in which they do not', () => {
    expect(Object.keys(ALERTS)).toEqual(rules.map(({ alert }) => alert));
    for (const [alert, cases] of Object.entries(ALERTS)) {
      const fires = cases.map(({ labels }) => labels !== null);
      expect([alert, fires.includes(true), fires.includes(false)]).toEqual([alert, true, true]);
    }
  });

  it('fire and are silent as they should', { timeout: INSTALL_MS }, async () => {
    const folder = await tempFolder();
    // Each rule by itself: promtool evaluates all rules of a file in every minute of every case.
    const files = rules.map(async (rule) => {
      const [alone, file] = [join(folder, `${rule.alert}.rules`), join(folder, `${rule.alert}.yaml`)];
      await writeFile(alone, stringify({ groups: [{ name: 'alone', rules: [rule] }] }));
      const tests = (ALERTS[rule.alert] ?? []).map((one) => testOf(rule, one));
      expect(tests.length).toBeGreaterThan(1);
      await writeFile(file, stringify({ rule_files: [alone], evaluation_interval: '1m', tests }));
      return file;
    });
    const args = ['test', 'rules', ...(await Promise.all(files))];
    const { code, output } = await runTool((await findPrometheus()).promtool, args);
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('SUCCESS') });
    expect(output.match(/SUCCESS/g)).toHaveLength(rules.length);
  });
});
