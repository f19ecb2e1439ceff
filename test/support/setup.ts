/**
 * What holds in every test file. That a test asserts something, the configuration asks for (`requireAssertions`).
 */
import { afterAll, beforeEach } from 'vitest';
import { endFile } from './after-file.js';

beforeEach((context) => {
  // Of tests that run side by side, none is credited with another's assertion: only its context's `expect` counts.
  if (context.task.concurrent) void context.expect;
});

afterAll(endFile);
