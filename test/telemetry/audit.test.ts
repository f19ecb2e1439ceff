import { describe, expect, it } from 'vitest';
import { auditLine, GATEWAY_ACTOR } from '../../src/telemetry/audit.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');

describe('auditLine', () => {
  it('says who changed what, when, and from where', () => {
    const event = { action: 'team.update', subject: 'growth', before: { a: 1 }, after: { a: 2 } };
    expect(JSON.parse(auditLine(event, { name: 'admin', address: '10.0.0.1' }, NOW))).toEqual({
      at: '2026-11-21T12:00:00.000Z',
      actor: 'admin',
      address: '10.0.0.1',
      action: 'team.update',
      subject: 'growth',
      before: { a: 1 },
      after: { a: 2 },
    });
  });

  it('is one line, also of what the gateway does by itself', () => {
    const line = auditLine({ action: 'token.recover', subject: 'a\nb' }, GATEWAY_ACTOR, NOW);
    expect(line).not.toContain('\n');
    expect(JSON.parse(line)).toEqual({
      at: '2026-11-21T12:00:00.000Z',
      actor: 'gateway',
      address: null,
      action: 'token.recover',
      subject: 'a\nb',
    });
  });
});
