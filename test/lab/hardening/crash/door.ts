/** Works that may be done together, and one that is done alone: it waits for those that have begun, and others wait for it. */

export interface Door {
  together<T>(work: () => Promise<T>): Promise<T>;
  alone<T>(work: () => Promise<T>): Promise<T>;
}

export function createDoor(): Door {
  const inside = new Set<Promise<unknown>>();
  let last: Promise<unknown> = Promise.resolve();
  let alone = 0;

  return {
    async together(work) {
      while (alone > 0) await last;
      const done = work();
      const over: Promise<unknown> = done.then(leave, leave);
      function leave() {
        inside.delete(over);
      }
      inside.add(over);
      return await done;
    },
    async alone(work) {
      alone += 1;
      const done = last
        .then(() => Promise.all(inside))
        .then(work)
        .finally(() => {
          alone -= 1;
        });
      last = done.catch(() => {});
      return await done;
    },
  };
}
