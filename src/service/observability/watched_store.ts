import type { KeyValue } from "../../kv/key_value.ts";
import { StoreError } from "../../kv/store_error.ts";
import type { Metrics } from "../../metrics/metrics.ts";

export function watchedStore(store: KeyValue, metrics: Metrics): KeyValue {
  const errors = metrics.counter("resource_api_store_errors_total", {
    help: "Operations of the key-value store that have failed, by their possible effect.",
    labels: ["kind"],
  });
  // The series exist before the first error, so that Prometheus sees the first increase.
  for (const kind of ["unavailable", "unknown-outcome"]) errors.series(kind);
  function counted<T>(result: Promise<T>): Promise<T> {
    result.catch((error) => error instanceof StoreError && errors.series(error.kind).add());
    return result;
  }
  return {
    get: (key) => counted(store.get(key)),
    getMany: (keys) => counted(store.getMany(keys)),
    list: (page) => counted(store.list(page)),
    commit: (commit) => counted(store.commit(commit)),
    close: () => store.close(),
  };
}
