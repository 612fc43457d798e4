import { useCallback, useEffect, useState } from "preact/hooks";
import { readReport } from "./call.ts";

/** A report, as far as it was read. */
export interface ReportState<T> {
  /** The last one that was read; null before. */
  readonly data: T | null;
  /** Why the last attempt failed; null where it did not. */
  readonly error: Error | null;
  /** Reads it again. */
  reload(): void;
}

/** Reads a report, and again after some time, while the page is visible. */
export function useReport<T>(
  name: string,
  query: Readonly<Record<string, string>> = {},
  everyMs = 0,
): ReportState<T> {
  const [state, setState] = useState<Pick<ReportState<T>, "data" | "error">>(nothing);
  const [turn, setTurn] = useState(0);
  const text = new URLSearchParams(query).toString();
  useEffect(() => setState(nothing), [name, text]);
  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      clearTimeout(timer);
      if (document.hidden) return;
      try {
        // The contract of the dashboard says what each report has.
        const data = await readReport(name, query, ended.signal) as T;
        if (!ended.signal.aborted) setState({ data, error: null });
      } catch (error) {
        if (ended.signal.aborted) return;
        setState(({ data }) => ({ data, error: toError(error) }));
      }
      if (everyMs > 0) timer = setTimeout(read, everyMs);
    };
    if (everyMs > 0) {
      document.addEventListener("visibilitychange", read, { signal: ended.signal });
    }
    void read();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [name, text, everyMs, turn]);
  return { ...state, reload: useCallback(() => setTurn((before) => before + 1), []) };
}

const nothing = { data: null, error: null };

/** What was thrown, as an error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
