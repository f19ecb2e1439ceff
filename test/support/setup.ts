/** What holds in every test file: a test that asserts nothing has not passed. */
import { beforeEach, expect } from 'vitest';

beforeEach(() => {
  expect.hasAssertions();
});
