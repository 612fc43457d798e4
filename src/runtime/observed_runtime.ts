import { consoleObserver } from "./console_observer.ts";
import type { Observer, Runtime } from "./runtime.ts";
import { systemRuntime } from "./system_runtime.ts";

export interface RuntimeOptions {
  readonly runtime?: Runtime | undefined;
  readonly observe?: Observer | undefined;
}

/** Returns the `runtime` option or else `usual`. Its observer is the `observe` option, if set. */
export function observedRuntime(
  { runtime, observe }: RuntimeOptions,
  usual: Runtime = systemRuntime(consoleObserver()),
): Runtime {
  const base = runtime ?? usual;
  if (observe === undefined) return base;
  return withObserver(base, (observation) => {
    try {
      observe(observation);
    } catch (error) {
      // The service must not fail because of an observer, but the operator must see its error.
      base.observe({ kind: "uncaught_error", error });
    }
  });
}

/** Returns the runtime with another observer. A spread would omit methods of a class instance. */
export function withObserver(runtime: Runtime, observe: Observer): Runtime {
  const { clock, random, cron, tablesChanged } = runtime;
  return {
    ...{ clock, random, observe, cron },
    environment: (name) => runtime.environment(name),
    tablesChanged: tablesChanged && (() => tablesChanged.call(runtime)),
  };
}
