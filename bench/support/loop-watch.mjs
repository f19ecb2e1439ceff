/**
 * Loaded into a gateway by `--import`: how late its event loop was. At each SIGUSR2 it adds a line of JSON to the file
 * LOOP_WATCH, of the time since the one before.
 */
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 2;

function watch(file) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  let pausesMs = [];
  new PerformanceObserver((list) => {
    pausesMs.push(...list.getEntries().map(({ duration }) => duration));
  }).observe({ entryTypes: ['gc'] });
  let [cpu, used] = [process.cpuUsage(), performance.eventLoopUtilization()];
  process.on('SIGUSR2', () => {
    const ms = (ns) => Math.max(0, ns / 1e6 - RESOLUTION_MS);
    const line = {
      p50Ms: ms(delay.percentile(50)),
      p99Ms: ms(delay.percentile(99)),
      maxMs: ms(delay.max),
      busyPart: performance.eventLoopUtilization(used).utilization,
      gcMs: pausesMs.reduce((sum, one) => sum + one, 0),
      gcMaxMs: Math.max(0, ...pausesMs),
      memory: process.memoryUsage(),
      cpuMs: (({ user, system }) => (user + system) / 1000)(process.cpuUsage(cpu)),
    };
    appendFileSync(file, `${JSON.stringify(line)}\n`);
    delay.reset();
    pausesMs = [];
    [cpu, used] = [process.cpuUsage(), performance.eventLoopUtilization()];
  });
}

// Its threads are started with the same options.
if (isMainThread && process.env.LOOP_WATCH !== undefined) watch(process.env.LOOP_WATCH);
