import { expect, it } from 'vitest';
import { createOutage } from '../../src/telemetry/outage.js';
import { createRecordedLog } from '../support/recorded-log.js';

function openOutage() {
  const log = createRecordedLog();
  let nowMs = 0;
  const texts = { counted: 'requests', lasts: 'it lasts', over: 'it is over' } as const;
  const outage = createOutage({ logger: log.logger, ...texts, nowMs: () => nowMs });
  const told = () => log.lines.map(({ level, requests, msg }) => [level, requests, msg]);
  const at = (ms: number) => {
    nowMs = ms;
    return outage;
  };
  return { at, told };
}

it('an outage is told when it begins, once a minute, and when it is over, with the number of requests', () => {
  const { at, told } = openOutage();
  at(0).worked();
  for (const ms of [0, 1, 59_999, 60_000, 60_001]) at(ms).failed({});
  for (const ms of [70_001, 70_002]) at(ms).worked();
  at(80_000).failed({});
  expect(told()).toEqual([
    ['warn', 1, 'it lasts'],
    ['warn', 4, 'it lasts'],
    ['info', 5, 'it is over'],
    ['warn', 1, 'it lasts'],
  ]);
});

it('an outage in which some calls succeed is one outage', () => {
  const { at, told } = openOutage();
  for (let ms = 0; ms < 50_000; ms += 1000) {
    at(ms).failed({});
    at(ms + 500).worked();
  }
  at(60_000).worked();
  expect(told()).toEqual([
    ['warn', 1, 'it lasts'],
    ['info', 50, 'it is over'],
  ]);
});
