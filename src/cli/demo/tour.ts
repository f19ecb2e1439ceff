/** A few real calls through the demo gateway, each checked against the platform's truth, and what they cost. */
import { ask } from './ask.js';
import type { Demo } from './start-demo.js';
import { stepsOf } from './tour-steps.js';

export interface TourResult {
  readonly questions: number;
  /** How many of them were held against the platform's own numbers. */
  readonly checked: number;
  /** Platform calls, those that compare and check included. */
  readonly calls: number;
  /** Platform calls without the gateway. */
  readonly direct: number;
  readonly faults: readonly string[];
}

/** @param print told line by line what happens */
export async function tour(demo: Demo, print: (line: string) => void): Promise<TourResult> {
  const faults: string[] = [];
  let checked = 0;
  let questions = 0;
  let direct = 0;
  const atStart = demo.simulator.callCount;
  for (const [index, step] of stepsOf(demo).entries()) {
    // Each of them would be one call without the gateway.
    const further = (await step.after?.(demo, print)) ?? 0;
    const { behind = 0, people = 1 } = step;
    questions += further + people;
    direct += further + step.direct;
    const before = demo.simulator.callCount;
    let answer = await ask(demo, step.path);
    for (let person = 1; person < people; person++) answer = await ask(demo, step.path);
    // Until then its platform calls are not all made.
    await demo.settled();
    const cost = demo.simulator.callCount - before;
    const { fault, note, isChecked = false } = step.judge(answer, demo);
    if (isChecked) checked += 1;
    print(`${index + 1}. ${step.title}`);
    print(`   GET ${step.path}`);
    print(
      `   ${answer.status} · ${answer.cacheStatus} · ${answer.ms.toFixed(1)} ms · platform calls: ${cost - behind}${behind === 0 ? '' : `, and ${behind} behind the answer, to compare`}`,
    );
    if (note !== undefined) print(`   ${note}`);
    const wrong = [
      answer.status === step.status ? null : `status ${answer.status} instead of ${step.status}`,
      cost === step.calls + behind ? null : `${cost} platform calls instead of ${step.calls + behind}`,
      fault,
    ].filter((one) => one !== null);
    for (const one of wrong) {
      faults.push(`${index + 1}: ${one}`);
      print(`   WRONG: ${one}`);
    }
    print('');
  }
  return { questions, checked, calls: demo.simulator.callCount - atStart, direct, faults };
}
