import { GatewayError } from '../../src/errors.js';
import type { Brake } from '../../src/teams/write-guard/brake.js';

/** A brake that a test pulls. */
export function brakeByHand(): Brake & { stopped: boolean; readonly asked: string[] } {
  const self = {
    stopped: false,
    asked: [] as string[],
    check(team: string) {
      self.asked.push(team);
      if (self.stopped) throw new GatewayError('writes_stopped');
    },
  };
  return self;
}
