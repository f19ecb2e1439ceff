/**
 * One turn of `work` at a time. Who asks during one gets the turn after it, together with all who ask meanwhile, and
 * waits for that one alone: those who go on asking keep nobody waiting.
 */
export function createTurns(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  function begin(): Promise<void> {
    next = null;
    running = work().finally(() => {
      running = null;
    });
    return running;
  }
  return () => {
    if (next !== null) return next;
    if (running === null) return begin();
    // Whoever asked for the turn before is told of its failure.
    next = running.then(begin, begin);
    return next;
  };
}
