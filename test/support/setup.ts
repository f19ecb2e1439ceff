/** What holds in every test file: a test that asserts nothing has not passed. */
import { beforeEach, expect } from 'vitest';

beforeEach(({ task }) => {
  // Of tests that run side by side the runner cannot tell whose assertion it was.
  if (!task.concurrent) expect.hasAssertions();
});
