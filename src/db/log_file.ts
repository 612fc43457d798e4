import type { SqlValue } from "../sql/fragment.ts";

export type LogRow = Readonly<Record<string, SqlValue>>;

/** A small SQLite database of the service itself, in a file that workers share, or in memory. */
export interface LogFile {
  rows(text: string, ...values: readonly SqlValue[]): readonly LogRow[];
  run(text: string, ...values: readonly SqlValue[]): void;
  /** Runs `work` in a transaction. Throws if another process is writing for too long. */
  transaction(work: () => void): void;
  close(): void;
}
