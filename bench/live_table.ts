import { integer, real, table, text } from "../mod.ts";

/** What the streams of `live_bench.ts` follow. `stamp` says when the writer sent a row. */
export const ticks = table("bench_ticks", {
  id: integer().primaryKey(),
  topic: integer().notNull(),
  stamp: real(),
  /** Makes an event about 300 bytes long. */
  body: text().notNull(),
});

/** As many rows have one topic as a batch of `live_bench.ts` changes. */
export const rowsPerTopic = 20;
export const topicCount = 100;
export const tickBody = "x".repeat(200);
